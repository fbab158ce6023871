import fc from "fast-check";
import type { ScriptedReply } from "../../lib/testing/index.ts";

/** Texts that go wrong: escapes, surrogate pairs, line ends, what looks like a placeholder, and plain words. */
export const words = fc.oneof(
  fc.constantFrom(
    "a",
    "ä",
    "𝄞",
    '"',
    "\\",
    "\n",
    "{ROOT}",
    "{=TMP}",
    "$echo",
    "data: x",
    "\u2028",
    "/tmp",
    "event: ping",
  ),
  fc.string({ unit: "binary", maxLength: 12 }).map((s) => s.toWellFormed()),
  fc.string({ maxLength: 40 }),
).filter((s) => s.trim() !== "");

const tools = fc.array(
  fc.record({ name: fc.constantFrom("Look", "Note", "Fail", "Nobody"), input: fc.record({ say: words }) }),
  { minLength: 1, maxLength: 3 },
);

const usage = fc.record({ input_tokens: fc.nat(5000), output_tokens: fc.nat(500) });

/** A reply that calls tools. */
const working: fc.Arbitrary<ScriptedReply> = fc.record(
  { thinking: words, text: words, tools, usage },
  { requiredKeys: ["tools"] },
);

/** An attempt that fails and is made again by the SDK at once. */
const refused: fc.Arbitrary<ScriptedReply> = fc.constantFrom(429, 529, 500).map((http) => ({
  http,
  retryAfter: 0.001,
}));

/** A reply that breaks off, which the loop tries again. */
const broken: fc.Arbitrary<ScriptedReply> = fc.oneof(
  fc.record({ text: words, cut: fc.nat(3) }),
  fc.constant({ text: "busy", error: "overloaded_error" }),
);

/** A whole run: replies that call tools, some with refusals before them, and a last one that does not. */
export const conversation: fc.Arbitrary<ScriptedReply[]> = fc.tuple(
  fc.array(fc.tuple(fc.option(refused, { nil: undefined, freq: 5 }), working), { maxLength: 4 }),
  fc.record({ text: words, usage }),
).map(([turns, last]) => [...turns.flatMap(([first, reply]) => first ? [first, reply] : [reply]), last]);

/** As `conversation`, where attempts also break off in the middle. */
export const rough: fc.Arbitrary<ScriptedReply[]> = fc.tuple(conversation, fc.array(broken, { maxLength: 2 }), fc.nat())
  .map(
    ([replies, breaks, at]) => {
      const place = at % (replies.length + 1);
      return [...replies.slice(0, place), ...breaks, ...replies.slice(place)];
    },
  );
