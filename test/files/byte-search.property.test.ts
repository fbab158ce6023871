import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { eachMatch, type TextSearch } from "../../lib/files/text-bytes.ts";
import { tries } from "../_counts.ts";

const options: fc.Arbitrary<Required<TextSearch>> = fc.record({
  unit: fc.constantFrom(1 as const, 2 as const),
  overlapping: fc.boolean(),
});

function found(hay: Buffer, needle: Buffer, given: TextSearch): number[] {
  const starts: number[] = [];
  eachMatch(hay, needle, (start) => void starts.push(start), given);
  return starts;
}

/** The law in its words: each place is compared; behind a match the search goes on after it, or one further. */
function compared(hay: Buffer, needle: Buffer, { unit, overlapping }: Required<TextSearch>): number[] {
  const starts: number[] = [];
  for (let at = 0; at + needle.length <= hay.length;) {
    const same = at % unit === 0 && hay.subarray(at, at + needle.length).equals(needle);
    if (same) starts.push(at);
    at += same && !overlapping ? needle.length : 1;
  }
  return starts;
}

const few = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength }).map((text) => Buffer.from(text));

// Kills: a comparison that leaves out the first or the last byte, a match at an odd place, a step that is too long.
test("eachMatch() always finds what a comparison at each place finds", () => {
  let matches = 0;
  fc.assert(
    fc.property(few(200), few(6), fc.nat(50), few(60), options, (hay, needle, same, rest, given) => {
      const long = Buffer.concat([Buffer.alloc(same + 1, "a"), rest]);
      const [first, last] = [0, long.length - 1].map((at) => Buffer.from(long).fill("_", at, at + 1));
      const texts = Buffer.concat([hay, first!, long, last!, hay]);
      for (const wanted of [needle, long].filter((one) => one.length > 0)) {
        const starts = found(texts, wanted, given);
        assert.deepEqual(starts, compared(texts, wanted, given));
        if (starts.length > 0) matches++;
      }
    }),
    { numRuns: tries(500, 10_000) },
  );
  assert.ok(matches > 100, `only ${matches} had a match`);
});

/** So many that the search by candidates is given up before the middle of the text. */
const CANDIDATES = 4000;

// Kills: an automaton that begins anew behind a match it may overlap, or one that lies at an odd place.
test("eachMatch() always finds the same matches if candidates are so many that the automaton takes over", () => {
  let late = 0;
  const place = fc.nat(CANDIDATES);
  fc.assert(
    fc.property(
      fc.integer({ min: 500, max: 700 }),
      fc.constantFrom("", "b", "ab"),
      fc.array(place, { maxLength: 4 }),
      options,
      (length, end, breaks, given) => {
        const needle = Buffer.from("a".repeat(length) + end);
        const hay = Buffer.alloc(CANDIDATES, "a");
        const tail = Buffer.alloc(3 * needle.length, needle);
        for (const at of breaks) tail[at % tail.length] = 0x62;
        const text = Buffer.concat([hay, tail]);
        const starts = found(text, needle, given);
        assert.deepEqual(starts, compared(text, needle, given));
        if (starts.some((start) => start > CANDIDATES)) late++;
      },
    ),
    { numRuns: tries(60, 1000) },
  );
  assert.ok(late > 20, `only ${late} had a match behind the candidates`);
});
