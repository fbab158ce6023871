import { present } from "../../core/json.ts";
import { textOf } from "../../core/messages.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";
import type { Result } from "../../core/run-events.ts";
import { shown } from "../../core/shown.ts";
import type { Fault } from "./fault.ts";
import { FaultRun } from "./fault-run.ts";
import { TapeError } from "../../replay/read-tape.ts";
import { expectTape, MAIN, type Tape } from "../../log/tape.ts";
import { inScratch } from "../../replay/fixture.ts";
import { readFiles } from "../../replay/scratch.ts";
import { type Invariant, judge, type Judgement, type Observed } from "../../replay/invariants.ts";
import { INVARIANTS, NotOver } from "./invariants.ts";
import type { TapeOptions } from "../../replay/tape-options.ts";
import { type Replayable, runOnTape, type RunSoFar } from "../../replay/run-on-tape.ts";
import type { UsedPlace } from "./seam-faults.ts";
import { runSeen, withRootNamed } from "../../replay/seen.ts";

/** The part of an agent that it needs: `agent({...})` has it. */
export type Faultable = Pick<Replayable, "open">;

export interface UnderFaultsOptions extends Pick<TapeOptions, "wire"> {
  /** A folder whose copy is the workspace. @default an empty one */
  readonly files?: string | undefined;
  /** @default `INVARIANTS` */
  readonly invariants?: readonly Invariant[];
  /** Ends the run, which then is not judged: it throws. */
  readonly signal?: AbortSignal;
}

export const UNDER_FAULTS: { readonly [option in keyof UnderFaultsOptions]-?: OptionKind } = {
  files: "a text",
  invariants: "a list",
  wire: "true or false",
  signal: "an AbortSignal",
};

/** What came of a schedule, wherever it was tried. */
export interface Tried {
  /** The invariants that did not hold, with what was seen. */
  readonly broken: readonly { readonly invariant: string; readonly seen: string }[];
  readonly used: readonly UsedPlace[];
}

/** Tries a schedule on an agent that knows nothing of the one before. */
export type FaultTrial = (faults: readonly Fault[]) => Promise<Tried>;

/** What came of a run under faults. Its workspace, which is deleted, is `{ROOT}` in `broken` and `result`. */
export interface UnderFaults extends Tried {
  readonly faults: readonly Fault[];
  /** Each invariant, and whether the run put it to the test. */
  readonly judged: readonly Judgement[];
  readonly result: Result | undefined;
  readonly observed: Observed;
}

/** How long a run may take that has nothing to wait for, in milliseconds. */
const LONGEST = 60_000;

/**
 * Runs an agent on its tape while faults fall on it, and says which invariants did not hold. Tools run for real, in a
 * scratch copy of the fixture's files, unless their results are on the tape. An agent that is given as a function is made
 * anew, also after a kill; variables of modules stay as they are, which `crochet replay --faults` excludes by processes.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { importRecording, underFaults } from "crochet/testing";
 *
 * const message = { id: "m", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "hello" }] };
 * const answer = JSON.stringify({ ...message, stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } });
 * const { tape } = await importRecording(new TextEncoder().encode(answer), "hello.json");
 * const { broken, result } = await underFaults(agent({}), tape, [{ call: 1, block: "text", delta: 1, what: "cut" }]);
 * console.log(broken.length, result?.text); // 0 hello
 * ```
 */
export async function underFaults(
  agent: Faultable | (() => Faultable | Promise<Faultable>),
  tape: Tape,
  faults: readonly Fault[],
  options: UnderFaultsOptions = {},
): Promise<UnderFaults> {
  const made = async () => expectAgent(typeof agent === "function" ? await agent() : agent);
  if (typeof agent !== "function") expectAgent(agent);
  expectTape(tape, "run under faults");
  checkOptions(options, UNDER_FAULTS, "run under faults");
  const run = new FaultRun(tape, faults);
  return await inScratch(options.files, async (cwd) => {
    let lived = await live(await made(), tape, run, cwd, options);
    while (lived.killed !== undefined) {
      await run.seams.kill!.bury(lived.running!);
      lived = await live(await made(), tape, run, cwd, options, lived);
    }
    if (options.signal?.aborted) throw new Error(NOT_JUDGED);
    const observed = observedIn(tape, run, cwd, lived);
    const named = withRootNamed(cwd);
    const judged = named(judge(options.invariants ?? INVARIANTS, observed));
    const result = named(observed.results.at(-1));
    return { faults, broken: brokenIn(judged), judged, used: usedBy(observed), result, observed };
  }, tape.files);
}

