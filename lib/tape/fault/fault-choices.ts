import { type Fault } from "./fault.ts";
import { blocksOf, type NamedBlock } from "./_fault-place.ts";
import { MAIN, type Tape } from "../tape.ts";

/** Where faults can fall on one call, and which: the simplest first, as what is found is made simpler by going there. */
export interface Choice {
  readonly place: Pick<Fault, "lane" | "call" | "block">;
  /** How many deltas the place has, and how many up to the last piece of a tool's input. */
  readonly deltas: number;
  readonly input: number;
  readonly what: readonly string[];
}

/** How many deltas may come before a fault at a place: what loses input must leave some of it to lose. */
export function mostDeltas({ deltas, input }: Choice, what: string): number {
  return what.startsWith("json ") ? input - 1 : deltas;
}

const ANYWHERE = ["cut", "reset", "stall", "error:overloaded_error", "error:api_error", "error:invalid_request_error"];
const BEFORE = [
  ...ANYWHERE,
  "http:529",
  "http:429:retry-after=2",
  "http:500",
  "http:503",
  "http:400",
  "dup-start",
];
const END = [...ANYWHERE, "stop:max_tokens", "stop:refusal", "stop:pause_turn", "stop:model_context_window_exceeded"];
const BLOCK = [...END, "dup-start", "gap", "unknown-block"];
/** More often than one of many: what is done with half an input is what hurts. */
const TOOL = ["json truncate", "json drop", "json truncate", "json drop", "unknown-block", ...BLOCK];

/** For each call of a tape, all that can happen to it. */
export function choicesOf({ calls }: Tape): [Choice, ...Choice[]][] {
  const counts = new Map<string, number>();
  return calls.map((call) => {
    const number = (counts.get(call.lane) ?? 0) + 1;
    counts.set(call.lane, number);
    const of = { ...(call.lane !== MAIN && { lane: call.lane }), call: number };
    const blocks = blocksOf(call);
    const within = blocks.map(({ block, deltas, input }: NamedBlock) => ({
      place: { ...of, block },
      deltas,
      input,
      what: input > 0 ? TOOL : BLOCK,
    }));
    const end = { place: { ...of, block: "end" }, deltas: 1, input: 0, what: END };
    return [{ place: of, deltas: 0, input: 0, what: BEFORE }, ...within, ...(blocks.length > 0 ? [end] : [])];
  });
}
