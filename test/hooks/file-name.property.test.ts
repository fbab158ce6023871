import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EVENT_NAMES } from "../../lib/core/names.ts";
import { BadFileName, formatFileName, isSkipped, nearestName, parseFileName } from "../../lib/hooks/file/file-name.ts";
import { rounds } from "../_counts.ts";

const numRuns = rounds(208, 20_000, 1_000);

const word = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/),
  fc.constantFrom("test", "rules", "prompt", "sh", "ts", "md", "yaml", "examples", "d"),
);
const label = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join("."));
const tool = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,8}$/);
const EXTENSIONS = [".ts", ".js", ".mjs", ".sh", ".py", ".rb", ".pl", ".rules", ".rules.yaml", ".prompt.md"];

/** What makes the name of a hook: only events about tools name some. */
const good = fc.tuple(
  fc.constantFrom(...EVENT_NAMES),
  fc.option(fc.nat(9_999), { nil: undefined }),
  fc.option(label, { nil: undefined }),
  fc.constantFrom(...EXTENSIONS),
  fc.array(tool, { maxLength: 3 }),
).map(([event, priority, label, ext, named]) => {
  const tools = ["pre-tool-use", "post-tool-use", "permission-request", "error"].includes(event) ? named : [];
  return { event, priority, label, ext, tools };
}).filter((parts) => !isSkipped(formatFileName(parts)));

/** What may be a name, or nearly one. */
const parts = fc.record({
  priority: fc.option(fc.nat(99_999), { nil: undefined }),
  event: fc.oneof(fc.constantFrom(...EVENT_NAMES), fc.stringMatching(/^[a-z@-]{0,12}$/)),
  tools: fc.array(fc.oneof(tool, fc.string({ maxLength: 4 })), { maxLength: 3 }),
  label: fc.option(fc.oneof(label, fc.string({ maxLength: 6 })), { nil: undefined }),
  ext: fc.constantFrom(...EXTENSIONS, ".yaml", ""),
});

// Kills: an extension found before a longer one, a label that swallows an extension, a priority read into the event.
test("parseFileName() always gives back the parts that a hook's name was printed from", () => {
  fc.assert(
    fc.property(good, fc.boolean(), (given, executable) => {
      const { event, priority, label, ext, tools } = parseFileName(formatFileName(given), { executable });
      assert.deepEqual({ event, priority, label, ext, tools }, given);
    }),
    { numRuns },
  );
});

test("parseFileName() always reads a name as parts that print the same name, or says why it does not", () => {
  fc.assert(
    fc.property(parts.map(formatFileName), fc.boolean(), (name, executable) => {
      try {
        assert.equal(formatFileName(parseFileName(name, { executable })), name);
      } catch (error) {
        if (!(error instanceof BadFileName)) throw error;
      }
    }),
    { numRuns },
  );
});

// Kills: a mend that does not load, a mend that is passed over as a test.
test("nearestName() always names a hook, whatever it is given", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ maxLength: 30 }), parts.map(formatFileName), fc.string({ unit: "binary", maxLength: 12 })),
      (file) => {
        const near = nearestName(file);
        assert.ok(!isSkipped(near), near);
        assert.doesNotThrow(() => parseFileName(near), near);
      },
    ),
    { numRuns },
  );
});

test("a valid name is always its own nearest name", () => {
  fc.assert(fc.property(good.map(formatFileName), (name) => assert.equal(nearestName(name), name)), { numRuns });
});
