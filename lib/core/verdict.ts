import { type EventName, type EventRow, EVENTS, type Subjects } from "./events.ts";
import { isObject, type JsonObject } from "./json.ts";
import { pascal } from "./names.ts";
import { shown } from "./shown.ts";

/** What any verdict may carry beside its action. */
interface Beside {
  readonly reason?: string;
  /** Text for the model; it goes where the event's contexts go. */
  readonly context?: string;
  /** Text for the person, never for the model. */
  readonly systemMessage?: string;
}

export type Continue = Beside & { readonly action: "continue" };
export type Allow = Beside & { readonly action: "allow" };
export type Deny = Beside & { readonly action: "deny" };
export type Ask = Beside & { readonly action: "ask" };
export type Halt = Beside & { readonly action: "halt" };
export type Modify<T> = Beside & { readonly action: "modify"; readonly value: T };

type Row<N extends EventName> = (typeof EVENTS)[N];

/** The verdicts an event can take: a denial of what only observes, or a change of what has no subject, does not compile. */
export type Verdict<N extends EventName = EventName> = {
  [K in N]:
    | Continue
    | Allow
    | Halt
    | (Row<K>["deny"] extends "ignored" ? never : Deny)
    | (Row<K>["ask"] extends true ? Ask : never)
    | (K extends keyof Subjects ? Modify<Subjects[K]> : never);
}[N];

/** The stop hook's own spelling: `continue` means go on working, for this reason. */
export interface StopDecision {
  readonly continue: boolean;
  readonly reason?: string;
}

/** The three answers of the first design, as plain values. */
export type HookAction<N extends EventName = EventName> =
  | "Continue"
  | { readonly Block: string }
  | (N extends keyof Subjects ? { readonly Transform: Subjects[N] } : never);

/** Everything a module hook or a function may answer. */
export type Answer<N extends EventName = EventName> =
  | Verdict<N>
  | (N extends "stop" ? StopDecision : never)
  | (Row<N>["deny"] extends "ignored" ? "Continue" : HookAction<N>)
  | void
  | undefined
  | null;

/** Lets the thing happen without asking a person; no rule of deny or ask is overridden by it. */
export function allow(reason?: string): Allow {
  return reason === undefined ? { action: "allow" } : { action: "allow", reason };
}

/** Refuses. What that prevents depends on the event. */
export function deny(reason: string): Deny {
  return { action: "deny", reason };
}

/** The stop hook's spelling of `deny`: the agent goes on, and reads the reason. */
export function keepGoing(reason: string): Deny {
  return { action: "deny", reason };
}

/** Replaces the event's whole subject. */
export function modify<T>(value: T): Modify<T> {
  return { action: "modify", value };
}

/** Has a person asked whether what the hook is asked about may go on. */
export function ask(reason?: string): Ask {
  return reason === undefined ? { action: "ask" } : { action: "ask", reason };
}

/** Gives the model something to read, and no opinion. */
export function context(text: string): Continue {
  return { action: "continue", context: text };
}

/** Ends the agent quietly after the calls of the current reply are answered; a call that it is said about is refused. */
export function halt(reason?: string): Halt {
  return reason === undefined ? { action: "halt" } : { action: "halt", reason };
}

/**
 * What one hook said, taken apart: a decision and, beside it, everything that holds whatever the decision is.
 * All dialects are read into this one form.
 */
export interface Opinion {
  readonly decision?: "allow" | "deny" | "ask";
  readonly reason?: string;
  /** The exact words for the model, if a dialect sets them. */
  readonly text?: string;
  readonly value?: { readonly to: unknown };
  readonly halt?: string;
  readonly abort?: string;
  readonly contexts?: readonly HookText[];
  readonly systemMessage?: string;
  /** What a hook that went on in the background says once it has ended; it never rejects. */
  readonly later?: Promise<readonly HookText[]>;
}

/**
 * A text for the model. A `label` marks it as the host's dialect does, neighbours of one label together; `place`
 * overrides where the event would put it; `ephemeral` keeps it out of the transcript.
 */
export interface HookText {
  readonly text: string;
  /** Whose it is; a hook need not say it itself. */
  readonly hook?: string;
  readonly label?: string;
  /** The text is already in the words its dialect wants. */
  readonly verbatim?: boolean;
  readonly place?: "result" | "before";
  readonly ephemeral?: boolean;
}

export const NO_OPINION: Opinion = Object.freeze({});

/** An opinion as the one action that says most of it. */
export function actionOf(opinion: Opinion | undefined): "continue" | "allow" | "deny" | "modify" | "ask" | "halt" {
  if (opinion?.halt !== undefined) return "halt";
  return opinion?.decision ?? (opinion?.value ? "modify" : "continue");
}

