import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { renewalText } from "../replay/drift/drift-report.ts";
import type { Agent } from "../agent/options.ts";
import { type Fixture, fixtureProject, inScratch, isAttack } from "../replay/fixture.ts";
import { refuseInCi } from "../replay/tape-options.ts";
import { readHeader } from "../replay/read-tape.ts";
import { type FixtureRun, type ReplayOptions, runFixture } from "../replay/run-fixture.ts";
import type { ReplayHooks } from "../replay/run-on-tape.ts";
import { BUILT_IN } from "../runtime/importing.ts";
import { expectTrusted, fixtureAgent, fixtureScript, isOfOthers } from "./_fixtures.ts";
import type { Flags } from "./_flags.ts";
import type { Io } from "./_io.ts";
import { wordsOf } from "./_process.ts";
import type { LoggedFixture } from "./_runs.ts";
import type { Outcome } from "./_replay-table.ts";

/** What came of one fixture: a recorded agent, the command of another program, or a finding of an attack. */
export async function outcomeOf(
  fixture: Fixture,
  declared: Pick<ReplayOptions, "normalise">,
  flags: Flags["flags"],
  io: Io,
): Promise<Outcome> {
  const began = performance.now();
  const folder = flags.hooks === undefined ? undefined : resolve(io.cwd, String(flags.hooks));
  try {
    expectTrusted([fixture], flags, io);
    if (isAttack(fixture)) return { name: fixture.name, ...await attackOutcome(fixture, io) };
    if (isOfOthers(fixture)) return { name: fixture.name, ...await commandOutcome(fixture, flags, io) };
    using trials = existsSync(fixture.faults) ? new (await import("./_fault-process.ts")).FreshTrials(io) : undefined;
    const agent = await fixtureAgent(fixture, io.signal);
    const options: ReplayOptions = {
      wire: flags.wire === true,
      signal: io.signal,
      mode: flags.verify ? "verify" : "replay",
      keptFaults: !flags.verify && trials !== undefined &&
        ((tape, note) => trials.of(fixture, tape, flags.wire === true, note)),
      ...await serversNow(fixture, flags, io),
      ...declared,
      ...(folder !== undefined && { hooks: (await import("../hooks/folder.ts")).hooksAt(folder) }),
    };
    let { report, ms, broke, shared } = "cwd" in fixture
      ? await replayLogged(fixture as LoggedFixture, agent, options, io)
      : await runFixture(fixture, agent, options);
    // What was not replayed to its end has not drifted, and needs no recording.
    if (io.signal.aborted && !report.ok) throw new Error(INTERRUPTED);
    if (flags.update && (!report.ok || report.stale || options.normalise)) {
      refuseInCi("update", fixture.name, io.env);
      // A fixture of 'record --tools' has no files: it is updated in this directory.
      const here = fixture.files === undefined && readHeader(fixture.tape).tools ? { cwd: io.cwd } : {};
      const where = here.cwd === undefined ? "" : " in this directory";
      if (!report.ok || report.stale) io.err(`recording ${fixture.name} again${where}: ${renewalText(report)}\n`);
      const { userBeside } = await import("../agent/simulated-user.ts");
      const user = await userBeside(fixture.folder);
      const update = () => runFixture(fixture, agent, { ...options, mode: "update", user, ...here });
      ({ report, ms, broke, shared } = await (here.cwd === undefined ? update() : oneByOne(update)));
    }
    if (broke !== undefined) throw new Error(broke);
    return { name: fixture.name, seconds: ms / 1000, report, ...(shared && { shared }) };
  } catch (error) {
    const message = flags.debug && error instanceof Error ? error.stack! : wordsOf(error);
    return { name: fixture.name, seconds: (performance.now() - began) / 1000, error: message };
  }
}

