import assert from "node:assert/strict";
import { Buffer, isUtf8 } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { decode, encode, type Encoding } from "../../lib/files/text-bytes.ts";
import { applyEdit } from "../../lib/tools/index.ts";
import type { EditApplied, EditRefused } from "../../lib/tools/edit/apply-edit.ts";
import type { EditCall } from "../../lib/tools/edit/edit-call.ts";
import { tries } from "../_counts.ts";
import { brokenText, bytes, call, edited, shifted, starts, string, text, unique, utf8 } from "./_edit-arbitraries.ts";

const runs = { numRuns: tries(133, 10_000, 400) };
const FRESH = "\u0001fresh\u0001";

/** The outcome of an edit of a text, as text: what laws compare. */
function outcome(file: string, edit: EditCall): string {
  const result = applyEdit(utf8(file), edit);
  return result.ok ? `ok ${string(result.bytes)}` : result.code;
}

function applied(result: EditApplied | EditRefused): EditApplied {
  assert.ok(result.ok, result.ok ? "" : result.message);
  return result;
}

/** The rewriter an edit must equal: looks at each place in turn, knows nothing else. Works on lists of units. */
function naive(
  file: readonly string[],
  old: readonly string[],
  now: readonly string[],
  all: boolean,
  same = (a: string, b: string) => a === b,
) {
  const isAt = (i: number) => i + old.length <= file.length && old.every((unit, j) => same(file[i + j]!, unit));
  const count = file.filter((_, i) => isAt(i)).length;
  if (count === 0) return "not_found";
  if (count > 1 && !all) return "ambiguous";
  const out: string[] = [];
  for (let i = 0; i < file.length;) {
    if (isAt(i)) {
      const breaks = file.slice(i, i + old.length).filter((unit) => unit.endsWith("\n"));
      const crlf = breaks.length > 0 && breaks.filter((unit) => unit === "\r\n").length * 2 >= breaks.length;
      out.push(...(crlf ? now.map((unit) => unit === "\n" ? "\r\n" : unit) : now));
      i += old.length;
    } else out.push(file[i++]!);
  }
  return `ok ${out.join("")}`;
}

test("S0.19, P1: applyEdit() always equals a rewriter that goes from left to right", () => {
  fc.assert(
    fc.property(edited, ({ file, call }) => {
      assert.equal(outcome(file, call), naive([...file], [...call.old_string], [...call.new_string], call.replace_all));
    }),
    runs,
  );
});

test("S0.19, P2: applyEdit() always names the number of start positions, overlapping ones too", () => {
  fc.assert(
    fc.property(edited, ({ file, call }) => {
      const result = applyEdit(utf8(file), { ...call, replace_all: false });
      const count = starts(file, call.old_string);
      if (result.ok) assert.equal(count, 1);
      else if (count > 1) {
        assert.match(result.message, new RegExp(`^String appears ${count} times, use replace_all or add context`));
      } else assert.match(result.message, /^String not found/);
    }),
    { ...runs, examples: [[{ file: "aaa", call: { old_string: "aa", new_string: "b", replace_all: false } }]] },
  );
});

test("P3: applyEdit() never changes a byte outside the match, whatever the bytes are", () => {
  const isUtf16 = (b: Uint8Array) => (b[0] === 0xff && b[1] === 0xfe) || (b[0] === 0xfe && b[1] === 0xff);
  let changed = 0;
  fc.assert(
    fc.property(
      bytes,
      fc.constantFrom("needle", "x;", "\\n", "é"),
      fc.constantFrom("", "y", "$&", "à"),
      bytes,
      (head, old, now, tail) => {
        const file = Buffer.concat([head, utf8(old), tail]);
        fc.pre(!isUtf16(file) && Buffer.from(tail).indexOf(utf8(old)) < 0 && Buffer.from(head).indexOf(utf8(old)) < 0);
        const result = applyEdit(file, { old_string: old, new_string: now });
        if (!result.ok) return assert.ok(["not_utf8", "ambiguous"].includes(result.code), result.message);
        changed++;
        assert.deepEqual(Buffer.from(result.bytes), Buffer.concat([head, utf8(now), tail]));
      },
    ),
    runs,
  );
  assert.ok(changed > 0);
});

test("P4: applyEdit() always changes the length by the difference of the strings, once for each replacement", () => {
  fc.assert(
    fc.property(edited, ({ file, call }) => {
      const result = applyEdit(utf8(file), call);
      if (!result.ok) return;
      const each = utf8(call.new_string).length - utf8(call.old_string).length;
      assert.equal(result.bytes.length, utf8(file).length + result.replacements * each);
      assert.equal(result.lines.length, result.replacements);
    }),
    runs,
  );
});

test("P5: applyEdit() always takes back a unique edit by its reverse", () => {
  fc.assert(
    fc.property(unique, ({ before, old, after }) => {
      const there = applied(applyEdit(utf8(before + old + after), { old_string: old, new_string: FRESH }));
      assert.equal(outcome(string(there.bytes), { old_string: FRESH, new_string: old }), `ok ${before + old + after}`);
    }),
    runs,
  );
});

