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

/** A NUL this early makes a file binary, as in Grep. */
const BINARY_WINDOW = 1 << 16;

/** Whether bytes are not a text: one that would be read as bytes has no NUL. */
export function isBinary(bytes: Uint8Array): boolean {
  return encodingOf(bytes) === "bytes" && bytes.subarray(0, BINARY_WINDOW).includes(0);
}

/** Why a binary file is neither read nor changed as text. */
export function binaryWords(verb: string, path: string): string {
  return `Cannot ${verb} '${path}' as it is a binary file: look into it with Bash, for example file or xxd`;
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

export interface TextSearch {
  /** Matches start at multiples of this many bytes. @default 1 */
  readonly unit?: 1 | 2;
  /** Report every start position, also inside an earlier match. @default false */
  readonly overlapping?: boolean;
}

/** A needle is looked for by this many bytes of it, which bounds the worst case of the native search. */
const ANCHOR = 32;
/** What a candidate costs beside the bytes compared, in the unit of the budget. */
const CANDIDATE = 64;

/**
 * Calls `visit` with each start of `needle`, in order, until it answers false. Time is linear in the two
 * lengths whatever they hold: a native search proposes candidates, and if they turn out to be too many
 * (a long needle of one repeated character) the rest is done by the Knuth–Morris–Pratt automaton.
 */
export function eachMatch(
  hay: Uint8Array,
  needle: Uint8Array,
  visit: (start: number) => boolean | void,
  { unit = 1, overlapping = false }: TextSearch = {},
): void {
  if (needle.length === 0 || needle.length > hay.length) return;
  const at = anchorOffset(needle);
  const next = anchorSearch(asBuffer(hay), asBuffer(needle).subarray(at, at + ANCHOR));
  let budget = 4 * hay.length + (1 << 20);
  let from = 0;
  while (from + needle.length <= hay.length) {
    const start = next(from + at) - at;
    if (start < 0 || start + needle.length > hay.length) return;
    const same = start % unit === 0 ? samePrefix(hay, start, needle) : 0;
    budget -= same + CANDIDATE;
    if (same === needle.length) {
      if (visit(start) === false) return;
      from = overlapping ? start + 1 : start + needle.length;
    } else from = start + 1;
    if (budget < 0) return eachMatchByAutomaton(hay, needle, visit, from, unit, overlapping);
  }
}

function samePrefix(hay: Uint8Array, start: number, needle: Uint8Array): number {
  let i = 0;
  while (i < needle.length && hay[start + i] === needle[i]) i++;
  return i;
}

/** Of the needle's head, middle and tail, the part with the most different bytes: the likeliest to be rare. */
function anchorOffset(needle: Uint8Array): number {
  const last = needle.length - ANCHOR;
  if (last <= 0) return 0;
  const variety = (at: number) => new Set(needle.subarray(at, at + ANCHOR)).size;
  return [0, last >> 1, last].reduce((best, at) => variety(at) > variety(best) ? at : best);
}

/** Bun searches bytes at memory speed. Deno does not, but it searches strings so, a block at a time. */
function anchorSearch(hay: Buffer, anchor: Buffer): (from: number) => number {
  if (process.versions.bun !== undefined) return (from) => hay.indexOf(anchor, from);
  const BLOCK = 1 << 16;
  const wanted = anchor.toString("latin1");
  let block = "", start = 0, end = 0;
  return (from) => {
    while (from + wanted.length <= hay.length) {
      if (from < start || from + wanted.length > end) {
        start = from;
        end = Math.min(hay.length, start + BLOCK);
        block = hay.toString("latin1", start, end);
      }
      const found = block.indexOf(wanted, from - start);
      if (found >= 0) return start + found;
      from = end - wanted.length + 1;
    }
    return -1;
  };
}

function eachMatchByAutomaton(
  hay: Uint8Array,
  needle: Uint8Array,
  visit: (start: number) => boolean | void,
  from: number,
  unit: number,
  overlapping: boolean,
): void {
  const border = borders(needle);
  let state = 0;
  for (let i = from; i < hay.length; i++) {
    while (state > 0 && hay[i] !== needle[state]) state = border[state]!;
    if (hay[i] === needle[state]) state++;
    if (state < needle.length) continue;
    const start = i + 1 - needle.length;
    const aligned = start % unit === 0;
    if (aligned && visit(start) === false) return;
    state = aligned && !overlapping ? 0 : border[state]!;
  }
}

/** For each length of a prefix, the length of its longest proper prefix that is also its suffix. */
function borders(needle: Uint8Array): Int32Array {
  const border = new Int32Array(needle.length + 1);
  for (let i = 1, k = 0; i < needle.length; i++) {
    while (k > 0 && needle[i] !== needle[k]) k = border[k]!;
    if (needle[i] === needle[k]) k++;
    border[i + 1] = k;
  }
  return border;
}

/** How the line breaks of the call were written to the file. */
export type Eol = "verbatim" | "crlf" | "lf" | "mixed";

/** Whether every LF of the text follows a CR, and there is one. */
export function isUniformCrlf(bytes: Uint8Array, encoding: Encoding): boolean {
  const cr = encode("\r", encoding);
  let breaks = 0, lone = false;
  eachMatch(bytes, encode("\n", encoding), (at) => {
    breaks++;
    lone = !endsAt(bytes, at, cr);
    return !lone;
  }, { unit: unitOf(encoding) });
  return breaks > 0 && !lone;
}

export function hasCrlf(bytes: Uint8Array, encoding: Encoding): boolean {
  let found = false;
  eachMatch(bytes, encode("\r\n", encoding), () => {
    found = true;
    return false;
  }, { unit: unitOf(encoding) });
  return found;
}

/** Whether the text's only line breaks are CRLF; a text without any is. */
export function usesOnlyCrlf(text: string): boolean {
  const rest = text.replaceAll("\r\n", "");
  return !rest.includes("\r") && !rest.includes("\n");
}

export function toCrlf(text: string): string {
  return text.replaceAll("\n", "\r\n");
}

export function toLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/** Whether `tail` lies directly before `at`. */
export function endsAt(bytes: Uint8Array, at: number, tail: Uint8Array): boolean {
  if (at < tail.length) return false;
  for (let i = 0; i < tail.length; i++) if (bytes[at - tail.length + i] !== tail[i]) return false;
  return true;
}

/** The text with each CRLF as LF, and the way back: `original(i)` must be asked with rising positions. */
export function lfView(bytes: Uint8Array, encoding: Encoding): { view: Uint8Array; original: (i: number) => number } {
  const unit = unitOf(encoding);
  const dropped: number[] = [];
  eachMatch(bytes, encode("\r\n", encoding), (at) => void dropped.push(at), { unit });
  const view = new Uint8Array(bytes.length - dropped.length * unit);
  let from = 0, to = 0;
  for (const at of dropped) {
    view.set(bytes.subarray(from, at), to);
    to += at - from;
    from = at + unit;
  }
  view.set(bytes.subarray(from), to);
  let passed = 0;
  const original = (i: number) => {
    while (passed < dropped.length && dropped[passed]! - passed * unit < i) passed++;
    return i + passed * unit;
  };
  return { view, original };
}

/** The number of LF units in `bytes[start, end)`. */
export function countLines(bytes: Uint8Array, encoding: Encoding, start: number, end: number): number {
  const part = bytes.subarray(start, end);
  let count = 0;
  if (encoding !== "bytes") eachMatch(part, encode("\n", encoding), () => void count++, { unit: 2 });
  // By the runtime's own search: three times as fast as a look at each byte.
  else for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) count++;
  return count;
}

