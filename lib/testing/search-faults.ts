import { checkOptions, type OptionKind } from "../files/options.ts";
import type { Fault } from "../tape/fault/fault.ts";
import { readFaultFile, type SavedFaults, saveFaults } from "../tape/fault/kept-faults.ts";
import {
  type Faultable,
  UNDER_FAULTS,
  type UnderFaults,
  underFaults,
  type UnderFaultsOptions,
} from "../tape/fault/under-faults.ts";
import { faultFile } from "../tape/fixture.ts";
import { tapeFile } from "../tape/options.ts";
import type { Tape } from "../tape/tape.ts";
import { fastCheck } from "./arbitraries/texts.ts";
import { faults } from "./faults.ts";

export interface SearchOptions extends UnderFaultsOptions {
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
  /** The smallest schedule that breaks an invariant; absent if none was found. */
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
 * Searches for faults an agent does not survive: tries schedules over its recorded run, makes the first one that breaks
 * an invariant as small as it can, and keeps it beside the tape, where every replay tries it again.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { importRecording, searchFaults } from "crochet/testing";
 *
 * const message = { id: "m", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "hello" }] };
 * const answer = JSON.stringify({ ...message, stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } });
 * const { tape } = await importRecording(new TextEncoder().encode(answer), "hello.json");
 * console.log((await searchFaults(agent({}), tape, { runs: 20 })).found); // undefined
 * ```
 */
export async function searchFaults(agent: Faultable, tape: Tape, options: SearchOptions = {}): Promise<SearchResult> {
  checkOptions(options, OPTIONS, "search for faults");
  // Not below 0, as `--seed -1` would read as a flag.
  const { runs = 100, seed = Math.floor(Math.random() * 0x7fff_ffff), path, ...under } = options;
  const { signal } = under;
  const file = path === undefined ? undefined : faultFile(tapeFile(path));
  if (file !== undefined) readFaultFile(file); // what is found must not be lost as the file cannot be read
  const fc = fastCheck();
  /** Undefined if it was ended. */
  const judged = async (schedule: readonly Fault[], how = under) => {
    try {
      return await underFaults(agent, tape, schedule, how);
    } catch (error) {
      if (signal?.aborted) return undefined;
      throw error;
    }
  };
  let tried = 0;
  let failedAt: number | undefined;
  let lastBroken: UnderFaults["broken"][number] | undefined;
  const unharmed = await judged([], { ...under, invariants: [] });
  const property = fc.asyncProperty(faults(tape, unharmed?.observed), async (schedule) => {
    if (signal?.aborted || performance.now() - (failedAt ?? Infinity) > MOST_SHRINKING) return true;
    const came = await judged(schedule);
    if (failedAt === undefined && came) tried++;
    const [broken] = came?.broken ?? [];
    if (!broken) return true;
    failedAt ??= performance.now();
    lastBroken = broken;
    return false;
  });
  const details = await fc.check(property, { numRuns: runs, seed });
  const searched = { runs: tried, seed: details.seed };
  const schedule = details.counterexample?.[0];
  if (!schedule) return searched;
  const came = await judged(schedule);
  const broken = came ? came.broken[0] : lastBroken;
  const broke = broken ? `${broken.invariant}: ${broken.seen}` : "it failed once and not again";
  const found = { broke, faults: [...schedule] };
  if (file === undefined) return { ...searched, found };
  await saveFaults(file, found);
  return { ...searched, found, file };
}
