import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { fileUrl } from "../../lib/runtime/importing.ts";
import { tries } from "../_counts.ts";

const odd = fc.constantFrom(
  "plain.ts",
  "pre-tool-use@Bash+Edit._x.ts",
  "%",
  "%20",
  "a?b",
  "#",
  "\\",
  "\n",
  "\t",
  "[x]",
  " ",
  "'",
  "é",
  "👍",
  "+",
  "&=;:@",
);
const part = fc.oneof(odd, fc.string({ unit: "binary" }))
  .map((text) => text.replace(/[/\0]/g, "")).filter((text) => !/^\.{0,2}$/.test(text));

test("fileUrl() always gives what pathToFileURL() gives for a whole path, whatever it is made of", () => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const path = `/${parts.join("/")}`;
      assert.equal(fileUrl(path), pathToFileURL(path).href);
    }),
    { numRuns: tries(300, 10_000) },
  );
});
