import { brotliDecompressSync, constants, gunzipSync, inflateRawSync, inflateSync } from "node:zlib";
import * as zlib from "node:zlib";
import { Buffer } from "node:buffer";
import { type Fields, ImportRefused, isFields } from "./exchange.ts";

/** The bytes of a body in any of the forms in which tools keep one; Azure's proxy has its lines in a list. */
export function bytesOf(value: unknown): Uint8Array {
  if (value === undefined || value === null) return new Uint8Array();
  if (typeof value === "string") return Buffer.from(value);
  if (value instanceof Uint8Array) return value;
  if (isByteList(value)) return Buffer.from(value);
  if (Array.isArray(value) && value.every((line) => typeof line === "string")) return Buffer.from(value.join(""));
  return (isFields(value) ? unwrapped(value) : undefined) ?? Buffer.from(JSON.stringify(value));
}

/** Whether a value is bytes as JSON has them, one number each. */
export function isByteList(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((byte) => typeof byte === "number");
}

/** What is in a wrapping that tools put around a body; undefined where the value is the body itself. */
function unwrapped(value: Fields): Uint8Array | undefined {
  const { base64_string, b64, string, encoding, text, type, data } = value;
  if (typeof base64_string === "string") return Buffer.from(base64_string, "base64");
  if (typeof b64 === "string") return Buffer.from(b64, "base64");
  if ("string" in value) {
    return typeof string === "string" && isByteEncoding(encoding) ? fromByteText(string) : bytesOf(string);
  }
  if (type === "Buffer" && Array.isArray(data)) return Buffer.from(data); // as Node writes one
  if (typeof text === "string" && "charset" in value) return Buffer.from(text);
  return Object.keys(value).every((key) => key === "type" || key === "content") ? typed(value) : undefined;
}

/** A body that says itself what it is; bytes are hexadecimal digits. An answer of the API has other types. */
function typed({ type, content }: Fields): Uint8Array | undefined {
  switch (type) {
    case "json":
      return Buffer.from(JSON.stringify(content));
    case "text":
      return Buffer.from(String(content));
    case "binary":
      return Buffer.from(String(content), "hex");
    case "none":
      return new Uint8Array();
    default:
      return undefined;
  }
}

/** Ruby's names for "no encoding, just bytes". */
function isByteEncoding(encoding: unknown): boolean {
  return typeof encoding === "string" && /^(ASCII-8BIT|BINARY)$/i.test(encoding);
}

/** Bytes that were written as escapes (`\xE2\x80`) come as one character each. */
function fromByteText(text: string): Uint8Array {
  // deno-lint-ignore no-control-regex
  if (!/^[\u0000-\u00ff]*$/.test(text)) return Buffer.from(text);
  return Buffer.from(text, "latin1");
}

/** The text of an answer, once it is wanted: what is no call of the Messages API may hold anything. */
export function answerText(value: () => unknown, encoding: string | undefined): () => string {
  let text: string | undefined;
  return () => text ??= textOfBody(value(), encoding);
}

/** The text of a body. Its compression is told by the bytes: the header is often left over from the wire. */
function textOfBody(value: unknown, encoding: string | undefined): string {
  const bytes = bytesOf(value);
  try {
    return Buffer.from(unpacked(fromBase64(bytes), encoding?.toLowerCase() ?? "")).toString("utf8");
  } catch (error) {
    throw error instanceof ImportRefused ? error : new ImportRefused(`${PACKED}: ${(error as Error).message}`);
  }
}

const PACKED = "its body cannot be unpacked";

/** What Go, Swift and talkback write of bytes is base64, without a word on it: no body of this API looks like that. */
function fromBase64(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 16 || !/^[A-Za-z0-9+/]+={0,2}$/.test(Buffer.from(bytes).toString("latin1"))) return bytes;
  const inner = Buffer.from(Buffer.from(bytes).toString("latin1"), "base64");
  return isPacked(inner) || isBody(inner.toString("utf8")) ? inner : bytes;
}

