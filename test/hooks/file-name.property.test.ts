import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "node:test";
import { EVENT_NAMES } from "../../lib/core/names.ts";
import { BadFileName, formatFileName, isSkipped, nearestName, parseFileName } from "../../lib/hooks/file/file-name.ts";
import { rounds } from "../_counts.ts";

const numRuns = rounds(1_000, 20_000);

const word = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/),
  fc.constantFrom("test", "rules", "prompt", "sh", "ts", "md", "yaml", "examples", "d"),
);
const parts = fc.record({
  priority: fc.option(fc.nat(99_999), { nil: undefined }),
  event: fc.oneof(fc.constantFrom(...EVENT_NAMES), fc.stringMatching(/^[a-z@-]{0,12}$/)),
  tools: fc.array(fc.oneof(fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,8}$/), fc.string({ maxLength: 4 })), {
    maxLength: 3,
  }),
  label: fc.option(
    fc.oneof(fc.array(word, { minLength: 1, maxLength: 3 }).map((w) => w.join(".")), fc.string({ maxLength: 6 })),
    { nil: undefined },
  ),
  ext: fc.constantFrom(
    ".ts",
    ".js",
    ".mjs",
    ".sh",
    ".py",
    ".rb",
    ".pl",
    ".rules",
    ".rules.yaml",
    ".prompt.md",
    ".yaml",
    "",
  ),
});

// Kills: an extension found before a longer one, a label that swallows an extension, a priority read into the event.
test("parseFileName() always gives back the parts a name was printed from, or an error", () => {
  fc.assert(
    fc.property(parts, fc.boolean(), (given, executable) => {
      const name = formatFileName(given);
      if (isSkipped(name)) return;
      let read: ReturnType<typeof parseFileName>;
      try {
        read = parseFileName(name, { executable });
      } catch (error) {
        assert.ok(error instanceof BadFileName, String(error));
        return;
      }
      assert.equal(formatFileName(read), name);
      const { event, priority } = read;
      if (EVENT_NAMES.includes(given.event)) {
        assert.deepEqual({ event, priority }, { event: given.event, priority: given.priority });
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
  fc.assert(
    fc.property(parts, (given) => {
      const name = formatFileName(given);
      if (isSkipped(name)) return;
      try {
        parseFileName(name);
      } catch {
        return;
      }
      assert.equal(nearestName(name), name);
    }),
    { numRuns },
  );
});
