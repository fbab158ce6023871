import { type AnyEvent, type EventName, EVENTS, type Fired } from "./events.ts";
import type { HookEnv } from "./hook.ts";

/** Gives an event what every event has and freezes it: hooks share it, none can change it. */
export function stamp(fired: Fired<EventName>, env: HookEnv): AnyEvent {
  const at = env.clock.now();
  const event = {
    event_id: `${env.session_id}:${env.sequence.next++}`,
    get timestamp() {
      return new Date(at).toISOString();
    },
    session_id: env.session_id,
    agent_id: env.agent_id,
    ...(env.parent_agent_id !== undefined && { parent_agent_id: env.parent_agent_id }),
    turn_id: env.turn_id,
  };
  return freeze(Object.defineProperties(event, Object.getOwnPropertyDescriptors(fired))) as unknown as AnyEvent;
}

/** The event as the next hook sees it: with the subject the hook before has left. */
export function withSubject(event: AnyEvent, value: unknown): AnyEvent {
  const subject = EVENTS[event.event].subject;
  if (subject === null) return event;
  const old = (event as unknown as Record<string, unknown>)[subject];
  const merged = isView(event.event) ? { ...(old as object), ...(value as object) } : value;
  return freeze(
    Object.defineProperties({}, {
      ...Object.getOwnPropertyDescriptors(event),
      [subject]: { value: merged, enumerable: true },
    }),
  ) as AnyEvent;
}

/** Subjects of several optional parts, of which a hook changes only those it names. */
export function isView(event: EventName): boolean {
  return event === "turn-start" || event === "iteration";
}

/** A copy of frozen data that can be changed: what is given to a tool is its own. Strings and the like are shared. */
export function thaw<T>(value: T): T {
  if (typeof value !== "object" || value === null || !Object.isFrozen(value)) return value;
  if (Array.isArray(value)) return value.map(thaw) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, thaw(v)])) as T;
}

/** Freezes plain data all the way down; stops at what is frozen already, so shared parts are walked once. */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const proto = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== Array.prototype && proto !== null) return value;
  Object.freeze(value);
  for (const descriptor of Object.values(Object.getOwnPropertyDescriptors(value))) {
    if ("value" in descriptor) freeze(descriptor.value);
  }
  return value;
}
