import type { Arbitrary } from "fast-check";
import { isObject } from "../../../core/json.ts";
import type { JsonSchema } from "../../../core/model.ts";
import type { Tool } from "../../../core/tool.ts";
import { SENTENCES } from "../../../hooks/event-fields.ts";
import { checkOptions, type OptionKind } from "../../../input/options.ts";
import { type FastCheck, fastCheck } from "../../../testing/fast-check.ts";
import { FILES, spoken, textArbitrary } from "./texts.ts";
import { callArbitrary } from "./tool-inputs.ts";
import { scripted, type ScriptedModel, type ScriptedReply } from "../../../models/scripted.ts";

interface ModelArbitraryOptions {
  /** The tools it calls, each with inputs that its schema describes. */
  readonly tools?: readonly Pick<Tool, "name" | "input_schema">[];
  /** Inputs of some of these tools, by name, in place of those that the schema describes. */
  readonly inputs?: { readonly [tool: string]: Arbitrary<unknown> };
  /** Without `tools`, the known tools it calls: a name or a matcher. @default every tool we know */
  readonly tool?: string;
  /** How many replies are scripted at most; after them the model says that it is done. @default 6 */
  readonly replies?: number;
  /** Where the files are that it names. */
  readonly cwd?: string;
}

const OPTIONS: { readonly [option in keyof ModelArbitraryOptions]-?: OptionKind } = {
  tools: "a list",
  inputs: "an object",
  tool: "a text",
  replies: "a whole number",
  cwd: "a text",
};

type Called = NonNullable<ScriptedReply["tools"]>[number];

/**
 * Models that behave in some way, as an arbitrary of fast-check: silent, talkative, calling tools at every turn, or a
 * mix of these. Each is a scripted model that is new with every run and ends by saying that it is done; a
 * counterexample shrinks to fewer and plainer replies.
 *
 * @example
 * ```ts
 * import fc from "fast-check";
 * import { agent } from "crochet";
 * import { modelArbitrary } from "crochet/testing";
 * import { Read } from "crochet/tools";
 *
 * await fc.assert(
 *   fc.asyncProperty(modelArbitrary({ tool: "Read" }), async (model) => {
 *     const { stop } = await agent({ model, tools: [Read] }).run("go");
 *     return stop === "done";
 *   }),
 *   { numRuns: 10 },
 * );
 * ```
 */
export function modelArbitrary(options: ModelArbitraryOptions = {}): Arbitrary<ScriptedModel> {
  checkOptions(options, OPTIONS, "make models");
  const { replies = 6 } = options;
  if (replies < 0) throw new TypeError(`Cannot make models: 'replies' must be a whole number, and is ${replies}`);
  const fc = fastCheck();
  const words = textArbitrary(fc, SENTENCES).map(spoken);
  const tools = fc.array(callsOf(fc, options), { minLength: 1, maxLength: 3 });
  const says = words.map((text): ScriptedReply => ({ text }));
  const calls = tools.map((made): ScriptedReply => ({ tools: made }));
  const both = fc.tuple(words, words, tools)
    .map(([thinking, text, made]): ScriptedReply => ({ thinking, text, tools: made }));
  const some = (reply: Arbitrary<ScriptedReply>, least = 0) =>
    fc.array(reply, { minLength: Math.min(least, replies), maxLength: replies });
  const any = fc.oneof(
    { withCrossShrink: true },
    says,
    { weight: 2, arbitrary: calls },
    { weight: 2, arbitrary: both },
  );
  // Tools are called in most runs: a reply without one ends the run.
  return fc.oneof(
    { withCrossShrink: true },
    some(says),
    { weight: 3, arbitrary: some(calls, 1) },
    { weight: 3, arbitrary: some(any, 1) },
  ).map((script) => {
    const model = scripted(script, { then: { text: "Done." } });
    // What fast-check prints of it.
    return Object.defineProperty(model, fc.toStringMethod, { value: () => `scripted(${JSON.stringify(script)})` });
  });
}

