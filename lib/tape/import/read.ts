import { gunzipSync } from "node:zlib";
import { parsed } from "../../core/json.ts";
import { batch, rawSse, vercelChunks, vercelJson, wrappedEvents } from "./_answers.ts";
import { goVcr } from "./_go-vcr.ts";
import { har } from "./_har.ts";
import { httpmock } from "./_httpmock.ts";
import { httpAnswer, httprr } from "./_httprr.ts";
import { fromJson5 } from "./_json5.ts";
import { nock, opencode, seinfeld } from "./_json-cassettes.ts";
import { pairs } from "./_pairs.ts";
import { rubyVcr } from "./_ruby-vcr.ts";
import { cassetter, ddapm, langchain, vcrpy } from "./_vcrpy.ts";
import { wiremock } from "./_wiremock.ts";
import { readDocuments } from "./_yaml.ts";
import { type Beside, type Exchange, type Format, ImportRefused, isFields, type Opened } from "./exchange.ts";

/** Every format that can be imported; the first that recognises a file reads it. */
export const FORMATS: readonly Format[] = [
  vcrpy,
  cassetter,
  goVcr,
  rubyVcr,
  httpmock,
  seinfeld,
  opencode,
  nock,
  har,
  ddapm,
  langchain,
  wiremock,
  httprr,
  vercelJson, // before pairs, which a tool's input may look like
  pairs,
  vercelChunks,
  wrappedEvents,
  batch,
  httpAnswer,
  rawSse,
];

export interface Recording {
  readonly format: string;
  readonly exchanges: readonly Exchange[];
}

/**
 * Reads a recording of another tool, whatever its name: the content says which format it is.
 *
 * @throws {ImportRefused} where it is none of the known formats, or broken
 */
export async function readRecording(bytes: Uint8Array, name: string, beside?: Beside): Promise<Recording> {
  const file = { ...await open(bytes, name), ...(beside && { beside }) };
  const format = formatOf(file);
  if (format) return { format: format.name, exchanges: format.read(file) };
  // Several recordings may stand in one file, one document each.
  const parts = (file.documents ?? []).map((document) => ({ ...file, documents: [document] }));
  const [first, ...others] = parts.map(formatOf);
  if (!first || others.some((other) => other !== first)) throw new ImportRefused(unknown(file));
  return { format: first.name, exchanges: parts.flatMap((part) => first.read(part)) };
}

function formatOf(file: Opened): Format | undefined {
  return FORMATS.find((known) => known.recognises(file));
}

async function open(bytes: Uint8Array, name: string): Promise<Opened> {
  const text = textOf(bytes);
  if (/^(?:\s*#.*\n)*\s*(?:[{[]|\/[/*])/.test(text)) {
    const json = parsed(text);
    if (json !== undefined) return { name, text, json };
    const lines = text.split("\n").filter((line) => !/^\s*(?:#|$)/.test(line)).map(parsed);
    if (lines.every((line) => line !== undefined)) return { name, text, lines };
    const json5 = parsed(fromJson5(text));
    if (json5 !== undefined) return { name, text, json: json5 };
  }
  if ([rawSse, httprr, httpAnswer].some((plain) => plain.recognises({ name, text }))) return { name, text };
  if (/^version\s*=/m.test(text) && text.includes("[[interactions]]")) return { name, text, json: await toml(text) };
  // A recorder's YAML never begins like this, and to read damaged JSON as such takes long and tells nothing.
  if (/^\s*[{[]/.test(text)) throw new ImportRefused(damaged(text));
  if (!YAML_START.test(text)) return { name, text };
  return { name, text, documents: await readDocuments(text) };
}

/** How a YAML file of a recorder begins: a mark, a list, or a key, after any comments. */
const YAML_START = /^(?:[^\S\n]*(?:#[^\n]*)?\n)*[^\S\n]*(?:---|%YAML|!|-\s|["'\w-]+["']?\s*:)/;

async function toml(text: string): Promise<unknown> {
  const { parse } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    throw new ImportRefused(`it is not valid TOML: ${(error as Error).message.split("\n")[0]}`);
  }
}

function textOf(bytes: Uint8Array): string {
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? unzipped(bytes) : bytes;
  if (isMitmproxy(plain)) {
    throw new ImportRefused("it is a flow of mitmproxy: write it as a HAR there (save.har) first");
  }
  if (isArchive(plain)) throw new ImportRefused("it is an archive of files: unpack it, and import what is in it");
  try {
    return new TextDecoder(isUtf16(plain) ? "utf-16le" : "utf-8", { fatal: true }).decode(plain);
  } catch {
    throw new ImportRefused("it is not a text");
  }
}

/** Its flows are texts with their lengths in front, and say so in the first of them. */
function isMitmproxy(bytes: Uint8Array): boolean {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 4096));
  return /^\d+:\d+:/.test(start) && /\d+:(?:client_conn|websocket|request|version);/.test(start);
}

/** A zip, or a tar. */
function isArchive(bytes: Uint8Array): boolean {
  const starts = (mark: string, at: number) => [...mark].every((char, i) => bytes[at + i] === char.charCodeAt(0));
  return starts("PK\x03\x04", 0) || starts("ustar", 257);
}

/** As Windows writes what a command prints. */
function isUtf16([a, b]: Uint8Array): boolean {
  return a === 0xff && b === 0xfe;
}

/** A small file that unpacks to more than this was made to fill the memory. */
const LARGEST = 256 * 1024 * 1024;

function unzipped(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: LARGEST });
  } catch (error) {
    throw new ImportRefused(`it cannot be unzipped: ${(error as Error).message}`);
  }
}

const MERGING = "it has the marks of a merge: resolve that first";

function isMerging(text: string): boolean {
  return /^<{7} /m.test(text) && /^>{7} /m.test(text);
}

/** Where JSON is damaged: in one value that goes over lines, or in a line of many. */
function damaged(text: string): string {
  if (isMerging(text)) return MERGING;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const broken = lines.findIndex((line) => parsed(line) === undefined);
  return broken > 0
    ? `line ${broken + 1} of it is not JSON`
    : "it is not valid JSON: its recorder may have been cut short";
}

/** Under which names recorders keep exchanges. */
const LISTS = ["interactions", "http_interactions", "entries"];

function isEmpty(list: unknown): boolean {
  return list === null || (Array.isArray(list) && list.length === 0);
}

function unknown({ lines, json, documents, text }: Opened): string {
  const [first] = lines ?? documents ?? (Array.isArray(json) ? json : [json]);
  if (text.trim() === "") return "it is empty";
  if (isMerging(text)) return MERGING;
  if (isFields(first) && "tape" in first) return "it is a tape already";
  const list = LISTS.find((key) => isFields(first) && key in first && isEmpty(first[key]));
  if (list !== undefined) return `it holds no exchange: its '${list}' are empty`;
  if (lines?.some((line) => isFields(line) && line.type === "assistant" && isFields(line.message))) {
    return "it is the transcript of a session, without requests and streams: import a recording of its HTTP calls";
  }
  const keys = isFields(first) ? Object.keys(first).slice(0, 6).join(", ") : "";
  const seen = keys === "" ? "" : ` (its keys are ${keys})`;
  return `it is in none of the known formats${seen}: ${FORMATS.map((format) => format.name).join(", ")}`;
}
