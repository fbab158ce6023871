import type { Opinion } from "../core/verdict.ts";
import { runaway } from "../regex/runaway.ts";
import type { JsonObject } from "../core/json.ts";
import type { Schema } from "../input/options.ts";

/** Words that are looked for: `/force/i` is a regular expression, anything else a text that must be in there. */
export type Words = string;

/** `any`: it answers, whatever it says. */
const ACTIONS = ["continue", "allow", "deny", "ask", "modify", "halt", "fail", "any"] as const;

export type ExpectedAction = typeof ACTIONS[number];

/** What a hook is expected to answer, in the one form all spellings are read into. */
export interface Expected {
  readonly action: ExpectedAction;
  readonly reason?: Words;
  readonly context?: Words;
  readonly systemMessage?: Words;
  /** Fields that the new subject must have; texts in it are compared as they are. */
  readonly value?: unknown;
}

const TEXT = { type: "string" };

/** What an example can expect, for editors. */
export const EXPECTED_SCHEMA: Schema = {
  anyOf: [
    { enum: [...ACTIONS, null] },
    {
      type: "object",
      properties: {
        action: { enum: ACTIONS },
        value: {},
        ...{ reason: TEXT, context: TEXT, systemMessage: TEXT },
      },
      required: ["action"],
      additionalProperties: false,
    },
    {
      type: "object",
      properties: {
        ...Object.fromEntries(ACTIONS.map((action) => [action, { anyOf: [TEXT, { enum: [true, null] }] }])),
        ...{ modify: {}, context: TEXT, systemMessage: TEXT },
      },
      minProperties: 1,
      additionalProperties: false,
    },
  ],
};

/** How a hook answered, as far as an example can tell. */
export interface Answered {
  readonly opinion?: Omit<Opinion, "later"> | undefined;
  readonly failure?: { readonly message: string } | undefined;
  readonly timedOut?: boolean | undefined;
  readonly skipped?: string | undefined;
}

const SHAPE = `a verdict such as { action: "deny", reason: /words/ }, or { deny: /words/ }, or one of ${
  ACTIONS.join(", ")
}`;

/** Reads what an example expects. @throws {TypeError} with the part after "as" of a sentence */
export function readExpected(given: unknown): Expected {
  if (given === undefined || given === null) return { action: "continue" };
  if (typeof given === "string") return { action: actionOf(given) };
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new TypeError(`it is ${JSON.stringify(given)}: expected ${SHAPE}`);
  }
  const fields = given as JsonObject;
  return "action" in fields ? verdict(fields) : short(fields);
}

function actionOf(word: unknown): ExpectedAction {
  if (ACTIONS.includes(word as ExpectedAction)) return word as ExpectedAction;
  throw new TypeError(`${JSON.stringify(word)} is not a verdict: expected ${SHAPE}`);
}

function verdict({ action, value, ...rest }: JsonObject): Expected {
  return { action: actionOf(action), ...words(rest), ...(value !== undefined && { value: plain(value) }) };
}

/** `{ deny: words }`, with `context` and `systemMessage` beside it or alone. */
function short(fields: JsonObject): Expected {
  const { context, systemMessage, ...rest } = fields;
  const beside = words({ context, systemMessage });
  const [[word, what] = [undefined, undefined], second] = Object.entries(rest);
  if (second) throw new TypeError(`it expects both '${word}' and '${second[0]}': expected ${SHAPE}`);
  if (word === undefined) {
    if (Object.keys(beside).length === 0) throw new TypeError(`it is empty: expected ${SHAPE}`);
    return { action: "continue", ...beside };
  }
  const action = actionOf(word);
  if (what === undefined || what === null || what === true) return { action, ...beside };
  return action === "modify"
    ? { action, value: plain(what), ...beside }
    : { action, ...words({ reason: what }), ...beside };
}

const WORDS = ["reason", "context", "systemMessage"];

function words(fields: JsonObject): Pick<Expected, "reason" | "context" | "systemMessage"> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([field, value]) => {
    if (!WORDS.includes(field)) {
      throw new TypeError(`'${field}' means nothing there: expected ${WORDS.join(", ")} or value`);
    }
    if (typeof value !== "string" && !(value instanceof RegExp)) {
      throw new TypeError(`its '${field}' is ${JSON.stringify(value)}: expected a text or /words/`);
    }
    return [field, readWords(value)];
  }));
}

/** @throws {TypeError} if they are a regular expression that cannot be used */
export function readWords(given: unknown): Words {
  const words = String(given);
  wordsTest(words);
  return words;
}

/** Why the files of a project are not what was expected, as a sentence; `read` gives undefined for one that is not there. */
export function leftOtherwise(
  leaves: { readonly [path: string]: Words | null },
  read: (path: string) => string | undefined,
): string | undefined {
  for (const [path, words] of Object.entries(leaves)) {
    const text = read(path);
    if (words === null && text !== undefined) return `Expected no file ${path}, but it left one: ${show(text)}`;
    if (words === null || (text !== undefined && wordsTest(words)(text))) continue;
    const instead = text === undefined ? "there is no such file" : `it has ${show(text)}`;
    return `Expected ${quoted(words)} in ${path}, but ${instead}`;
  }
  return undefined;
}

