import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { filesUnder, LIB } from "./_files.ts";

test("no command writes JSON by hand: what is reported always passes the one writer", () => {
  const files = ["cli", "extensions"].flatMap((room) => filesUnder(join(LIB, room), ".ts")).map((path) => ({
    name: relative(LIB, path),
    text: readFileSync(path, "utf8"),
  }));
  const byHand = files.filter(({ text }) => /\b(?:out|draw)\((?:[^;](?!\n\n))*?JSON\.stringify/.test(text));
  // The writer itself, and what passes byte for byte.
  assert.deepEqual(byHand.map(({ name }) => name), ["cli/kit/flags.ts", "cli/kit/report.ts"]);
  const passing = files.filter(({ text }) => /^ {2}passes: true,$/m.test(text)).map(({ name }) => name);
  assert.deepEqual(passing, [
    "cli/run-agent.ts",
    "extensions/durable/worker.ts",
    "extensions/tape/mcp-command.ts",
    "extensions/tape/serve-command.ts",
  ]);
});
