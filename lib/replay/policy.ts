import type { FreeRun } from "./free-run.ts";
import type { TapeOptions } from "./tape-options.ts";

/**
 * What a tape is for: `replay` answers from it and never calls a model; `record` makes a new one; `update` answers from
 * it up to the first difference and records from there; `live` leaves it alone; `verify` runs the tools for real beside
 * a replay and reports what they do otherwise.
 */
export type TapeMode = "replay" | "record" | "update" | "live" | "verify";

/**
 * What becomes of all that comes to a run from outside, if the run is on a tape. Only hooks need no column: they are asked
 * again in every row, as it is their answers that a replay is for.
 */
export interface TapePolicy {
  /** Whether neither a model nor a person is ever asked: what the tape lacks is drift. */
  readonly isOffline: boolean;
  /**
   * What a call of a tool does that is on the tape; the agent is given the recorded result. `serve`: nothing, only the files
   * are changed as they were. `compare`: it runs, and what comes out otherwise is drift. `repeat`: it runs, as what follows
   * may build on what it does. `run`: it runs, and the agent is given what comes of it today.
   */
  readonly calls: "serve" | "compare" | "repeat" | "run";
  readonly writes: boolean;
  /** What falls on replies, tools and hooks. With it whatever is asked is answered, and nothing is compared. */
  readonly mutate?: FreeRun;
}

/** A recording is the renewal of a tape that has nothing yet. */
const WRITES: TapePolicy = { isOffline: false, calls: "repeat", writes: true };

/** `continue` is a recording that takes the replies to equal requests from an earlier run, each once and in order. */
const POLICIES: { readonly [mode in Exclude<TapeMode, "live"> | "continue"]: TapePolicy } = {
  record: WRITES,
  continue: { ...WRITES, calls: "run" },
  update: WRITES,
  replay: { isOffline: true, calls: "serve", writes: false },
  verify: { isOffline: true, calls: "compare", writes: false },
};

/** The policy of a mode; a review has one of a `FreeRun`. */
export function policyOf({ mode = "replay", faults, continues }: TapeOptions): TapePolicy {
  return { ...POLICIES[continues ? "continue" : mode as keyof typeof POLICIES], ...(faults && { mutate: faults }) };
}
