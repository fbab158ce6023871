import { test } from "node:test";
import * as diff from "diff";
import { planEdit } from "../../lib/tools/edit/apply-edit.ts";
import { hunksOf } from "../../lib/tools/edit/edit-file.ts";
import { applyEdit } from "../../lib/tools/index.ts";
import type { EditCall } from "../../lib/tools/edit/edit-call.ts";
import { assertLinear } from "../_processor-time.ts";
import { utf8 } from "./_edit-arbitraries.ts";

const a = (n: number) => "a".repeat(n);
const HARD: Record<string, (n: number) => [string, EditCall]> = {
  "a needle that almost matches everywhere": (n) => [a(n), { old_string: `b${a(3000)}`, new_string: "c" }],
  "a needle that fails at its end": (n) => [a(n), { old_string: `${a(3000)}b`, new_string: "c" }],
  "overlapping matches": (n) => [a(n), { old_string: a(3000), new_string: "c" }],
  "a match at every place of one long line": (n) => [a(n), { old_string: "a", new_string: "bb", replace_all: true }],
  "long runs of blanks and a near miss": (n) => [`${" ".repeat(n)}x`, { old_string: "y z\tw", new_string: "v" }],
  "many short lines and a near miss": (
    n,
  ) => [Array.from({ length: n / 8 }, (_, i) => `w${i % 997}`).join("\n"), {
    old_string: "w3 w5\nw7 q",
    new_string: "v",
  }],
};

for (const [name, make] of Object.entries(HARD)) {
  test(`P28: applyEdit() never takes more than linear time: ${name}`, () =>
    assertLinear(1 << 20, (size) => {
      const [file, call] = make(size);
      const input = utf8(file);
      return () => applyEdit(input, call);
    }));
}

const rows = (n: number, row: (i: number) => string) =>
  Array.from({ length: n / 16 }, (_, i) => `${row(i)}\n`).join("");
const CHANGES: Record<string, (n: number) => [old: string, now: string, each: string]> = {
  "every line of many": (n) => [rows(n, (i) => `line ${i}`), "LINE", "line"],
  "every second character of one line": (n) => ["ab".repeat(n / 2), "c", "a"],
  "all of a file for another one": (n) => [rows(n, (i) => `line ${i * 7}`), rows(n, (i) => `row ${i * 5}`), ""],
};

for (const [name, make] of Object.entries(CHANGES)) {
  test(`P28: the diff never takes more than linear time: ${name}`, () =>
    assertLinear(1 << 20, (size) => {
      const [old, now, each] = make(size);
      const bytes = utf8(old);
      const splices = each === ""
        ? [{ start: 0, end: bytes.length, bytes: utf8(now) }]
        : planEdit(bytes, { old_string: each, new_string: now, replace_all: true }).splices;
      return () => hunksOf(bytes, splices, { context: 3, diff });
    }));
}
