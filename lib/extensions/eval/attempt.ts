import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Agent } from "../../agent/options.ts";
import { userBeside } from "../../agent/simulated-user.ts";
import { present } from "../../core/json.ts";
import { totalTokens } from "../../core/messages.ts";
import type { RunEvent } from "../../core/run-events.ts";
import { thrownWords } from "../../core/shown.ts";
import { BUILT_IN } from "../../runtime/importing.ts";
import { STREAMED } from "../../log/log-lines.ts";
import { type Price, priceOf } from "../../replay/drift/drift-report.ts";
import { FreeRun } from "../../replay/free-run.ts";
import {
  type Fixture,
  fixtureAt,
  inScratch,
  OBSERVED_FILE,
  programFolder,
  scriptOnTape,
} from "../../replay/fixture.ts";
import { readTape } from "../../replay/read-tape.ts";
import { redactor } from "../../log/redact/redact.ts";
import { fileDrifts, type FixtureRun, observedOn, runFixture } from "../../replay/run-fixture.ts";
import { played } from "../../replay/review.ts";
import { USER_FILE } from "../../replay/run-on-tape.ts";
import { withRootNamed } from "../../replay/seen.ts";
import { inWorkspace } from "../../replay/working-copy.ts";
import { hashFiles, readFiles } from "../../replay/scratch.ts";
import { type LiveRun, runCommandLive } from "./command-run.ts";
import { addPrice, FREE, type Grade, type Graded, gradeRun, type Grading } from "./grade.ts";
import { type Answerers, answerersOf, earlierRun, keptAndLive, refusalOf } from "./continued.ts";
import { armed } from "./hook-arms.ts";
import { directoryOf, emptyRunFolder, runFolder } from "./kept-evals.ts";
import { fixtureOf, type PlannedFixture, type Slot, slotName, type Variant } from "./plan.ts";

