import assert from "node:assert/strict";
import { test } from "node:test";
import * as diff from "diff";
import fc from "fast-check";
import { composeSplices } from "../../lib/files/text-bytes.ts";
import { planEdit } from "../../lib/tools/edit/apply-edit.ts";
import { hunksOf, unifiedDiff } from "../../lib/tools/edit/edit-file.ts";
import { applyEdit } from "../../lib/tools/index.ts";
import { tries } from "../_counts.ts";
import { call, edited, string, text, utf8 } from "./_edit-arbitraries.ts";

const runs = { numRuns: tries(133, 10_000, 400) };

test("P27: the diff of an edit, applied to the old text, always gives the new one", () => {
  fc.assert(
    fc.property(
      fc.oneof(edited, edited.map((e) => ({ ...e, file: `1\n2\n3\n4\n5\n${e.file}\n6\n7\n8\n9\n` }))),
      fc.nat(3),
      ({ file, call }, context) => {
        const result = applyEdit(utf8(file), call);
        if (!result.ok) return;
        const { splices } = planEdit(utf8(file), call);
        const hunks = hunksOf(utf8(file), splices, { context, diff })!;
        assert.equal(applyHunks(file, hunks), string(result.bytes));
        const patch = unifiedDiff("a.txt", hunks, diff);
        assert.equal(diff.applyPatch(file, patch, { autoConvertLineEndings: false }), string(result.bytes));
      },
    ),
    runs,
  );
});

test("P27: the diff of several edits at once, applied to the old text, always gives the new one", () => {
  fc.assert(
    fc.property(text, text, fc.array(call, { minLength: 2, maxLength: 4 }), (a, b, calls) => {
      const old = utf8(`${a}\n.\n.\n.\n.\n.\n.\n.\n.\n${b}`);
      let now: Uint8Array = old, splices: ReturnType<typeof composeSplices> = [];
      for (const call of calls) {
        const next = applyEdit(now, { ...call, replace_all: true });
        if (!next.ok) continue;
        splices = composeSplices(splices, now, planEdit(now, { ...call, replace_all: true }).splices);
        now = next.bytes;
      }
      const hunks = hunksOf(old, splices, { context: 3, diff })!;
      assert.equal(applyHunks(string(old), hunks), string(now));
    }),
    runs,
  );
});

/** Applies hunks by their line numbers alone, and checks each line they claim to find. */
function applyHunks(file: string, hunks: readonly diff.StructuredPatchHunk[]): string {
  const old = file.split(/(?<=\n)/).filter((line) => line !== "");
  const out: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    while (at < hunk.oldStart - 1) out.push(old[at++]!);
    assert.equal(out.length, hunk.newStart - 1);
    const start = { old: at, now: out.length };
    hunk.lines.forEach((line, i) => {
      if (line.startsWith("\\")) return;
      const raw = line.slice(1) + (hunk.lines[i + 1]?.startsWith("\\") ? "" : "\n");
      if (line[0] !== "+") assert.equal(raw, old[at++]);
      if (line[0] !== "-") out.push(raw);
    });
    assert.deepEqual([at - start.old, out.length - start.now], [hunk.oldLines, hunk.newLines]);
  }
  return out.concat(old.slice(at)).join("");
}

test("the diff of an edit always has the context lines that are there, around and between its changes", () => {
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i}\n`);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(19), { minLength: 1, maxLength: 5 }), fc.nat(3), (changed, context) => {
      const old = utf8(lines.join(""));
      let at = 0;
      const splices = lines.flatMap((line, i) => {
        const start = at;
        at += line.length;
        return changed.includes(i) ? [{ start, end: start + 4, bytes: utf8("LINE") }] : [];
      });
      const now = lines.map((line, i) => changed.includes(i) ? line.replace("line", "LINE") : line).join("");
      const whole = diff.structuredPatch("", "", lines.join(""), now, undefined, undefined, { context });
      assert.deepEqual(hunksOf(old, splices, { context, diff }), whole.hunks);
    }),
    runs,
  );
});
