import { isObject } from "../core/json.ts";
import { KINDS } from "../files/options.ts";
import type { Fact, Header } from "./format.ts";

/** The version of the lines; a reader refuses any other. `fixtures/FORMAT.md` describes them. */
export const TAPE_VERSION = 1;

const FIELDS = {
  ...KINDS,
  "a time": (value: unknown) => typeof value === "string" && !Number.isNaN(Date.parse(value)),
  "a number": (value: unknown) => typeof value === "number",
  "a text or a list": (value: unknown) => typeof value === "string" || Array.isArray(value),
};

type FieldKind = keyof typeof FIELDS;

/** What a line may hold; a field with a question mark may be absent. */
type FactShape = { readonly [key: string]: FieldKind | `${FieldKind}?` };

/** Every kind of line, named by its first key, with its keys in the order they are written. */
export const SHAPES: { readonly [kind: string]: FactShape } = {
  tape: {
    tape: "a number",
    source: "a text",
    url: "a text?",
    at: "a time",
    seed: "a text",
    versions: "an object",
    agent: "a text?",
    chosen: "a list?",
    hooks: "a list?",
    permissions: "an object?",
    sandbox: "an object?",
    tools: "true or false",
    normalise: "a list?",
  },
  prompt: { prompt: "a text", model: "a text?" },
  spec: { spec: "a text", tool: "an object" },
  head: {
    head: "a number",
    model: "a text",
    params: "an object",
    system: "a text or a list?",
    tools: "a list?",
    wire: "an object?",
  },
  call: {
    call: "a text",
    head: "a number",
    parent: "a text?",
    keep: "a number?",
    add: "a list",
    key: "a text",
    at: "a number",
  },
  events: {
    events: "a text",
    attempt: "a number",
    status: "a number?",
    headers: "an object?",
    ended: "a text?",
    why: "a text?",
    waited: "a number?",
    took: "a number",
    ms: "a list?",
    pad: "a list?",
    list: "a list?",
    body: "a text?",
  },
  error: { error: "a text", code: "a text", message: "a text", retryable: "true or false?", retryAfter: "a number?" },
  tool: {
    tool: "a text",
    lane: "a text",
    name: "a text",
    effect: "a text",
    parallel: "true or false?",
    input: "any",
    result: "an object",
    files: "an object?",
    nth: "a number?",
    cwd: "a text?",
    aborted: "true or false?",
    ms: "a number",
  },
  clock: { clock: "a text", step: "a number", now: "a number", spent: "an object?" },
  inbox: { inbox: "a text", take: "a number", from: "a list" },
  refused: { refused: "a text", lane: "a text", words: "a text", by: "a text" },
  asked: { asked: "any", answer: "an object" },
  memory: { memory: "a text", names: "a list of texts?" },
  git: { git: "a text" },
  file: { file: "a text", text: "a text" },
  end: { end: "a text", files: "an object?" },
};

/** A fact as its line, without the line's end: the same fact always gives the same bytes. */
export function factLine(fact: Header | Fact): string {
  const given = fact as unknown as { [key: string]: unknown };
  const ordered: { [key: string]: unknown } = {};
  for (const key of Object.keys(SHAPES[kindOf(given)!]!)) if (given[key] !== undefined) ordered[key] = given[key];
  return JSON.stringify(ordered);
}

/** The kind of a line: the first key that names one. */
function kindOf(fact: { readonly [key: string]: unknown }): string | undefined {
  const [first = ""] = Object.keys(fact);
  return Object.hasOwn(SHAPES, first) ? first : undefined;
}

/** Why a value is not a line of a tape; undefined if it is one. */
export function unknownFact(fact: unknown): string | undefined {
  if (!isObject(fact)) return "it is not an object";
  const kind = kindOf(fact);
  if (kind === undefined) return `there is no line that begins with '${Object.keys(fact)[0] ?? ""}'`;
  const shape = SHAPES[kind]!;
  const extra = Object.keys(fact).find((key) => !Object.hasOwn(shape, key));
  if (extra !== undefined) return `a line of kind '${kind}' has no '${extra}'`;
  for (const [key, field] of Object.entries(shape)) {
    if (fact[key] === undefined) {
      if (!field.endsWith("?")) return `a line of kind '${kind}' needs '${key}'`;
    } else if (!FIELDS[field.replace("?", "") as FieldKind](fact[key])) {
      return `'${key}' of a line of kind '${kind}' is not ${field.replace("?", "")}`;
    }
  }
  return undefined;
}