/** The value as data; a regular expression is compared with its text. */
function plain(value: unknown): unknown {
  if (value instanceof RegExp) return String(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

const REGEX = /^\/(.+)\/([dgimsuvy]*)$/s;

function wordsTest(words: Words): (text: string) => boolean {
  const [, source, flags = ""] = REGEX.exec(words) ?? [];
  if (source === undefined) return (text) => text.includes(words);
  let regex: RegExp;
  try {
    // With g it would remember where it was.
    regex = new RegExp(source, flags.replace("g", ""));
  } catch (error) {
    throw new TypeError(`${words} is not a regular expression: ${(error as Error).message}`);
  }
  // The judge does not read the grammar of u and v.
  const why = regex.unicode || regex.unicodeSets ? undefined : runaway(regex);
  if (why !== undefined) throw new TypeError(`${words} cannot be used safely, ${why}`);
  return (text) => regex.test(text);
}

/** Why an answer is not what was expected, as a sentence; undefined if it is. */
export function mismatch(expected: Expected, answered: Answered): string | undefined {
  const did = whatItDid(answered);
  const wrong = (why: string) => `Expected ${sayExpected(expected)}, but ${why}`;
  const isMeant = expected.action === "any" ? did.action !== "fail" : did.action === expected.action;
  if (answered.skipped !== undefined || !isMeant) return wrong(did.words);
  const lacks = (field: "reason" | "context" | "systemMessage", said: readonly string[]) =>
    expected[field] !== undefined && !said.some(wordsTest(expected[field]));
  if (lacks("reason", did.reasons)) return wrong(did.words);
  const contexts = answered.opinion?.contexts?.map(({ text }) => text) ?? [];
  if (lacks("context", [...contexts, contexts.join("\n")])) {
    return wrong(`it gave the model ${contexts.length === 0 ? "no context" : show(contexts.join("\n"))}`);
  }
  const system = answered.opinion?.systemMessage;
  if (lacks("systemMessage", system === undefined ? [] : [system])) {
    return wrong(`it showed the user ${system === undefined ? "nothing" : show(system)}`);
  }
  const value = answered.opinion?.value?.to;
  return expected.value === undefined || covers(expected.value, value) ? undefined : wrong(did.words);
}

export interface HookAct {
  readonly action: ExpectedAction;
  readonly reasons: readonly string[];
  /** The end of a sentence that says it. */
  readonly words: string;
}

export function whatItDid({ opinion = {}, failure, timedOut, skipped }: Answered): HookAct {
  const failed = (words: string, why: string): HookAct => ({ action: "fail", reasons: [why], words });
  if (skipped !== undefined) return failed(`it was not asked: ${skipped}`, skipped);
  if (timedOut) return failed("it ran out of time", "it ran out of time");
  if (failure) return failed(`it failed: ${failure.message}`, failure.message);
  const { decision, reason, text, value, halt, abort } = opinion;
  const reasons = [reason, text, halt, abort].filter((said) => said !== undefined && said !== "") as string[];
  const did = (action: ExpectedAction, words: string): HookAct => ({
    action,
    reasons,
    words: reasons[0] === undefined ? words : `${words}: ${show(reasons[0])}`,
  });
  if (halt !== undefined) return did("halt", "it ended the agent");
  if (decision === "deny") return did("deny", "it denied");
  if (abort !== undefined) return did("fail", "it aborted the run");
  if (decision === "ask") return did("ask", "it asked the user");
  if (value) return { action: "modify", reasons, words: `it changed the event to ${show(JSON.stringify(value.to))}` };
  if (decision === "allow") return did("allow", "it allowed it");
  return { action: "continue", reasons, words: "it had no objection" };
}

/** Whether a value has all that is expected of it: fields that are not named may be anything. */
function covers(expected: unknown, value: unknown): boolean {
  if (typeof expected === "string") {
    return typeof value === "string" && (value === expected || isRegex(expected) && wordsTest(expected)(value));
  }
  if (Array.isArray(expected)) {
    return Array.isArray(value) && value.length === expected.length &&
      expected.every((one, i) => covers(one, value[i]));
  }
  if (typeof expected !== "object" || expected === null) return Object.is(expected, value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(expected).every(([key, one]) =>
    Object.hasOwn(value, key) && covers(one, (value as JsonObject)[key])
  );
}

function isRegex(words: Words): boolean {
  return REGEX.test(words);
}

/** `deny /force/`: what was expected, for names and messages. */
export function sayExpected({ action, reason, context, systemMessage, value }: Expected): string {
  const parts = [
    action === "continue" ? "no objection" : action === "any" ? "any answer" : action,
    reason === undefined ? "" : quoted(reason),
    value === undefined ? "" : `to ${show(JSON.stringify(value))}`,
    context === undefined ? "" : `with context ${quoted(context)}`,
    systemMessage === undefined ? "" : `with system message ${quoted(systemMessage)}`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function quoted(words: Words): string {
  return isRegex(words) ? words : JSON.stringify(words);
}

function show(text: string): string {
  return text.length > 300 ? `'${text.slice(0, 297)}...'` : `'${text}'`;
}
