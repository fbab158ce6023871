import { present } from "../../core/json.ts";
import { countUp } from "../../core/maps.ts";
import type { ModelEvent } from "../../core/model.ts";
import { nearest } from "../../input/nearest.ts";
import { shown } from "../../core/shown.ts";
import { replyEvents } from "../../replay/free-run.ts";
import { type Call, MAIN, type Tape } from "../../log/tape.ts";

/**
 * One thing that goes wrong in a recorded run, placed by what it hits and not by bytes, so that it stays where it is
 * when the run is recorded again. Written `call 2, tool_use:Edit, delta 3: cut`, `tool 2, Edit: throws`,
 * `hook stop.tests-pass.ts, 1: crash`, `mcp files: gone after 2` or `kill after message 4`.
 */
export interface Fault {
  /** @default "main" */
  readonly lane?: string;
  /** What it hits: a run of a tool, a hook, an MCP server, or the process after a message. @default a reply of the model */
  readonly on?: "tool" | "hook" | "mcp" | "message";
  readonly name?: string;
  /**
   * The number of what it hits, from 1: of a call in its lane, of a run of the tool in its lane, of an event the hook is
   * asked about. For `mcp` and `message`: how many calls or messages come before it.
   */
  readonly call: number;
  /**
   * A block of the reply: its type, with the name of a tool and which of several: `text`, `tool_use:Edit`,
   * `tool_use:Edit#2`; or `end`, after the last block. Absent: before the reply begins.
   */
  readonly block?: string;
  /** How many deltas of the block come before it. @default 0 */
  readonly delta?: number;
  /** What goes wrong, for example `cut`, `error:overloaded_error`, `http:429:retry-after=2` or `json truncate`. */
  readonly what: string;
  /** How many attempts in a row it hits; `Infinity` is for good. @default 1 */
  readonly times?: number;
}

/** Where something can go wrong, in words. */
const PLACES = {
  before: "before the reply",
  block: "in a block",
  input: "in the input of a tool",
  end: "at the end",
  tool: "when a tool runs",
  hook: "when a hook is asked",
  mcp: "between calls of an MCP server",
  message: "after a message",
} as const;

interface FaultRow {
  readonly about: string;
  readonly places: readonly (keyof typeof PLACES)[];
  /** Whether it makes an attempt fail, which is then repeated; otherwise it changes the reply. */
  readonly fails?: true;
  readonly argument?: RegExp;
}

/** What can go wrong, and where that can be. */
const ROWS = {
  cut: { about: "the stream ends", places: ["before", "block", "end"], fails: true },
  reset: { about: "the connection breaks", places: ["before", "block", "end"], fails: true },
  stall: { about: "nothing comes any more", places: ["before", "block", "end"], fails: true },
  error: {
    about: "an error comes in the stream, as error:overloaded_error",
    places: ["before", "block", "end"],
    fails: true,
    argument: /^[a-z_]+$/,
  },
  http: {
    about: "the API answers with a status, as http:529 or http:429:retry-after=2",
    places: ["before"],
    fails: true,
    argument: /^[45]\d\d(:retry-after=\d+(\.\d+)?)?$/,
  },
  "dup-start": { about: "a block or the message is started twice", places: ["before", "block"], fails: true },
  "json drop": { about: "a piece of a tool's input is lost", places: ["input"] },
  "json truncate": { about: "a tool's input ends early", places: ["input"] },
  gap: { about: "the numbers of blocks leave one out", places: ["block"] },
  "unknown-block": { about: "a block of an unknown kind comes in between", places: ["block"] },
  stop: {
    about: "the reply ends there with a stop reason, as stop:max_tokens",
    places: ["block", "end"],
    argument: /^[a-z_]+$/,
  },
  throws: { about: "the tool throws", places: ["tool"] },
  "fails after it worked": { about: "the tool does its work, and fails: its result is lost", places: ["tool"] },
  kill: {
    about: "the process is killed, in a tool once that has done its work, and the run is resumed in another",
    places: ["message", "tool"],
  },
  "never ends": {
    about: "the tool runs until the run's time is up or, without a limit, a person interrupts it",
    places: ["tool"],
  },
  ENOSPC: { about: "the tool finds the disk full", places: ["tool"] },
  huge: { about: "the tool's result is 2 MB long", places: ["tool"] },
  crash: { about: "the hook crashes", places: ["hook"] },
  timeout: { about: "the hook takes too long", places: ["hook"] },
  nonsense: { about: "the hook's answer is unusable", places: ["hook"] },
  gone: { about: "the server answers no more calls", places: ["mcp"] },
} as const satisfies { readonly [kind: string]: FaultRow };

export type FaultKind = keyof typeof ROWS;
export type FailingKind = { [K in FaultKind]: (typeof ROWS)[K] extends { fails: true } ? K : never }[FaultKind];

