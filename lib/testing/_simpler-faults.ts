import type { Fault } from "../tape/fault/fault.ts";
import { type Choice, type choicesOf, mostDeltas } from "../tape/fault/fault-choices.ts";
import { MAIN } from "../tape/tape.ts";

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
