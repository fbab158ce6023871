import assert from "node:assert/strict";
import { test } from "node:test";
import xterm from "@xterm/headless";
import fc from "fast-check";
import { type Key, KeyReader } from "../../lib/extensions/view/terminal/keys.ts";
import { LineEditor } from "../../lib/extensions/view/terminal/line-editor.ts";
import { Screen } from "../../lib/extensions/view/terminal/screen.ts";
import { chop, cut, displayWidth, firstLine, harmless, openText, plainText, wrap } from "../../lib/cli/show/text.ts";
import { rounds } from "../_counts.ts";

const check = (property: fc.IProperty<any> | fc.IAsyncProperty<any>, numRuns = rounds(150, 3000)) =>
  fc.assert(property as fc.IAsyncProperty<any>, { numRuns });

/** Text as terminals meet it: plain, wide, combining, with controls and sequences in it. */
const anyText = fc.array(
  fc.oneof(
    fc.constantFrom("a", "bc", " ", "  ", "漢", "字漢", "é", "e\u0301", "👩‍👩‍👧", "🇨🇭", "→", "- ", "\t", "ｗ"),
    fc.string({ unit: "grapheme", maxLength: 4 }),
  ),
  { maxLength: 30 },
).map((parts) => parts.join(""));
const wild = fc.array(
  fc.oneof(
    anyText,
    fc.constantFrom("\u001b[31m", "\u001b]0;x\u0007", "\u001b]8;;", "\u009b2J", "\u001bP", "\u001b", "\r", "\u202e"),
  ),
  { maxLength: 8 },
).map((parts) => parts.join(""));
const line = anyText.map((text) => plainText(text).replace(/[\n\t]/g, " "));
const columns = fc.integer({ min: 2, max: 50 });

