import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { filesUnder, LIB } from "./_files.ts";

test("no command writes JSON by hand: what is reported always passes the one writer", () => {
  const files = filesUnder(join(LIB, "cli"), ".ts").map((path) => ({
    name: relative(join(LIB, "cli"), path),
    text: readFileSync(path, "utf8"),
  }));
  const byHand = files.filter(({ text }) => /\b(?:out|draw)\((?:[^;](?!\n\n))*?JSON\.stringify/.test(text));
  // The writer itself, and what passes byte for byte.
  assert.deepEqual(byHand.map(({ name }) => name), ["_flags.ts", "_report.ts"]);
  const passing = files.filter(({ text }) => /^ {2}passes: true,$/m.test(text)).map(({ name }) => name);
  assert.deepEqual(passing, ["run-agent.ts", "tape/mcp.ts", "tape/serve.ts", "worker.ts"]);
});
