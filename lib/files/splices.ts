import { Buffer } from "node:buffer";
import { countLines, type Encoding } from "./text-bytes.ts";

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
