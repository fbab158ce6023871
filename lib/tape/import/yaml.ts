import { Buffer } from "node:buffer";
import type { ScalarTag, Tags } from "yaml";
import { ImportRefused } from "./exchange.ts";

/**
 * The documents of a YAML file. Recorders write YAML 1.1 (Python, Ruby) or 1.2 (Go, Rust), and leave different texts
 * unquoted: only what both versions read as a number, boolean or null is one.
 *
 * @throws {ImportRefused} if it is not valid YAML
 */
export async function readDocuments(text: string): Promise<unknown[]> {
  const { parseAllDocuments, Scalar } = await import("yaml");
  const rubyBinary = {
    tag: "!binary",
    resolve: (value: string) => Buffer.from(value, "base64"),
    identify: () => false,
    stringify: () => "",
    createNode: (_: unknown, value: unknown) => new Scalar(value),
  };
  const documents = parseAllDocuments(text, {
    uniqueKeys: false, // a recorder may repeat a header: the last one wins
    merge: true,
    logLevel: "error",
    customTags: (tags) => [...tags.flatMap(inBothVersions), "binary", rubyBinary],
  });
  if (!Array.isArray(documents)) return [];
  const values = documents.map((document) => {
    try {
      if (document.errors[0]) throw document.errors[0];
      return plain(document.toJS({ mapAsMap: true, maxAliasCount: MOST_ALIASES }), new Map());
    } catch (error) {
      const [reason] = (error as Error).message.split("\n");
      throw new ImportRefused(`it is not valid YAML: ${reason!.replace(/:$/, "")}`);
    }
  });
  return values.filter((value) => value !== null); // after a last `---`
}

/** The parser's tag that reads the sample reads only what the expression matches. */
const NUMBERS: readonly (readonly [sample: string, written: RegExp])[] = [
  ["1", /^[-+]?(?:0|[1-9][0-9]*)$/], // `08` is text to PyYAML
  ["1.5", /^[-+]?[0-9]+\.[0-9]*$/],
  ["1.5e+3", /^[-+]?[0-9]+\.[0-9]*[eE][-+][0-9]+$/], // `1e3` is text to PyYAML
];

function inBothVersions(tag: Tags[number]): Tags {
  const { test } = tag as ScalarTag;
  if (!test || test.test("~") || test.test("true") || test.test(".inf")) return [tag];
  const [, written] = NUMBERS.find(([sample]) => test.test(sample)) ?? [];
  return written ? [{ ...tag as ScalarTag, test: written }] : []; // neither octal nor hexadecimal
}

/** PyYAML and Psych write headers that calls share once, and refer to them; a file with more was made to fill the memory. */
const MOST_ALIASES = 10_000;

/** Maps as objects, shared values stay shared. vcrpy may write a header's name as a tagged list of one text. */
function plain(value: unknown, known: Map<unknown, unknown>): unknown {
  if (!Array.isArray(value) && !(value instanceof Map)) return value;
  if (known.has(value)) return known.get(value);
  const made = Array.isArray(value)
    ? value.map((part) => plain(part, known))
    : Object.fromEntries([...value].map(([key, part]) => [keyText(key), plain(part, known)]));
  known.set(value, made);
  return made;
}

function keyText(key: unknown): string {
  return Array.isArray(key) ? keyText(key[0]) : String(key);
}
