import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { test } from "node:test";
import { filesUnder, LIB } from "./_files.ts";

/** Reasons that stand inside "Cannot … as …", and fields of a tool's input with what is wrong with them. */
const PART = /^(its? |\w+: )/;

test("error messages always begin with a capital, end without a period and use no contractions", () => {
  const messages = filesUnder(LIB, ".ts").flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/new \w*Error\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g)]
      .map(([, , message]) => ({ message: message!, where: relative(LIB, file) }))
  );
  assert.ok(messages.length > 100, "the search sees errors");
  const wrong = messages.filter(({ message: m }) =>
    !m.startsWith("${") && !PART.test(m) &&
    (!/^[A-Z'"<]/.test(m) || /\.$/.test(m) || /\b(can't|won't|isn't|doesn't|don't|couldn't)\b/.test(m))
  );
  assert.deepEqual(wrong, []);
});
