import type { Buffer } from "node:buffer";
import { asBuffer } from "./encoding.ts";

export interface SearchOptions {
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
  { unit = 1, overlapping = false }: SearchOptions = {},
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

/** The first start of `needle`, or -1. */
export function firstMatch(hay: Uint8Array, needle: Uint8Array, unit: 1 | 2 = 1): number {
  let first = -1;
  eachMatch(hay, needle, (start) => {
    first = start;
    return false;
  }, { unit });
  return first;
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
