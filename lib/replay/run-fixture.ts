import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { present } from "../core/json.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import { hashFiles, readFiles } from "./scratch.ts";
import { keysOf } from "./drift/difference.ts";
import type { DriftReport, FileDrift } from "./drift/drift-report.ts";
import { invariantsOf, InvariantTally, judge, type Observed } from "./invariants.ts";
import { type Fixture, inScratch, isFinding, programFolder } from "./fixture.ts";
import type { EndFact } from "../log/entry.ts";
import { programOf } from "./match-call.ts";
import type { TapeMode } from "./policy.ts";
import type { TapeOptions } from "./tape-options.ts";
import { TapeError, tapeIn } from "./read-tape.ts";
import { type Mask, mask } from "../log/redact/mask.ts";
import { namesPlace, placer, placesHere } from "../log/redact/places.ts";
import { mapTexts, redactor } from "../log/redact/redact.ts";
import { eventsOf } from "../log/recorded-reply.ts";
import { type OnTapeOptions, type Replayable, runOnTape, type RunSoFar, type SimulatedUser } from "./run-on-tape.ts";
import { callsOn, ofTool, runSeen, withRootNamed } from "./seen.ts";
import { MAIN, type Tape } from "../log/tape.ts";

/** What is passed on to the tape and to the run as it is given. */
const FOR_TAPE = [
  ...["wire", "cutAt", "normalise", "tools", "redact"] as const,
  ...["agent", "workspace", "project", "continues", "onDrift"] as const,
] as const;
const FOR_RUN = [
  ...["on", "hooks", "model", "signal", "permissions", "rules"] as const,
  ...["permissionAsker", "questionAsker", "mcp", "memory"] as const,
] as const;

export interface ReplayOptions
  extends Pick<TapeOptions, typeof FOR_TAPE[number]>, Readonly<Partial<Pick<OnTapeOptions, typeof FOR_RUN[number]>>> {
  /** @default "replay" */
  readonly mode?: Exclude<TapeMode, "live">;
  readonly prompts?: Tape["prompts"];
  /** Who says them in place of those that are not recorded. */
  readonly user?: SimulatedUser | undefined;
  /**
   * The tape of a run that is to be made anew, in place of prompts: with its prompts, files, model, permissions and
   * sandbox, and never by the settings of this machine. CI may do that too.
   */
  readonly like?: Tape;
  /** Where to work. @default a scratch copy of the fixture's files */
  readonly cwd?: string;
  /** Called after a run without drift, if faults are kept beside the tape. @default they are not tried */
  readonly keptFaults?: KeptFaults | undefined;
  /** Called with the workspace as the run left it, before it is deleted. */
  readonly left?: (root: string, run: Omit<FixtureRun, "ms">) => Promise<void>;
}

/** Tries the kept faults of a fixture again. What its agent does not survive, in a sentence. */
export type KeptFaults = (
  fixture: Fixture,
  agent: Pick<Replayable, "open">,
  given: { readonly tally: InvariantTally } & Pick<ReplayOptions, "wire" | "signal">,
) => Promise<string | undefined>;

export interface FixtureRun {
  /** Its workspace; a scratch workspace is already deleted. */
  readonly root: string;
  /** Of the last prompt. */
  readonly result: Result;
  /** One for each prompt. */
  readonly results: readonly Result[];
  readonly report: DriftReport;
  readonly events: readonly RunEvent[];
  /** The scratch workspace as the run left it: text by path. */
  readonly files: ReadonlyMap<string, string>;
  readonly ms: number;
  /** Which invariant does not hold, or which of the kept faults the agent did not survive, in a sentence. */
  readonly broke?: string;
  /** Whether each shared invariant that must be put to the test was: it fails if no fixture does. */
  readonly shared?: { readonly [name: string]: boolean };
}