test("P6: applyEdit() never applies the same edit twice when the new text does not bring the old one back", () => {
  fc.assert(
    fc.property(edited, ({ file, call }) => {
      const once = applyEdit(utf8(file), { ...call, new_string: FRESH });
      if (once.ok) assert.equal(outcome(string(once.bytes), { ...call, new_string: FRESH }), "not_found");
    }),
    runs,
  );
});

test("P7: applyEdit() always does the same with and without replace_all when the match is unique", () => {
  fc.assert(
    fc.property(unique, call, ({ before, old, after }, { new_string }) => {
      fc.pre(old !== new_string);
      const one = outcome(before + old + after, { old_string: old, new_string });
      assert.equal(outcome(before + old + after, { old_string: old, new_string, replace_all: true }), one);
      assert.equal(one, `ok ${before + new_string + after}`);
    }),
    runs,
  );
});

test("P8: applyEdit() always gives the same bytes by way of a fresh text", () => {
  fc.assert(
    fc.property(edited, ({ file, call }) => {
      const straight = applyEdit(utf8(file), call);
      if (!straight.ok) return;
      const middle = applied(applyEdit(utf8(file), { ...call, new_string: FRESH }));
      const around = applied(applyEdit(middle.bytes, { ...call, old_string: FRESH }));
      assert.equal(string(around.bytes), string(straight.bytes));
    }),
    runs,
  );
});

test("P9: applyEdit() always does the same when both strings are given more of the text around", () => {
  fc.assert(
    fc.property(unique, call, fc.nat(), fc.nat(), ({ before, old, after }, { new_string }, left, right) => {
      const l = [...before].slice(left % (before.length + 1)).join(""),
        r = [...after].slice(0, right % (after.length + 1)).join("");
      fc.pre(old !== new_string && l.isWellFormed() && r.isWellFormed());
      assert.equal(
        outcome(before + old + after, { old_string: l + old + r, new_string: l + new_string + r }),
        outcome(before + old + after, { old_string: old, new_string }),
      );
    }),
    runs,
  );
});

test("P10: applyEdit() always gives the same bytes for two disjoint edits in either order", () => {
  fc.assert(
    fc.property(text, text, text, (a, b, c) => {
      const file = `${a}\u0002one\u0002${b}\u0002two\u0002${c}`;
      const one = { old_string: "\u0002one\u0002", new_string: "1" },
        two = { old_string: "\u0002two\u0002", new_string: "2" };
      fc.pre(starts(file, one.old_string) === 1 && starts(file, two.old_string) === 1);
      const oneFirst = applyEdit(applied(applyEdit(utf8(file), one)).bytes, two);
      const twoFirst = applyEdit(applied(applyEdit(utf8(file), two)).bytes, one);
      assert.deepEqual(applied(oneFirst).bytes, applied(twoFirst).bytes);
    }),
    runs,
  );
});

test("P11: applyEdit() always does to a CRLF file what it does to the same file with LF", () => {
  const crlf = (s: string) => s.replaceAll("\n", "\r\n");
  fc.assert(
    fc.property(edited, ({ file, call }) => {
      fc.pre(file.includes("\n"));
      const plain = outcome(file, call);
      assert.equal(outcome(crlf(file), call), plain.startsWith("ok ") ? crlf(plain) : plain);
    }),
    runs,
  );
});

test("rule 9: applyEdit() always takes LF for the line break that is there, and never splits a CRLF", () => {
  const units = (s: string) => s.match(/\r\n|[^]/g) ?? [];
  const loose = (a: string, b: string) => a === b || (a === "\r\n" && b === "\n");
  const crlf = (s: string) => s.replaceAll("\n", "\r\n");
  const seen = new Set<string>();
  fc.assert(
    fc.property(brokenText, fc.nat(), fc.nat(), call, (file, from, length, { new_string: now, replace_all: all }) => {
      const shown = file.replaceAll("\r\n", "\n").replaceAll("\r", "");
      const start = from % (shown.length + 1);
      const old = shown.slice(start, start + 1 + length % 5);
      fc.pre(old !== "" && old !== now);
      const uniform = file.includes("\n") && !file.replaceAll("\r\n", "").includes("\n");
      const orphans = old.startsWith("\n") && !now.startsWith("\n") && file.includes(`\r${old}`);
      const way = uniform ? "crlf" : file.includes(old) && !orphans ? "verbatim" : "mixed";
      const expected = {
        crlf: () => plainRewrite(file, crlf(old), crlf(now), all),
        verbatim: () => plainRewrite(file, old, now, all),
        mixed: () => naive(units(file), units(old), units(now), all, loose),
      }[way]();
      seen.add(`${way} ${expected.slice(0, 2)}`);
      assert.equal(outcome(file, { old_string: old, new_string: now, replace_all: all }), expected);
    }),
    runs,
  );
  for (const way of ["crlf ok", "verbatim ok", "mixed ok"]) {
    assert.ok(seen.has(way), `${way} was not among ${[...seen]}`);
  }
});

