import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { ResponseCache } from "../../lib/hooks/answer-cache.ts";
import { askModel } from "../../lib/hooks/prompt-hook.ts";
import { jsonInText } from "../../lib/hooks/read-answer.ts";
import { compileTemplate } from "../../lib/hooks/template.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { tries } from "../_counts.ts";
import { call, testContext } from "./_events.ts";

const braces = fc.string({
  unit: fc.constantFrom("{", "}", "a", " ", "|", ".", "\n", "args", "{{tool}}", "{{args.x}}"),
  maxLength: 8,
});

test("S3.19, U13: what is substituted is never expanded again", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.string({ unit: "grapheme", maxLength: 4 }), braces), { maxLength: 4 }),
      (parts) => {
        // Literal text without braces, so that the template has exactly these places.
        const literals = parts.map(([text]) => text.replace(/[{}]/g, ""));
        const input = Object.fromEntries(parts.map(([, value], i) => [`f${i}`, value]));
        const template = literals.map((text, i) => `${text}{{args.f${i}}}`).join("");
        const expected = literals.map((text, i) => text + parts[i]![1]).join("");
        assert.equal(compileTemplate(template).render(call("Bash", input)), expected);
      },
    ),
    { numRuns: tries(150, 10000, 300) },
  );
});

test("U13: places are filled in, everything else stays byte for byte with one warning each", () => {
  const event = call("Bash", { x: "{{tool}}", list: [1, 2] });
  const piece = fc.oneof(
    fc.constantFrom(
      ["{{tool}}", "Bash"],
      ["{{ args.x }}", "{{tool}}"],
      ["{{args.list|length}}", "2"],
      ["{{.ToolName}}", "Bash"],
      ["{{gone}}", ""],
    ).map(([written, shown]) => ({ written: written!, shown: shown!, warned: 0 })),
    fc.constantFrom("{{}}", "{{a b}}", "{{tool | upper}}", "{{.Gone}}", "{{/if}}", "{{a..b}}", "{{tool|}}")
      .map((written) => ({ written, shown: written, warned: 1 })),
    fc.string({ unit: fc.constantFrom("a", " ", "}", "\n", "é", "|") })
      .map((written) => ({ written, shown: written, warned: 0 })),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const template = compileTemplate(pieces.map((p) => p.written).join(""));
      assert.equal(template.render(event), pieces.map((p) => p.shown).join(""));
      assert.equal(template.warnings.length, pieces.reduce((sum, p) => sum + p.warned, 0));
    }),
    { numRuns: tries(150, 10000, 300) },
  );
});

const verdict = fc.oneof(
  fc.record({ ok: fc.boolean(), reason: fc.string() }),
  fc.record({
    action: fc.constantFrom("continue", "deny", "modify"),
    modified_data: fc.dictionary(fc.string(), fc.jsonValue()),
  }),
);
const isVerdict = (object: { readonly [key: string]: unknown }) =>
  typeof object.ok === "boolean" || typeof object.action === "string";

test("U13: a verdict is always found, in any surrounding of words, quotes, braces and fences", () => {
  const word = fc.constantFrom(
    "Sure",
    "\n",
    " ",
    "{",
    "}",
    "```json\n",
    "```",
    "[",
    "{ x }",
    '{"a": 1}',
    "{}",
    "it's",
    "\\",
    '"',
    '{"',
  );
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 6 }),
      verdict,
      fc.array(word, { maxLength: 6 }),
      fc.boolean(),
      (before, object, after, pretty) => {
        const json = JSON.stringify(object, null, pretty ? 2 : 0);
        const text = `${before.join("")}${json}${after.join("")}`;
        assert.deepEqual(jsonInText(text, isVerdict), [JSON.parse(json)]);
      },
    ),
    { numRuns: tries(250, 20000, 500) },
  );
});

test("U13: looking for a verdict never throws and always ends, whatever the text is", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("{", "}", '"', "\\", "a"), maxLength: 200 }), (text) => {
      for (const object of jsonInText(text.repeat(20), () => true)) assert.equal(typeof object, "object");
    }),
    { numRuns: tries(50, 2000, 100) },
  );
  assert.deepEqual(jsonInText("{".repeat(100_000), () => true), []);
});

test("S3.24: the cache always gives the last value that is still fresh, and nothing else", () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    wait: fc.nat(400),
    put: fc.boolean(),
    clean: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 0, max: 300 }), (steps, seconds) => {
      const cache = new ResponseCache<number>(seconds);
      const model = new Map<string, { value: number; at: number }>();
      let now = 0;
      for (const [i, { key, wait, put, clean }] of steps.entries()) {
        now += wait * 1000;
        if (clean) cache.cleanup(now);
        if (put) {
          cache.put(key, i, now);
          model.set(key, { value: i, at: now });
        }
        const kept = model.get(key);
        const fresh = kept && seconds > 0 && now < kept.at + seconds * 1000 ? kept.value : undefined;
        assert.equal(cache.get(key, now), fresh);
      }
    }),
    { numRuns: tries(100, 5000, 200) },
  );
});

test("C14: two events that the template shows differently are always two questions, equal ones never are", async () => {
  const input = fc.record({ command: fc.constantFrom("a", "b", "a b"), note: fc.constantFrom("x", "y") }, {
    requiredKeys: [],
  });
  await fc.assert(
    fc.asyncProperty(input, input, async (one, two) => {
      const model = scripted([], { then: { text: '{"ok": true}' } });
      const judge = askModel(compileTemplate("{{args.command}}|{{args}}"), { model });
      await judge(call("Bash", one), testContext());
      await judge(call("Bash", two), testContext());
      const same = JSON.stringify(one) === JSON.stringify(two);
      assert.equal(model.requests.length, same ? 1 : 2);
    }),
    { numRuns: tries(25, 500, 50) },
  );
});