test("harmless() never leaves more than colours, and never takes a word away or changes it a second time", async () => {
  await check(fc.property(wild, (text) => {
    const shown = harmless(text);
    // deno-lint-ignore no-control-regex
    const rest = shown.replace(/^\r\u001b\[2?K/, "").replace(/\u001b\[\d{0,3}m|\r\n/g, "");
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(rest, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    assert.equal(shown.replace(/\\u([0-9a-f]{4})/g, (_, code) => String.fromCharCode(parseInt(code, 16))), text);
    assert.equal(harmless(shown), shown);
  }));
});

test("plainText() never leaves what steers a terminal, and never changes it a second time", async () => {
  await check(fc.property(wild, (text) => {
    const plain = plainText(text);
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(plain, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    assert.equal(plainText(plain), plain);
  }));
});

test("plainText() keeps every letter that is not part of a sequence", () => {
  assert.equal(
    plainText("\u001b[1;31mred\u001b[0m and \u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\"),
    "red and link",
  );
  assert.equal(plainText("\u001b]0;never ended"), "]0;never ended");
  assert.equal(plainText("10%\r20%\r\n30%\r\n"), "20%\n30%\n");
  assert.equal(plainText("a\r\n\r\nb\n\nc 50%\r"), "a\n\nb\n\nc 50%");
  assert.equal(plainText("tab\tand\nline"), "tab\tand\nline");
});

test("openText() always shows what would be hidden", async () => {
  await check(fc.property(wild, (text) => {
    // deno-lint-ignore no-control-regex
    const hidden = text.match(/[\u001b\u009b\u0007\r\u202e]/g)?.length ?? 0;
    assert.equal((openText(text).match(/\\u(?:001b|009b|0007|000d|202e)/g) ?? []).length, hidden);
  }));
});

test("cut(), chop() and wrap() never exceed their columns; chop() and wrap() never lose a letter", async () => {
  await check(fc.property(line, columns, (text, width) => {
    assert.ok(displayWidth(cut(text, width)) <= width);
    const pieces = chop(text, width);
    assert.ok(pieces.every((row) => displayWidth(row) <= width));
    assert.equal(pieces.join(""), text);
    const rows = wrap(text, width);
    assert.ok(rows.every((row) => displayWidth(row) <= width), JSON.stringify(rows));
    assert.equal(rows.join("").replace(/\s/g, ""), text.replace(/\s/g, ""));
  }));
});

test("wrap() parts between words wherever a word fits, and hangs the rows of a list", () => {
  assert.deepEqual(wrap("the quick brown fox", 10), ["the quick", "brown fox"]);
  assert.deepEqual(wrap("- the quick brown fox", 10), ["- the", "  quick", "  brown", "  fox"]);
  assert.deepEqual(wrap("12. one two three", 11), ["12. one two", "    three"]);
  assert.deepEqual(wrap(`a ${"x".repeat(12)} b`, 5), ["a", "xxxxx", "xxxxx", "xx b"]);
  assert.deepEqual(wrap("", 5), [""]);
});

test("displayWidth() counts columns: wide ones twice, marks and styling not at all", () => {
  const widths: readonly [string, number][] = [["", 0], ["abc", 3], ["漢字", 4], ["e\u0301", 1], ["👩‍👩‍👧", 2]];
  for (const [text, width] of [...widths, ["\u001b[31mred\u001b[39m", 3], ["ｱ", 1], ["❤️", 2]] as const) {
    assert.equal(displayWidth(text), width, JSON.stringify(text));
  }
  assert.equal(firstLine("\n\n  a  b\nc"), "a b");
});

const KEYS: readonly (readonly [string, Key["name"]])[] = [
  ["\r", "enter"],
  ["\u001b[A", "up"],
  ["\u001bOB", "down"],
  ["\u001b[1;5D", "word-left"],
  ["\u001b[3~", "delete"],
  ["\u007f", "backspace"],
  ["\u0003", "ctrl-c"],
  ["\u001b\r", "newline"],
  ["\u001b[13;2u", "newline"],
  ["\u001b[99;99z", "unknown"],
];
const typed = fc.array(fc.constantFrom("a", "b c", "漢", "é", "👍"), { minLength: 1, maxLength: 6 }).map((all) =>
  all.join("")
);
const pressed = fc.oneof(
  typed.map((text) => ({ sent: text, key: { name: "text", text } as Key })),
  fc.constantFrom(...KEYS).map(([sent, name]) => ({ sent, key: { name, text: "" } as Key })),
  typed.map((text) => ({
    sent: `\u001b[200~${text}\r\n\u001b[201~`,
    key: { name: "paste", text: `${text}\n` } as Key,
  })),
);

/** Neighbouring typed texts are one: where one key ends and the next begins cannot be seen. */
const joined = (keys: readonly Key[]) =>
  keys.reduce<Key[]>((all, key) => {
    const last = all.at(-1);
    if (key.name === "text" && last?.name === "text") all[all.length - 1] = { ...last, text: last.text + key.text };
    else all.push(key);
    return all;
  }, []);

test("KeyReader always reads the same keys, however the terminal parts what it sends", async () => {
  await check(fc.property(fc.array(pressed, { maxLength: 8 }), fc.array(fc.nat(60)), (presses, cuts) => {
    const sent = presses.map((one) => one.sent).join("");
    const at = [0, ...[...new Set(cuts)].filter((i) => i < sent.length).sort((a, b) => a - b), sent.length];
    const reader = new KeyReader();
    const keys = at.slice(1).flatMap((end, i) => reader.feed(sent.slice(at[i], end)));
    assert.deepEqual(joined(keys), joined(presses.map((one) => one.key)));
    assert.equal(reader.waits, undefined);
  }));
});

test("KeyReader: an escape alone is the Esc key once nothing follows; a paste without its end is still a paste", () => {
  const reader = new KeyReader();
  assert.deepEqual(reader.feed("\u001b"), []);
  assert.ok(reader.waits! < 100);
  assert.deepEqual(reader.flush(), [{ name: "escape", text: "" }]);
  assert.deepEqual(reader.feed("\u001b\u001b").concat(reader.flush()).map((k) => k.name), ["escape", "escape"]);
  assert.deepEqual(reader.feed("\u001b[200~half"), []);
  assert.deepEqual(reader.flush(), [{ name: "paste", text: "half" }]);
});

const edits = fc.array(
  fc.oneof(
    anyText.map((text): Key => ({ name: "paste", text: plainText(text) })),
    fc.constantFrom<Key["name"]>(
      ...["newline", "backspace", "delete", "left", "right", "word-left", "word-right", "home", "end"] as const,
      ...["delete-before", "delete-after", "delete-word", "up", "down", "ctrl-d"] as const,
    ).map((name): Key => ({ name, text: "" })),
  ),
  { maxLength: 30 },
);

test("LineEditor: the cursor is always in the text, and shown in the rows, which are never too wide", async () => {
  await check(
    fc.property(edits, fc.integer({ min: 6, max: 40 }), fc.integer({ min: 1, max: 8 }), (keys, width, most) => {
      const editor = new LineEditor();
      for (const key of keys) {
        editor.press(key);
        assert.ok(editor.cursor >= 0 && editor.cursor <= editor.text.length);
      }
      const { rows, cursor } = editor.shown("› ", width, most);
      assert.ok(rows.length <= most && rows.every((row) => displayWidth(row) <= width));
      assert.ok(cursor.row >= 0 && cursor.row < rows.length, JSON.stringify({ rows, cursor }));
      assert.ok(cursor.column >= 2 && cursor.column <= width);
    }),
  );
});

test("LineEditor: what is typed before the cursor and after it is what the text is", async () => {
  await check(fc.property(line, line, (before, after) => {
    const editor = new LineEditor();
    editor.press({ name: "text", text: after });
    editor.press({ name: "home", text: "" });
    editor.press({ name: "text", text: before });
    assert.equal(editor.text, before + after);
    editor.press({ name: "delete-after", text: "" });
    assert.equal(editor.text, before);
  }));
});

const someRows = fc.array(fc.stringMatching(/^[a-z漢 ]{0,18}$/), { maxLength: 4 });

test("Screen: what is printed always stays, in order, and of what changes only the last is seen", async () => {
  const step = fc.record({ print: someRows, show: someRows });
  await check(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      const terminal = new xterm.Terminal({ cols: 40, rows: 12, scrollback: 500, allowProposedApi: true });
      const screen = new Screen({ write: (text) => terminal.write(text), columns: () => 40, rows: () => 12 });
      for (const { print, show } of steps) {
        screen.print(print);
        screen.show(show);
      }
      const seen = async () => {
        await new Promise<void>((done) => terminal.write("", done));
        const { active } = terminal.buffer;
        return Array.from({ length: active.length }, (_, i) => active.getLine(i)!.translateToString(true).trimEnd())
          .join("\n").trimEnd();
      };
      const printed = steps.flatMap((s) => s.print).map((row) => row.trimEnd());
      const last = (steps.at(-1)?.show ?? []).map((row) => row.trimEnd());
      assert.equal(await seen(), [...printed, ...last].join("\n").trimEnd());
      screen.clear();
      assert.equal(await seen(), printed.join("\n").trimEnd());
      terminal.dispose();
    }),
    rounds(40, 1000),
  );
});