/** Runs the agent of a fixture on its tape, in a copy of its files, once for each prompt. @throws {TapeError} if it cannot be used */
export async function runFixture(
  fixture: Fixture,
  agent: Replayable,
  options: ReplayOptions = {},
): Promise<FixtureRun> {
  const { mode = "replay" } = options;
  if (isFinding(fixture)) {
    throw new TapeError(
      `Cannot run ${fixture.name} here as it is a finding, which its own command makes again: crochet replay ${fixture.name}`,
    );
  }
  const tape = mode === "record" ? options.like : await knownTape(fixture);
  if (tape?.header.sandbox) await expectSandbox(fixture);
  const isSpoken = mode === "record" && options.user !== undefined;
  const prompts = options.prompts ?? (isSpoken ? [] : tape?.prompts ?? []);
  if (prompts.length === 0 && !isSpoken) {
    const why = tape // which has prompts, unless it was imported
      ? `no single run makes all the calls on its tape: see 'crochet fixtures show ${fixture.name}'`
      : "it has no prompt: pass one";
    throw new TapeError(`Cannot run ${fixture.name} as ${why}`);
  }
  const began = performance.now();
  const run = (cwd: string) => {
    const asked = options.prompts ?? withPlaces(prompts, cwd);
    return runIn(cwd, fixture, agent, { ...options, mode, prompts: asked }, tape);
  };
  const project = mode === "verify" && tape ? projectToVerify(fixture, tape) : undefined;
  const done =
    await (options.cwd !== undefined
      ? run(options.cwd)
      : project !== undefined
      ? (await import("./working-copy.ts")).inWorkspace(fixture, tape!.header, { cwd: project }, run)
      : inScratch(fixture.files, run, tape?.files));
  const ms = performance.now() - began;
  if (mode === "record" || !done.report.ok) return { ...done, ms };
  return { ...done, ms, ...await judgedRun(fixture, agent, done, options) };
}

/** The directory that tools ran in themselves when they were recorded, in a copy of which they are verified. */
function projectToVerify({ folder, files }: Fixture, { header }: Tape): string | undefined {
  const isHere = header.tools && (files === undefined || header.made !== undefined);
  return isHere ? programFolder(folder, header.project) : undefined;
}

/** Judges a run by the invariants of its fixture, then the same agent under the faults that are kept. */
async function judgedRun(
  fixture: Fixture,
  agent: Replayable,
  done: Omit<FixtureRun, "ms">,
  options: ReplayOptions,
): Promise<Pick<FixtureRun, "broke" | "shared">> {
  const tally = new InvariantTally(await invariantsOf(fixture));
  const keptFaults = existsSync(fixture.faults) ? options.keptFaults : undefined;
  if (tally.all.length === 0 && !keptFaults) return {};
  const fails = (why: string) => ({ broke: `Cannot accept the agent of '${fixture.name}': ${why}` });
  const judged = judge(tally.all, observedOn(await tapeIn(fixture), done));
  tally.note(judged);
  const broken = judged.find(({ seen }) => seen !== undefined);
  if (broken) return fails(`${broken.invariant}: ${withRootNamed(done.root)(broken.seen)}`);
  const broke = await keptFaults?.(fixture, agent, { tally, ...given(options, "wire", "signal") });
  if (broke !== undefined) return { broke };
  return {
    ...(tally.unreached !== undefined && fails(tally.unreached)),
    ...(tally.shared.length > 0 && { shared: tally.sharedReached }),
  };
}

/** What invariants see of a run on which no faults fell: what was asked and said is on its tape. */
export function observedOn(
  tape: Tape,
  { root, events, results, files }: Pick<FixtureRun, "root" | "events" | "results" | "files">,
): Observed {
  const said = tape.calls.flatMap(({ lane, attempts }) =>
    attempts.map((one) => ({ lane, events: eventsOf(one).events }))
  );
  return {
    tape,
    run: {
      said,
      asked: tape.calls.map(({ lane, request: { messages } }) => ({ lane, messages })),
      writes: new Map(tape.tools.map(({ name, effect }) => [name, effect === "write"])),
      stuck: { aborted: false },
    },
    events,
    results,
    files,
    ...runSeen(events, withRootNamed(root)),
    ...(tape.header.command && { calls: ofTool(callsOn(tape)) }),
  };
}

/** @throws {TapeError} if commands cannot run in a sandbox here, as they did when the fixture was recorded */
async function expectSandbox({ name }: Fixture): Promise<void> {
  const { openSandbox } = await import("../permissions/sandbox.ts");
  try {
    await openSandbox({ mode: "workspace", roots: [tmpdir()] });
  } catch (error) {
    throw new TapeError(`${name} was not run, as it was recorded in a sandbox: ${(error as Error).message}`);
  }
}

/** What a tape has as placeholders is asked for with the places of here, as it was. */
export function withPlaces(prompts: Tape["prompts"], cwd: string): Tape["prompts"] {
  if (!namesPlace(JSON.stringify(prompts))) return prompts;
  return mask(placer(placesHere(cwd)), undefined).off(prompts);
}

async function knownTape(fixture: Fixture): Promise<Tape> {
  const { name, tape } = fixture;
  if (existsSync(tape)) return await tapeIn(fixture);
  throw new TapeError(
    `Cannot replay ${name} as there is no tape: crochet record <agent.ts> "<prompt>" --fixture ${name}`,
  );
}

