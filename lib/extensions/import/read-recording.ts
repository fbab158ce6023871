import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import type { ScalarTag, Tags } from "yaml";
import { isObject, parsed } from "../../core/json.ts";
import { ImportRefused } from "../../replay/accumulate.ts";
import type { Exchange, ReadBeside, RecordingFile } from "./exchange.ts";
import { FORMATS } from "./formats.ts";

export interface Recording {
  readonly format: string;
  readonly exchanges: readonly Exchange[];
}

/** Reads a recording of another tool, in the format that its content shows. @throws {ImportRefused} if it is broken or in none */
export async function readRecording(bytes: Uint8Array, beside?: ReadBeside): Promise<Recording> {
  const file = { ...await opened(textOf(bytes)), beside };
  for (const [format, read] of Object.entries(FORMATS)) {
    const exchanges = read(file);
    if (exchanges) return { format, exchanges };
  }
  throw new ImportRefused(unknown(file));
}

async function opened(text: string): Promise<RecordingFile> {
  if (/^\s*[{[]/.test(text)) {
    const json = parsed(text);
    if (json !== undefined) return { text, json };
    const lines = text.split("\n").filter((line) => line.trim() !== "").map(parsed);
    if (lines.every((line) => line !== undefined)) return { text, lines };
    const broken = lines.indexOf(undefined);
    throw new ImportRefused(broken > 0 ? `line ${broken + 1} is not JSON` : "it is not valid JSON: it may be cut off");
  }
  // A stream of events is also valid YAML; prose is not worth parsing.
  const first = text.split("\n").find((line) => !/^\s*(?:#|$)/.test(line)) ?? "";
  if (/^(?:event|data|:)/.test(first) || !YAML_START.test(first)) return { text };
  return { text, documents: await readDocuments(text) };
}

/** The first line of a YAML recording: `---`, a list or a key. */
const YAML_START = /^\s*(?:---|%YAML|!|-\s|["'\w-]+["']?\s*:)/;

function textOf(bytes: Uint8Array): string {
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? unzipped(bytes) : bytes;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(plain);
  } catch {
    throw new ImportRefused("it is not text");
  }
}

/** A small file that decompresses to more than this was made to fill the memory. */
const LARGEST = 256 * 1024 * 1024;

function unzipped(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: LARGEST });
  } catch (error) {
    throw new ImportRefused(`it cannot be decompressed: ${(error as Error).message}`);
  }
}

function unknown({ lines, json, documents, text }: RecordingFile): string {
  if (text.trim() === "") return "it is empty";
  const [first] = lines ?? documents ?? (Array.isArray(json) ? json : [json]);
  if (isObject(first) && "tape" in first) return "it is already a tape";
  const keys = isObject(first) ? Object.keys(first).slice(0, 6).join(", ") : "";
  const seen = keys === "" ? "" : ` (its keys are ${keys})`;
  return `its format is not supported${seen}: supported are ${Object.keys(FORMATS).join(", ")}`;
}

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