/** Whether a text is what the API is asked or answers: JSON, or a stream. */
export function isBody(text: string): boolean {
  return /^\s*(?:\{|event:|data:)/.test(text);
}

/** Whether a value is what the API is asked or answers: as it is, as a text, in base64, or as a list of events. */
export function looksLikeBody(value: unknown): boolean {
  if (Array.isArray(value)) return isFields(value[0]) && value[0].type === "message_start";
  const read = isFields(value) ? value : requestBody(value);
  if (isFields(read)) return Array.isArray(read.messages) || read.type === "message" || read.type === "error";
  return typeof value === "string" && /^(?:event|data):/.test(Buffer.from(fromBase64(Buffer.from(value))).toString());
}

/** Whether a text begins as a stream of events does. */
export function beginsAsStream(text: string): boolean {
  return /^\s*(?:event|data|id|retry)?:/.test(text);
}

function isPacked([a, b]: Uint8Array): boolean {
  return a === 0x1f && b === 0x8b;
}

/** A body that unpacks to more than this was made to fill the memory. */
const LARGEST = 64 * 1024 * 1024;

/** Packed bodies may be packed again on the way. */
const MOST_LAYERS = 4;

function unpacked(bytes: Uint8Array, encoding: string): Uint8Array {
  let plain = bytes;
  for (let layer = 0; layer < MOST_LAYERS && !isText(plain); layer++) plain = withoutLayer(plain, encoding);
  return plain;
}

function withoutLayer(bytes: Uint8Array, encoding: string): Uint8Array {
  const [a = 0, b = 0, c, d] = bytes;
  const capped = { maxOutputLength: LARGEST };
  // A stream that was cut has no trailer: what came of it is still there.
  const lenient = { ...capped, finishFlush: constants.Z_SYNC_FLUSH };
  if (isPacked(bytes)) return gunzipSync(bytes, lenient);
  if (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd) return zlib.zstdDecompressSync(bytes, capped);
  if (a === 0x78 && (a * 256 + b) % 31 === 0) return inflateSync(bytes, lenient);
  // Brotli has no mark of its own, and neither has what some servers call deflate: only what is no text can be it.
  if (encoding.includes("br")) {
    const plain = brotliDecompressSync(bytes, capped);
    if (plain.length === 0) throw new ImportRefused(`${PACKED}: it ends too early`); // Deno says nothing of that
    return plain;
  }
  if (encoding.includes("deflate")) return inflateRawSync(bytes, lenient);
  return bytes;
}

function isText(bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, 4096), { stream: true });
    // deno-lint-ignore no-control-regex
    return !/[\u0000-\u0008\u000e-\u001f]/.test(text);
  } catch {
    return false;
  }
}

/** A request's body, read; undefined where there is none, it is no JSON, or cannot be unpacked. */
export function requestBody(value: unknown): unknown {
  if (isFields(value) && unwrapped(value) === undefined) return value;
  try {
    return JSON.parse(textOfBody(value, undefined));
  } catch {
    return undefined;
  }
}

/** Headers in any of the forms in which tools keep them, with names in lower case. */
export function headersOf(value: unknown): { [name: string]: string } {
  const headers: { [name: string]: string } = {};
  const add = (name: unknown, given: unknown) => {
    const text = Array.isArray(given) ? given.map(String).join(", ") : given;
    if (text !== undefined && text !== null) headers[String(name).toLowerCase()] = String(text);
  };
  if (Array.isArray(value)) {
    if (value.every(isFields)) { for (const { name, value: given } of value) add(name, given); }
    else if (value.every(Array.isArray)) { for (const [name, given] of value) add(name, given); }
    else for (let i = 0; i + 1 < value.length; i += 2) add(value[i], value[i + 1]);
  } else if (isFields(value) && Array.isArray(value.headers)) return headersOf(value.headers);
  else if (isFields(value)) { for (const [name, given] of Object.entries(value)) add(name, given); }
  return headers;
}
