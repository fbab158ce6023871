import { textOf } from "../../core/messages.ts";
import { checkOptions, type OptionKind } from "../../files/options.ts";
import type { Result } from "../../core/run-events.ts";
import { shown } from "../../core/shown.ts";
import type { Fault } from "./fault.ts";
import { FaultRun } from "./fault-run.ts";
import { TapeError } from "../read.ts";
import { expectTape, MAIN, type Tape } from "../tape.ts";
import { inScratch } from "../fixture.ts";
import { readFiles } from "../workspace.ts";
import { judge } from "./judge.ts";
import { type Invariant, INVARIANTS, NotOver, type Observed } from "./invariants.ts";
import type { TapeOptions } from "../options.ts";
import { loadAnew, type OnTapeOptions, type Replayable, runOnTape, type RunSoFar } from "../run-on-tape.ts";
import type { Kill } from "./seam-faults.ts";
import { runSeen, withRootNamed } from "../seen.ts";

/** The part of an agent that it needs: `agent({...})` has it. */
export type Faultable = Pick<Replayable, "open">;

export interface UnderFaultsOptions extends Pick<TapeOptions, "wire" | "cutAt"> {
  /** A folder whose copy is the workspace. @default an empty one */
  readonly files?: string | undefined;
  /** @default `INVARIANTS` */
  readonly invariants?: readonly Invariant[];
  /** Ends the run, which then is not judged: it throws. */
  readonly signal?: AbortSignal;
}

/** What these options must be. */
export const UNDER_FAULTS: { readonly [option in keyof UnderFaultsOptions]-?: OptionKind } = {
  files: "a text",
  invariants: "a list",
  wire: "true or false",
  cutAt: "any",
  signal: "an AbortSignal",
};

/** What came of a run under faults. Its workspace, which is deleted, is `{ROOT}` in `broken` and `result`. */
export interface UnderFaults {
  readonly faults: readonly Fault[];
  /** The invariants that did not hold, with what was seen. */
  readonly broken: readonly { readonly invariant: string; readonly seen: string }[];
  /** The Result of the last prompt. */
  readonly result: Result | undefined;
  readonly observed: Observed;
}

/** How long a run may take that has nothing to wait for, in milliseconds. */
const LONGEST = 60_000;

/**
 * Runs an agent on its tape while faults fall on it, and says which invariants did not hold. Tools run for real, in a
 * scratch copy of the fixture's files, unless their results are on the tape.
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
  agent: Faultable,
  tape: Tape,
  faults: readonly Fault[],
  options: UnderFaultsOptions = {},
): Promise<UnderFaults> {
  if (typeof agent?.open !== "function") {
    throw new TypeError(`Cannot run under faults as ${shown(agent)} is not an agent: pass what agent({...}) returns`);
  }
  expectTape(tape, "run under faults");
  checkOptions(options, UNDER_FAULTS, "run under faults");
  const run = new FaultRun(tape, faults);
  return await inScratch(options.files, async (cwd) => {
    const observed = await observe(agent, tape, run, cwd, options);
    if (options.signal?.aborted) throw new Error("Cannot judge the run as it was interrupted: run it again");
    const shown = withRootNamed(cwd);
    const broken = judge(options.invariants ?? INVARIANTS, observed)
      .flatMap(({ invariant, seen }) => seen === undefined ? [] : [{ invariant, seen: shown(seen) }]);
    const result = shown(observed.results.at(-1));
    return { faults, broken, result, observed };
  }, tape.files);
}

async function observe(
  agent: Faultable,
  tape: Tape,
  run: FaultRun,
  cwd: string,
  { wire, cutAt, signal }: UnderFaultsOptions,
): Promise<Observed> {
  const soFar: RunSoFar = { events: [], results: [] };
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), LONGEST);
  const end = AbortSignal.any([run.stuck, run.seams.hung, timeout.signal, ...(signal ? [signal] : [])]);
  const play: Play = (agent, prompts, how, into) =>
    runOnTape(agent, prompts.map((text) => ({ text })), {
      tape: {
        tape,
        mode: "replay",
        faults: run,
        onReport: () => {}, // requests are not compared
        ...(wire !== undefined && { wire }),
        ...(cutAt !== undefined && { cutAt }),
      },
      cwd,
      ...how,
      signal: how.signal ? AbortSignal.any([end, how.signal]) : end,
    }, into);
  let thrown: unknown;
  try {
    const { kill } = run.seams;
    if (kill) await killedAndResumed(agent, kill, play, promptsOf(tape), soFar);
    else await play(agent, promptsOf(tape), {}, soFar);
  } catch (error) {
    if (error instanceof TapeError) throw error; // nothing ran that could be judged
    thrown = error;
  } finally {
    clearTimeout(timer);
  }
  if (timeout.signal.aborted) thrown ??= new NotOver(`It was not over after ${LONGEST / 1000} s`);
  const seen = runSeen(soFar.events, withRootNamed(cwd));
  return { tape, run, ...soFar, ...seen, files: readFiles(cwd), ...(thrown !== undefined && { thrown }) };
}

type Play = (
  agent: Faultable,
  prompts: Tape["prompts"],
  how: Pick<OnTapeOptions, "store" | "resume" | "signal">,
  into: RunSoFar,
) => Promise<void>;

/** Runs until it is killed, then resumes the session with the prompts that are left. */
async function killedAndResumed(
  agent: Faultable,
  kill: Kill,
  play: Play,
  prompts: Tape["prompts"],
  soFar: RunSoFar,
): Promise<void> {
  const first: RunSoFar = { events: [], results: [] };
  const running = play(agent, prompts, { store: kill.store, signal: kill.signal }, first);
  const id = await Promise.race([running.then(() => undefined), kill.died]);
  soFar.events.push(...first.events);
  soFar.results.push(...first.results);
  if (id === undefined) return;
  await kill.bury(running);
  const resumed = await loadAnew.get(agent)?.() ?? agent;
  await play(resumed, ["Go on", ...prompts.slice(soFar.results.length + 1)], { store: kill.store, resume: id }, soFar);
}

/** What a person asked; of a tape that does not say it, what the first request begins with. */
function promptsOf({ prompts, calls }: Tape): Tape["prompts"] {
  if (prompts.length > 0) return prompts;
  return [textOf(calls.find(({ lane }) => lane === MAIN)?.request.messages[0])];
}
