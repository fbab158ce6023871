import { Buffer } from "node:buffer";
import { isObject, objectOf, quietly } from "../../core/json.ts";
import { ImportRefused } from "../../replay/accumulate.ts";
import { decompressed } from "../../replay/requests/decompress.ts";

/** One recorded request and its response. Header names are in lower case. */
export interface Exchange {
  readonly method: string;
  /** Absent if the file holds responses only. */
  readonly url?: string;
  readonly requestHeaders: { readonly [name: string]: string };
  /** The parsed body of the request; undefined if it was not recorded. */
  readonly request?: unknown;
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  /** The decompressed body of the response, read on demand: exchanges with other APIs may hold anything. */
  readonly body: () => string;
  /** When it was recorded, in milliseconds since the epoch. */
  readonly at?: number;
  /** How long the response took, in milliseconds. */
  readonly took?: number;
}

/** A file as text, and as data if it is JSON or YAML. */
export interface RecordingFile {
  readonly text: string;
  readonly json?: unknown;
  /** The values of a file with JSON on every line. */
  readonly lines?: readonly unknown[];
  readonly documents?: readonly unknown[];
  readonly beside?: ReadBeside | undefined;
}

/** Reads a file by its path from the folder of a recording; undefined if there is none. */
export type ReadBeside = (path: string) => Uint8Array | undefined;

/** An exchange as its recorder wrote it: each part may have any of the known forms. */
type WrittenExchange = { readonly [part in keyof Exchange]?: unknown } & { readonly body: () => unknown };

/** By default it is a POST, recorded at the `date` of the response, which took as long as the API reports. */
export function exchangeOf(written: WrittenExchange): Exchange {
  const headers = headersOf(written.headers);
  const at = Date.parse(String(written.at ?? headers.date));
  const took = Number(written.took ?? headers["x-envoy-upstream-service-time"]);
  let text: string | undefined;
  return {
    method: String(written.method ?? "POST").toUpperCase(),
    ...(written.url !== undefined && { url: String(written.url) }),
    requestHeaders: headersOf(written.requestHeaders),
    request: quietly(() => JSON.parse(textOfBody(written.request, undefined))),
    status: Number(written.status),
    headers,
    body: () => text ??= textOfBody(written.body(), headers["content-encoding"]),
    ...(!Number.isNaN(at) && { at }),
    ...(took >= 0 && { took: Math.round(took) }),
  };
}

function textOfBody(value: unknown, encoding: string | undefined): string {
  try {
    return Buffer.from(decompressed(bytesOf(value), encoding?.toLowerCase() ?? "")).toString("utf8");
  } catch (error) {
    throw new ImportRefused(`it has a body that cannot be decompressed: ${(error as Error).message}`);
  }
}

/** The bytes of a body: text, bytes, a parsed value, or one of the wrappers of VCR libraries. */
function bytesOf(value: unknown): Uint8Array {
  if (value === undefined || value === null) return new Uint8Array();
  if (typeof value === "string") return Buffer.from(value);
  if (value instanceof Uint8Array) return value;
  if (isObject(value) && typeof value.base64_string === "string") return Buffer.from(value.base64_string, "base64");
  if (isObject(value) && "string" in value) {
    const { string, encoding } = value;
    return typeof string === "string" && encoding === "ASCII-8BIT" ? fromByteText(string) : bytesOf(string);
  }
  return Buffer.from(JSON.stringify(value));
}

/** Ruby writes bytes as escapes (`\xE2\x80`), which YAML reads as one character each. */
function fromByteText(text: string): Uint8Array {
  // deno-lint-ignore no-control-regex
  return Buffer.from(text, /^[\u0000-\u00ff]*$/.test(text) ? "latin1" : "utf8");
}

/** Headers as an object, a list of `{ name, value }`, or a flat list, with names in lower case. */
function headersOf(value: unknown): { [name: string]: string } {
  const pairs: (readonly [name: unknown, value: unknown])[] = !Array.isArray(value)
    ? Object.entries(objectOf(value))
    : value.every(isObject)
    ? value.map((header) => [header.name, header.value])
    : value.flatMap((name, i) => i % 2 === 0 ? [[name, value[i + 1]]] : []);
  return Object.fromEntries(pairs.flatMap(([name, given]) => {
    const text = Array.isArray(given) ? given.map(String).join(", ") : given;
    return text === undefined || text === null ? [] : [[String(name).toLowerCase(), String(text)]];
  }));
}
