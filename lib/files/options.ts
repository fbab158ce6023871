import { isObject } from "../core/json.ts";
import { nearest } from "./nearest.ts";
import { shown } from "../core/shown.ts";

/** What an option must be: of a kind, or one of some words. `any`: it is checked where it is read. */
export type OptionKind = Kind | readonly string[];

type Kind =
  | "a text"
  | "a list"
  | "an object"
  | "a function"
  | "an AbortSignal"
  | "true or false"
  | "true, false or a list of texts"
  | "0 or more"
  | "any";

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
  if (typeof kind !== "string") return kind.includes(value as string);
  switch (kind) {
    case "a text":
      return typeof value === "string";
    case "a list":
      return Array.isArray(value);
    case "an object":
      return isObject(value);
    case "a function":
      return typeof value === "function";
    case "an AbortSignal":
      return value instanceof AbortSignal;
    case "true or false":
      return typeof value === "boolean";
    case "true, false or a list of texts":
      return typeof value === "boolean" || (Array.isArray(value) && value.every((one) => typeof one === "string"));
    case "0 or more":
      return typeof value === "number" && value >= 0;
    case "any":
      return true;
  }
}