/** A line of `runs.jsonl`: a run that has ended, or was lost. */
export interface RunLine {
  readonly run: string;
  /** The log of a session that already happened. */
  readonly log?: string;
  /** Absent if it was lost or is not graded: then it neither passed nor failed. */
  readonly pass?: boolean;
  readonly lost?: string;
  /** Why it is not graded. It is kept, and may be graded again. */
  readonly ungraded?: string;
  /** The grader that its rehearsal, which this run was, found to be broken. */
  readonly broken?: string;
  readonly grades?: readonly Grade[];
  readonly stop?: string;
  /** Of the whole run. */
  readonly calls: number;
  readonly tokens: number;
  /** Absent if the price of a model is unknown. */
  readonly dollars?: number;
  /** What of that was kept of the run that it continues, and not paid. */
  readonly kept?: Price;
  /** Why models were asked that the run which it was to continue had asked. */
  readonly anew?: readonly string[];
  /** Who answered the requests for each model, in replies that were kept and in those of today. */
  readonly answered?: { readonly kept: Answerers; readonly live: Answerers };
  /** Whether it was dropped, as it kept replies of a model whose name another answers by now. */
  readonly moved?: boolean;
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

/** What a model call can end with that says nothing about its agent; an invalid request is the agent's own fault. */
const LOST =
  /^(?!invalid_request_error$)([a-z_]+_error|network|timeout|cut|stalled|grammar|not_a_stream|no_key|no_sdk)$/;

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
  let about: LiveRun["continued"] = slot.anew === undefined ? undefined : { anew: [slot.anew] };
  const line = (came: Omit<RunLine, "run" | "calls" | "tokens" | "ms">): RunLine => {
    return present({ run, ...came, ...cost, ...about, ms: Math.round(performance.now() - began) });
  };
  try {
    const folder = emptyRunFolder(place.folder, run);
    let graded: RunLine | undefined;
    await runLive(slot, folder, place, agentOf, events, async (root, { lost, price, before, continued, ...done }) => {
      cost = price;
      about = continued ?? about;
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
export function gradesOf(
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
    const run = await played(agent, tape, root, place.signal, { project, faults: new FreeRun(tape) });
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
  if (like.header.command) {
    const cwd = join(directoryOf(slot.variant, place.folder, place.project), slot.fixture.case?.agent ?? "");
    return await runCommandLive(fixture, into, like, { cwd, signal }, left);
  }
  const { agent, script } = await agentOf(fixture, slot.variant);
  const user = await userBeside(dirname(fixture.tape));
  mkdirSync(folder, { recursive: true });
  if (user) writeFileSync(join(folder, USER_FILE), user.text);
  // With the files it began with beside it, a run is a fixture that can be replayed.
  if (fixture.files !== undefined) symlinkSync(fixture.files, join(folder, "files"));
  const arm = await armed(agent, slot.variant.hooks, place.project);
  /** Makes the run; gives why it must be made anew, if what was kept is refused. */
  const run = async ({ tape: continues, why }: Awaited<ReturnType<typeof earlierRun>>): Promise<string | undefined> => {
    let refused: string | undefined;
    await runFixture({ ...into, files: fixture.files }, arm.agent, {
      mode: "record",
      like,
      tools: true,
      redact: true,
      agent: script === undefined ? BUILT_IN : scriptOnTape(folder, script),
      ...(continues && { continues }),
      ...(arm.hooks && { hooks: arm.hooks }),
      ...(slot.variant.model !== undefined && { model: slot.variant.model }),
      user,
      signal,
      on: (event) => void events.push(event),
      left: async (root, { results, events, files, report }) => {
        const { stop, error } = results.at(-1)!;
        const tape = await readTape(into.tape);
        const calls = keptAndLive(tape, report);
        refused = refusalOf(calls);
        if (refused !== undefined) return;
        const lost = stop === "error" && error && LOST.test(error.type) ? { lost: error.message } : {};
        const anew = [...report.continued?.anew ?? [], ...(why === undefined ? [] : [why])];
        const continued = {
          ...(calls.kept.length > 0 && { kept: priceOf(calls.kept) }),
          ...(anew.length > 0 && { anew }),
          answered: { kept: answerersOf(calls.kept), live: answerersOf(calls.live) },
        };
        await left(root, { tape, results, events, files, price: costIn(events), continued, ...lost });
      },
    });
    return refused;
  };
  const why = await run(await earlierRun(slot));
  if (why === undefined) return;
  rmSync(into.tape);
  events.length = 0;
  await run({ why });
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
      const kept: KeptRun = JSON.parse(readFileSync(join(folder, OBSERVED_FILE), "utf8"));
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

type KeptRun = Pick<FixtureRun, "events" | "results">;

/** Keeps what a run did and the files that it changed. Its workspace is `{ROOT}`, and secrets are placeholders. */
function keepRun(folder: string, root: string, done: KeptRun, { files }: Fixture): KeptRun {
  const events = done.events.filter(({ type }) => !STREAMED.has(type));
  const kept = withRootNamed(root)(redactor().value({ events, results: done.results })) as KeptRun;
  writeFileSync(join(folder, OBSERVED_FILE), JSON.stringify(kept), { mode: 0o600 });
  const before = files === undefined ? {} : hashFiles(files);
  for (const [path, hash] of Object.entries(hashFiles(root))) {
    if (before[path] === hash) continue;
    mkdirSync(dirname(join(folder, "left", path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, "left", path));
  }
  return kept;
}

/** What a run cost with all its agents and hooks. */
function costIn(events: readonly RunEvent[]): Price {
  return events.flatMap((event) => event.type === "usage" ? [event] : [])
    .map(({ usage, cost }): Price => ({ calls: 1, tokens: totalTokens(usage), dollars: cost }))
    .reduce(addPrice, FREE);
}

/** What was paid for a run. */
export function costOf({ kept = FREE, ...line }: RunLine): Price {
  const less = { calls: -kept.calls, tokens: -kept.tokens, dollars: kept.dollars && -kept.dollars };
  return addPrice(line, less);
}
