import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { SHAPES } from "../../lib/tape/lines.ts";

const PAGE = new URL("../../fixtures/FORMAT.md", import.meta.url);

/** The keys of each kind of line in the page's table, as they stand there: a row without a kind goes on with the one above. */
function told(): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  const [, , ...rows] = readFileSync(PAGE, "utf8").split("\n").filter((row) => row.startsWith("|"));
  let keys: string[] = [];
  for (const row of rows) {
    const [, kind, named] = row.split("|");
    const own = [...named!.matchAll(/`(\w+\??)`/g)].map(([, key]) => key!);
    if (kind!.trim() !== "") lines.set(own[0]!, keys = []);
    keys.push(...own);
  }
  return lines;
}

test("fixtures/FORMAT.md tells every line and key of a tape in the order they are written, and no other", () => {
  const known = Object.entries(SHAPES).map(([kind, shape]) =>
    [kind, Object.entries(shape).map(([key, field]) => field.endsWith("?") ? `${key}?` : key)] as const
  );
  assert.deepEqual(Object.fromEntries(told()), Object.fromEntries(known));
});
