import { existsSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { isObject, type JsonObject } from "../../../core/json.ts";
import { kebab, resolveEvent } from "../../../core/names.ts";
import { nearest } from "../../../input/nearest.ts";
import { type Check, KINDS } from "../../../input/options.ts";
import { hashOf } from "../../../runtime/sha256.ts";
import type { HookFile } from "../../../hooks/discover.ts";
import { HookLoadError } from "../../../hooks/file/load-error.ts";
import { sidecarsOf } from "../../../hooks/file/example-files.ts";
import { importModule } from "../../../hooks/module-hook.ts";
import { readYaml } from "../../../hooks/yaml.ts";
import {
  type Expected,
  EXPECTED_SCHEMA,
  readExpected,
  readWords,
  sayExpected,
  type Words,
} from "../../../testing/expectation.ts";
/** Files of the project by their paths in it, null for one that is not there; or a line for the shell. */
export type ExampleFiles = { readonly [path: string]: string | null } | string;

/**
 * One example of a hook: an event, and what the hook answers to it. Fields of the event that you omit get typical
 * values.
 */
export interface HookExample {
  /** @default made of the event and what is expected */
  readonly name?: string;
  /** Fields of the event, by our names or those on the wire: `{ tool_input: { command: "ls" } }`. */
  readonly event?: { readonly [field: string]: unknown };
  /** What the hook answers: a verdict, whose words may be a regular expression, or an action alone. @default no objection */
  readonly expect?: unknown;
  /** Events of the same session that came before, in their order. */
  readonly after?: readonly { readonly [field: string]: unknown }[];
  /** Files of the project before the event. */
  readonly given?: ExampleFiles;
  /** What a good agent does about a refusal: after it the hook has no objection. */
  readonly fix?: ExampleFiles;
  /** Files of the project after the event, and what is in them: words as in `expect`; null for one that is not there. */
  readonly leaves?: { readonly [path: string]: string | RegExp | null };
  /** Environment variables of the hook. */
  readonly env?: { readonly [name: string]: string };
  /** What the model says that a prompt hook asks. */
  readonly says?: string;
}

/** An example that was read: plain data, which can be handed to another process. */
export interface Example
  extends Pick<HookExample, "given" | "fix" | "says">, Required<Pick<HookExample, "name" | "event" | "after" | "env">> {
  /** The file and which of its examples this is, for messages. */
  readonly where: string;
  readonly expect: Expected;
  readonly leaves?: { readonly [path: string]: Words | null };
}

/** Makes the error for a part of a list of examples. */
type Mistake = (path: readonly (string | number)[], why: string) => HookLoadError;

const isText = (value: unknown) => typeof value === "string";
const isWords = (value: unknown) => value === null || isText(value) || value instanceof RegExp;
const isWorkspace = (value: unknown) =>
  isText(value)
    ? (value as string).trim() !== ""
    : isObject(value) && Object.values(value).every((text) => text === null || isText(text));
const TEXTS = { type: "object", additionalProperties: { type: ["string", "null"] } };
const WORKSPACE = {
  is: [isWorkspace, { ...TEXTS, type: ["string", "object"], pattern: "\\S" }],
  expected: "expected paths in the project and their texts (null: not there), or a line for the shell",
} as const;

/** The fields of an example: what fits, and the words for it. */
export const FIELDS: { readonly [field: string]: { readonly is: Check; readonly expected: string } } = {
  name: { is: KINDS["a text"], expected: "expected a text" },
  event: { is: KINDS["an object"], expected: "expected fields such as { tool_input: { … } }" },
  expect: { is: [() => true, EXPECTED_SCHEMA], expected: "" },
  after: {
    is: [(value) => Array.isArray(value) && value.every(isObject), { type: "array", items: { type: "object" } }],
    expected: "expected a list of events",
  },
  given: WORKSPACE,
  fix: WORKSPACE,
  leaves: {
    is: [(value) => isObject(value) && Object.values(value).every(isWords), TEXTS],
    expected: "expected paths in the project and words that are in them (null: not there)",
  },
  env: { is: KINDS["texts by name"], expected: "expected variables and their texts" },
  says: { is: KINDS["a text"], expected: "expected the text a model would answer" },
};

/** Reads the examples of a hook. @throws {HookLoadError} that names the field and what would fit */
export function readExampleList(
  given: unknown,
  file: string,
  mistake: Mistake = (_, why) => new HookLoadError(file, undefined, why),
): Example[] {
  if (!Array.isArray(given)) {
    throw mistake([], "its examples are not a list: write one or more examples in a list");
  }
  if (given.length === 0) throw mistake([], "its list of examples is empty: add one, or leave the list out");
  return given.map((one, i) => readExample(one, i, file, mistake));
}

function readExample(given: unknown, i: number, file: string, mistake: Mistake): Example {
  if (!isObject(given)) {
    throw mistake([i], `example ${i + 1} is ${JSON.stringify(given)}: expected { event: { … }, expect: … }`);
  }
  for (const [field, value] of Object.entries(given)) {
    const { is, expected } = Object.hasOwn(FIELDS, field) ? FIELDS[field]! : {};
    if (!is) {
      const why = `example ${i + 1} has a field '${field}': did you mean '${nearest(field, Object.keys(FIELDS))}'?`;
      throw mistake([i, field], why);
    }
    if (value === undefined || is[0](value)) continue;
    throw mistake([i, field], `${field} of example ${i + 1} does not fit: ${expected}`);
  }
  const { name, event = {}, after = [], leaves, env = {}, expect: _, ...more } = given as HookExample;
  let expect: Expected;
  try {
    expect = readExpected(given.expect);
  } catch (error) {
    throw mistake([i, "expect"], `what example ${i + 1} expects cannot be read, ${(error as Error).message}`);
  }
  return {
    name: name ?? `${sayEvent(event)}: ${sayExpected(expect)}`,
    where: `${file} example ${i + 1}`,
    event: checkedEvent(event, [i, "event"], mistake),
    after: after.map((one, n) => checkedEvent(one, [i, "after", n], mistake)),
    expect,
    ...(leaves !== undefined && { leaves: readLeaves(leaves, i, mistake) }),
    env,
    ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)),
  };
}

