import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { factLine } from "../../lib/log/entry.ts";
import { toBlobs } from "../../lib/replay/_blobs.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import { factsOf } from "../../lib/replay/write-tape.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url);

test("every fixture that is read and written again is the same bytes", async () => {
  const names = readdirSync(FIXTURES, { withFileTypes: true }).filter((one) =>
    one.isDirectory() && one.name !== "blobs"
  );
  assert.ok(names.length >= 4);
  for (const { name } of names) {
    const path = new URL(`${name}/tape.jsonl`, FIXTURES).pathname;
    const facts = await factsOf(await readTape(path));
    const text = facts.map((fact) => `${factLine(toBlobs(fact, () => {}))}\n`).join("");
    assert.equal(text, readFileSync(path, "utf8"), name);
  }
});
