import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

function files(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(dir, entry.name)) : [join(dir, entry.name)]
  );
}

test("no file of lib or hooks ever grows past what one idea needs (320 lines)", () => {
  const long = [...files(join(ROOT, "lib")), ...files(join(ROOT, "hooks"))]
    .map((file) => [relative(ROOT, file), readFileSync(file, "utf8").split("\n").length] as const)
    .filter(([, lines]) => lines > 320);
  assert.deepEqual(long, []);
});
