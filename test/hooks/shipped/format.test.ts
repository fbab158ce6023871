import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { shipped } from "./_shipped.ts";

const NAME = "post-tool-use@Edit+Write.format.ts";

/** A project whose formatter is a script: it puts its arguments into a file and does what `say` says. */
function project(path: string, script: string): void {
  mkdirSync(`${path}/node_modules/.bin`, { recursive: true });
  writeFileSync(`${path}/node_modules/.bin/prettier`, `#!/bin/sh\n${script}\n`);
  chmodSync(`${path}/node_modules/.bin/prettier`, 0o755);
}

test("format runs the project's formatter on the file that was changed", async () => {
  using folder = scratch();
  project(folder.path, `for last; do :; done; printf 'formatted' > "$last"`);
  writeFileSync(`${folder.path}/a.ts`, "x");
  const { call } = await shipped(NAME, folder.path);
  const folded = await call("Write", { file_path: `${folder.path}/a.ts`, content: "x" }, "post-tool-use");
  assert.equal(readFileSync(`${folder.path}/a.ts`, "utf8"), "formatted");
  assert.deepEqual(folded.contexts, []);
});

test("format gives the agent what the formatter complained about, and changes no result", async () => {
  using folder = scratch();
  project(folder.path, "echo 'unexpected token in line 3' >&2; exit 2");
  const { call } = await shipped(NAME, folder.path);
  const folded = await call("Edit", { file_path: "a.ts" }, "post-tool-use");
  assert.match(folded.contexts[0]!.text, /could not format a\.ts:\nunexpected token in line 3/);
  assert.equal(folded.decision, "continue");
});

test("format does nothing if the project uses no formatter, the file is of another kind, or it is not installed", async () => {
  using folder = scratch();
  const { call } = await shipped(NAME, folder.path);
  assert.deepEqual((await call("Edit", { file_path: "a.ts" }, "post-tool-use")).contexts, []);
  project(folder.path, "exit 1");
  assert.deepEqual((await call("Edit", { file_path: "a.png" }, "post-tool-use")).contexts, []);
  writeFileSync(`${folder.path}/ruff.toml`, "");
  const { call: without } = await shipped(NAME, folder.path, {
    env: { exec: () => Promise.reject(new Error("Cannot start 'ruff' as it is not there")) },
  });
  assert.deepEqual((await without("Edit", { file_path: "a.py" }, "post-tool-use")).contexts, []);
});
