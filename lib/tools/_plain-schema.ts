import { isObject } from "../core/json.ts";
import type { JsonSchema } from "../core/model.ts";

/** What says nothing about a value. */
const NOTES = ["description", "title", "default", "examples", "$schema", "$comment"];
/** The types that JSON Schema knows. */
export const TYPES: readonly string[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/** What a keyword must be for `fits` to read it. */
const READ: { readonly [keyword: string]: (said: unknown) => boolean } = {
  type: (said) => TYPES.includes(said as string),
  enum: (said) => Array.isArray(said) && said.every((value) => typeof value !== "object"),
  properties: (said) => isObject(said) && Object.values(said).every(isPlain),
  required: (said) => Array.isArray(said) && said.every((key) => typeof key === "string"),
  additionalProperties: (said) => typeof said === "boolean",
  items: isPlain,
  ...Object.fromEntries(
    ["minimum", "maximum", "minLength", "minItems", "maxItems"].map((keyword) => [
      keyword,
      (said: unknown) => typeof said === "number",
    ]),
  ),
  ...Object.fromEntries(NOTES.map((note) => [note, () => true])),
};

/** A schema of which `fits` reads every keyword, also in nested schemas: most tools have such a schema. */
export interface PlainSchema extends JsonSchema {
  readonly type: string;
  readonly properties?: { readonly [key: string]: PlainSchema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly items?: PlainSchema;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export function isPlain(schema: unknown): schema is PlainSchema {
  return isObject(schema) && schema.type !== undefined &&
    Object.entries(schema).every(([keyword, said]) => Object.hasOwn(READ, keyword) && READ[keyword]!(said));
}

/**
 * Whether a value plainly fits. Where it does, the validator would say the same, and takes fifty times as long;
 * if it does not, the validator decides, and its words are used.
 */
export function fits(schema: PlainSchema, value: unknown): boolean {
  if (schema.enum && !schema.enum.includes(value)) return false;
  switch (schema.type) {
    case "string":
      // The validator counts characters outside the basic plane once.
      return typeof value === "string" && (value.length + 1) / 2 >= (schema.minLength ?? 0);
    case "number":
      return typeof value === "number" && inRange(schema, value);
    case "integer":
      return Number.isInteger(value) && inRange(schema, value as number);
    case "boolean":
      return typeof value === "boolean";
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value) && listFits(schema, value);
    default:
      return isObject(value) && objectFits(schema, value);
  }
}

function inRange({ minimum = -Infinity, maximum = Infinity }: PlainSchema, value: number): boolean {
  return value >= minimum && value <= maximum;
}

function listFits({ items, minItems = 0, maxItems = Infinity }: PlainSchema, list: readonly unknown[]): boolean {
  return list.length >= minItems && list.length <= maxItems && (!items || list.every((item) => fits(items, item)));
}

function objectFits(schema: PlainSchema, value: { readonly [key: string]: unknown }): boolean {
  const { properties, required, additionalProperties } = schema;
  if (required) { for (const key of required) if (!Object.hasOwn(value, key)) return false; }
  for (const key in value) {
    if (properties && Object.hasOwn(properties, key)) {
      if (!fits(properties[key]!, value[key])) return false;
    } else if (additionalProperties === false) return false;
  }
  return true;
}
