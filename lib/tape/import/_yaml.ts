import { Buffer } from "node:buffer";
import type { ScalarTag } from "yaml";
import { ImportRefused } from "./exchange.ts";

/**
 * The documents of a YAML file as its writer meant them. PyYAML and Psych write YAML 1.1, where `1e3` is a text and
 * `yes` is not; the others write 1.2. A date is never one: in a recording it is a header or a part of a body.
 *
 * @throws {ImportRefused} where it is not YAML
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
  const version = isModern(text) ? "1.2" : "1.1";
  const documents = parseAllDocuments(text, {
    version,
    // A recorder may repeat a header; the last one wins, as it does where it was written.
    uniqueKeys: false,
    logLevel: "error",
    customTags: (tags) => [
      ...tags.filter((tag) => typeof tag === "string" || tag.tag !== "tag:yaml.org,2002:timestamp")
        .map((tag) => version === "1.1" && isExponent(tag) ? { ...tag, test: EXP } : tag),
      "binary",
      rubyBinary,
    ],
  });
  if (!Array.isArray(documents)) return [];
  const invalid = (mistake: Error) => new ImportRefused(`it is not valid YAML: ${mistake.message.split("\n")[0]}`);
  const values = documents.map((document) => {
    const [mistake] = document.errors;
    if (mistake) throw invalid(mistake);
    let value: unknown;
    try {
      value = document.toJS({ mapAsMap: true, maxAliasCount: 100 });
    } catch (error) {
      throw invalid(error as Error);
    }
    return plain(value);
  });
  return values.filter((value) => value !== null); // as after a last `---`
}

/** Rust's writers leave `12:30` and `1_000` bare, which are numbers in YAML 1.1: httpmock, and cassetter by its typed bodies. */
function isModern(text: string): boolean {
  return /^(---\s*\n)?when:/.test(text) || /^ +body:\n +type: (?:json|text|binary|none)$/m.test(text);
}

/** A number with an exponent has a point and a sign where PyYAML and Psych write it; without, it is a text of theirs. */
function isExponent(tag: unknown): tag is ScalarTag {
  return (tag as ScalarTag).format === "EXP";
}

const EXP = /^[-+]?[0-9][0-9_]*\.[0-9_]*[eE][-+][0-9]+$/;

/** Maps as objects. Python keeps a header's name as a list of one text with a tag of its own. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, part]) => [keyText(key), plain(part)]));
}

function keyText(key: unknown): string {
  return Array.isArray(key) ? keyText(key[0]) : String(key);
}
