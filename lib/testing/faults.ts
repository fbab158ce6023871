import type { Arbitrary, Random, Stream, Value } from "fast-check";
import { choicesOf, mostDeltas, simplerSchedules } from "./_fault-choices.ts";
import type { Cuts } from "../tape/cuts.ts";
import { expectTape, type Tape } from "../tape/tape.ts";
import { frameOf } from "../tape/frames.ts";
import { type Fault, faultText } from "../tape/fault/fault.ts";
import { fastCheck } from "./arbitraries/fast-check.ts";

/**
 * Schedules of faults over a recorded run, as an arbitrary of fast-check: one to four faults, each anywhere in any reply.
 * A counter-example shrinks to fewer faults, earlier calls and simpler places.
 *
 * @example
 * ```ts
 * import fc from "fast-check";
 * import { agent } from "crochet";
 * import { faults, importRecording, underFaults } from "crochet/testing";
 *
 * const message = { id: "m", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "hello" }] };
 * const answer = JSON.stringify({ ...message, stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } });
 * const { tape } = await importRecording(new TextEncoder().encode(answer), "hello.json");
 * await fc.assert(
 *   fc.asyncProperty(faults(tape), async (schedule) => (await underFaults(agent({}), tape, schedule)).broken.length === 0),
 *   { numRuns: 20 },
 * );
 * ```
 */
export function faults(tape: Tape): Arbitrary<readonly Fault[]> {
  expectTape(tape, "schedule faults");
  const fc = fastCheck();
  const calls = choicesOf(tape);
  if (calls.length === 0) throw new TypeError("Cannot schedule faults as the tape has no calls");
  const number = fc.nat({ max: 9_999 });
  const fault = fc.tuple(number, number, number, number, fc.nat({ max: 4 })).map(([c, p, d, w, t]): Fault => {
    const places = calls[c % calls.length]!;
    const choice = places[p % places.length]!;
    const what = choice.what[w % choice.what.length]!;
    const delta = d % (mostDeltas(choice, what) + 1);
    return {
      ...choice.place,
      ...(delta > 0 && { delta }),
      what,
      ...(t > 0 && { times: t === 4 ? Infinity : t + 1 }),
    };
  });
  const some = fc.array(fault, { minLength: 1, maxLength: 4 });
  // Made simpler by what faults mean: of the numbers they are drawn from, smaller ones are not simpler.
  const Schedules = class extends fc.Arbitrary<readonly Fault[]> {
    override generate(random: Random, bias: number | undefined): Value<readonly Fault[]> {
      return new fc.Value(shown(fc, some.generate(random, bias).value), undefined);
    }
    override canShrinkWithoutContext(value: unknown): value is readonly Fault[] {
      return Array.isArray(value);
    }
    override shrink(schedule: readonly Fault[]): Stream<Value<readonly Fault[]>> {
      return fc.stream(simplerSchedules(schedule, calls)).map((simpler) => new fc.Value(shown(fc, simpler), undefined));
    }
  };
  return new Schedules();
}

/** A schedule that fast-check prints as a person would write it. */
function shown(fc: typeof import("fast-check"), schedule: Fault[]): readonly Fault[] {
  return Object.defineProperty(schedule, fc.toStringMethod, {
    value: () => `[${schedule.map((fault) => JSON.stringify(faultText(fault))).join(", ")}]`,
  });
}

/**
 * Ways to cut a tape's streams into pieces on the wire, also inside a character, as an arbitrary of fast-check: give
 * one to a replay as `cutAt`. No way may change what the agent sees.
 *
 * @example
 * ```ts
 * import fc from "fast-check";
 * import { importRecording, rechunk } from "crochet/testing";
 *
 * const answer = '{"type":"message","id":"m","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","usage":{}}';
 * const { tape } = await importRecording(new TextEncoder().encode(answer), "hello.json");
 * console.log(fc.sample(rechunk(tape), 3).length);
 * ```
 */
export function rechunk(tape: Tape): Arbitrary<Cuts> {
  expectTape(tape, "cut its streams");
  const fc = fastCheck();
  const longest = Math.max(
    2,
    ...tape.calls.flatMap(({ attempts }) =>
      attempts.map(({ events = [] }) => new TextEncoder().encode(events.map(frameOf).join("")).length)
    ),
  );
  const positions = fc.uniqueArray(fc.integer({ min: 1, max: longest - 1 }), { minLength: 1, maxLength: 60 });
  return fc.oneof(
    fc.integer({ min: 1, max: 21 }),
    positions.map((at) =>
      Object.defineProperty(() => at, fc.toStringMethod, { value: () => `cut at ${at.join(", ")}` })
    ),
  );
}
