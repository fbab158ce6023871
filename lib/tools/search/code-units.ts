import { Buffer } from "node:buffer";

/** Known sets, by their source and case: most patterns use the same few. */
const known = new Map<string, string>();
const MOST_KNOWN = 500;

/** Stands in a class for all characters of two code units: which ones they are is not told. */
export const LONGER = "\\ud800-\\udfff";

/** A set of the flag `v` as a class without it: the code units its characters are made of. */
export function codeUnits(set: string, ignoreCase: boolean): string {
  const key = `${ignoreCase} ${set}`;
  let found = known.get(key);
  if (found === undefined) {
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(key, found = classOf(set, ignoreCase ? "giv" : "gv"));
  }
  return found;
}

function classOf(set: string, flags: string): string {
  const member = new RegExp(set, flags);
  const ranges = SHORT.flatMap(({ from, text }) => runs(member, text()).map(([a, b]) => [from + a, from + b] as const));
  member.lastIndex = 0;
  const longer = member.test(LONG.text()) ? LONGER : "";
  return `[${ranges.map(([a, b]) => a === b ? escaped(a) : `${escaped(a)}-${escaped(b)}`).join("")}${longer}]`;
}

/** From where to where single characters of a text match, each after the other. */
function runs(member: RegExp, text: string): [number, number][] {
  const found: [number, number][] = [];
  for (const { index } of text.matchAll(member)) {
    const last = found.at(-1);
    if (last?.[1] === index - 1) last[1] = index;
    else found.push([index, index]);
  }
  return found;
}

function escaped(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}

/** The characters of one code unit, but for surrogates, and those of two. */
const SHORT = [characters(0, 0xd7ff), characters(0xe000, 0xffff)];
const LONG = characters(0x10000, 0x10ffff);

/** Made at the first use, of their bytes: a million strings to join would take as long as many a search. */
function characters(from: number, to: number): { readonly from: number; readonly text: () => string } {
  let text: string | undefined;
  const make = () => {
    const units = new Uint16Array((to - from + 1) * (from > 0xffff ? 2 : 1));
    for (let code = from, at = 0; code <= to; code++) {
      if (code > 0xffff) units[at++] = 0xd800 + ((code - 0x10000) >> 10);
      units[at++] = code > 0xffff ? 0xdc00 + (code & 0x3ff) : code;
    }
    return Buffer.from(units.buffer).toString("utf16le");
  };
  return { from, text: () => text ??= make() };
}