function plainRewrite(file: string, old: string, now: string, all: boolean): string {
  const count = starts(file, old);
  if (count === 0) return "not_found";
  return count > 1 && !all ? "ambiguous" : `ok ${file.split(old).join(now)}`;
}

test("P12: applyEdit() always does to UTF-16 text what it does to UTF-8", () => {
  fc.assert(
    fc.property(
      fc.oneof(edited, shifted),
      fc.constantFrom<Encoding>("utf16le", "utf16be"),
      ({ file, call }, encoding) => {
        // A UTF-16 file that begins with NUL cannot be told from UTF-32, which is refused.
        fc.pre(!file.startsWith("\0"));
        const result = applyEdit(encode(`\ufeff${file}`, encoding), call);
        const wanted = outcome(`\ufeff${file}`, call);
        assert.equal(result.ok ? `ok ${decode(result.bytes, encoding)}` : result.code, wanted);
        if (result.ok) assert.equal(result.bytes.length % 2, 0);
      },
    ),
    runs,
  );
});

test("P13: applyEdit() always leaves a byte order mark where it is", () => {
  fc.assert(
    fc.property(edited, ({ file, call }) => {
      fc.pre(!call.old_string.includes("\ufeff"));
      const plain = outcome(file, call);
      assert.equal(outcome(`\ufeff${file}`, call), plain.startsWith("ok ") ? `ok \ufeff${plain.slice(3)}` : plain);
    }),
    runs,
  );
});

test("P14: applyEdit() never invents a U+FFFD", () => {
  const mark = utf8("\ufffd");
  fc.assert(
    fc.property(bytes, bytes, call, (head, tail, call) => {
      const file = Buffer.concat([head, utf8(call.old_string), tail]);
      // An empty new_string can bring together bytes that spell the mark; that is not inventing it.
      fc.pre(file.indexOf(mark) < 0 && call.new_string !== "");
      const result = applyEdit(file, call);
      if (result.ok) assert.equal(Buffer.from(result.bytes).indexOf(mark), -1);
    }),
    runs,
  );
  const lone = applyEdit(utf8("a\ufffdb"), { old_string: "\ud800", new_string: "x" });
  assert.equal(lone.ok ? "" : lone.code, "invalid_input");
});

test("P15: applyEdit() never makes a valid UTF-8 file invalid", () => {
  fc.assert(
    fc.property(edited, ({ file, call }) => {
      const result = applyEdit(utf8(file), call);
      if (result.ok) assert.ok(isUtf8(result.bytes));
    }),
    runs,
  );
});

test("P26: applyEdit() always gives the same answer for the same bytes and call, and never changes the bytes it got", () => {
  fc.assert(
    fc.property(bytes, call, (file, call) => {
      const copy = Buffer.from(file);
      const first = applyEdit(file, call);
      assert.deepEqual(applyEdit(Buffer.from(file), call), first);
      assert.ok(copy.equals(file));
    }),
    runs,
  );
});

test("a match is always refused if it may begin with the second byte of a character of Shift-JIS, and never below 0x40", () => {
  for (let second = 0x20; second < 0x7f; second++) {
    const old_string = `${String.fromCharCode(second)}b`;
    const result = applyEdit(Uint8Array.of(0x83, second, 0x62, 0x0a), { old_string, new_string: "x" });
    assert.equal(result.ok ? "ok" : result.code, second >= 0x40 ? "not_utf8" : "ok", old_string);
  }
});

test("CRLF is never taken as LF unless both strings have no other line break", () => {
  const broken = (breaks: readonly string[]) => breaks.map((end, i) => `${i}${end}`).join("");
  const breaks = fc.array(fc.constantFrom("\r\n", "\r\n", "\r\n", "\n", "\r"), { minLength: 1, maxLength: 3 });
  const seen = { taken: 0, left: 0 };
  fc.assert(
    fc.property(breaks, breaks, (old, now) => {
      fc.pre(old.includes("\r\n"));
      const file = utf8(broken(old).replaceAll("\r\n", "\n"));
      const result = applyEdit(file, { old_string: broken(old), new_string: `new ${broken(now)}` });
      const pure = [...old, ...now].every((end) => end === "\r\n");
      seen[pure ? "taken" : "left"]++;
      assert.equal(result.ok ? result.eol : result.code, pure ? "lf" : "not_found");
    }),
    runs,
  );
  assert.ok(seen.taken > 20 && seen.left > 20, JSON.stringify(seen));
});

test("S0.22: replace_all always replaces every match, however many there are", () => {
  for (const count of [1, 9, 10, 11, 999, 1000, 1001, 65_537, 300_000]) {
    const result = applied(
      applyEdit(utf8("ab".repeat(count)), { old_string: "b", new_string: "c", replace_all: true }),
    );
    assert.equal(result.replacements, count);
    assert.ok(Buffer.from(result.bytes).equals(Buffer.from("ac".repeat(count))), String(count));
  }
});
