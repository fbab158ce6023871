import { Buffer } from "node:buffer";

/** How a file's text lies in its bytes. "bytes" is UTF-8, or a legacy encoding that shares ASCII with it. */
export type Encoding = "bytes" | "utf16le" | "utf16be";

/** Known from the byte order mark alone: guessing an encoding would be guessing what to write. */
export function encodingOf(bytes: Uint8Array): Encoding | "utf32" {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 && bytes.length % 4 === 0 ? "utf32" : "utf16le";
  if (a === 0xfe && b === 0xff) return "utf16be";
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return "utf32";
  return "bytes";
}

/** Bytes in one unit of text: matches start at multiples of it. */
export function unitOf(encoding: Encoding): 1 | 2 {
  return encoding === "bytes" ? 1 : 2;
}

export function encode(text: string, encoding: Encoding): Buffer {
  if (encoding === "bytes") return Buffer.from(text, "utf8");
  const little = Buffer.from(text, "utf16le");
  return encoding === "utf16le" ? little : little.swap16();
}

const DECODERS: Record<Encoding, TextDecoder> = {
  bytes: new TextDecoder("utf-8", { ignoreBOM: true }),
  utf16le: new TextDecoder("utf-16le", { ignoreBOM: true }),
  utf16be: new TextDecoder("utf-16be", { ignoreBOM: true }),
};

/** For people and hooks to read: what is not valid becomes U+FFFD, so the result must never be written back. */
export function decode(bytes: Uint8Array, encoding: Encoding): string {
  return DECODERS[encoding].decode(bytes);
}

export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

/** The same memory as a Buffer, whose native search and comparison are the fast ones. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
