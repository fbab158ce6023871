import type { ModelEvent } from "../../core/model.ts";
import { eventsOf } from "../reply.ts";
import type { Call } from "../tape.ts";

/** A block of a reply, by its meaning. */
export interface NamedBlock {
  /** As a fault names it: `tool_use:Edit#2`. */
  readonly block: string;
  readonly tool: boolean;
  readonly deltas: number;
  /** How many deltas there are up to the last one with a piece of a tool's input: behind it none can be lost. */
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

/** The events of a call's reply; none if it failed. */
export function replyEvents({ attempts, error }: Pick<Call, "attempts" | "error">): readonly ModelEvent[] {
  const last = attempts.at(-1);
  return !last || error || last.ended ? [] : eventsOf(last).events;
}

/** Finds a place in events by a fault's words; undefined if there is none. */
export function placeOf(events: readonly ModelEvent[], block: string, delta: number): FaultPlace | undefined {
  if (block === "end") {
    const end = events.findIndex((event) => event.type === "message_delta" || event.type === "message_stop");
    return end < 0 ? undefined : { at: Math.min(end + Math.min(delta, 1), lastIndex(events)), index: -1 };
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

/** Before the event that ends the reply. */
function lastIndex(events: readonly ModelEvent[]): number {
  return events.findLastIndex((event) => event.type === "message_stop");
}

/** The names of blocks with their numbers; the second of a kind has `#2`. */
function named(events: readonly ModelEvent[]): Map<string, number> {
  const counts = new Map<string, number>();
  const names = new Map<string, number>();
  for (const event of events) {
    if (event.type !== "content_block_start") continue;
    const { type, name } = event.content_block;
    const kind = typeof name === "string" ? `${type}:${name}` : type;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    names.set(count === 1 ? kind : `${kind}#${count}`, event.index);
  }
  return names;
}
