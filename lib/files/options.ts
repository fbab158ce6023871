import { isObject } from "../core/json.ts";
import { nearest } from "./nearest.ts";
import { shown } from "../core/shown.ts";

/** What an option must be: of a kind, or one of some words. `any`: it is checked where it is read. */
export type OptionKind = Kind | readonly string[];

/** What a value can be asked to be, in the words of an error. */
export const KINDS = {
  "a text": (value: unknown) => typeof value === "string",
  "a list": Array.isArray,
  "an object": isObject,
  "a function": (value: unknown) => typeof value === "function",
  "an AbortSignal": (value: unknown) => value instanceof AbortSignal,
  "true or false": (value: unknown) => typeof value === "boolean",
  "a list of texts": (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  "true, false or a list of texts": (value: unknown): boolean =>
    typeof value === "boolean" || KINDS["a list of texts"](value),
  "texts by name": (value: unknown) => isObject(value) && Object.values(value).every((one) => typeof one === "string"),
  "more than 0": (value: unknown) => typeof value === "number" && value > 0,
  "0 or more": (value: unknown) => typeof value === "number" && value >= 0,
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
  for (const [option, value] of Object.entries(given)) {
    const kind = Object.hasOwn(kinds, option) ? kinds[option]! : undefined;
    if (kind === undefined) {
      const meant = nearest(option, Object.keys(kinds));
      throw new TypeError(`Cannot ${doing} as option '${option}' is unknown: did you mean '${meant}'?`);
    }
    if (value === undefined || isA(kind, value)) continue;
    throw new TypeError(`Cannot ${doing} as '${option}' must be ${named(kind)}: current value is ${shown(value)}`);
  }
}

function named(kind: OptionKind): string {
  return typeof kind === "string" ? kind : kind.map((word) => `"${word}"`).join(" or ");
}

function isA(kind: OptionKind, value: unknown): boolean {
  return typeof kind === "string" ? KINDS[kind](value) : kind.includes(value as string);
}
