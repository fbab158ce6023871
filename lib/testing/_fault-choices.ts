import type { Fault } from "../tape/fault/fault.ts";
import { MAIN, type Tape } from "../tape/tape.ts";
import { blocksOf, type NamedBlock } from "../tape/fault/fault-place.ts";

/**
 * Every schedule that is one step simpler: without one of its faults, or with one that hits an earlier call, an earlier
 * place, less often, or in a simpler way. A fault keeps its meaning while it moves: in another call it hits the same block.
 */
export function* simplerSchedules(schedule: readonly Fault[], calls: ReturnType<typeof choicesOf>): Generator<Fault[]> {
  if (schedule.length > 1) yield* schedule.map((_, i) => schedule.toSpliced(i, 1));
  for (const [i, fault] of schedule.entries()) {
    for (const simpler of simplerFaults(fault, calls)) yield schedule.with(i, simpler);
  }
}

function* simplerFaults(fault: Fault, calls: ReturnType<typeof choicesOf>): Generator<Fault> {
  const { lane = MAIN, block, delta = 0, what, times = 1 } = fault;
  const call = calls.findIndex(([{ place }]) => (place.lane ?? MAIN) === lane && place.call === fault.call);
  const here = calls[call]?.findIndex(({ place }) => place.block === block) ?? -1;
  if (here < 0) return;
  const takes = (choice: Choice) => choice.what.includes(what);
  const as = (choice: Choice, way: string) => ({
    ...placed(fault, choice.place, Math.min(delta, mostDeltas(choice, way))),
    what: way,
  });
  const at = (choice: Choice) => as(choice, takes(choice) ? what : choice.what[0]!);
  for (const earlier of below(call)) {
    const there = calls[earlier]!;
    yield at(there.find((choice) => choice.place.block === block) ?? there.find(takes) ?? there[0]);
  }
  yield* calls[call]!.slice(0, here).map(at);
  const ways = [...new Set(calls[call]![here]!.what)];
  for (const way of ways.slice(0, ways.indexOf(what))) yield as(calls[call]![here]!, way);
  for (const fewer of [1, 2, 3].filter((count) => count < times)) yield often(fault, fewer);
  for (const fewer of below(delta)) yield placed(fault, fault, fewer);
}

/** Numbers below another: none, half of it, and so on up to the one before. */
function below(number: number): number[] {
  const found: number[] = [];
  for (let step = number; step >= 1; step = Math.floor(step / 2)) found.push(number - step);
  return found;
}

function placed({ what, times }: Fault, { lane, call, block }: Choice["place"], delta: number): Fault {
  return {
    ...(lane !== undefined && { lane }),
    call,
    ...(block !== undefined && { block }),
    ...(delta > 0 && { delta }),
    what,
    ...(times !== undefined && { times }),
  };
}

function often({ times: _, ...fault }: Fault, times: number): Fault {
  return times > 1 ? { ...fault, times } : fault;
}

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
