import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type DriftReport, renewalText, reportLines, staleText } from "../../replay/drift/drift-report.ts";
import type { Agent } from "../../agent/options.ts";
import {
  expectNamesKnown,
  finderOf,
  type Fixture,
  fixtureProject,
  FIXTURES,
  hasTape,
  inScratch,
} from "../../replay/fixture.ts";
import { refuseInCi } from "../../replay/tape-options.ts";
import { headerOf, TapeError } from "../../replay/read-tape.ts";
import { replayedBy } from "../../replay/replayed-by.ts";
import { type FixtureRun, type ReplayOptions, runFixture } from "../../replay/run-fixture.ts";
import type { ReplayHooks } from "../../replay/run-on-tape.ts";
import { BUILT_IN } from "../../runtime/importing.ts";
import { judging } from "../../runtime/judging.ts";
import { expectTrusted, fixtureAgent, noAgent } from "./known-fixtures.ts";
import { giftFor, replayOf } from "./extension.ts";
import { type Flags, numberFlag } from "./flags.ts";
import type { Annotation } from "./github.ts";
import { type Io, UsageError } from "./io.ts";
import { wordsOf } from "../../files/drafts.ts";
import type { LoggedFixture } from "./runs.ts";
import type { TypedCommand } from "./programs.ts";
import type { ReplayedItem } from "./replay-table.ts";
import type { Item, Word } from "./verdict.ts";

/** How long one fixture may take. */
const SECONDS = 120;

/** What `--time` gives. */
export function secondsAsked(flags: Flags["flags"]): number {
  return numberFlag(flags, "time", { least: 0.1 }) ?? SECONDS;
}

type Declared = Pick<ReplayOptions, "normalise" | "onDrift">;

/** How one fixture ended: a recorded agent, the command of another program, or a finding. Undefined if interrupted. */
export async function judgedFixture(
  fixture: Fixture,
  declared: Declared,
  flags: Flags["flags"],
  io: Io,
  typed?: TypedCommand,
): Promise<ReplayedItem | undefined> {
  const began = performance.now();
  const { name } = fixture;
  const running = new Map<string, string>();
  try {
    const item = await judging(() =>
      within(
        secondsAsked(flags),
        running,
        io,
        (signal) => replayedItem(fixture, declared, flags, { ...io, signal }, running, typed),
      )
    );
    const seconds = (performance.now() - began) / 1000;
    return item && { ...item, of: FIXTURES, seconds, points: item.word === "held" ? [] : [pointOf(item, fixture)] };
  } catch (error) {
    if (io.signal.aborted) return undefined;
    const why = flags.debug && error instanceof Error ? error.stack! : wordsOf(error);
    const item: Item = { name, word: wordOf(error), why, of: FIXTURES, seconds: (performance.now() - began) / 1000 };
    return { ...item, points: [pointOf(item, fixture)] };
  }
}

/** What could not be asked at all is a mistake in a file or in how we were called; anything else is what was asked. */
export function wordOf(error: unknown): Word {
  const isRefused = error instanceof UsageError || error instanceof TypeError || error instanceof TapeError;
  return isRefused ? "cannot run" : "broken";
}

/** How long a run that was aborted may take to end. */
const GRACE_MS = 2000;

/** Ends work after a time: what it waits for may never come. */
async function within<T>(
  seconds: number,
  running: ReadonlyMap<string, string>,
  io: Io,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const late = Promise.withResolvers<never>();
  const timers = [setTimeout(() => {
    const tools = [...new Set(running.values())].join(", ");
    const error = new Error(
      `It did not end within ${seconds} s${tools && `, ${tools} was running`}: --time allows more`,
    );
    over.abort(error);
    timers.push(setTimeout(() => late.reject(error), GRACE_MS));
  }, seconds * 1000)];
  try {
    const done = await Promise.race([work(AbortSignal.any([io.signal, over.signal])), late.promise]);
    over.signal.throwIfAborted();
    return done;
  } catch (error) {
    over.signal.throwIfAborted();
    throw error;
  } finally {
    timers.forEach(clearTimeout);
  }
}

