import { gunzipSync } from "node:zlib";
import { isObject, parsed } from "../../core/json.ts";
import { type Exchange, ImportRefused, type RecordingFile } from "./exchange.ts";
import { FORMATS } from "./formats.ts";
import { readDocuments } from "./yaml.ts";

export interface Recording {
  readonly format: string;
  readonly exchanges: readonly Exchange[];
}

/**
 * Reads a recording of another tool. The content decides on the format, not the file's name.
 *
 * @throws {ImportRefused} if it is broken, or not in a supported format
 */
export async function readRecording(bytes: Uint8Array): Promise<Recording> {
  const file = await opened(textOf(bytes));
  const format = FORMATS.find((known) => known.recognises(file));
  if (!format) throw new ImportRefused(unknown(file));
  return { format: format.name, exchanges: format.read(file) };
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
  return `its format is not supported${seen}: supported are ${FORMATS.map((format) => format.name).join(", ")}`;
}
