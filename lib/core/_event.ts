import { type AnyEvent, EVENTS, type Fired } from "./events.ts";
import { freeze } from "./json.ts";
import type { HookEnv } from "./hook.ts";
import type { Message } from "./messages.ts";

/** Gives an event what every event has, and freezes the object itself: hooks share it, none can change it. */
export function stamp(fired: Fired, env: HookEnv): AnyEvent {
  const event = fired as unknown as Record<string, unknown>;
  const { of = env.agent_id } = env.sequence;
  event.event_id = `${of}:${env.sequence.next++}`;
  event.timestamp = iso(env.clock.now());
  event.session_id = env.session_id;
  event.agent_id = env.agent_id;
  if (env.parent_agent_id !== undefined) {
    event.parent_agent_id = env.parent_agent_id;
    if (env.agent_type !== undefined) event.agent_type = env.agent_type;
  }
  event.turn_id = env.turn_id;
  for (const key in event) if (!HISTORY.has(key)) freeze(event[key]);
  return Object.freeze(event) as unknown as AnyEvent;
}

/** What reads the whole history: a getter, which few hooks look at. */
const HISTORY: ReadonlySet<string> = new Set(["turn", "request", "messages"]);

let last = { at: NaN, text: "" };

/** Many events share a millisecond, and the text of one costs more than the rest of its event. */
function iso(at: number): string {
  if (at !== last.at) last = { at, text: new Date(at).toISOString() };
  return last.text;
}

/**
 * The messages from `first` on as they are now, listed when they are first read. A conversation only grows at its end,
 * where its last message may be replaced by a longer one: to remember the length and that message is enough.
 */
export function snapshot(messages: readonly Message[], first = 0): () => readonly Message[] {
  const end = Math.max(first, messages.length - 1);
  const last = messages.slice(end);
  let made: readonly Message[] | undefined;
  return () => made ??= freeze([...messages.slice(first, end), ...last]);
}

/** The event as the next hook sees it: with the subject the hook before has left. */
export function withSubject(event: AnyEvent, value: unknown): AnyEvent {
  const { subject, takes } = EVENTS[event.event];
  if (subject === null) return event;
  const old = (event as unknown as Record<string, unknown>)[subject];
  const merged = freeze(takes === "view" ? { ...old as object, ...value as object } : value);
  const fields = { ...Object.getOwnPropertyDescriptors(event), [subject]: { value: merged, enumerable: true } };
  return Object.freeze(Object.defineProperties({}, fields)) as AnyEvent;
}
