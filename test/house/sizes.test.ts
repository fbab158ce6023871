import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { filesUnder, LIB, ROOT } from "./_files.ts";

test("no file of lib or hooks ever grows past what one idea needs (320 lines)", () => {
  const long = [...filesUnder(LIB), ...filesUnder(join(ROOT, "hooks"))]
    .map((file) => [relative(ROOT, file), readFileSync(file, "utf8").split("\n").length] as const)
    .filter(([, lines]) => lines > 320);
  assert.deepEqual(long, []);
});
