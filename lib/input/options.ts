import { isObject } from "../core/json.ts";
import { nearest } from "./nearest.ts";
import { shown } from "../core/shown.ts";

/** What an option must be: of a kind, or one of some words. `any`: it is checked where it is read. */
export type OptionKind = Kind | readonly (string | boolean)[];

/** What a value can be asked to be, in the words of an error. */
export const KINDS = {
  "a text": (value: unknown) => typeof value === "string",
  "a list": Array.isArray,
  "an object": isObject,
  "a function": (value: unknown) => typeof value === "function",
  "an AbortSignal": (value: unknown) => value instanceof AbortSignal,
  "true or false": (value: unknown) => typeof value === "boolean",
  "a list of texts": (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "string"),
  "true, false or a list of texts": (value: unknown): boolean =>
    typeof value === "boolean" || KINDS["a list of texts"](value),
  "texts by name": (value: unknown): boolean =>
    isObject(value) && Object.values(value).every((one) => typeof one === "string"),
  "more than 0": (value: unknown) => typeof value === "number" && value > 0,
  "0 or more": (value: unknown) => typeof value === "number" && value >= 0,
  "a text or a list of texts": (value: unknown): boolean =>
    typeof value === "string" || KINDS["a list of texts"](value),
  "a number of seconds": (value: unknown) => typeof value === "number" && value > 0 && value < Infinity,
  "seconds, true or false": (value: unknown): boolean =>
    typeof value === "boolean" || value === 0 || KINDS["a number of seconds"](value),
  "a whole number": Number.isInteger,
  any: () => true,
};

type Kind = keyof typeof KINDS;

/**
 * Refuses options that are unknown or of the wrong kind, before anything has begun.
 *
 * @throws {TypeError} that names the option, where it was given and what it should be
 */
export function checkOptions(
  given: object,
  kinds: { readonly [option: string]: OptionKind },
  doing: string,
): void {
  if (!isObject(given)) throw new TypeError(`Cannot ${doing} as its options are ${shown(given)}: give an object`);
  const fault = optionFault(given, kinds);
  if (fault) throw new TypeError(`Cannot ${doing} as ${fault.why}`);
}

/** The first option that is unknown or of the wrong kind, and what it should be. */
export function optionFault(
  given: object,
  kinds: { readonly [option: string]: OptionKind },
): { readonly option: string; readonly why: string } | undefined {
  for (const [option, value] of Object.entries(given)) {
    const kind = Object.hasOwn(kinds, option) ? kinds[option]! : undefined;
    if (kind === undefined) {
      const meant = nearest(option, Object.keys(kinds), Math.max(3, Math.ceil(option.length / 2)));
      const fix = meant === undefined ? `expected ${Object.keys(kinds).join(", ")}` : `did you mean '${meant}'?`;
      return { option, why: `option '${option}' is unknown: ${fix}` };
    }
    if (value === undefined || isA(kind, value)) continue;
    return { option, why: `'${option}' must be ${named(kind)}: current value is ${shown(value)}` };
  }
  return undefined;
}

function named(kind: OptionKind): string {
  return typeof kind === "string" ? kind : kind.map((word) => JSON.stringify(word)).join(" or ");
}

function isA(kind: OptionKind, value: unknown): boolean {
  return typeof kind === "string" ? KINDS[kind](value) : kind.includes(value as string);
}