async function replayedItem(
  fixture: Fixture,
  declared: Declared,
  flags: Flags["flags"],
  io: Io,
  running: Map<string, string>,
  typed: TypedCommand,
): Promise<ReplayedItem | undefined> {
  const { name } = fixture;
  if (!hasTape(fixture)) {
    const why = `There is no tape: take ${fixture.tape} from version control, or delete ${fixture.folder}`;
    return { name, word: "not measured", why };
  }
  expectTrusted([fixture], flags, io);
  const { by } = replayedBy(fixture);
  if (by === "finding") return await findingItem(fixture, io);
  if (!fixture.taped) expectNamesKnown(fixture.folder);
  if (typed && by === "agent") {
    throw new UsageError(`Cannot replay ${name} with a command as it is of an agent: crochet replay ${name}`);
  }
  if (typed || by === "program") return await commandItem(fixture, flags, io, typed, declared.onDrift);
  if (by === "none") throw noAgent(fixture);
  const folder = flags.hooks === undefined ? undefined : resolve(io.cwd, String(flags.hooks));
  const kept = existsSync(fixture.faults) && !flags.verify ? await giftFor("faults", fixture) : undefined;
  const agent = await fixtureAgent(fixture, io.signal).catch((error) => {
    // A program that is gone or does not load is broken, as it was there when it was recorded.
    throw error instanceof UsageError ? new Error(error.message) : error;
  });
  const options: ReplayOptions = {
    wire: flags.wire === true,
    signal: io.signal,
    mode: flags.verify ? "verify" : "replay",
    keptFaults: kept?.againApart(io),
    on: (event) => {
      if (event.type === "tool_start") running.set(event.id, event.name);
      else if (event.type === "tool_end") running.delete(event.id);
    },
    ...await projectNow(fixture, agent, flags, io),
    ...declared,
    ...(folder !== undefined && { hooks: (await import("../../hooks/folder.ts")).hooksAt(folder) }),
  };
  let { report, broke, shared } = "cwd" in fixture
    ? await replayLogged(fixture as LoggedFixture, agent, options)
    : await runFixture(fixture, agent, options);
  // What was not replayed to its end has not drifted, and needs no recording.
  if (io.signal.aborted && !report.ok) return undefined;
  if (flags.update && (!report.ok || report.stale || options.normalise)) {
    refuseInCi("update", fixture.name, io.env);
    // A fixture of 'record --tools' has no files: it is updated in this directory.
    const { tools, made } = headerOf(fixture);
    const here = tools && (fixture.files === undefined || made) ? { cwd: io.cwd } : {};
    const where = here.cwd === undefined ? "" : " in this directory";
    if (!report.ok || report.stale) io.err(`recording ${fixture.name} again${where}: ${renewalText(report)}\n`);
    const { userBeside } = await import("../../agent/simulated-user.ts");
    const user = await userBeside(fixture.folder);
    const update = () => runFixture(fixture, agent, { ...options, mode: "update", user, ...here });
    ({ report, broke, shared } = await (here.cwd === undefined ? update() : oneByOne(update)));
  }
  return itemOf(name, report, flags, { broke, shared });
}

/** What a report, and what else came of a run, makes of a fixture. */
export function itemOf(
  name: string,
  found: DriftReport,
  flags: Flags["flags"],
  { broke, shared }: { readonly [part in "broke" | "shared"]?: FixtureRun[part] | undefined } = {},
): ReplayedItem {
  const report = flags.noStale && found.stale !== undefined ? { ...found, ok: false } : found;
  const data = { report, ...(shared && { shared }) };
  const lines = reportLines(report);
  if (broke !== undefined) return { name, word: "broken", why: broke, data };
  if (!report.ok) return { name, word: "broken", why: lines.join("\n"), data };
  const stale = report.stale === undefined ? [] : [staleText(report.stale)];
  return { name, word: "held", notes: [...stale, ...lines], data };
}