async function runIn(
  cwd: string,
  fixture: Fixture,
  agent: Replayable,
  options: ReplayOptions & { mode: TapeMode; prompts: Tape["prompts"] },
  tape: Tape | undefined,
): Promise<Omit<FixtureRun, "ms">> {
  const { mode, prompts } = options;
  const run: RunSoFar = { events: [], results: [] };
  const ended: { report?: DriftReport; error?: unknown } = {};
  await runOnTape(agent, prompts.map((text, i) => ({ text, model: tape?.models?.[i] })), {
    cwd,
    tape: {
      path: fixture.folder,
      ...((mode === "replay" || mode === "verify") && { tape: tape! }),
      mode,
      project: mode === "record" ? undefined : programFolder(fixture.folder, tape?.header.project),
      ...given(options, ...FOR_TAPE),
      ...(options.like && { inCi: true }),
      ...(options.cwd === undefined && { files: (shown) => hashFiles(cwd, { shown, before: fixture.files }) }),
      onReport: (report) => ended.report = report,
      onError: (error) => ended.error = error,
    },
    user: options.user,
    ...(options.like && decidedAs(options.like, cwd)),
    ...given(options, ...FOR_RUN),
  }, run);
  const { events } = run;
  const result = run.results.at(-1)!;
  if (ended.error !== undefined) throw withReason(ended.error, result);
  const report = judged(withFailures(ended.report!, tape, events, cwd), tape, result, cwd);
  const isBare = options.cwd === undefined && fixture.files === undefined && !tape?.header.made &&
    blamesOthers(report, tape);
  const lacks = mode === "verify" ? UNCHANGED : `${NO_FILES}; recorded without --tools it has them`;
  const notes = [
    ...report.notes,
    ...(isBare ? [tape?.header.tools ? lacks : NO_FILES] : []),
    ...(report.ok ? [] : lacking(tape, options)),
    ...(report.ok && mode !== "update" ? [] : warnings(events)),
  ];
  // A directory that is worked in itself may be of any size, and is there to be looked at.
  const files = options.cwd === undefined ? readFiles(cwd) : new Map<string, string>();
  const done = { root: cwd, result, results: run.results, report: { ...report, notes }, events, files };
  await options.left?.(cwd, done);
  return done;
}

/** What decided about the calls of a recorded run, and the model if it was not the agent's own. */
function decidedAs({ header, calls }: Tape, cwd: string): Pick<OnTapeOptions, "permissions" | "sandbox" | "model"> {
  const { restore } = placer(placesHere(cwd));
  const { permissions, sandbox, chosen = [] } = mapTexts(header, (text) => restore(text));
  const model = chosen.includes("model") ? calls.find(({ lane }) => lane === MAIN)?.request.model : undefined;
  return present({ permissions, sandbox, model }) as ReturnType<typeof decidedAs>;
}

/** What a run warned of, such as a hook or a server that failed: that may be why it is another one. */
function warnings(events: readonly RunEvent[]): string[] {
  const search = redactor();
  const messages = events.flatMap((event) =>
    event.type === "warning" ? [search.text(event.message.split("\n", 1)[0]!)] : []
  );
  return [...new Set(messages)].slice(0, MOST_WARNINGS).map((message) => `it warned: ${message}`);
}

const MOST_WARNINGS = 5;

const NO_FILES = "it has no files: its tools and hooks ran in an empty folder";
const UNCHANGED =
  "its tools ran in a copy of the directory as it is now, in which what the recorded run changed is not put " +
  "back: 'crochet record --tools' keeps it";

/** What a recorded run had and its replay does not. */
const LACKING: { readonly [choice: string]: string } = {
  hooks: "it was recorded with hooks that are not the agent's own: pass them with --hooks",
  limits: "it was recorded with limits that are not the agent's own: set them in the agent",
  mcp: "it was recorded with MCP servers that are not the agent's own: name them in the agent",
  params: "it was recorded with parameters that are not the agent's own: set them in the agent",
  past: "it continued an earlier run, which is not on the tape: record one that starts anew",
};

function lacking(tape: Tape | undefined, given: ReplayOptions): string[] {
  const chosen = tape?.header.chosen ?? [];
  return chosen.flatMap((choice) =>
    Object.hasOwn(LACKING, choice) && given[choice as keyof ReplayOptions] === undefined ? [LACKING[choice]!] : []
  );
}

/** Whether tools or hooks say something else, which they may do as they have not what they had. */
function blamesOthers({ tools, divergences }: DriftReport, tape: Tape | undefined): boolean {
  const said = divergences.some(({ path, cause }) =>
    path.startsWith("messages.") && (cause === "prompt" || cause === "tool")
  );
  return tools.length > 0 || (said && tape?.header.tools === true);
}

