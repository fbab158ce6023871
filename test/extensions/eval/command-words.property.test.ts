import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { commandWords } from "../../../lib/extensions/eval/command-words.ts";
import { tries } from "../../_counts.ts";

/** Parts of a word in a shell line, and what a program is given for them. */
const PARTS: readonly [part: string, given: (prompt: string) => string][] = [
  ["{prompt}", (prompt) => prompt],
  ['"{prompt}"', (prompt) => prompt],
  ["'{prompt}'", (prompt) => prompt],
  ["--p={prompt}", (prompt) => `--p=${prompt}`],
  ['"please {prompt} now"', (prompt) => `please ${prompt} now`],
  ["'please {prompt} now'", (prompt) => `please ${prompt} now`],
  [`'"{prompt}" \\'`, (prompt) => `"${prompt}" \\`],
  [`"it's '{prompt}' \\" \\\\"`, (prompt) => `it's '${prompt}' " \\`],
  [`"$(printf '<%s>' {prompt} '")' "{prompt}"; echo .)"`, (prompt) => `<${prompt}><")><${prompt}>.`],
  ['"${A}("', () => "("],
  ['`echo "it\'s"`', () => "it's"],
  [`\\"\\'\\\\`, () => `"'\\`],
  ["a#b", () => "a#b"],
];
const HOSTILE = ["'", '"', "$", "`", "\\", "\n", " ", "$1", "${2}", "$(id)", "{prompt}", "*", "#", "é"];
const hostile = fc.array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 4 })), { maxLength: 8 })
  .map((parts) => parts.join("").replaceAll("\0", ""));

// Kills: a prompt that ends the quotes around it, is split by blanks, or is not put between single quotes.
test("a program is always given the prompt as its text, in its place, in whatever quotes it stands", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 4 }), hostile, (parts, prompt) => {
      const line = `: here # isn't a quote\nprintf '[%s]' here ${parts.map(([part]) => part).join("")} end`;
      const [program, ...words] = commandWords(line, prompt, (word) => word === "here")!;
      const given = parts.map(([part, of]) => (seen.add(part), of(prompt))).join("");
      assert.equal(execFileSync(program!, words, { encoding: "utf8", env: {} }), `[here][${given}][end]`);
    }),
    { numRuns: tries(100, 3000, 400) },
  );
  assert.equal(seen.size, PARTS.length);
});