/** What is wrong with a fixture, at the words of its agent's script that changed, if they stand there. */
export function pointOf(
  { name, why = "", data: { report } = {} }: ReplayedItem,
  fixture: Fixture,
): Annotation {
  const { tape, folder } = fixture;
  if (!report || report.ok) return { file: tape, title: `${name} does not hold`, message: why };
  const [{ expected, actual } = {}] = report.divergences as readonly { expected?: unknown; actual?: unknown }[];
  const known = String(expected ?? "").split("\n");
  const at = typeof actual === "string" ? actual.split("\n").find((line) => !known.includes(line)) : undefined;
  const { agent } = headerOf(fixture);
  const file = agent !== undefined && agent !== BUILT_IN ? resolve(folder, agent) : tape;
  return { file, at, title: `${name} is not as recorded`, message: why };
}

/** Replays a run in a copy of its directory as it is now. */
async function replayLogged(fixture: LoggedFixture, agent: Agent, options: ReplayOptions): Promise<FixtureRun> {
  const { cwd, folder } = fixture;
  return await inScratch(undefined, async (copy) => {
    const { copyDirectory } = await import("../../replay/working-copy.ts");
    copyDirectory(cwd, copy, folder);
    const done = await runFixture(fixture, agent, { ...options, cwd: copy, project: cwd });
    return { ...done, report: { ...done.report, renew: "run it again" } };
  });
}

/** The command of another program, which brings its own hooks and declares on its tape what does not count. */
async function commandItem(
  fixture: Fixture,
  flags: Flags["flags"],
  io: Io,
  typed: TypedCommand,
  onDrift: Declared["onDrift"],
): Promise<ReplayedItem | undefined> {
  const given = ["hooks", "normalise"].find((name) => flags[name] !== undefined);
  if (given !== undefined) {
    throw new UsageError(`Cannot replay ${fixture.name} with --${given} as it is of another program: leave it out`);
  }
  const { renew, replay } = await giftFor("programs", fixture);
  const replayed = () => replay(fixture, io, typed, onDrift);
  const { worksHere } = await import("../../replay/working-copy.ts");
  let { report, broke } = await (worksHere(headerOf(fixture)) ? oneByOne(replayed) : replayed());
  if (io.signal.aborted && !report.ok) return undefined;
  if (flags.update && (!report.ok || report.stale)) {
    refuseInCi("update", fixture.name, io.env);
    report = await renew(fixture, report, io);
  }
  return itemOf(fixture.name, report, flags, { broke });
}

/** A finding, judged by the extension that made it: it needs no recording, and nothing of it can be updated. */
async function findingItem(fixture: Fixture, io: Io): Promise<ReplayedItem> {
  const by = finderOf(fixture);
  const replay = await replayOf(by);
  if (!replay) throw new TypeError(`Cannot replay ${fixture.name} as no extension here is named '${by}'`);
  return await replay(fixture, io);
}

/** The hooks, MCP servers and rules of the project as it is now, of those that the recorded run had then. */
async function projectNow(
  fixture: Fixture,
  agent: Agent,
  flags: Flags["flags"],
  io: Io,
): Promise<Pick<ReplayOptions, "mcp" | "hooks" | "rules">> {
  const { agent: by, chosen = [], own } = headerOf(fixture);
  const isLogged = "cwd" in fixture;
  const [wantsServers, wantsHooks] = [chosen.includes("mcp"), isLogged || chosen.includes("hooks")];
  if (!wantsServers && !wantsHooks && !own?.project) return {};
  const { projectRules, rulesHere } = await import("./run-options.ts");
  const cwd = isLogged ? (fixture as LoggedFixture).cwd : fixtureProject(fixture.folder);
  // A run that is replayed is trusted as a log: that says nothing of the hooks that are here now.
  const trust = !isLogged && flags.trust === true;
  const rules = own?.project && { rules: await projectRules(cwd, io, trust) };
  if (!wantsServers && !wantsHooks) return { ...rules };
  const { session } = await rulesHere({ flags: { cwd, trust }, io, script: by !== BUILT_IN }, agent);
  const [mcp, hooks] = [wantsServers && session.mcp, session.hooks as unknown as ReplayHooks];
  return { ...(mcp && { mcp }), ...(wantsHooks && { hooks }), ...rules };
}

/** Runs that work in the directory itself go one by one, as they would see each other's changes. */
function oneByOne<T>(work: () => Promise<T>): Promise<T> {
  const mine = turn.then(work);
  turn = mine.catch(() => {});
  return mine;
}
let turn: Promise<unknown> = Promise.resolve();
