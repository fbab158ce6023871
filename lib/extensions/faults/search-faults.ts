import { present } from "../../core/json.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";
import type { Fault } from "./fault.ts";
import { readFaultFile, type SavedFaults, saveFaults } from "./kept-faults.ts";
import { type FaultTrial, type Tried, UNDER_FAULTS, underFaults, type UnderFaultsOptions } from "./under-faults.ts";
import { faultFile, tapeFile } from "../../replay/fixture.ts";
import type { Tape } from "../../log/tape.ts";
import { fastCheck, newSeed } from "../../testing/fast-check.ts";
import { schedules, singleFaults } from "./schedules.ts";

interface SearchOptions extends UnderFaultsOptions {
  /** How many schedules are tried. @default 100 */
  readonly runs?: number;
  /** Repeats a search. @default another one each time */
  readonly seed?: number;
  /**
   * The tape's file or its fixture's folder: what is found is kept beside it, and tried again there with the invariants
   * of the fixture, which are the default ones and those of its `invariants.ts`. @default it is not kept
   */
  readonly path?: string;
  /** Ends the search, and the run that is on. What was found by then is kept. */
  readonly signal?: AbortSignal;
}

/** The result of a search. */
export interface SearchResult {
  /** How many schedules were tried; fewer than requested if one was found or the search was stopped. */
  readonly runs: number;
  readonly seed: number;
  /** How many single faults there are; `runs` tried as many of them as it could, before any two. */
  readonly singles?: number;
  /** The smallest schedule that breaks an invariant, without faults if a run without any does; absent if none was found. */
  readonly found?: SavedFaults;
  /** Where it was written. */
  readonly file?: string;
}

const OPTIONS: { readonly [option in keyof SearchOptions]-?: OptionKind } = {
  ...UNDER_FAULTS,
  runs: "0 or more",
  seed: "any",
  path: "a text",
};

/** How long a smaller schedule is looked for, in milliseconds: an agent that hangs takes a minute each time. */
const MOST_SHRINKING = 90_000;

/**
 * Searches for faults an agent does not survive: runs it without any, then under every single fault of its recorded run,
 * then under several at once. Makes the first schedule that breaks an invariant as small as it can, and keeps it beside
 * the tape, where every replay tries it again. A function makes the agent anew for each schedule.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { importRecording, searchFaults } from "crochet/testing";
 *
 * const message = { id: "m", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "hello" }] };
 * const answer = JSON.stringify({ ...message, stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } });
 * const { tape } = await importRecording(new TextEncoder().encode(answer), "hello.json");
 * console.log((await searchFaults(() => agent({}), tape, { runs: 20 })).found); // undefined
 * ```
 */
export async function searchFaults(
  agent: Parameters<typeof underFaults>[0],
  tape: Tape,
  options: SearchOptions = {},
): Promise<SearchResult> {
  checkOptions(options, OPTIONS, "search for faults");
  const { runs, seed = newSeed(), path, ...under } = options;
  return await search((faults) => underFaults(agent, tape, faults, under), tape, {
    seed,
    ...present({ runs, file: path === undefined ? undefined : faultFile(tapeFile(path)), signal: under.signal }),
  });
}

interface Search extends Pick<SearchOptions, "runs" | "signal"> {
  readonly seed: number;
  /** Where what is found is kept. */
  readonly file?: string;
  /** What is tried again before anything is searched, and found if it breaks. */
  readonly first?: () => Promise<SavedFaults | undefined>;
  /** The schedule that is tried, in place of single faults. */
  readonly only?: readonly Fault[];
}

/** The same for anything that can be tried. */
export async function search(tried: FaultTrial, tape: Tape, options: Search): Promise<SearchResult> {
  const { runs = 100, seed, file, signal, first, only } = options;
  if (file !== undefined) readFaultFile(file); // what is found must not be lost as the file cannot be read
  const fc = fastCheck();
  /** Undefined if it was ended. */
  const judged = async (schedule: readonly Fault[]) => {
    try {
      return await tried(schedule);
    } catch (error) {
      if (signal?.aborted) return undefined;
      throw error;
    }
  };
  const unharmed = await judged([]);
  if (!unharmed) return { runs: 0, seed };
  const [alone] = unharmed.broken;
  if (alone) return { runs: 0, seed, found: { broke: wordsOf(alone), faults: [] } };
  const kept = await first?.();
  if (kept) return { runs: 0, seed, found: kept, ...(file !== undefined && { file }) };
  let count = 0;
  let failedAt: number | undefined;
  let lastBroken: Tried["broken"][number] | undefined;
  const property = fc.asyncProperty(schedules(tape, unharmed.used, 2), async (schedule) => {
    if (signal?.aborted || performance.now() - (failedAt ?? Infinity) > MOST_SHRINKING) return true;
    const came = await judged(schedule);
    if (failedAt === undefined && came) count++;
    const [broken] = came?.broken ?? [];
    if (!broken) return true;
    failedAt ??= performance.now();
    lastBroken = broken;
    return false;
  });
  const singles = only ? [] : singleFaults(tape, unharmed.used, seed);
  const examples = (only ? [only] : singles.slice(0, runs).map((fault) => [fault])).map((one): [typeof one] => [one]);
  const details = await fc.check(property, { numRuns: runs, seed, examples });
  const searched = { runs: count, seed, ...(!only && { singles: singles.length }) };
  const schedule = details.counterexample?.[0];
  if (!schedule) return searched;
  const came = await judged(schedule);
  const broken = came ? came.broken[0] : lastBroken;
  const found = { broke: broken ? wordsOf(broken) : "it failed once and not again", faults: [...schedule] };
  if (file === undefined) return { ...searched, found };
  await saveFaults(file, found);
  return { ...searched, found, file };
}

function wordsOf({ invariant, seen }: Tried["broken"][number]): string {
  return `${invariant}: ${seen}`;
}