/** What can go wrong at a place. */
export type KindAt<P extends keyof typeof PLACES> = {
  [K in FaultKind]: P extends (typeof ROWS)[K]["places"][number] ? K : never;
}[FaultKind];

export const FAULTS: { readonly [K in FaultKind]: FaultRow } = ROWS;

/** The kind of a fault that was checked, of those that its caller lets through, and its argument. */
export function kindOf<K extends FaultKind = FaultKind>({ what }: Fault): { kind: K; argument: string } {
  const [, kind, argument = ""] = /^([^:]*):?(.*)$/s.exec(what)!;
  return { kind: kind as K, argument };
}

/**
 * A fault as a person reads it.
 *
 * @example
 * ```ts
 * import { faultText, readFault } from "crochet/testing";
 *
 * const text = faultText({ call: 2, block: "tool_use:Edit", delta: 3, what: "cut" });
 * console.log(text, readFault(text).delta); // call 2, tool_use:Edit, delta 3: cut 3
 * ```
 */
export function faultText({ lane, on, name, call, block, delta, what, times }: Fault): string {
  const of = lane === undefined || lane === MAIN ? "" : ` of ${lane}`;
  const often = times === undefined || times <= 1 ? "" : times === Infinity ? " for good" : ` x${times}`;
  if (on === "tool") return `tool ${call}${of}, ${name}: ${what}${often}`;
  if (on === "hook") return `hook ${name}, ${call}: ${what}${often}`;
  if (on === "mcp") return `mcp ${name}: ${what} after ${call}`;
  if (on === "message") return `${what} after message ${call}`;
  const place = [`call ${call}${of}`, ...(block === undefined ? [] : [block]), ...(delta ? [`delta ${delta}`] : [])];
  return `${place.join(", ")}: ${what}${often}`;
}

/** The forms of a fault, each with the groups of its fields. */
const FORMS = [
  /^call (?<call>\d+)(?: of (?<lane>[^,]+?))?(?:, (?!delta )(?<block>[^,:]+(?::[^,:]+)?))?(?:, delta (?<delta>\d+))?: (?<what>.+?)(?: x(?<times>\d+)| (?<forGood>for good))?$/,
  /^(?<on>tool) (?<call>\d+)(?: of (?<lane>[^,]+?))?, (?<name>[^:]+): (?<what>.+?)(?: x(?<times>\d+)| (?<forGood>for good))?$/,
  /^(?<on>hook) (?<name>.+), (?<call>\d+): (?<what>.+?)(?: x(?<times>\d+)| (?<forGood>for good))?$/,
  /^(?<on>mcp) (?<name>.+): (?<what>.+) after (?<call>\d+)$/,
  /^(?<what>.+) after (?<on>message) (?<call>\d+)$/,
];

/** Reads a fault as `faultText` writes it. @throws {TypeError} if it is not a fault */
export function readFault(text: string): Fault {
  const found = FORMS.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (!found) {
    throw new TypeError(
      `Cannot read fault '${text}' as it is not in the form 'call 2, tool_use:Edit, delta 3: cut' or 'tool 2, Edit: throws'`,
    );
  }
  const { lane, on, name, call, block, delta, what, times, forGood } = found;
  const fault: Fault = present({
    ...{ lane, on: on as Fault["on"], name, call: Number(call), block, what: what! },
    delta: Number(delta ?? 0) || undefined,
    times: forGood !== undefined ? Infinity : times === undefined ? undefined : Number(times),
  });
  checkFault(fault);
  return fault;
}

