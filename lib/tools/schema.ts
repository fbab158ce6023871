import type { OutputUnit } from "@cfworker/json-schema";
import { fits, isPlain, type PlainSchema, TYPES } from "./_plain-schema.ts";
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
