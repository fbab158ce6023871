import fc from "fast-check";
import { Buffer } from "node:buffer";
import type { EditCall } from "../../lib/tools/edit/edit-call.ts";

const from = (units: readonly string[], maxLength: number, minLength = 0) =>
  fc.array(fc.constantFrom(...units), { minLength, maxLength }).map((parts) => parts.join(""));

/** Few letters, so that matches, overlaps and borders are common. */
const small = (maxLength: number, minLength = 0) => from(["a", "b"], maxLength, minLength);
/** Line breaks of one kind among few letters. */
const lines = (maxLength: number, minLength = 0) => from(["a", "b", "\n"], maxLength, minLength);
/** What replacement by pattern, by escape or by re-encoding would change. */
const hostile = (maxLength: number, minLength = 0) =>
  from(
    ["a", "$&", "$1", "$$", "$`", "\\n", "\\", "é", "e\u0301", "“", "\ufeff", "😀", " ", "\t", "\u2028", "\0"],
    maxLength,
    minLength,
  );

/** Characters whose bytes in UTF-16 spell others when they are read from the wrong byte on. */
export const shifted = fc.record({
  file: from(["a", "\u6100", "\u6161", "\u0161", "\u0100", "\u0a00", "\u0a0a", "\n"], 12),
  call: fc.record({
    old_string: from(["a", "\u6100", "\u0161"], 2, 1),
    new_string: from(["b", "\u0100"], 2),
    replace_all: fc.boolean(),
  }),
});

/** Text without a CR: then an edit is what a plain rewriter does. */
export const text = fc.oneof(
  small(24),
  lines(24),
  hostile(16),
  fc.string({ unit: "binary", maxLength: 20 }).map((s) => s.replaceAll("\r", "")),
);

/** Bytes of any kind, and bytes that begin or break characters. */
export const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 24 }),
  fc.array(fc.constantFrom(0x61, 0x62, 0x0a, 0x0d, 0x83, 0x5c, 0xe9, 0xff, 0xc3, 0xa9, 0xef, 0xbb, 0xbf, 0x00), {
    maxLength: 24,
  })
    .map((all) => Uint8Array.from(all)),
);

const needle = fc.oneof(small(4, 1), lines(4, 1), hostile(3, 1));

export const call: fc.Arbitrary<Required<EditCall>> = fc.record({
  old_string: needle,
  new_string: fc.oneof(small(4), lines(4), hostile(3)),
  replace_all: fc.boolean(),
}).filter(({ old_string, new_string }) => old_string !== new_string);

/** A text and a call that has a fair chance to match it. */
export const edited: fc.Arbitrary<{ file: string; call: Required<EditCall> }> = fc.oneof(
  fc.record({ file: text, call }),
  fc.record({ before: text, call, after: text }).map(({ before, call, after }) => ({
    file: before + call.old_string + after,
    call,
  })),
);

const calls = fc.array(call, { minLength: 1, maxLength: 4 });

/** A file and calls in turn: any bytes, or a text in which each call finds its string if those before it left it. */
export const editedInTurn: fc.Arbitrary<{ file: Uint8Array; calls: Required<EditCall>[] }> = fc.oneof(
  fc.record({ file: bytes, calls }),
  fc.record({ before: text, calls, after: text }).map(({ before, calls, after }) => ({
    file: utf8([before, ...calls.map(({ old_string }) => old_string), after].join("\u0003")),
    // All but the first everywhere: few texts have one of these strings once.
    calls: calls.map((call, i) => i === 0 ? call : { ...call, replace_all: true }),
  })),
);

/** A text in which the wanted string is, and is alone. */
export const unique: fc.Arbitrary<{ before: string; old: string; after: string }> = fc
  .record({ before: text, old: needle, after: text })
  .filter(({ before, old, after }) => starts(before + old + after, old) === 1);

/** Lines with every kind of line break, in proportions that give uniform and mixed files. */
export const brokenText = fc.tuple(
  fc.constantFrom(["\r\n"], ["\n"], ["\r\n", "\n"], ["\r\n", "\n", "\r"]),
  fc.array(fc.tuple(small(2), fc.nat(2)), { maxLength: 8 }),
).map(([breaks, rows]) => rows.map(([row, i]) => row + breaks[i % breaks.length]).join(""));

/** The number of places where `old` starts, overlapping ones too. */
export function starts(file: string, old: string): number {
  let count = 0;
  for (let i = file.indexOf(old); i >= 0; i = file.indexOf(old, i + 1)) count++;
  return count;
}

export const utf8 = (text: string): Buffer => Buffer.from(text, "utf8");
export const string = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");
