import { relative, resolve } from "node:path";
import { WITH } from "./conclusion.ts";
import { brief } from "./grade.ts";
import { type HooksAsked, hooksNamed } from "./hook-arms.ts";
import type { EvalPlan, PlannedFixture } from "./plan.ts";
import { nearest } from "../../input/nearest.ts";
import { type Fixture, isFinding } from "../../replay/fixture.ts";
import { readHeader } from "../../replay/read-tape.ts";
import { eachOf, ProgressLine } from "../../cli/kit/each-of.ts";
import { freshRuns, here } from "./variants.ts";
import type { Flags } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";

/** How many fixtures are replayed side by side. */
const AT_ONCE = 4;

/** The hooks that `--with` or `--without` names; undefined without these flags. */
export function hooksAsked(flags: Flags["flags"], { cwd }: Io): HooksAsked | undefined {
  if (flags.without !== undefined) return { names: [String(flags.without)] };
  if (flags.with === undefined) return undefined;
  const refuse = (why: string) => new UsageError(`Cannot evaluate with '${flags.with}' as ${why}`);
  const found = hooksNamed(relative(cwd, resolve(cwd, String(flags.with))) || ".", cwd);
  if (!found) {
    throw refuse("there is no such file or folder: name a hook file, or --without NAME for one that agents have");
  }
  if (found.problem !== undefined) throw new UsageError(found.problem);
  if (found.asked.names.length === 0) throw refuse("it has no hooks: name the folder that has the files");
  return found.asked;
}

/** Why hooks cannot be tried on a fixture; undefined if they may be. */
export function whyUntried(fixture: Fixture): string | undefined {
  if (isFinding(fixture)) return "a finding";
  const { command, tools, mcp } = readHeader(fixture.tape);
  return command ? "of another program" : tools || mcp ? "recorded with --tools" : undefined;
}

/** What an eval about hooks is to do with the fixtures that they change. */
export type ChangedByHooks = Pick<EvalPlan, "fixtures" | "variants" | "unchanged">;

/** Which fixtures hooks change: by replays, which are free. Undefined if it was interrupted. */
export async function changedByHooks(
  fixtures: readonly PlannedFixture[],
  asked: HooksAsked,
  leftOut: string[],
  io: Io,
): Promise<ChangedByHooks | undefined> {
  const variant = here(undefined, io.cwd);
  const variants = [true, false].map((has) => ({
    ...variant,
    name: has ? WITH : "without",
    hooks: { ...asked, has },
  }));
  const progress = new ProgressLine(io);
  let done = 0;
  using fresh = freshRuns(io.cwd, io);
  const effects = await eachOf(fixtures, { atOnce: AT_ONCE, signal: io.signal }, async (fixture) => {
    const effect = await fresh.effect({ fixture, variant, round: 0 }, asked);
    progress.show(`replayed ${++done}/${fixtures.length} ${fixture.name}`);
    return { fixture, effect };
  });
  progress.end();
  if (io.signal.aborted) return undefined;
  const changed: PlannedFixture[] = [];
  const unchanged: { [fixture: string]: string } = {};
  const known = new Set<string>();
  for (const { fixture, effect } of effects) {
    if (effect.how === "changes") changed.push(fixture);
    else if (effect.how === "fails") {
      const why = `${effect.hook} fails on ${fixture.name}: ${brief(effect.why)}`;
      throw new UsageError(`Cannot tell what ${asked.path ?? effect.hook} changes as ${why}: correct the hook`);
    } else if (effect.how === "left out") leftOut.push(`${fixture.name} (${effect.why})`);
    else unchanged[fixture.name] = effect.how;
    if (effect.how === "does not have it") { for (const name of effect.hooks) known.add(name); }
  }
  const [name = ""] = asked.names;
  const all = changed.length + Object.keys(unchanged).length;
  if (all === 0) {
    const why = leftOut.length === 0 ? "there is none" : leftOut.join(", ");
    throw new UsageError(
      `Cannot tell what ${asked.path ?? name} changes as no fixture can be replayed with it: ${why}`,
    );
  }
  if (Object.values(unchanged).filter((how) => how === "does not have it").length === all) {
    const near = nearest(name, [...known]);
    const there = known.size === 0 ? "they have none" : `there are ${[...known].sort().join(", ")}`;
    const fix = near === undefined ? there : `did you mean '${near}'?`;
    throw new UsageError(`Cannot evaluate without '${name}' as no agent of these fixtures has such a hook: ${fix}`);
  }
  if (leftOut.length > 0) io.err(`left out: ${leftOut.join(", ")}\n`);
  return { fixtures: changed, variants, unchanged };
}
