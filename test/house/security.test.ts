import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { filesUnder, ROOT } from "./_files.ts";

test("every threat of SECURITY.md names tests that are there", () => {
  const tests = filesUnder(join(ROOT, "test"), ".test.ts").map((file) => readFileSync(file, "utf8")).join("\n");
  const rows = readFileSync(join(ROOT, "SECURITY.md"), "utf8").split("\n").filter((line) =>
    line.split("|").length === 5
  );
  const threats = rows.map((row) => row.split("|").map((cell) => cell.trim())).filter(([, name]) =>
    name !== "threat" && !/^-+$/.test(name!)
  );
  assert.ok(threats.length > 10);
  for (const [, threat, , shown] of threats) {
    const titles = [...shown!.matchAll(/`([^`]+)`/g)].map((m) => m[1]!);
    assert.notEqual(titles.length, 0, `${threat} names no test`);
    for (const title of titles) assert.ok(tests.includes(title), `${threat}: there is no test "${title}"`);
  }
});