function readLeaves(leaves: JsonObject, i: number, mistake: Mistake): NonNullable<Example["leaves"]> {
  return Object.fromEntries(
    Object.entries(leaves).map(([path, words]) => {
      try {
        return [path, words === null ? null : readWords(words)];
      } catch (error) {
        throw mistake([i, "leaves", path], `leaves of example ${i + 1} do not fit: ${(error as Error).message}`);
      }
    }),
  );
}

/** An event that names itself names one that exists. */
function checkedEvent(fields: JsonObject, path: readonly (string | number)[], mistake: Mistake): JsonObject {
  const { event = fields.hook_event_name } = fields;
  if (event !== undefined && (typeof event !== "string" || resolveEvent(event) === undefined)) {
    const why = `${JSON.stringify(event)} is not an event: expected a name such as pre-tool-use`;
    throw mistake([...path, "event"], why);
  }
  return fields;
}

/** What an event is about, in a few words: its tool or its name, and the first text it gives. */
function sayEvent(fields: JsonObject): string {
  const { event, hook_event_name, tool_name, tool, input, tool_input, args, ...rest } = fields;
  const called = tool_name ?? tool ?? event ?? hook_event_name;
  const name = typeof called === "string" ? (resolveEvent(called) ? kebab(called) : called) : undefined;
  const given = input ?? tool_input ?? args;
  const texts = [...Object.values(isObject(given) ? given : {}), ...Object.values(rest)];
  const said = [name, texts.find((text) => typeof text === "string")].filter((part) => part !== undefined).join(" ");
  return (said.replaceAll(/\s+/g, " ").trim() || "the usual event").slice(0, 80);
}

/** A module is run to be read, in a check by the hook's own process. @throws {HookLoadError} with the file and line */
export async function readExamples(file: HookFile): Promise<readonly Example[]> {
  return [...file.kind === "module" ? await exported(file) : [], ...await beside(file)];
}

async function exported(file: HookFile): Promise<readonly Example[]> {
  const folder = { root: dirname(file.path), shared: "", sharedFiles: [] };
  const version = hashOf(file.text, 16);
  const { examples } = await importModule(folder, file.path, version) as { examples?: unknown };
  return examples === undefined ? [] : readExampleList(examples, file.name);
}

async function beside(file: HookFile): Promise<readonly Example[]> {
  const path = sidecarsOf(file.at).find((candidate) => existsSync(candidate));
  if (path === undefined) return [];
  const name = basename(path);
  const { value, mistake } = await readYaml(readFileSync(path, "utf8"), name);
  return readExampleList(value, name, mistake);
}
