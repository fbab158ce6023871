import { Validator } from "@cfworker/json-schema";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fits, isPlain, validateJson } from "../../lib/tools/schema.ts";
import type { Json } from "../../lib/core/messages.ts";
import type { JsonSchema } from "../../lib/core/model.ts";
import { rounds } from "../_counts.ts";

const count = fc.integer({ min: 0, max: 3 });
const key = fc.constantFrom("a", "b", "toString", "__proto__");
const note = fc.record({ description: fc.string(), default: fc.anything() }, { requiredKeys: [] });

/** A key that is every object's own to have: `__proto__` too. */
const own = <T>(entries: [string, T][]) =>
  JSON.parse(JSON.stringify(Object.fromEntries(entries))) as { [key: string]: T };

const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.tuple(fc.constantFrom("boolean", "null"), note).map(([type, more]) => ({ type, ...more })),
    fc.record({ type: fc.constant("string"), minLength: count }, { requiredKeys: ["type"] }),
    fc.record({ type: fc.constant("string"), enum: fc.array(fc.constantFrom("x", "𝒳𝒳", 1, true)) }),
    fc.record({ type: fc.constantFrom("number", "integer"), minimum: count, maximum: count }, {
      requiredKeys: ["type"],
    }),
    fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: count, maxItems: count }, {
      requiredKeys: ["type"],
    }),
    fc.record({
      type: fc.constant("object"),
      properties: fc.array(fc.tuple(key, tie("schema"))).map(own),
      required: fc.array(key),
      additionalProperties: fc.boolean(),
    }, { requiredKeys: ["type"] }),
  ),
}));

const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("", "x", "𝒳", "𝒳𝒳", null, true, 1, 2, 0.5, -1, 1e300),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map(own),
  ),
}));

test("what plainly fits always fits for the validator too, and plain is every schema of these keywords", () => {
  let fitted = 0;
  fc.assert(
    fc.property(schema, value, (schema, value) => {
      assert.ok(isPlain(schema));
      if (!fits(schema, value)) return;
      fitted++;
      assert.ok(new Validator(schema as object, "2020-12", false).validate(value).valid);
    }),
    { numRuns: rounds(2000, 100_000) },
  );
  assert.ok(fitted > 50, `only ${fitted} fitted`);
});

test("a schema with any other keyword is never plain, however deep it stands", () => {
  for (
    const more of [{ pattern: "^a" }, { format: "uri" }, { const: "a" }, { $ref: "#" }, { type: ["string", "null"] }, {
      enum: [null],
    }]
  ) {
    const part = { type: "string", ...more };
    assert.equal(isPlain(part), false);
    assert.equal(isPlain({ type: "object", properties: { list: { type: "array", items: part } } }), false);
  }
  assert.equal(isPlain({ properties: {} }), false, "no type");
  assert.equal(isPlain({ type: "object", additionalProperties: { type: "string" } }), false);
});

test("validateJson() gives a plain input back at once, and refuses another in the validator's words", async () => {
  const schema = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] };
  const input = { n: 1, more: [] };
  assert.equal(validateJson(schema, input), input);
  await assert.rejects(async () => await validateJson(schema, {}), /required property "n"/);
  await assert.rejects(async () => await validateJson(schema, { n: 0 }), /n: 0 is less than 1/);
  assert.deepEqual(await validateJson({ ...schema, not: { required: ["m"] } }, input), input);
});
