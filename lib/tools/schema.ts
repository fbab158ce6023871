import type { OutputUnit } from "@cfworker/json-schema";
import { isObject } from "../core/json.ts";
import type { Json } from "../core/messages.ts";
import type { JsonSchema } from "../core/model.ts";

/** Any schema that speaks Standard Schema with JSON Schema (zod 4.2 and later): never imported here, only asked. */
export interface StandardSchema<Input = unknown> {
  readonly "~standard": {
    readonly validate: (value: unknown) => StandardResult<Input> | Promise<StandardResult<Input>>;
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> };
    readonly types?: { readonly input: unknown; readonly output: Input } | undefined;
  };
}

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type StandardResult<T> = { readonly value: T; readonly issues?: undefined } | {
  readonly issues: readonly StandardIssue[];
};

/** An input that does not fit its schema; the message is for the model. */
export class InvalidInput extends Error {
  override name = "InvalidInput";
}

/** Refuses what only looks like a schema, at the place where it was written and not at the first call. */
export function checkSchema(name: string, schema: unknown): asserts schema is JsonSchema {
  const fail = (why: string): never => {
    throw new TypeError(`Cannot make tool '${name}' as its input is not a schema: ${why}`);
  };
  if (!isObject(schema)) return fail("expected a JSON Schema object or a zod schema");
  if (schema.type !== "object") {
    fail(`type must be "object", current value is ${JSON.stringify(schema.type)}`);
  }
  const walk = (node: unknown, path: string): void => {
    if (typeof node === "boolean") return;
    if (!isObject(node)) return fail(`${path} must be a schema object`);
    const { type, properties, required, items, enum: values } = node;
    for (const t of Array.isArray(type) ? type : [type]) {
      if (t !== undefined && !TYPES.includes(t as string)) {
        fail(`${path}.type ${JSON.stringify(t)} is not one of ${TYPES.join(", ")}`);
      }
    }
    if (required !== undefined && !(Array.isArray(required) && required.every((r) => typeof r === "string"))) {
      fail(`${path}.required must be a list of names`);
    }
    if (values !== undefined && !Array.isArray(values)) fail(`${path}.enum must be a list`);
    if (properties !== undefined) {
      if (typeof properties !== "object" || properties === null) fail(`${path}.properties must be an object`);
      for (const [key, child] of Object.entries(properties as object)) walk(child, `${path}.properties.${key}`);
    }
    if (items !== undefined && !Array.isArray(items)) walk(items, `${path}.items`);
  };
  walk(schema, "input");
}

/** Whether a schema speaks for itself; otherwise it is plain JSON Schema. */
export function isStandard<T>(schema: StandardSchema<T> | JsonSchema): schema is StandardSchema<T> {
  return typeof schema === "object" && schema !== null && "~standard" in schema;
}

export function standardToJson(name: string, schema: StandardSchema): JsonSchema {
  const convert = schema["~standard"].jsonSchema;
  if (!convert) {
    throw new TypeError(
      `Cannot make tool '${name}' as its schema cannot be turned into JSON Schema: use zod 4.2 or later, or give JSON Schema`,
    );
  }
  const { $schema: _, ...json } = convert.input({ target: "draft-2020-12" });
  return json;
}

export function standardParser<T>(schema: StandardSchema<T>): (value: unknown) => Promise<T> {
  return async (value) => {
    const result = await schema["~standard"].validate(value);
    if (result.issues === undefined) return result.value;
    throw new InvalidInput(result.issues.map((i) => `${pathOf(i) || "input"}: ${i.message}`).join("; "));
  };
}

function pathOf(issue: StandardIssue): string {
  return (issue.path ?? []).map((p) => String(typeof p === "object" ? p.key : p)).join(".");
}

const plain = new WeakMap<JsonSchema, PlainSchema | undefined>();

/** The value if it fits; without a promise if the schema is plain, as it mostly is. */
export function validateJson<T>(schema: JsonSchema, value: unknown): T | Promise<T> {
  let simple = plain.get(schema);
  if (!simple && !plain.has(schema)) plain.set(schema, simple = isPlain(schema) ? schema : undefined);
  return simple && fits(simple, value) ? value as T : validateClosely(schema, value);
}

const validators = new WeakMap<JsonSchema, (value: unknown) => string | undefined>();

/** Loaded on the first call that needs it: importing the validator costs about 3 ms. */
async function validateClosely<T>(schema: JsonSchema, value: unknown): Promise<T> {
  let validate = validators.get(schema);
  if (!validate) {
    const { Validator } = await import("@cfworker/json-schema");
    const validator = new Validator(schema as object, "2020-12", false);
    validate = (v) => {
      const result = validator.validate(v as Json);
      if (result.valid) return undefined;
      const deepest = result.errors.filter((e) => !/^(properties|items|additionalProperties)$/.test(e.keyword));
      return (deepest.length > 0 ? deepest : result.errors)
        .map((e) => `${e.instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".") || "input"}: ${wordsOf(e, schema)}`)
        .join("; ");
    };
    validators.set(schema, validate);
  }
  const problem = validate(value);
  if (problem !== undefined) throw new InvalidInput(problem);
  return value as T;
}

/** What the validator says, in words that say what to do if its own do not. */
function wordsOf({ keyword, instanceLocation, error }: OutputUnit, { properties }: JsonSchema): string {
  if (keyword !== "false") return error;
  const known = /^#\/[^/]+$/.test(instanceLocation) ? Object.keys(properties ?? {}) : [];
  return `There is no such property${known.length > 0 ? `: there are ${known.join(", ")}` : ""}`;
}

/** What says nothing about a value. */
const NOTES = ["description", "title", "default", "examples", "$schema", "$comment"];
/** The types that JSON Schema knows. */
const TYPES: readonly string[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

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
interface PlainSchema extends JsonSchema {
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

/** Whether a value plainly fits: the validator, which takes fifty times as long, is asked only if it does not. */
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
