import assert from "node:assert/strict";
import { test } from "node:test";
import { place } from "../../_place.ts";

test("doctor finds nothing broken in a fresh scaffold, whose fixture can be read", async () => {
  using here = place();
  await here.main(["init"]);
  const { code, out, err } = await here.main(["doctor", "--json"]);
  const { checks } = JSON.parse(out) as { checks: { about: string; state: string; words: string }[] };
  assert.deepEqual([code, err, checks.filter(({ state }) => state === "broken")], [0, "", []]);
  assert.match(checks.find(({ about }) => about === "fixtures")!.words, /^1 of 1 can be read: /);
  assert.match(checks.find(({ about }) => about === "crochet")!.words, /on (bun|deno) \d/);
});
