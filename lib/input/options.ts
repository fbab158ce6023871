import { isObject } from "../core/json.ts";
import { nearest } from "./nearest.ts";
import { shown } from "../core/shown.ts";

/** What an option must be: of a kind, or one of some words. `any`: it is checked where it is read. */
export type OptionKind = Kind | readonly (string | boolean)[];

export type Kinds = { readonly [option: string]: OptionKind };

/** What editors know of a value: JSON Schema, draft-07. */
export type Schema = { readonly [keyword: string]: unknown };

/** Whether a value fits, and the same for editors, which is never stricter. */
export type Check = readonly [fits: (value: unknown) => boolean, schema: Schema];

const isText = (value: unknown) => typeof value === "string";
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isSwitch = (value: unknown) => typeof value === "boolean";
const isSeconds = (value: unknown) => typeof value === "number" && value > 0 && value < Infinity;
const TEXT = { type: "string" };
const TEXTS = { type: "array", items: TEXT };
/** What no file can hold. */
const NOTHING = { not: {} };

/** What a value can be asked to be, in the words of an error. */
export const KINDS = {
  "a text": [isText, TEXT],
  "a list": [Array.isArray, { type: "array" }],
  "a text or a list": [(value) => isText(value) || Array.isArray(value), { type: ["string", "array"] }],
  "an object": [isObject, { type: "object" }],
  "a function": [(value) => typeof value === "function", NOTHING],
  "an AbortSignal": [(value) => value instanceof AbortSignal, NOTHING],
  "true or false": [isSwitch, { type: "boolean" }],
  "a list of texts": [isTexts, TEXTS],
  "true, false or a list of texts": [(value) => isSwitch(value) || isTexts(value), {
    ...TEXTS,
    type: ["boolean", "array"],
  }],
  "texts by name": [
    (value) => isObject(value) && Object.values(value).every(isText),
    { type: "object", additionalProperties: TEXT },
  ],
  "more than 0": [(value) => typeof value === "number" && value > 0, { type: "number", exclusiveMinimum: 0 }],
  "0 or more": [(value) => typeof value === "number" && value >= 0, { type: "number", minimum: 0 }],
  "a text or a list of texts": [(value) => isText(value) || isTexts(value), { ...TEXTS, type: ["string", "array"] }],
  "a number of seconds": [isSeconds, { type: "number", exclusiveMinimum: 0 }],
  "seconds, true or false": [
    (value) => isSwitch(value) || value === 0 || isSeconds(value),
    { type: ["boolean", "number"], minimum: 0 },
  ],
  "a whole number": [Number.isInteger, { type: "integer" }],
  any: [() => true, {}],
} satisfies { readonly [kind: string]: Check };

type Kind = keyof typeof KINDS;

/** What does the work of an option that went. */
const OLD_OPTIONS: { readonly [option: string]: string } = {
  ask: "permissionAsker",
  asker: "questionAsker",
  rollout: "log",
};

/**
 * Refuses options that are unknown or of the wrong kind, before anything has begun.
 *
 * @throws {TypeError} that names the option, where it was given and what it should be
 */
export function checkOptions(given: object, kinds: Kinds, doing: string): void {
  if (!isObject(given)) throw new TypeError(`Cannot ${doing} as its options are ${shown(given)}: give an object`);
  const fault = optionFault(given, kinds);
  if (fault) throw new TypeError(`Cannot ${doing} as ${fault.why}`);
}

/** The first option that is unknown or of the wrong kind, and what it should be. */
export function optionFault(
  given: object,
  kinds: Kinds,
): { readonly option: string; readonly why: string } | undefined {
  for (const [option, value] of Object.entries(given)) {
    const kind = Object.hasOwn(kinds, option) ? kinds[option]! : undefined;
    if (kind === undefined) {
      const now = OLD_OPTIONS[option] ?? "";
      const meant = now in kinds ? now : nearest(option, Object.keys(kinds), Math.max(3, Math.ceil(option.length / 2)));
      const fix = meant === undefined ? `expected ${Object.keys(kinds).join(", ")}` : `did you mean '${meant}'?`;
      return { option, why: `option '${option}' is unknown: ${fix}` };
    }
    if (value === undefined || (typeof kind === "string" ? KINDS[kind][0](value) : kind.includes(value as string))) {
      continue;
    }
    const words = typeof kind === "string" ? kind : kind.map((word) => JSON.stringify(word)).join(" or ");
    return { option, why: `'${option}' must be ${words}: current value is ${shown(value)}` };
  }
  return undefined;
}
