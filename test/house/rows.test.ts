/** Facts that have one row in a table: what forgets a row must be a type error, and not a silence. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { EVENTS } from "../../lib/core/events.ts";
import { FORMATS } from "../../lib/extensions/import/formats.ts";
import { HOST_NAMES, hostEvent } from "../../lib/hooks/hosts/index.ts";
import { filesUnder, LIB, ROOT } from "./_files.ts";

const read = (path: string) => readFileSync(join(LIB, path), "utf8");

test("no switch over the rows of faults has a default", () => {
  for (const file of ["_apply.ts", "seam-faults.ts"]) {
    assert.match(read(`extensions/faults/${file}`), /switch \(/);
    assert.doesNotMatch(read(`extensions/faults/${file}`), /\bdefault:/);
  }
});

test("no switch over events about calls has a default", () => {
  const functions = filesUnder(LIB, ".ts").flatMap((file) => readFileSync(file, "utf8").split(/\n(?=\}\n)/))
    .filter((text) => /event: (?:EventOf<)?AboutCall\b/.test(text) && text.includes("switch ("));
  assert.ok(functions.length >= 2, String(functions.length));
  for (const text of functions) assert.doesNotMatch(text, /\bdefault:/);
});

test("no file of the kernel but the tables of hosts decides by the name of a host, or by what its codes mean", () => {
  const names = HOST_NAMES.join("|");
  const kernel = filesUnder(LIB, ".ts").filter((file) => !/^(?:extensions|hooks\/hosts)\//.test(relative(LIB, file)));
  for (const file of [...kernel, join(LIB, "hooks/hosts/write-answer.ts")]) {
    const text = readFileSync(file, "utf8");
    assert.doesNotMatch(text, new RegExp(`\\b[hH]ost [!=]== "(?:${names})"|case "(?:${names})"`), file);
  }
  assert.doesNotMatch(read("hooks/hosts/write-answer.ts"), /\bcode: 2\b/);
});

test("an event is fired by the kernel if its row says so, and else by some host", () => {
  const firing = filesUnder(LIB, ".ts").filter((file) => !/^(?:extensions|hooks)\//.test(relative(LIB, file)))
    .map((file) => readFileSync(file, "utf8")).join("\n");
  for (const [name, { fires }] of Object.entries(EVENTS)) {
    if (fires) {
      assert.match(
        firing,
        new RegExp(`event(?::| =) "${name}"`),
        `${name} is fired neither in lib/core/loop.ts nor elsewhere`,
      );
    } else assert.ok(HOST_NAMES.some((host) => hostEvent(host, name)), `${name} is in no table of lib/hooks/hosts`);
  }
});

test("a recording in every format is read by a test", () => {
  const written = ["test/replay/_recorders.ts", "test/extensions/import/openai.test.ts"]
    .map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
  for (const name of Object.keys(FORMATS)) {
    assert.match(written, new RegExp(`\\[\\s*"${name}"`), `test/replay/_recorders.ts writes no ${name}`);
  }
});

/** Tools of hosts that do what ours do. */
const THEIRS = /apply_patch|NotebookEdit|notebook_edit|write_stdin|["'`]monitor["'`]/;

/** Beside it: the fields of tools of Claude Code, of which a hook may name each, and an extension's own name. */
const OTHERS = /^lib\/(?:input\/tool-table|extensions\/monitor\/extension)\.ts$/;

test("only the reading side of hosts names their tools for ours: all else is asked about calls of ours", () => {
  const files = [...filesUnder(LIB, ".ts"), ...filesUnder(join(ROOT, "hooks"))].map((path) => relative(ROOT, path));
  const naming = files.filter((path) => THEIRS.test(readFileSync(join(ROOT, path), "utf8")));
  assert.ok(naming.includes("lib/hooks/hosts/codex.ts"), "the house sees the table");
  assert.deepEqual(naming.filter((path) => !path.startsWith("lib/hooks/hosts/") && !OTHERS.test(path)), []);
});
