import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { filesUnder, LIB } from "./_files.ts";

/** Folders whose comments and strings are in plain English; the others follow. */
const PLAIN =
  ("agent anthropic cli core durable files hooks http mcp monitor openai permissions regex replay telemetry testing tools " +
    "transcript view").split(" ");

/** Old-fashioned words: write fix, forever, installed, and name the user, the model or the process. */
const OLD =
  /\b(?:mend(?:s|ed)?|told|for ever|to be had|whoever|whom|anybody|nobody(?!\|)|has none|(?<!there )is no (?!longer))\b/i;

test("comments and strings never use old-fashioned words", () => {
  assert.match("how to mend it", OLD);
  const files = PLAIN.flatMap((folder) => filesUnder(join(LIB, folder), ".ts"));
  assert.ok(files.length > 100, "the search sees the files");
  const found = files.flatMap((file) =>
    readFileSync(file, "utf8").split("\n").flatMap((line, i) =>
      OLD.test(line) ? [`${relative(LIB, file)}:${i + 1} ${line.trim()}`] : []
    )
  );
  assert.deepEqual(found, []);
});