/** Replays a run in a copy of its directory as it is now, with the hooks that it would have now. */
async function replayLogged(fixture: LoggedFixture, agent: Agent, options: ReplayOptions, io: Io): Promise<FixtureRun> {
  const { cwd, folder } = fixture;
  const { rulesHere } = await import("./_run-options.ts");
  const script = readHeader(fixture.tape).agent !== BUILT_IN;
  const { found } = await rulesHere({ flags: { cwd }, io, script }, agent);
  const hooks = found.hooks as unknown as ReplayHooks;
  return await inScratch(undefined, async (copy) => {
    const { copyDirectory } = await import("../replay/server/working-copy.ts");
    copyDirectory(cwd, copy, folder);
    const done = await runFixture(fixture, agent, { hooks, ...options, cwd: copy, project: cwd });
    return { ...done, report: { ...done.report, renew: "run it again" } };
  });
}

/** What came of the command of another program, which brings its own hooks and declares on its tape what does not count. */
async function commandOutcome(
  fixture: Fixture,
  flags: Flags["flags"],
  io: Io,
): Promise<Pick<Outcome, "seconds" | "report">> {
  const given = ["hooks", "normalise"].find((name) => flags[name] !== undefined);
  if (given !== undefined) {
    throw new Error(`Cannot replay ${fixture.name} with --${given} as it is of another program: leave it out`);
  }
  const { renewRecorded, replayRecorded } = await import("./tape/recorded.ts");
  const began = performance.now();
  let { report, broke } = await replayRecorded(fixture, io);
  if (io.signal.aborted && !report.ok) throw new Error(INTERRUPTED);
  if (flags.update && (!report.ok || report.stale)) {
    refuseInCi("update", fixture.name, io.env);
    report = await renewRecorded(fixture, report, io);
  }
  if (broke !== undefined) throw new Error(broke);
  return { seconds: (performance.now() - began) / 1000, report };
}

/** A finding of an attack, judged by its property alone: it needs no recording, and nothing of it can be updated. */
async function attackOutcome(
  fixture: Fixture,
  io: Io,
): Promise<Pick<Outcome, "seconds" | "error" | "failure" | "held">> {
  const [{ replayAttack }, { storyLines }] = await Promise.all([
    import("../attack/keep.ts"),
    import("../attack/story.ts"),
  ]);
  const began = performance.now();
  const script = fixtureScript(fixture);
  const attacked = await replayAttack(fixture, {
    script: script === BUILT_IN ? undefined : script,
    project: fixtureProject(fixture.folder),
    load: () => fixtureAgent(fixture, io.signal),
    env: io.env,
    signal: io.signal,
  });
  const seconds = (performance.now() - began) / 1000;
  const { findings, unmeasured, never, denials = 0 } = attacked;
  const story = storyLines(attacked, { limited: true }).join("\n");
  if (unmeasured !== undefined) return { seconds, error: story };
  if (findings.length > 0) return { seconds, failure: story };
  return { seconds, held: `${never} holds, ${denials} ${denials === 1 ? "denial" : "denials"}` };
}

/** The MCP servers of the project as it is now, if the recorded run had those it had then. */
async function serversNow(
  { folder, tape }: Fixture,
  { trust }: Flags["flags"],
  io: Io,
): Promise<Pick<ReplayOptions, "mcp">> {
  if (!readHeader(tape).chosen?.includes("mcp")) return {};
  const { findServers, readConfig } = await import("./_config.ts");
  const project = fixtureProject(folder);
  const mcp = await findServers(project, await readConfig(project, io, trust === true), io, trust === true);
  return mcp ? { mcp } : {};
}

const INTERRUPTED = "Cannot compare the run with its tape as it was interrupted: replay it again";

/** Runs that work in the directory itself go one by one, as they would see each other's changes. */
function oneByOne<T>(work: () => Promise<T>): Promise<T> {
  const mine = turn.then(work);
  turn = mine.catch(() => {});
  return mine;
}
let turn: Promise<unknown> = Promise.resolve();