/** @throws {TypeError} if there is no such fault, or it cannot happen at its place */
export function checkFault(fault: Fault): void {
  if (typeof fault?.what !== "string") {
    const fix = `give { call: 1, what: "cut" }, or readFault("call 1: cut")`;
    throw new TypeError(`Cannot use fault ${shown(fault)} as it has no 'what': ${fix}`);
  }
  const { kind, argument } = kindOf(fault);
  const known = Object.hasOwn(FAULTS, kind) ? FAULTS[kind] : undefined;
  const refuse = (why: string) => new TypeError(`Cannot use fault '${faultText(fault)}' as ${why}`);
  if (!known) throw refuse(`there is no '${kind}': did you mean '${nearest(kind, Object.keys(FAULTS))}'?`);
  if (known.argument ? !known.argument.test(argument) : argument !== "") {
    throw refuse(`'${fault.what}' is not how '${kind}' is written: ${known.about}`);
  }
  const { on, block } = fault;
  const place = on ?? (block === undefined ? "before" : block === "end" ? "end" : "block");
  const there = known.places.includes(place) ||
    (known.places.includes("input") && /^\w*tool_use(:|#|$)/.test(block ?? ""));
  if (!there) throw refuse(`'${kind}' can only happen ${known.places.map((where) => PLACES[where]).join(" or ")}`);
  if (!(Number.isInteger(fault.call) && fault.call >= (on === "mcp" ? 0 : 1))) throw refuse("calls are counted from 1");
  if ((on === undefined || on === "message") !== (fault.name === undefined)) {
    throw refuse("only a tool, a hook or an MCP server is hit by its 'name'");
  }
}

/** Schedules for what happens most, over all calls of a tape. */
export const PRESETS: { readonly [name: string]: (tape: Tape) => readonly Fault[] } = {
  /** Every call is first answered with 529. */
  overloaded: (tape) => eachCall(tape, () => [{ what: "http:529" }]),
  /** Every call is twice answered with 429 and has to wait. */
  "rate-limited": (tape) => eachCall(tape, () => [{ what: "http:429:retry-after=2", times: 2 }]),
  /** Every reply breaks off once in the middle of its first block. */
  flaky: (tape) => eachCall(tape, ([first]) => first ? [{ block: first.block, delta: 1, what: "cut" }] : []),
  /** Every reply lacks its end once. */
  unfinished: (tape) => eachCall(tape, ([first]) => first ? [{ block: "end", delta: 1, what: "cut" }] : []),
  /** Every reply falls silent once. */
  silent: (tape) => eachCall(tape, ([first]) => first ? [{ block: first.block, what: "stall" }] : []),
  /** The input of every tool call ends early. */
  "bad-json": (tape) => eachTool(tape, { what: "json truncate" }, ({ input }) => input > 0),
  /** The output limit ends every reply in its tool call. */
  "out-of-tokens": (tape) => eachTool(tape, { delta: 1, what: "stop:max_tokens" }),
  /** The API is overloaded for good. */
  down: (tape) => eachCall(tape, () => [{ what: "http:529", times: Infinity }]),
};

type Placed = Omit<Fault, "lane" | "call">;

function eachCall({ calls }: Tape, faults: (blocks: readonly NamedBlock[]) => readonly Placed[]): Fault[] {
  const counts = new Map<string, number>();
  return calls.flatMap((call) => {
    const { lane } = call;
    const number = countUp(counts, lane);
    return faults(blocksOf(call)).map((fault) => ({ ...(lane !== MAIN && { lane }), call: number, ...fault }));
  });
}

function eachTool(tape: Tape, fault: Placed, hits: (block: NamedBlock) => boolean = ({ tool }) => tool): Fault[] {
  return eachCall(tape, (blocks) => blocks.filter(hits).map(({ block }) => ({ block, ...fault })));
}

export interface NamedBlock {
  /** As a fault names it: `tool_use:Edit#2`. */
  readonly block: string;
  readonly tool: boolean;
  readonly deltas: number;
  /** How many deltas there are up to the last one with a piece of a tool's input: after it, no input can be lost. */
  readonly input: number;
}

/** What a fault hits: where the events before it end, and the number of its block. */
export interface FaultPlace {
  readonly at: number;
  readonly index: number;
}

/** The blocks of a call's reply; none if it has no reply. */
export function blocksOf(call: Pick<Call, "attempts" | "error">): NamedBlock[] {
  const events = replyEvents(call);
  return [...named(events)].map(([block, index]) => {
    const deltas = events.filter((event) => event.type === "content_block_delta" && event.index === index);
    return {
      block,
      tool: /^\w*tool_use(:|#|$)/.test(block),
      deltas: deltas.length,
      input: deltas.findLastIndex(isInput) + 1,
    };
  });
}

/** Whether an event brings a piece of a tool's input. */
export function isInput(event: ModelEvent): boolean {
  return event.type === "content_block_delta" && event.delta.type === "input_json_delta" &&
    event.delta.partial_json !== "";
}

/** Finds a place in events by a fault's words; undefined if there is none. */
export function placeOf(events: readonly ModelEvent[], block: string, delta: number): FaultPlace | undefined {
  if (block === "end") {
    const end = events.findIndex((event) => event.type === "message_delta" || event.type === "message_stop");
    const stop = events.findLastIndex((event) => event.type === "message_stop");
    return end < 0 ? undefined : { at: Math.min(end + Math.min(delta, 1), stop), index: -1 };
  }
  const index = named(events).get(block);
  if (index === undefined) return undefined;
  const start = events.findIndex((event) => event.type === "content_block_start" && event.index === index);
  let at = start + 1;
  for (let seen = 0; seen < delta && at < events.length; at++) {
    const event = events[at]!;
    if (event.type === "content_block_stop" && event.index === index) break;
    if (event.type === "content_block_delta" && event.index === index) seen++;
  }
  return { at, index };
}

/** The names of blocks with their numbers; the second of a kind has `#2`. */
function named(events: readonly ModelEvent[]): Map<string, number> {
  const counts = new Map<string, number>();
  const names = new Map<string, number>();
  for (const event of events) {
    if (event.type !== "content_block_start") continue;
    const { type, name } = event.content_block;
    const kind = typeof name === "string" ? `${type}:${name}` : type;
    const count = countUp(counts, kind);
    names.set(count === 1 ? kind : `${kind}#${count}`, event.index);
  }
  return names;
}