/** One replaced range of a file. Lists of them are sorted and do not overlap; offsets are those of the old bytes. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array;
}

/** The new bytes as views of the old ones and of the replacements: nothing is copied. */
export function* pieces(old: Uint8Array, splices: readonly Splice[]): Generator<Uint8Array> {
  let from = 0;
  for (const { start, end, bytes } of splices) {
    if (start > from) yield old.subarray(from, start);
    if (bytes.length > 0) yield bytes;
    from = end;
  }
  if (from < old.length) yield old.subarray(from);
}

export function applySplices(old: Uint8Array, splices: readonly Splice[]): Uint8Array {
  const now = Buffer.allocUnsafeSlow(splicedLength(old, splices));
  let at = 0;
  for (const piece of pieces(old, splices)) {
    now.set(piece, at);
    at += piece.length;
  }
  return now;
}

export function splicedLength(old: Uint8Array, splices: readonly Splice[]): number {
  return splices.reduce((length, s) => length + s.bytes.length - (s.end - s.start), old.length);
}

/** The splices that lead from the old bytes past `middle` to where `second` leads from there. */
export function composeSplices(first: readonly Splice[], middle: Uint8Array, second: readonly Splice[]): Splice[] {
  const out: Splice[] = [];
  let i = 0, j = 0;
  let shift = 0;
  while (i < first.length || j < second.length) {
    const low = Math.min((first[i]?.start ?? Infinity) + shift, second[j]?.start ?? Infinity);
    const start = low - shift;
    const parts: Uint8Array[] = [];
    let high = low, copied = low;
    for (;;) {
      const a = first[i], b = second[j];
      if (a !== undefined && a.start + shift <= high) {
        high = Math.max(high, a.start + shift + a.bytes.length);
        shift += a.bytes.length - (a.end - a.start);
        i++;
      } else if (b !== undefined && b.start <= high) {
        parts.push(middle.subarray(copied, b.start), b.bytes);
        copied = b.end;
        high = Math.max(high, b.end);
        j++;
      } else break;
    }
    parts.push(middle.subarray(copied, high));
    out.push({ start, end: high - shift, bytes: Buffer.concat(parts) });
  }
  return out;
}

/** The one splice that turns `old` into `now`, without the head and tail they share. */
export function spliceBetween(old: Uint8Array, now: Uint8Array): Splice[] {
  const shorter = Math.min(old.length, now.length);
  let head = 0, tail = 0;
  while (head < shorter && old[head] === now[head]) head++;
  if (head === old.length && head === now.length) return [];
  while (tail < shorter - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  return [{ start: head, end: old.length - tail, bytes: now.subarray(head, now.length - tail) }];
}

/** The line (from 1) on which each replacement starts, in the new text. */
export function linesAfter(old: Uint8Array, splices: readonly Splice[], encoding: Encoding): number[] {
  let line = 1, from = 0, last: Uint8Array | undefined, lines = 0;
  return splices.map(({ start, end, bytes }) => {
    line += countLines(old, encoding, from, start);
    const here = line;
    // The replacements of one call are all the same bytes.
    if (bytes !== last) lines = countLines(last = bytes, encoding, 0, bytes.length);
    line += lines;
    from = end;
    return here;
  });
}
