import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const LIB = fileURLToPath(new URL("../../lib", import.meta.url));

function files(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(dir, entry.name)) : entry.name.endsWith(".ts") ? [join(dir, entry.name)] : []
  );
}

/** Reasons that stand inside "Cannot … as …", and fields of a tool's input with what is wrong with them. */
const PART = /^(its? |\w+: )/;

test("error messages always begin with a capital, end without a period and use no contractions", () => {
  const wrong = files(LIB).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/new \w*Error\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g)]
      .map(([, , message]) => message!)
      .filter((m) =>
        !m.startsWith("${") && !PART.test(m) &&
        (!/^[A-Z'"<]/.test(m) || /\.$/.test(m) || /\b(can't|won't|isn't|doesn't|don't|couldn't)\b/.test(m))
      )
      .map((message) => `${relative(LIB, file)}: ${message}`)
  );
  assert.deepEqual(wrong, []);
});