/** A hook's output that is not a verdict. It is a failure (U7), never a silent "continue". */
export class UnusableAnswer extends Error {
  override name = "UnusableAnswer";
}

export class OutOfTime extends UnusableAnswer {
  override name = "OutOfTime";
}

export function readNative(raw: unknown, event: EventName): Opinion {
  if (raw === undefined || raw === null || raw === "Continue") return NO_OPINION;
  if (typeof raw !== "object" || Array.isArray(raw)) throw unusable(event, `it answered ${shown(raw)}`);
  const answer = raw as Record<string, unknown>;
  if (Object.keys(answer).length === 0) return NO_OPINION;
  if (typeof answer.Block === "string") return fromAction(event, "deny", { reason: answer.Block });
  if ("Transform" in answer) return fromAction(event, "modify", { value: answer.Transform });
  const goOn = answer.continue ?? answer.Continue;
  if (event === "stop" && answer.action === undefined && typeof goOn === "boolean") {
    return goOn ? fromAction(event, "deny", { reason: answer.reason ?? answer.Reason }) : NO_OPINION;
  }
  if (typeof answer.action !== "string") throw unusable(event, `it answered ${shown(raw)}, which has no 'action'`);
  return fromAction(event, answer.action.toLowerCase(), answer);
}

const SPELLINGS: Record<string, string> = { block: "deny", transform: "modify" };

/** Builds the opinion for an action and its fields; shared by every dialect that says `action`. */
export function fromAction(event: EventName, given: string, fields: Record<string, unknown>): Opinion {
  const action = SPELLINGS[given] ?? given;
  const { reason, context: said, systemMessage } = fields;
  for (const [key, value] of Object.entries({ reason, context: said, systemMessage })) {
    if (value !== undefined && value !== null && typeof value !== "string") {
      throw unusable(event, `its '${key}' is ${shown(value)}, not a text`);
    }
  }
  const beside: Opinion = {
    ...(typeof reason === "string" && { reason }),
    ...(typeof said === "string" && said !== "" && { contexts: [{ text: said }] }),
    ...(typeof systemMessage === "string" && { systemMessage }),
  };
  switch (action) {
    case "continue":
      return beside;
    case "allow":
      return { ...beside, decision: "allow" };
    case "deny":
      if (event === "stop" && (typeof reason !== "string" || reason.trim() === "")) {
        throw unusable(event, "it wants the agent to go on and gives no reason: the agent needs one to read");
      }
      return { ...beside, decision: "deny" };
    case "ask":
      if (!EVENTS[event].ask) throw unusable(event, `'ask' means nothing on ${pascal(event)}`);
      return { ...beside, decision: "ask" };
    case "halt": {
      const refuses = event === "pre-tool-use" || event === "permission-request";
      return { ...beside, halt: typeof reason === "string" ? reason : "", ...(refuses && { decision: "deny" }) };
    }
    case "modify":
      if (!("value" in fields)) throw unusable(event, "its 'modify' has no 'value'");
      return { ...beside, value: { to: checkedSubject(event, fields.value) } };
    default:
      throw unusable(event, `action ${shown(given)} is unknown: expected continue, allow, deny, modify, ask or halt`);
  }
}

/** The value if it fits the event's subject; otherwise a failure that says what would. */
function checkedSubject(event: EventName, value: unknown): unknown {
  const { subject, takes } = EVENTS[event];
  if (subject === null) throw unusable(event, `nothing can be modified on ${pascal(event)}`);
  const [expected, fits] = SUBJECTS[takes];
  if (fits(value)) return value;
  throw unusable(event, `its 'modify' gives ${shown(value)} where ${expected} is expected`);
}

const isText = (value: unknown) => typeof value === "string";

const SUBJECTS: { readonly [T in EventRow["takes"]]: readonly [expected: string, fits: (value: unknown) => boolean] } =
  {
    text: ["a text", isText],
    boolean: ["true or false (retry)", (value) => typeof value === "boolean"],
    view: [
      "an object, its 'system' a text,",
      (value) => isObject(value) && (value.system === undefined || isText(value.system)),
    ],
    any: ["", () => true], // looked at where it is used
  };

/** A failure that names the event; the caller knows the hook. */
export function unusable(event: EventName, why: string): UnusableAnswer {
  return new UnusableAnswer(`Cannot use the answer to ${pascal(event)} as ${why}`);
}

/** @throws {UnusableAnswer} if an answer is not an object of JSON */
export function expectObject(raw: unknown, event: EventName): JsonObject {
  if (!isObject(raw)) throw unusable(event, "it is not a JSON object");
  return raw;
}
