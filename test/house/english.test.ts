import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { test } from "node:test";
import { filesUnder, LIB } from "./_files.ts";

/** Old-fashioned words: write fix, forever, installed, and name the user, the model or the process. */
const OLD =
  /\b(?:mend(?:s|ed)?|told|for ever|to be had|whoever|whom|anybody|nobody(?!\|)|has none|(?<!there )is no (?!longer))\b/i;

test("comments and strings never use old-fashioned words", () => {
  assert.match("how to mend it", OLD);
  const files = filesUnder(LIB, ".ts");
  assert.ok(files.length > 100, "the search sees the files");
  const found = files.flatMap((file) =>
    readFileSync(file, "utf8").split("\n").flatMap((line, i) =>
      OLD.test(line) ? [`${relative(LIB, file)}:${i + 1} ${line.trim()}`] : []
    )
  );
  assert.deepEqual(found, []);
});
