import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonSchema } from "../../lib/core/model.ts";
import { inputParser } from "../../lib/mcp/mcp-schema.ts";

/** Whether input that does not fit is refused here, or left to the server to judge. */
async function refuses(schema: JsonSchema, input: unknown): Promise<boolean> {
  try {
    await inputParser({ type: "object", ...schema })(input);
    return false;
  } catch (error) {
    assert.equal((error as Error).name, "InvalidInput");
    return true;
  }
}

/** Definitions of which each names the next one twice. */
function doubling(times: number): JsonSchema {
  const twice = (i: number) => ({ allOf: [{ $ref: `#/$defs/d${i}` }, { $ref: `#/$defs/d${i}` }] });
  const steps = Array.from({ length: times }, (_, i) => [`d${i + 1}`, twice(i)]);
  return { $ref: `#/$defs/d${times}`, $defs: { d0: { required: ["name"] }, ...Object.fromEntries(steps) } };
}

test("references that double are not followed to their end, and a few are", async () => {
  assert.equal(await refuses(doubling(8), {}), true);
  assert.equal(await refuses(doubling(8), { name: "x" }), false);
  assert.equal(await refuses(doubling(60), {}), false);
});

test("references of every usual form are checked: to a definition, to the whole, and round in a circle", async () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/a~1b%20c" } }, required: ["id"] };
  const schema = { properties: { first: { $ref: "#/$defs/a~1b%20c" } }, $defs: { "a/b c": node } };
  assert.equal(await refuses(schema, { first: { id: 1, next: { id: 2 } } }), false);
  assert.equal(await refuses(schema, { first: { id: 1, next: {} } }), true);
  assert.equal(await refuses({ properties: { child: { $ref: "#" } }, required: ["id"] }, { id: 1, child: {} }), true);
});

test("a reference that leads elsewhere leaves the judging to the server", async () => {
  for (const $ref of ["#/$defs/none", "#anchor", "https://example.org/x", "#/$defs/%"]) {
    assert.equal(await refuses({ properties: { a: { $ref } }, required: ["b"] }, {}), false, $ref);
  }
  const moved = { $id: "https://example.org/y", $defs: { z: {} }, $ref: "#/$defs/z" };
  for (const a of [moved, { ...moved, $id: undefined, id: "y" }, { $dynamicRef: "#z" }, { $recursiveRef: "#" }]) {
    const schema = { properties: { a }, $defs: { z: {} }, required: ["b"] };
    assert.equal(await refuses(schema, {}), false, JSON.stringify(a));
  }
});

test("a pattern that could take forever is never used, however it is spelled", async () => {
  const text = `${"a".repeat(60)}!`;
  for (const pattern of ["^(a+)+$", "^(\\p{L}+)+$", "^(\\u{61}+)+$", "^([\\P{N}]|a)+$"]) {
    assert.equal(await refuses({ properties: { text: { type: "string", pattern } } }, { text }), false, pattern);
    assert.equal(await refuses({ patternProperties: { [pattern]: false } }, { [text]: 1 }), false, pattern);
  }
  assert.equal(await refuses({ properties: { text: { type: "string", pattern: "^a+$" } } }, { text }), true);
  assert.equal(await refuses({ properties: { text: { type: "string", pattern: "\\k<a" } } }, { text }), false);
});
