import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyEdit } from "../../lib/tools/index.ts";
import { tries } from "../_counts.ts";
import { utf8 } from "./_edit-arbitraries.ts";

const runs = { numRuns: tries(100, 5_000, 300) };

const word = fc.constantFrom(
  "alpha",
  "béta",
  "“gamma”",
  "don't",
  "delta - x",
  "f(a & b)",
  "<T>",
  "Ünit…",
  "return 1",
  '"say"',
  "if (x)",
);
const indent = fc.constantFrom("", "  ", "    ", "\t", "\t\t");
const line = fc.record({
  indent,
  words: fc.array(word, { minLength: 1, maxLength: 3 }),
  end: fc.constantFrom("", " ", "\t"),
})
  .map(({ indent, words, end }) => indent + words.join(" ") + end);

/** What models get wrong, each with the words that must name it. */
const SLIPS: Record<string, [says: string, (s: string) => string]> = {
  "trailing whitespace": ["trailing whitespace", (s) => s.split("\n").map((l) => `${l.trimEnd()}   `).join("\n")],
  "no trailing whitespace": ["trailing whitespace", (s) => s.split("\n").map((l) => l.trimEnd()).join("\n")],
  "spaces for tabs": ["indentation", (s) => s.replaceAll(/^\t+/gm, (tabs) => " ".repeat(8 * tabs.length))],
  "other indentation": ["indentation", (s) => s.split("\n").map((l) => `      ${l}`).join("\n")],
  "plain quotes": ["typographic punctuation", (s) => s.replaceAll(/[“”]/g, '"').replaceAll("…", "...")],
  "curly quotes": ["typographic punctuation", (s) => s.replaceAll("'", "’")],
  "no-break spaces": ["typographic punctuation", (s) => s.replaceAll(/(?<=\S) (?=\S)/g, "\u00a0")],
  "decomposed characters": ["Unicode form", (s) => s.normalize("NFD")],
  "line numbers with a tab": [
    "line-number prefix",
    (s) => s.split("\n").map((l, i) => `${String(i + 7).padStart(6)}\t${l}`).join("\n"),
  ],
  "line numbers with an arrow": ["line-number prefix", (s) => s.split("\n").map((l, i) => `${i + 7}→${l}`).join("\n")],
};

for (const [name, [says, slip]] of Object.entries(SLIPS)) {
  test(`P24: a hint names the slip that was made, and never a false one: ${name}`, () => {
    let named = 0;
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 6 }),
        fc.nat(),
        fc.integer({ min: 1, max: 3 }),
        (lines, at, count) => {
          const start = at % lines.length;
          const file = lines.join("\n");
          const real = lines.slice(start, start + count).join("\n");
          const wanted = slip(real);
          fc.pre(wanted.trim() !== "" && !file.includes(wanted));
          const result = applyEdit(utf8(file), { old_string: wanted, new_string: "☃" });
          assert.ok(!result.ok);
          assert.equal(result.code, "not_found");
          // A slip can look like another one too ('A' indented by what the next line has); what is said must still be true.
          if (result.message.includes(says)) named++;
          else assert.match(result.message, /differs in|closest/);
          const shown = retryMatches(file, result.message);
          if (!result.message.includes("line-number prefix")) assertDiffer(result.message, shown, wanted);
          if (result.message.includes("differs in")) assert.ok(letters(shown).includes(letters(real)), result.message);
        },
      ),
      runs,
    );
    assert.ok(named > 0.9 * runs.numRuns, `named ${named} times of ${runs.numRuns}`);
  });
}

test("P24: the lines an error shows are always in the file, and never end in a second miss", () => {
  const unit = fc.constantFrom(
    "a",
    "b",
    "B",
    " ",
    "\t",
    "\n",
    "“",
    '"',
    "e\u0301",
    "é",
    "\\n",
    "&amp;",
    "&",
    "1\t",
    "-",
    "–",
  );
  const scribble = fc.array(unit, { maxLength: 12 }).map((parts) => parts.join(""));
  let shown = 0;
  fc.assert(
    fc.property(scribble, scribble, fc.boolean(), (file, wanted, crlf) => {
      const real = crlf ? file.replaceAll("\n", "\r\n") : file;
      fc.pre(wanted !== "");
      const result = applyEdit(utf8(real), { old_string: wanted, new_string: "☃" });
      if (result.ok || result.code !== "not_found") return;
      if (retryMatches(real, result.message) !== "") shown++;
    }),
    runs,
  );
  assert.ok(shown > 0);
});

/** A hint of whitespace is true only if a line of the file and its line of old_string differ in it. */
function assertDiffer(message: string, shown: string, wanted: string): void {
  const [there, given] = [shown.split("\n"), wanted.split("\n")];
  for (const [says, space] of [["differs in trailing whitespace", /\s*$/], ["indentation", /^\s*/]] as const) {
    const differ = there.some((line, i) => space.exec(line)![0] !== space.exec(given[i] ?? "")![0]);
    assert.ok(differ || !message.includes(says), message);
  }
}

/** What no nameable difference changes. */
function letters(text: string): string {
  return text.normalize("NFKD").toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** Takes the lines out of the message as a model would, edits with them, and answers them. */
function retryMatches(file: string, message: string): string {
  const lines = [...message.matchAll(/^\d+: (".*")$/gm)].map(([, json]) => JSON.parse(json!) as string);
  const shown = lines.join("\n");
  if (shown === "") return "";
  const again = applyEdit(utf8(file), { old_string: shown, new_string: "☃" });
  assert.notEqual(again.ok ? "ok" : again.code, "not_found", message);
  return shown;
}