function callsOf(fc: FastCheck, options: ModelArbitraryOptions): Arbitrary<Called> {
  const { tools, inputs = {}, tool, cwd = "/home/dev/project" } = options;
  const names = tools?.map(({ name }) => name) ?? [];
  const unknown = Object.keys(inputs).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot make models: 'inputs' names ${unknown}, which is not among 'tools': ${names.join(", ")}`,
    );
  }
  if (!tools) {
    const call = callArbitrary(fc, tool, { cwd, files: FILES, words: [] });
    return call.map(({ tool_name: name, input }) => ({ name, input }));
  }
  if (tool !== undefined || tools.length === 0) {
    throw new TypeError(`Cannot make models: ${tool === undefined ? "'tools' is empty" : "give 'tool' or 'tools'"}`);
  }
  const calls = tools.map(({ name, input_schema }) =>
    (inputs[name] ?? valuesOf(fc, input_schema, input_schema)).map((input) => ({ name, input } as Called))
  );
  return fc.oneof({ withCrossShrink: true }, ...calls);
}

type Node = { readonly [keyword: string]: any };

/** Deeper than this, what a schema does not require is left out: one may contain itself. */
const DEEPEST = 5;

const WORDS = ["hello", "a", "2026-01-01", "src/app.ts"];

/** Values that a JSON Schema describes. What only a validator can tell (`not`, `if`) is not looked at. */
function valuesOf(fc: FastCheck, root: JsonSchema, given: unknown, depth = 0): Arbitrary<unknown> {
  const node = wholeOf(root, given);
  const { anyOf = node.oneOf, oneOf: _, ...rest } = node;
  const inner = (one: unknown) => valuesOf(fc, root, one, depth + 1);
  if (node.const !== undefined) return fc.constant(node.const);
  if (Array.isArray(node.enum)) return fc.constantFrom(...node.enum);
  const among = (nodes: readonly Node[]) => fc.oneof({ withCrossShrink: true }, ...nodes.map(inner));
  if (Array.isArray(anyOf)) return among(anyOf.map((one) => ({ allOf: [rest, one] })));
  if (Array.isArray(node.type)) return among(node.type.map((type) => ({ ...node, type })));
  const kinds: { readonly [type: string]: () => Arbitrary<unknown> } = {
    string: () => textsOf(fc, node),
    integer: () => multiplesOf(fc, node),
    number: () => multiplesOf(fc, { multipleOf: 1 / 1024, ...node }),
    boolean: () => fc.boolean(),
    null: () => fc.constant(null),
    array: () => listsOf(fc, node, depth, inner),
    object: () => objectsOf(fc, node, depth, inner),
  };
  const type = node.type ?? (node.properties || node.required ? "object" : node.items ? "array" : "any");
  return (kinds[type] ?? (() => fc.jsonValue({ maxDepth: 1 })))();
}

/** A node with what it refers to, and with all of `allOf`. */
function wholeOf(root: Node, given: unknown): Node {
  if (!isObject(given)) return {};
  const { $ref, allOf, ...own } = given as Node;
  const pointer = /^#(?:\/(.*))?$/s.exec(String($ref));
  const keys = pointer?.[1]?.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~")) ?? [];
  const target = pointer && keys.reduce<any>((at, key) => at?.[key], root);
  const parts = [...(target ? [target] : []), ...(allOf ?? [])].map((part) => wholeOf(root, part));
  return parts.reduce((all, part) => ({
    ...all,
    ...part,
    ...((all.properties || part.properties) && { properties: { ...all.properties, ...part.properties } }),
    ...((all.required || part.required) && { required: [...all.required ?? [], ...part.required ?? []] }),
  }), own);
}

function textsOf(fc: FastCheck, { pattern, format, minLength = 0, maxLength = Infinity }: Node): Arbitrary<string> {
  const day = fc.integer({ min: 0, max: 4_000_000_000 }).map((second) => new Date(second * 1000).toISOString());
  const formats: { readonly [format: string]: () => Arbitrary<string> } = {
    "date-time": () => day,
    date: () => day.map((text) => text.slice(0, 10)),
    time: () => day.map((text) => text.slice(11)),
    email: () => fc.emailAddress(),
    uri: () => fc.webUrl(),
    uuid: () => fc.uuid(),
  };
  const fits = (text: string) => [...text].length >= minLength && [...text].length <= maxLength;
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern, "u")).filter(fits);
  if (typeof format === "string" && Object.hasOwn(formats, format)) return formats[format]!().filter(fits);
  const long = (text: string) => minLength > 0 ? text.padEnd(2 * minLength, "a") : text;
  return textArbitrary(fc, WORDS).map((text) => fits(text) ? text : [...long(text)].slice(0, maxLength).join(""));
}

function multiplesOf(fc: FastCheck, node: Node): Arbitrary<number> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf: step = 1 } = node;
  const min = Math.max(minimum ?? -Infinity, exclusiveMinimum === undefined ? -Infinity : exclusiveMinimum + step);
  const max = Math.min(maximum ?? Infinity, exclusiveMaximum === undefined ? Infinity : exclusiveMaximum - step);
  const from = Math.ceil((Number.isFinite(min) ? min : Math.min(-1_000_000, max)) / step);
  const to = Math.floor((Number.isFinite(max) ? max : Math.max(1_000_000, min)) / step);
  return fc.integer({ min: from, max: Math.max(from, to) }).map((count) => count * step);
}

type Inner = (schema: unknown) => Arbitrary<unknown>;

function listsOf(fc: FastCheck, node: Node, depth: number, inner: Inner): Arbitrary<unknown> {
  const { items, prefixItems = [], minItems = 0, maxItems = 3, uniqueItems } = node;
  const first: Arbitrary<unknown>[] = prefixItems.map(inner);
  const least = Math.max(0, minItems - first.length);
  const most = items === false || depth >= DEEPEST ? least : Math.max(least, maxItems - first.length);
  const length = { minLength: least, maxLength: most };
  const item = most > 0 ? inner(items) : fc.constant(null);
  const rest = uniqueItems ? fc.uniqueArray(item, { ...length, selector: JSON.stringify }) : fc.array(item, length);
  return fc.tuple(fc.tuple(...first), rest).map(([before, after]) => [...before, ...after]);
}

function objectsOf(fc: FastCheck, node: Node, depth: number, inner: Inner): Arbitrary<unknown> {
  const { properties = {}, required = [] } = node;
  const names = [...new Set<string>([...Object.keys(properties), ...required])]
    .filter((name) => depth < DEEPEST || required.includes(name));
  const fields = Object.fromEntries(names.map((name) => [name, inner(properties[name])]));
  return fc.record(fields, { requiredKeys: required, noNullPrototype: true });
}