export function brokenIn(judged: readonly Judgement[]): Tried["broken"] {
  return judged.flatMap(({ invariant, seen }) => seen === undefined ? [] : [{ invariant, seen }]);
}

/** Of a run that was ended from outside. */
export const NOT_JUDGED = "Cannot judge the run as it was interrupted: run it again";

function expectAgent(agent: Faultable): Faultable {
  if (typeof agent?.open === "function") return agent;
  throw new TypeError(
    `Cannot run under faults as ${
      shown(agent)
    } is not an agent: pass what agent({...}) returns, or a function that makes it`,
  );
}

/** What a run has done when its process ends. */
export interface RunEnd extends RunSoFar {
  /** The session, if the process was killed: another has to go on with it. */
  readonly killed?: string | undefined;
  /** What is left of it in this process. */
  readonly running?: Promise<unknown>;
  readonly thrown?: unknown;
}

/** One process of a run: until every prompt is answered, or it is killed. `before` is what the one before it has done. */
export async function live(
  agent: Faultable,
  tape: Tape,
  run: FaultRun,
  cwd: string,
  { wire, signal }: UnderFaultsOptions,
  before: RunEnd = { events: [], results: [] },
): Promise<RunEnd> {
  const { kill } = run.seams;
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), LONGEST);
  const ends = [run.stuck, run.seams.hung, timeout.signal, signal, kill?.signal];
  const asked = promptsOf(tape);
  const prompts = before.killed === undefined ? asked : ["Go on", ...asked.slice(before.results.length + 1)];
  const soFar: RunSoFar = { events: [...before.events], results: [...before.results] };
  const running = runOnTape(agent, prompts.map((text) => ({ text })), {
    tape: {
      tape,
      mode: "replay",
      faults: run,
      onReport: () => {}, // requests are not compared
      ...present({ wire }),
    },
    cwd,
    ...present({ store: kill?.store, resume: before.killed }),
    signal: AbortSignal.any(ends.filter((one) => one !== undefined)),
  }, soFar);
  let killed: string | undefined;
  let thrown: unknown;
  try {
    killed = await Promise.race([running.then(() => undefined), ...(kill ? [kill.died] : [])]);
  } catch (error) {
    if (error instanceof TapeError) throw error; // nothing ran that could be judged
    thrown = error;
  } finally {
    clearTimeout(timer);
  }
  if (timeout.signal.aborted) thrown ??= new NotOver(`It was not over after ${LONGEST / 1000} s`);
  // What the dead still do is not of this run.
  return { events: [...soFar.events], results: [...soFar.results], killed, thrown, running };
}

export function observedIn(tape: Tape, run: FaultRun, cwd: string, { events, results, thrown }: RunEnd): Observed {
  const seen = runSeen(events, withRootNamed(cwd));
  return { tape, run, events, results, ...seen, files: readFiles(cwd), ...(thrown !== undefined && { thrown }) };
}

export function usedBy({ run, events }: Observed): readonly UsedPlace[] {
  const session = events[0]?.agent_id;
  const messages = events.filter(({ type, agent_id }) => type === "message" && agent_id === session).length;
  // After its last message there is nothing to resume.
  return [...run.seams?.used ?? [], { on: "message", count: messages - 1 }];
}

/** What a person asked; of a tape that does not say it, what the first request begins with. */
function promptsOf({ prompts, calls }: Tape): Tape["prompts"] {
  if (prompts.length > 0) return prompts;
  return [textOf(calls.find(({ lane }) => lane === MAIN)?.request.messages[0])];
}
