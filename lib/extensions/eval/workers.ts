import { existsSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { remote } from "../durable/remote.ts";
import type { RunLine } from "./attempt.ts";
import { emptyRunFolder } from "./kept-evals.ts";
import { type Budget, type EvalPlan, planned, type Slot, slotName } from "./plan.ts";
import type { EvalPlace, EvalRuns } from "./runs.ts";
import { isInside } from "../../files/confine.ts";
import { writeFiles } from "../../files/tree.ts";
import { fixtureAt, hasTape, inScratch } from "../../replay/fixture.ts";
import { hashFiles } from "../../replay/scratch.ts";
import { freshRuns, here } from "./variants.ts";
import { expectTrusted } from "../../cli/kit/known-fixtures.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";

/** What a worker is asked: to make one run of an eval. */
interface AttemptAsked {
  /** `EVAL/RUN/TRY`: what was made under it is never made again. */
  readonly key: string;
  readonly slot: Slot;
  readonly rehearsal?: { readonly left: Budget | undefined };
  /** The engine's ingress, at which it says that it began. */
  readonly ingress: string;
}

/** What it answers: the run's line and folder, or why it makes none; neither if another worker began it, and died in it. */
interface Attempted {
  readonly worker: string;
  readonly refused?: string;
  readonly line?: RunLine;
  /** Of the run's folder, by path; bytes in base64. */
  readonly files?: { readonly [path: string]: string };
}

/** Of a folder that is larger, only the tape is sent. */
const MOST_BYTES = 24 * 2 ** 20;
/** Runs at once for each worker that was seen, and in all. */
const AT_ONCE = 4;
const MOST_AT_ONCE = 64;

/** @throws {UsageError} if workers cannot make the runs of a plan */
function expectShared({ variants, fixtures }: EvalPlan): void {
  const refuse = (what: string, why: string) => new UsageError(`Cannot ${what} on workers as ${why}: leave out --on`);
  const kept = variants.find(({ kind }) => kind === "kept");
  if (kept) throw refuse(`compare with '${kept.name}'`, "they have not its runs");
  const other = variants.find(({ kind, hooks }) => hooks || kind !== "here");
  if (other) throw refuse(`run '${other.name}'`, "they have this checkout alone");
  const copies = fixtures.find((one) => one.copies);
  if (copies) throw refuse(`run ${copies.name}`, "it was recorded with --tools");
}

/** Has workers make the runs; all else of an eval stays here. @throws {UsageError} if they cannot */
export function runsOn(
  url: string,
  plan: EvalPlan,
  runs: () => EvalRuns,
  { folder, atOnce, io }: { readonly folder: string; readonly atOnce: number | undefined; readonly io: Io },
): Pick<EvalPlace, "fresh" | "atOnce"> {
  expectShared(plan);
  const { id } = plan;
  const engine = remote(url);
  const seen = new Set<string>();
  let isAway = false;
  const away = () => {
    if (!isAway) io.err(`waiting for the engine, as nothing answers at ${url}\n`);
    isAway = true;
  };
  return {
    get atOnce() {
      return atOnce ?? Math.min(MOST_AT_ONCE, AT_ONCE * Math.max(1, seen.size));
    },
    fresh: async (slot, rehearsal) => {
      const run = slotName(slot);
      const tries = runs().lines.filter((line) => line.run === run).length;
      const key = `${id}/${run}/${tries + 1}`;
      const asked: AttemptAsked = { key, slot, ingress: url, ...(rehearsal && { rehearsal }) };
      const came = await engine.attempt(asked, key, io.signal, away) as Attempted | undefined;
      if (!came) return undefined;
      isAway = false;
      seen.add(came.worker);
      if (came.refused !== undefined) throw new UsageError(came.refused);
      if (!came.line) {
        const { calls, tokens, dollars } = runs().dearest(slot);
        return { run, lost: "its worker died in it", calls, tokens, ...(dollars !== undefined && { dollars }), ms: 0 };
      }
      keep(emptyRunFolder(folder, run), came.files ?? {}, resolve(io.cwd, slot.fixture.folder, "files"));
      return came.line;
    },
  };
}

/** Keeps what a worker sent as if the run had been made here. */
function keep(folder: string, files: NonNullable<Attempted["files"]>, before: string): void {
  const inside = Object.entries(files).filter(([path]) => isInside(join(folder, path), folder));
  writeFiles(folder, inside.map(([path, bytes]) => [path, Buffer.from(bytes, "base64")]));
  if (existsSync(before) && existsSync(folder)) symlinkSync(before, join(folder, "files"));
}

/** Makes one run for an eval elsewhere, if this checkout is the one that it was planned with. */
export default async function attemptFor(request: unknown, trusted: boolean, io: Io): Promise<Attempted> {
  const { key, slot, rehearsal, ingress } = request as AttemptAsked;
  const worker = `${hostname()}:${process.pid}`;
  const refused = await whyOther(slot, trusted, io);
  if (refused !== undefined) return { worker, refused };
  // Outside the journal: the engine runs again what a worker died in, and would pay for it without a word.
  if (await remote(ingress).began(key) > 1) return { worker };
  return await inScratch(undefined, async (folder) => {
    using fresh = freshRuns(folder, io);
    const line = await fresh.fresh(slot, rehearsal);
    if (!line) throw new Error("Cannot end a run as its worker ends");
    return { worker, line, files: sent(join(folder, slotName(slot))) };
  });
}

/** Why a run here would not be one of that eval. */
async function whyOther({ fixture, variant }: Slot, trusted: boolean, io: Io): Promise<string | undefined> {
  const { name, folder, hash, graders } = fixture;
  const own = fixtureAt(join(io.cwd, folder));
  const refuse = (why: string) => `Cannot run ${name} as a worker ${why}: give all workers the same checkout`;
  if (!isInside(own.folder, io.cwd) || !hasTape(own)) return refuse("does not have it");
  const now = await planned({ ...own, name }, io.cwd);
  if (now.hash !== hash) return refuse("has another tape or other files of it");
  if (!isDeepStrictEqual(now.graders, graders)) return refuse("has other graders");
  const { commit } = here(undefined, io.cwd);
  if (commit !== variant.commit) return refuse(`is at commit ${commit}, and the eval at ${variant.commit}`);
  try {
    expectTrusted([own], { trust: trusted }, io, "evaluate");
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

/** The files of a run's folder as they are sent: all of them, or the tape alone. */
function sent(folder: string): NonNullable<Attempted["files"]> {
  const paths = existsSync(folder) ? Object.keys(hashFiles(folder)).filter((path) => !path.startsWith("files/")) : [];
  const bytes = paths.reduce((sum, path) => sum + statSync(join(folder, path)).size, 0);
  const chosen = bytes > MOST_BYTES ? paths.filter((path) => path === "tape.jsonl") : paths;
  return Object.fromEntries(chosen.map((path) => [path, readFileSync(join(folder, path)).toString("base64")]));
}
