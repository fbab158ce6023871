import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Agent } from "../agent/options.ts";
import { userBeside } from "../agent/simulated-user.ts";
import { totalTokens } from "../core/messages.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import { thrownWords } from "../core/shown.ts";
import { BUILT_IN } from "../runtime/importing.ts";
import type { Price } from "../replay/drift/drift-report.ts";
import { FaultRun } from "../replay/fault/fault-run.ts";
import { type Fixture, fixtureAt, inScratch, programFolder, scriptOnTape } from "../replay/fixture.ts";
import { readTape } from "../replay/read-tape.ts";
import { redactor } from "../replay/redact/redact.ts";
import { fileDrifts, type FixtureRun, observedOn, runFixture } from "../replay/run-fixture.ts";
import { played } from "../replay/review.ts";
import { USER_FILE } from "../replay/run-on-tape.ts";
import { withRootNamed } from "../replay/seen.ts";
import { inWorkspace } from "../replay/server/working-copy.ts";
import { hashFiles, readFiles } from "../replay/scratch.ts";
import { writeTape } from "../replay/write-tape.ts";
import { type LiveRun, runCommandLive } from "./command-run.ts";
import { addPrice, FREE, type Grade, type Graded, gradeRun, type Grading } from "./grade.ts";
import { armed, liveOf, tapeIn } from "./hook-fork.ts";
import { emptyRunFolder, runFolder } from "./kept-evals.ts";
import { fixtureOf, type PlannedFixture, type Slot, slotName, type Variant } from "./plan.ts";

/** A line of `runs.jsonl`: a run that has ended, or was lost. */
export interface RunLine {
  readonly run: string;
  /** Absent if it was lost or is not graded: then it neither passed nor failed. */
  readonly pass?: boolean;
  readonly lost?: string;
  /** Why it is not graded. It is kept, and may be graded again. */
  readonly ungraded?: string;
  /** The grader that its rehearsal, which this run was, found to be broken. */
  readonly broken?: string;
  readonly grades?: readonly Grade[];
  readonly stop?: string;
  readonly calls: number;
  readonly tokens: number;
  /** Absent if the price of a model is unknown. */
  readonly dollars?: number;
  /** What its judges took, which is not in the above. */
  readonly judged?: Price;
  readonly ms: number;
}

/** What runs a fixture for a variant; its script is undefined for the built-in agent. */
export type AgentOf = (
  fixture: Fixture,
  variant: Variant,
) => Promise<{ readonly agent: Agent; readonly script: string | undefined }>;

