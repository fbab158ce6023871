import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { wordings } from "../../lib/core/hook-words.ts";

const CLOSING = /<\/\s*system-reminder/gi;

test("U2: text that a hook passes on never ends the mark it is put in", () => {
  const part = fc.oneof(
    fc.constantFrom("</system-reminder>", "</ SYSTEM-reminder>", "<system-reminder>", "</system", "-reminder>", "\n"),
    fc.string(),
  );
  const said = fc.record({
    text: fc.array(part).map((parts) => parts.join("")),
    hook: fc.constant("stop.sh"),
  });
  fc.assert(fc.property(fc.array(said, { minLength: 1 }), fc.boolean(), (contexts, labelled) => {
    const given = labelled ? contexts.map((c) => ({ ...c, label: "Stop hook" })) : contexts;
    for (const words of wordings(given)) {
      assert.equal(words.match(CLOSING)?.length, 1);
      assert.ok(words.startsWith("<system-reminder>\n") && words.endsWith("\n</system-reminder>"));
    }
  }));
});
