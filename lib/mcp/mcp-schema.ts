import { quietly } from "../core/json.ts";
import type { JsonSchema } from "../core/model.ts";
import { InvalidInput, validateJson } from "../tools/schema.ts";
import { runaway } from "../regex/runaway.ts";

type Input = Record<string, unknown>;

/** What a schema may amount to with every reference written out; the validator looks at each part. */
const MOST_PARTS = 50_000;

/** Reads input by a server's schema; if that cannot be read, or could take forever, only the server checks its input. */
export function inputParser(schema: JsonSchema): (input: unknown) => Input | Promise<Input> {
  return patternsEnd(schema) && writtenOut(schema) <= MOST_PARTS
    ? (input) => checked(schema, input)
    : (input) => input as Input;
}

async function checked(schema: JsonSchema, input: unknown): Promise<Input> {
  try {
    return await validateJson(schema, input);
  } catch (error) {
    if (error instanceof InvalidInput) throw error;
    return input as Input;
  }
}

/** Whether no pattern of the schema could search forever. */
function patternsEnd(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  const { pattern, patternProperties } = schema as JsonSchema;
  const patterns = [pattern, ...Object.keys(patternProperties ?? {})].filter((one) => typeof one === "string");
  return patterns.every(ends) && Object.values(schema).every(patternsEnd);
}

/** What means something else, or nothing, without the flag `u`: the validator sets it, and who judges does not read it. */
const UNICODE = /\\p\{|\\u\{|\\ud[89a-f]|[\ud800-\udfff]/i;

function ends(pattern: string): boolean {
  if (!quietly(() => new RegExp(pattern, "u"))) return true; // the validator cannot read it either
  return !UNICODE.test(pattern) && runaway(new RegExp(pattern)) === undefined;
}

/**
 * How many parts the schema has once each reference is replaced by what it names: twenty definitions that each name the
 * next one twice are a million. A reference inside of what it names counts nothing, and one that is not a plain path of
 * this schema counts as endless.
 */
function writtenOut(root: JsonSchema): number {
  if (!/"\$(?:ref|dynamicRef|recursiveRef)"/.test(JSON.stringify(root))) return 0;
  const sizes = new Map<string, number>();
  const named = (ref: string): number => {
    const known = sizes.get(ref);
    if (known !== undefined) return known;
    sizes.set(ref, 0);
    const target = partAt(root, ref);
    const size = target === undefined ? Infinity : sizeOf(target);
    sizes.set(ref, size);
    return size;
  };
  const sizeOf = (node: unknown): number => {
    if (typeof node !== "object" || node === null) return 0;
    const { $id, id, $ref, $dynamicRef, $recursiveRef } = node as JsonSchema;
    // Below an id, paths begin there.
    const isOwnDocument = node !== root && (typeof $id === "string" || typeof id === "string");
    if (isOwnDocument || typeof $dynamicRef === "string" || typeof $recursiveRef === "string") return Infinity;
    const inside = Object.values(node).reduce((sum: number, part) => sum + sizeOf(part), 1);
    return typeof $ref === "string" ? inside + named($ref) : inside;
  };
  return sizeOf(root);
}

/** What a reference such as `#/$defs/item` names. */
function partAt(root: JsonSchema, ref: string): unknown {
  if (!/^#(?:\/|$)/.test(ref) || /%(?![0-9a-f]{2})/i.test(ref)) return undefined;
  let part: unknown = root;
  for (const step of ref.split("/").slice(1)) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof part !== "object" || part === null || !Object.hasOwn(part, key)) return undefined;
    part = (part as JsonSchema)[key];
  }
  return part;
}