/** Where the runs of an eval are made and kept. */
export interface RunPlace {
  readonly project: string;
  /** The folder of the eval. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** The API answered these because of what the agent sent: the run has failed, and is not lost. */
const OWN_FAULT = new Set(["invalid_request_error", "request_too_large"]);
/** What a model call can end with, apart from the API's own names of errors. */
const LOST = /^([a-z_]+_error|network|timeout|cut|stalled|grammar|not_a_stream|no_key|no_sdk)$/;

/** Whether a run says nothing about its agent, as the API failed. */
function isLost({ stop, error }: Pick<Result, "stop" | "error">): boolean {
  return stop === "error" && error !== undefined && LOST.test(error.type) && !OWN_FAULT.has(error.type);
}

/** Makes one run; undefined if it was interrupted. */
export async function attempt(
  slot: Slot,
  place: RunPlace,
  agentOf: AgentOf,
  how: Grading = {},
): Promise<RunLine | undefined> {
  const run = slotName(slot);
  const began = performance.now();
  let cost = FREE;
  const events: RunEvent[] = [];
  const line = (came: Omit<RunLine, "run" | "calls" | "tokens" | "ms">): RunLine => {
    const { calls, tokens, dollars } = cost;
    const ms = Math.round(performance.now() - began);
    return { run, ...came, calls, tokens, ...(dollars !== undefined && { dollars }), ms };
  };
  try {
    const folder = emptyRunFolder(place.folder, run);
    let graded: RunLine | undefined;
    await runLive(slot, folder, place, agentOf, events, async (root, { lost, price, before, ...done }) => {
      cost = price;
      const { stop } = done.results.at(-1)!;
      if (place.signal.aborted) return;
      if (lost !== undefined) return void (graded = line({ lost, stop }));
      const fixture = { ...fixtureIn(slot.fixture, place), ...(before !== undefined && { files: before }) };
      const observed = observedOn(done.tape, { root, files: done.files, ...keepRun(folder, root, done, fixture) });
      const run = { observed, root, folder, signal: place.signal };
      graded = line({ stop, ...gradesOf(await gradeRun(fixture, run, slot.fixture.stop, how)) });
    });
    return graded;
  } catch (error) {
    if (cost === FREE) cost = costIn(events); // what it was paid for before it was lost
    return place.signal.aborted ? undefined : line({ lost: thrownWords(error) });
  }
}

/** What graders said of a run, as its line has it. */
function gradesOf(
  { grades, ungraded, broken, judged }: Graded,
): Pick<RunLine, "pass" | "grades" | "ungraded" | "broken" | "judged"> {
  const said = ungraded !== undefined ? { ungraded } : { pass: grades.every(({ pass }) => pass), grades };
  return { ...said, ...(broken !== undefined && { broken }), ...(judged.calls > 0 && { judged }) };
}

/**
 * Rehearses the graders of a fixture on its recorded run, which is made again with the recorded replies, whatever the
 * agent asks. Undefined if that is another run by now: its tape cannot say what the recorded one left.
 */
export async function rehearse(
  slot: Slot,
  place: RunPlace,
  agentOf: AgentOf,
  refuses: NonNullable<Grading["refuses"]>,
): Promise<Graded | undefined> {
  const fixture = fixtureIn(slot.fixture, place);
  const tape = await readTape(fixture.tape);
  if (tape.header.command || tape.header.tools || tape.calls.length === 0) return undefined;
  const { agent } = await agentOf(fixture, slot.variant);
  const project = programFolder(fixture.folder, tape.header.project);
  const folder = emptyRunFolder(place.folder, `rehearsal/${basename(fixture.folder)}`);
  mkdirSync(folder, { recursive: true });
  copyFileSync(fixture.tape, fixtureAt(folder).tape);
  return await inScratch(fixture.files, async (root) => {
    const run = await played(agent, tape, root, place.signal, { project, faults: new FaultRun(tape, []) });
    const { stop } = run.results.at(-1)!;
    const drifts = tape.end?.files ? fileDrifts(tape.end.files, root, tape) : [];
    if (stop === "error" || (tape.end && tape.end.end !== stop) || drifts.length > 0) return undefined;
    const observed = observedOn(tape, { root, files: readFiles(root), ...keepRun(folder, root, run, fixture) });
    const graded = { observed, root, folder, signal: place.signal };
    return await gradeRun(fixture, graded, stop, { rehearsal: true, once: true, refuses });
  }, tape.files);
}

/** Runs a slot live; `left` sees what it came to while its workspace is there. */
async function runLive(
  slot: Slot,
  folder: string,
  place: RunPlace,
  agentOf: AgentOf,
  events: RunEvent[],
  left: (root: string, run: LiveRun) => Promise<void>,
): Promise<void> {
  const { signal } = place;
  const fixture = fixtureIn(slot.fixture, place);
  const like = await readTape(fixture.tape);
  const into = fixtureAt(folder);
  if (like.header.command) return await runCommandLive(fixture, into, like, { cwd: place.project, signal }, left);
  const { agent, script } = await agentOf(fixture, slot.variant);
  const user = await userBeside(dirname(fixture.tape));
  mkdirSync(folder, { recursive: true });
  if (user) writeFileSync(join(folder, USER_FILE), user.text);
  // With the files it began with beside it, a run is a fixture that can be replayed.
  if (fixture.files !== undefined) symlinkSync(fixture.files, join(folder, "files"));
  const { fork } = slot.fixture;
  const arm = await armed(agent, slot.variant.hooks, place.project);
  const named = script === undefined ? BUILT_IN : scriptOnTape(folder, script);
  const cut = fork && tapeIn(folder, fixture, like, fork.from, named);
  if (cut) await writeTape(into.tape, cut);
  await runFixture({ ...into, files: fixture.files }, arm.agent, {
    ...(cut ? { mode: "update", project: programFolder(fixture.folder, like.header.project) } : { mode: "record" }),
    like,
    tools: true,
    redact: true,
    agent: named,
    ...(arm.hooks && { hooks: arm.hooks }),
    ...(slot.variant.model !== undefined && { model: slot.variant.model }),
    user,
    signal,
    on: (event) => void events.push(event),
    left: async (root, { results, events, files }) => {
      const { error } = results.at(-1)!;
      const tape = await readTape(into.tape);
      const live = cut && liveOf(tape, cut);
      const lost = isLost(results.at(-1)!)
        ? { lost: error!.message }
        : live?.isEarly
        ? { lost: `it left its recording before ${fork!.from ?? "its end"}` }
        : {};
      await left(root, { tape, results, events, files, price: live?.price ?? costIn(events), ...lost });
    },
  });
}

export function fixtureIn(planned: PlannedFixture, place: RunPlace): Fixture {
  const fixture = fixtureOf(planned, place.project);
  return planned.copies ? { ...fixture, files: join(place.folder, "files") } : fixture;
}

/** The line of a kept run that is graded once more. */
export async function gradedAgain(line: RunLine, slot: Slot, place: RunPlace, how: Grading): Promise<RunLine> {
  const folder = runFolder(place.folder, line.run);
  const fixture = fixtureIn(slot.fixture, place);
  const tape = await readTape(fixtureAt(folder).tape);
  const graded = (before = fixture.files) =>
    inScratch(before, async (root) => {
      if (existsSync(join(folder, "left"))) cpSync(join(folder, "left"), root, { recursive: true });
      const { files = {} } = tape.end ?? {};
      for (const path of Object.keys(tape.end?.files ? hashFiles(root) : {})) {
        if (!Object.hasOwn(files, path)) rmSync(join(root, path));
      }
      const kept: KeptRun = JSON.parse(readFileSync(join(folder, KEPT), "utf8"));
      const observed = observedOn(tape, { root, files: readFiles(root), ...kept });
      const run = { observed, root, folder, signal: place.signal };
      const { grades: _grades, pass: _pass, ungraded: _why, judged = FREE, ...rest } = line;
      const again = gradesOf(await gradeRun({ ...fixture, files: before }, run, slot.fixture.stop, how));
      const all = addPrice(judged, again.judged ?? FREE);
      return { ...rest, ...again, ...(all.calls > 0 && { judged: all }) };
    });
  if (!tape.header.command) return await graded();
  return await inWorkspace(fixtureAt(folder), tape.header, { cwd: place.project }, graded);
}

/** The file with what is not on a run's tape: what its hooks said, and how each prompt ended. */
export const KEPT = "observed.json";

type KeptRun = Pick<FixtureRun, "events" | "results">;

/** Keeps what a run did and the files that it changed. Its workspace is `{ROOT}`, and secrets are placeholders. */
function keepRun(folder: string, root: string, done: KeptRun, { files }: Fixture): KeptRun {
  const search = redactor();
  const shown = withRootNamed(root);
  const kept = shown(search.value({ events: done.events.filter(isKept), results: done.results })) as KeptRun;
  writeFileSync(join(folder, KEPT), JSON.stringify(kept), { mode: 0o600 });
  const before = files === undefined ? {} : hashFiles(files);
  for (const [path, hash] of Object.entries(hashFiles(root))) {
    if (before[path] === hash) continue;
    mkdirSync(dirname(join(folder, "left", path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, "left", path));
  }
  return kept;
}

function isKept({ type }: RunEvent): boolean {
  return !["text", "thinking", "tool_progress", "hook_output"].includes(type);
}

/** What a run cost with all its agents and hooks. */
function costIn(events: readonly RunEvent[]): Price {
  return events.flatMap((event) => event.type === "usage" ? [event] : [])
    .map(({ usage, cost }): Price => ({ calls: 1, tokens: totalTokens(usage), dollars: cost }))
    .reduce(addPrice, FREE);
}

export function costOf({ calls, tokens, dollars }: RunLine): Price {
  return { calls, tokens, dollars };
}
