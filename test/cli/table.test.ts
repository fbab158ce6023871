import assert from "node:assert/strict";
import { test } from "node:test";
import { displayWidth, table } from "../../lib/cli/show/text.ts";

test("a table always has one row for each, and columns that begin at one place, whatever the names", () => {
  const names = ["plain", "日本語の名前", "🎉🎉", "ünï", "two\nlines", "e\u0301", ""];
  const rows = table(["name", "result"], names.map((name) => [name, "ok"])).trimEnd().split("\n");
  assert.equal(rows.length, names.length + 1);
  const places = rows.map((row) => displayWidth(row.replace(/(?:ok|result)$/, "")));
  assert.deepEqual([...new Set(places)], [displayWidth("日本語の名前") + 2]);
  assert.match(rows.join("\n"), /^two⏎lines +ok$/m);
});

test("a row is never wider than its columns, and what is cut off is marked", () => {
  const cut = table(["name", "why"], [["日本", "a long reason"], ["b", "short"]], 12).split("\n");
  assert.deepEqual(cut, ["name  why", "日本  a lon…", "b     short", ""]);
});