/** The named options, as far as they are given. */
function given<Name extends keyof ReplayOptions>(all: ReplayOptions, ...names: Name[]): Pick<ReplayOptions, Name> {
  return Object.fromEntries(names.flatMap((name) => all[name] === undefined ? [] : [[name, all[name]]])) as typeof all;
}

/** Why a run was not kept, with why it failed if that adds something. */
function withReason(error: unknown, result: Result | undefined): unknown {
  const why = result ? reasonOf(result) : "";
  if (!(error instanceof TapeError) || error.message.includes(why)) return error;
  return new TapeError(`${error.message}: ${why}`);
}

/** Why a run ended as it did, or "". */
function reasonOf({ stop, error, text }: Result): string {
  return error?.message ?? (stop === "denied" ? text : "");
}

/** A report that also has the hooks that fail and did not then: an agent without its hook is another one. */
function withFailures(
  report: DriftReport,
  tape: Tape | undefined,
  events: readonly RunEvent[],
  cwd: string,
): DriftReport {
  if (!tape || (report.mode !== "replay" && report.mode !== "verify")) return report;
  const { on } = maskFor(tape, cwd);
  const known = new Set(tape.said?.flatMap(({ said }) => said.map(({ hook, failure }) => `${hook}\n${failure}`)));
  const failed = events.flatMap((event) => {
    if (event.type !== "hook_end" || event.failure === undefined) return [];
    const failure = on(event.failure);
    return known.has(`${event.hook}\n${failure}`) ? [] : [{ ...event, failure }];
  });
  const found = new Map(failed.map(({ hook, event, failure }) => {
    const words = `${hook} fails at ${event}: ${failure.split("\n", 1)[0]}`;
    return [words, { cause: "hook" as const, lane: MAIN, path: hook, words }];
  }));
  if (found.size === 0) return report;
  return { ...report, ok: false, divergences: [...found.values(), ...report.divergences] };
}

/** A report that also says whether the run ended as the recorded one did, and left the same files. */
function judged(report: DriftReport, tape: Tape | undefined, result: Result, cwd: string): DriftReport {
  if (report.mode === "record") return report;
  const { stop } = result;
  const end = tape?.end;
  const reason = reasonOf(result);
  const ending = `it ended with '${stop}'${reason === "" ? "" : ` (${reason})`}, but was recorded with '${end?.end}'`;
  const endsOtherwise = end !== undefined && end.end !== stop;
  if (report.mode === "update") return endsOtherwise ? { ...report, notes: [...report.notes, ending] } : report;
  const files = end?.files ? fileDrifts(end.files, cwd, tape!) : [];
  const diverged = report.divergences.length > 0;
  const otherwise = endsOtherwise && !diverged;
  return {
    ...report,
    files: diverged ? [] : files,
    ok: report.ok && !otherwise && files.length === 0,
    notes: [
      ...report.notes,
      ...(otherwise ? [ending] : []),
      ...(!diverged && differInLineEnds(files, end?.files ?? {}, cwd) ? [LINE_ENDS] : []),
    ],
  };
}

/** Git does that to a checkout with `core.autocrlf`. */
const LINE_ENDS = "only line endings differ: 'fixtures/** -text' in .gitattributes keeps them as recorded";

function differInLineEnds(drifts: readonly FileDrift[], expected: NonNullable<EndFact["files"]>, cwd: string): boolean {
  if (drifts.length === 0 || drifts.some(({ how }) => how !== "changed")) return false;
  const unix = hashFiles(cwd, { shown: (text) => text.replaceAll("\r\n", "\n") });
  return drifts.every(({ path }) => unix[path] === expected[path]);
}

/** Files that differ from the recorded run's; placeholders such as {ROOT} do not count. */
export function fileDrifts(expected: NonNullable<EndFact["files"]>, cwd: string, tape: Tape): FileDrift[] {
  const found = differing(expected, hashFiles(cwd));
  if (found.length === 0) return [];
  const { on } = maskFor(tape, cwd);
  const shown = new Set(differing(expected, on(hashFiles(cwd, { shown: on }))).map(({ path }) => path));
  return found.filter(({ path }) => shown.has(path));
}

/** What a tape would have of a run in a folder. */
export function maskFor(tape: Tape, cwd: string): Mask {
  const { hasUser, hasSecrets } = programOf(tape);
  return mask(placer(placesHere(cwd), hasUser), hasSecrets ? redactor({ seed: tape.header.seed }) : undefined);
}

function differing(
  expected: { readonly [path: string]: string },
  actual: { readonly [path: string]: string },
): FileDrift[] {
  return keysOf(expected, actual).sort().flatMap((path): FileDrift[] => {
    if (expected[path] === actual[path]) return [];
    return [{ path, how: actual[path] === undefined ? "missing" : expected[path] === undefined ? "new" : "changed" }];
  });
}
