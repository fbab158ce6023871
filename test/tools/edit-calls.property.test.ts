import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { isBinary } from "../../lib/files/text-bytes.ts";
import { applyEdit, multiEdit } from "../../lib/tools/index.ts";
import type { EditCall } from "../../lib/tools/edit/edit-call.ts";
import { rounds, tries } from "../_counts.ts";
import { brokenText, call, edited, editedInTurn, starts, string, text, utf8 } from "./_edit-arbitraries.ts";
import { inWorkspace } from "./_workspace.ts";

const runs = { numRuns: tries(300, 5_000) };

/** The outcome in words: the text it made, or the code of the refusal. */
function outcome(file: Uint8Array, edit: EditCall): string {
  const result = applyEdit(file, edit);
  return result.ok ? `ok ${string(result.bytes)}` : result.code;
}

// Kills: only old_string is looked at for a CR, so that the CRLF of new_string becomes CR CR LF.
test("a new_string with a CR is always written as it is, whatever line breaks the file has", () => {
  const now = fc.array(fc.constantFrom("a", "\r\n", "\r", "\n"), { minLength: 1, maxLength: 4 }).map((all) =>
    all.join("")
  );
  let written = 0;
  fc.assert(
    fc.property(brokenText, fc.constantFrom("a", "b", "ab", "a\nb", "\n"), now, (file, old_string, new_string) => {
      fc.pre(new_string.includes("\r") && starts(file, old_string) === 1);
      written++;
      const expected = file.split(old_string).join(new_string);
      assert.equal(outcome(utf8(file), { old_string, new_string }), `ok ${expected}`);
    }),
    runs,
  );
  assert.ok(written > 100, `only ${written} edits were made`);
  assert.equal(outcome(utf8("x\r\ny"), { old_string: "x", new_string: "a\r\nb" }), "ok a\r\nb\r\ny");
});

// Kills: an empty or an identical string is looked for, any truthy replace_all replaces all.
test("S0.17: an empty or unchanged old_string and a replace_all that is not a boolean are always refused, whatever the file has", () => {
  const isFlag = (value: unknown) => [undefined, true, false, "true", "false"].includes(value as boolean);
  const odd = fc.oneof(
    fc.anything().filter((value) => !isFlag(value)),
    fc.constantFrom(1, "yes", "False", [], {}, null),
  );
  fc.assert(
    fc.property(edited, odd, ({ file, call }, replace_all) => {
      const bytes = utf8(file + call.old_string);
      assert.equal(outcome(bytes, { ...call, old_string: "" }), "empty_old");
      assert.equal(outcome(bytes, { ...call, new_string: call.old_string }), "identical");
      assert.equal(outcome(bytes, { ...call, replace_all } as EditCall), "invalid_input");
    }),
    runs,
  );
});

// Kills: UTF-32 is taken for UTF-16 or for bytes, in which a match can be half of a character.
test("a file of UTF-32 is always refused, also if it has the bytes of old_string", () => {
  fc.assert(
    fc.property(text, call, fc.boolean(), (head, call, isBig) => {
      const points = [...`\ufeff${head}${call.old_string}`].map((c) => c.codePointAt(0)!);
      const file = Buffer.alloc(points.length * 4);
      points.forEach((point, i) => isBig ? file.writeUInt32BE(point, i * 4) : file.writeUInt32LE(point, i * 4));
      assert.equal(outcome(file, call), "not_utf8");
    }),
    runs,
  );
});

// Kills: lines counted from 0, from the match before, or by the match's own breaks; more or fewer than ten.
test("S0.21: an ambiguous match always names the lines of its first ten starts, and how many more there are", () => {
  const file = fc.array(fc.constantFrom("a", "aa", "\n", "b", "\r\n"), { minLength: 2, maxLength: 40, size: "max" })
    .map((all) => all.join(""));
  let cut = 0;
  fc.assert(
    fc.property(file, (file) => {
      const at = [...file].flatMap((c, i) => c === "a" ? [file.slice(0, i).split("\n").length] : []);
      fc.pre(at.length > 1);
      const more = at.length > 10 ? ` and ${at.length - 10} more` : "";
      if (more) cut++;
      const result = applyEdit(utf8(file), { old_string: "a", new_string: "c" });
      assert.equal(
        result.ok ? "ok" : result.message,
        `String appears ${at.length} times, use replace_all or add context: lines ${at.slice(0, 10).join(", ")}${more}`,
      );
    }),
    runs,
  );
  assert.ok(cut > 10, `only ${cut} had more than ten`);
});

// Kills: only the last edit counted, an edit counted once though it replaced all.
test("several edits of one file always report the sum of what each replaced", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt");
    let several = 0;
    await fc.assert(
      fc.asyncProperty(editedInTurn, async ({ file, calls: edits }) => {
        if (isBinary(file)) return;
        let [bytes, count] = [file, 0];
        for (const edit of edits) {
          const result = applyEdit(bytes, edit);
          if (!result.ok) return;
          [bytes, count] = [result.bytes, count + result.replacements];
        }
        if (edits.length > 1) several++;
        writeFileSync(path, file);
        assert.equal((await multiEdit({ file_path: path, edits }, { cwd: root })).replacements, count);
      }),
      { numRuns: rounds(60, 1000) },
    );
    assert.ok(several > 5, `only ${several} times several edits`);
  }));
