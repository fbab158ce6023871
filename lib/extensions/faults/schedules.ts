import type { Arbitrary, Random, Stream, Value } from "fast-check";
import { countUp } from "../../core/maps.ts";
import { blocksOf, type Fault, FAULTS, faultText } from "./fault.ts";
import type { Observed } from "../../replay/invariants.ts";
import type { UsedPlace } from "./seam-faults.ts";
import { usedBy } from "./under-faults.ts";
import { expectTape, MAIN, type Tape } from "../../log/tape.ts";
import { fastCheck } from "../../testing/fast-check.ts";

/**
 * Schedules of faults over a recorded run, as an arbitrary of fast-check: one to four faults, each anywhere in any reply;
 * with `seen`, the `observed` of `underFaults(agent, tape, [])`, also on the tools, hooks and MCP servers that the run
 * used, and on its process. A counter-example shrinks to fewer faults, earlier calls and simpler places.
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
export function faults(tape: Tape, seen?: Observed): Arbitrary<readonly Fault[]> {
  return schedules(tape, seen ? usedBy(seen) : [], 1);
}

/** Schedules of so many faults and more, on a tape and on what its run used. */
export function schedules(tape: Tape, used: readonly UsedPlace[], least: number): Arbitrary<readonly Fault[]> {
  expectTape(tape, "schedule faults");
  const fc = fastCheck();
  const kinds = kindsOf(tape, used);
  const calls = kinds.flat();
  const number = fc.nat({ max: 9_999 });
  const fault = fc.tuple(number, number, number, number, fc.nat({ max: 4 })).map(([c, p, d, w, t]): Fault => {
    const kind = kinds[c % kinds.length]!;
    const places = kind[Math.floor(c / kinds.length) % kind.length]!;
    const choice = places[p % places.length]!;
    const what = choice.what[w % choice.what.length]!;
    const delta = d % (mostDeltas(choice, what) + 1);
    return {
      ...choice.place,
      ...(delta > 0 && { delta }),
      what,
      ...(t > 0 && !choice.once && { times: t === 4 ? Infinity : t + 1 }),
    };
  });
  const some = fc.array(fault, { minLength: least, maxLength: 4 });
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

/** What can happen, apart by what it falls on: what there is most of must not hide the rest. */
function kindsOf(tape: Tape, used: readonly UsedPlace[]): [Choice, ...Choice[]][][] {
  const replies = choicesOf(tape);
  if (replies.length === 0) throw new TypeError("Cannot schedule faults as the tape has no calls");
  return [replies, ...ON.map((on) => seamChoices(used.filter((one) => one.on === on)))]
    .filter(({ length }) => length > 0);
}

/**
 * Every single fault: each kind of fault of a reply once in each call, of what loses a part of it once in each block, and
 * each kind of the rest at each use. The more telling come first, taking turns by what they fall on; of equal ones the
 * seed decides, as a search may not get through all.
 */
export function singleFaults(tape: Tape, used: readonly UsedPlace[], seed: number): Fault[] {
  const fc = fastCheck();
  const shuffled = (faults: readonly Fault[]) =>
    fc.sample(fc.shuffledSubarray([...faults], { minLength: faults.length }), { seed, numRuns: 1 })[0]!;
  const queues = kindsOf(tape, used).map((kind) => {
    const ranked = kind.flatMap(singlesOf);
    const ranks = [...new Set(ranked.map(({ rank }) => rank))].sort((a, b) => a - b);
    return ranks.flatMap((rank) => shuffled(ranked.filter((one) => one.rank === rank).map(({ fault }) => fault)));
  });
  const longest = Math.max(...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => queues.flatMap((queue) => queue[i] ?? [])).flat();
}

/** What is tried alone in a call, or at a use of something; a lower rank comes first. */
function singlesOf(places: readonly [Choice, ...Choice[]]): { readonly fault: Fault; readonly rank: number }[] {
  const [first] = places;
  if (first.place.on !== undefined) return first.what.map((what, rank) => ({ fault: { ...first.place, what }, rank }));
  const blocks = places.filter(({ place: { block } }) => block !== undefined && block !== "end");
  const middle = (choice: Choice, what: string): Fault => {
    const delta = Math.ceil(mostDeltas(choice, what) / 2);
    return { ...choice.place, ...(delta > 0 && { delta }), what };
  };
  const inBlock = blocks.flatMap((block) => {
    const input = block.what === TOOL ? [middle(block, "json truncate"), middle(block, "json drop")] : [];
    const none = block.what === TOOL ? [{ ...block.place, what: "json truncate" }] : [];
    return [...input, ...none, middle(block, "cut"), middle(block, "stop:max_tokens")];
  });
  const before = [{ ...first.place, what: "http:529", times: Infinity }, { ...first.place, what: "http:400" }];
  const last = blocks.at(-1);
  const ending = last ? ["error:overloaded_error", "stall", "stop:refusal", "unknown-block", "dup-start", "gap"] : [];
  const rest = [
    ...["http:529", "reset"].map((what) => ({ ...first.place, what })),
    ...ending.map((what) => middle(last!, what)),
    ...(last ? [{ ...first.place, block: "end", what: "cut" }] : []),
  ];
  return [
    ...[...inBlock, ...before].map((fault) => ({ fault, rank: 0 })),
    ...rest.map((fault) => ({ fault, rank: 1 })),
  ];
}

/** A schedule that fast-check prints as a person would write it. */
function shown(fc: typeof import("fast-check"), schedule: Fault[]): readonly Fault[] {
  return Object.defineProperty(schedule, fc.toStringMethod, {
    value: () => `[${schedule.map((fault) => JSON.stringify(faultText(fault))).join(", ")}]`,
  });
}

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
  const { lane = MAIN, on, name, block, delta = 0, what, times = 1 } = fault;
  const call = calls.findIndex(([{ place }]) =>
    (place.lane ?? MAIN) === lane && place.on === on && place.name === name && place.call === fault.call
  );
  const here = calls[call]?.findIndex(({ place }) => place.block === block) ?? -1;
  if (here < 0) return;
  const takes = (choice: Choice) => choice.what.includes(what);
  const as = (choice: Choice, way: string) => ({
    ...placed(choice.once ? often(fault, 1) : fault, choice.place, Math.min(delta, mostDeltas(choice, way))),
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
  // Of several hits in a row a later one may be all that is needed.
  if (on !== undefined && times > 1) {
    const later = calls.slice(call + 1).filter(([{ place }]) => place.on === on && place.name === name);
    for (const [choice] of later.slice(0, times - 1)) yield placed(often(fault, 1), choice.place, 0);
  }
  const { place } = calls[call]![here]!;
  for (const fewer of below(delta)) yield placed(fault, place, fewer);
}

/** Numbers below another: none, half of it, and so on up to the one before. */
function below(number: number): number[] {
  const found: number[] = [];
  for (let step = number; step >= 1; step = Math.floor(step / 2)) found.push(number - step);
  return found;
}

function placed({ what, times }: Fault, place: Choice["place"], delta: number): Fault {
  return { ...place, ...(delta > 0 && { delta }), what, ...(times !== undefined && { times }) };
}

function often({ times: _, ...fault }: Fault, times: number): Fault {
  return times > 1 ? { ...fault, times } : fault;
}

/** Where faults can fall on one call, and which: the simplest first, as what is found is made simpler by going there. */
interface Choice {
  readonly place: Pick<Fault, "lane" | "on" | "name" | "call" | "block">;
  /** How many deltas the place has, and how many up to the last piece of a tool's input. */
  readonly deltas: number;
  readonly input: number;
  readonly what: readonly string[];
  /** Whether it cannot hit several times in a row. */
  readonly once?: true;
}

/** How many deltas may come before a fault at a place: what loses input must leave some of it to lose. */
function mostDeltas({ deltas, input }: Choice, what: string): number {
  return what.startsWith("json ") ? input - 1 : deltas;
}

const ANYWHERE = ["cut", "reset", "stall", "error:overloaded_error", "error:api_error", "error:invalid_request_error"];
const BEFORE = [...ANYWHERE, "http:529", "http:429:retry-after=2", "http:500", "http:503", "http:400", "dup-start"];
const END = [...ANYWHERE, "stop:max_tokens", "stop:refusal", "stop:pause_turn", "stop:model_context_window_exceeded"];
const BLOCK = [...END, "dup-start", "gap", "unknown-block"];
/** More often than one of many: what is done with half an input is what hurts. */
const TOOL = ["json truncate", "json drop", "json truncate", "json drop", "unknown-block", ...BLOCK];

/** For each call of a tape, all that can happen to it. */
export function choicesOf({ calls }: Tape): [Choice, ...Choice[]][] {
  const counts = new Map<string, number>();
  return calls.map((call) => {
    const number = countUp(counts, call.lane);
    const of = { ...(call.lane !== MAIN && { lane: call.lane }), call: number };
    const blocks = blocksOf(call);
    const within = blocks.map(({ block, deltas, input }) => {
      return { place: { ...of, block }, deltas, input, what: input > 0 ? TOOL : BLOCK };
    });
    const end = { place: { ...of, block: "end" }, deltas: 1, input: 0, what: END };
    return [{ place: of, deltas: 0, input: 0, what: BEFORE }, ...within, ...(blocks.length > 0 ? [end] : [])];
  });
}

/** What can happen beside replies, by what it falls on. */
const ON = ["tool", "hook", "mcp", "message"] as const;

/** For each use of a tool, hook or server in a run without faults, and for each of its messages, all that can happen there. */
function seamChoices(used: readonly UsedPlace[]): [Choice, ...Choice[]][] {
  return used.flatMap(({ count, ...place }) =>
    Array.from({ length: Math.max(0, count) }, (_, i): [Choice] => {
      const { on } = place;
      const at = { place: { ...place, call: on === "mcp" ? i : i + 1 }, deltas: 0, input: 0 };
      const what = Object.entries(FAULTS).flatMap(([kind, { places }]) => places.includes(on) ? [kind] : []);
      return [{ ...at, what, ...((on === "mcp" || on === "message") && { once: true }) }];
    })
  );
}
