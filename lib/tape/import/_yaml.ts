import { Buffer } from "node:buffer";
import type { Scalar, ScalarTag, Tags } from "yaml";
import { ImportRefused } from "./exchange.ts";

/**
 * The documents of a YAML file as its writer meant them. PyYAML and Psych write YAML 1.1, the others 1.2. A date is
 * never one: in a recording it is a header or a part of a body.
 *
 * @throws {ImportRefused} where it is not YAML
 */
export async function readDocuments(written: string): Promise<unknown[]> {
  const text = written.replace(BELOW, "$2$1");
  const { parseAllDocuments, Scalar, visit } = await import("yaml");
  const rubyBinary = {
    tag: "!binary",
    resolve: (value: string) => Buffer.from(value, "base64"),
    identify: () => false,
    stringify: () => "",
    createNode: (_: unknown, value: unknown) => new Scalar(value),
  };
  const version = isModern(text) ? "1.2" : "1.1";
  const documents = parseAllDocuments(text, {
    version,
    // A recorder may repeat a header; the last one wins, as it does where it was written.
    uniqueKeys: false,
    logLevel: "error",
    customTags: (tags) => [...(version === "1.1" ? tags.flatMap(asWritten) : tags), "binary", rubyBinary],
  });
  if (!Array.isArray(documents)) return [];
  const invalid = ({ message }: Error) =>
    new ImportRefused(`it is not valid YAML: ${message.split("\n")[0]!.replace(/:$/, "")}`);
  const values = documents.map((document) => {
    const [mistake] = document.errors;
    if (mistake) throw invalid(mistake);
    if (INDENTED.test(text)) visit(document, { Scalar: (_, node) => unindent(node, text) });
    let value: unknown;
    try {
      value = document.toJS({ mapAsMap: true, maxAliasCount: MOST_ALIASES });
    } catch (error) {
      throw invalid(error as Error);
    }
    return plain(value, new Map());
  });
  return values.filter((value) => value !== null); // as after a last `---`
}

/** Rust's writers leave `12:30` and `1_000` bare, which are numbers in YAML 1.1: httpmock, and cassetter by its typed bodies. */
function isModern(text: string): boolean {
  return /^(---\s*\n)?when:/.test(text) || /^ +body:\n +type: (?:json|text|binary|none)$/m.test(text);
}

/**
 * What PyYAML, Psych and the like ever write without quotes for what is no text, beside what the parser takes for such
 * a thing. They leave more texts bare than it knows: `y`, `08`, `09:30`, `.`, `1e3` and dates, which YAML 1.1 would
 * make truths, numbers and times of.
 */
const WRITTEN: readonly (readonly [sample: string, written: RegExp])[] = [
  ["~", /^(?:~|[Nn]ull|NULL)?$/],
  ["true", /^(?:[Tt]rue|TRUE)$/],
  ["false", /^(?:[Ff]alse|FALSE)$/],
  ["1", /^[-+]?(?:0|[1-9][0-9_]*)$/],
  ["1.5", /^(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)$/],
  ["1.5e+3", /^[-+]?[0-9]+\.[0-9]*[eE][-+][0-9]+$/],
  [".inf", /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/],
  ["<<", /^<<$/],
];

/** A tag as writers use it; without any use, it is none: a date, an octal number, sixtieths. */
function asWritten(tag: Tags[number]): Tags {
  const { test } = tag as ScalarTag;
  if (!test) return [tag];
  const [, written] = WRITTEN.find(([sample]) => test.test(sample)) ?? [];
  return written ? [{ ...tag as ScalarTag, test: written }] : [];
}

/** Where PyYAML ends a line too, and goes on with blanks in front; the parser takes both for a part of the text. */
const INDENTED = /[\u0085\u2028\u2029] /;

/** One that comes right after another end of a line stands before the blanks, where the parser wants them first. */
const BELOW = /(?<=\n)([\u0085\u2028\u2029]+)( +)/g;

/** Takes such blanks out of a text: as many as its block has, or all between quotes, where none else can follow. */
function unindent(node: Scalar, source: string): void {
  if (typeof node.value !== "string" || !node.range) return;
  const lines = source.slice(node.range[0], node.range[1]).split("\n").slice(1).filter((line) => line.trim() !== "");
  const block = Math.min(...lines.map((line) => line.search(/[^ ]/)));
  const most = node.type?.startsWith("BLOCK") ? block : node.type === "QUOTE_SINGLE" ? Infinity : 0;
  node.value = node.value.replace(/([\u0085\u2028\u2029])( +)/g, (_, end, blanks) => end + blanks.slice(most));
}

/** PyYAML and Psych write headers once that all calls share, and name them; aliases of aliases were made to fill the memory. */
const MOST_ALIASES = 10_000;

/** Maps as objects; what is shared stays so. Python keeps a header's name as a list of one text with a tag of its own. */
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
