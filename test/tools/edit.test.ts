import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { ToolError } from "../../lib/core/tool.ts";
import { applyEdit, Edit, edit, MultiEdit } from "../../lib/tools/index.ts";
import { testData } from "../_data.ts";
import { run, withFile } from "./_edit-file.ts";
import { call } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

test("S0.17: Edit takes file_path, old_string, new_string and replace_all, and requires the first three in that order", () => {
  const { properties, required, ...rest } = Edit.input_schema as {
    properties: Record<string, Record<string, unknown>>;
    required: string[];
  };
  assert.deepEqual(required, ["file_path", "old_string", "new_string"]);
  assert.deepEqual(rest, { type: "object" });
  const types = Object.entries(properties).map(([name, { description: _, ...schema }]) => [name, schema]);
  assert.deepEqual(types, [
    ["file_path", { type: "string" }],
    ["old_string", { type: "string" }],
    ["new_string", { type: "string" }],
    ["replace_all", { type: "boolean", default: false }],
  ]);
  assert.equal(Edit.effect, "write");
});

test("S0.17: without replace_all, or with it false, only the one occurrence is replaced, and two are refused", () =>
  withFile("one two two\n", async ({ root, path, read, context }) => {
    for (const replace_all of [undefined, false]) {
      const flag = replace_all === undefined ? {} : { replace_all };
      const twice = { old_string: "two", new_string: "2", ...flag };
      await assert.rejects(run({ file_path: path, ...twice }, context), { code: "ambiguous" });
      await assert.rejects(edit({ file_path: "a.txt", ...twice }, { cwd: root }), { code: "ambiguous" });
      assert.equal(read(), "one two two\n");
    }
    const { response } = await run({ file_path: path, old_string: "one", new_string: "1" }, context);
    assert.deepEqual([read(), response.replaceAll], ["1 two two\n", false]);
  }));

test("S0.18, S0.19, S0.22, S0.25: edit() replaces the one occurrence in the file, with no agent and no hooks", () =>
  withFile("let a = 1;\nlet b = 2;\n", async ({ root, read }) => {
    const result = await edit({ file_path: "a.txt", old_string: "let b", new_string: "const b" }, { cwd: root });
    assert.equal(read(), "let a = 1;\nconst b = 2;\n");
    assert.deepEqual([result.replacements, result.lines, result.eol, result.undoable], [1, [2], "verbatim", true]);
    assert.equal(
      result.diff,
      "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n let a = 1;\n-let b = 2;\n+const b = 2;\n",
    );
  }));

test("S0.20, S0.23: Edit answers 'String not found' and leaves the file alone", () =>
  withFile("abc\n", async ({ path, read, context }) => {
    for (const replace_all of [false, true]) {
      await assert.rejects(
        run({ file_path: path, old_string: "zzz", new_string: "y", replace_all }, context),
        (error) => {
          assert.ok(error instanceof ToolError);
          assert.ok(error.message.startsWith("String not found"), error.message);
          assert.equal(error.code, "not_found");
          return true;
        },
      );
    }
    assert.equal(read(), "abc\n");
  }));

test("S0.21, S0.23: Edit answers 'String appears N times, use replace_all or add context', with the first ten lines", () =>
  withFile("x\n".repeat(12), async ({ path, read, context }) => {
    await assert.rejects(run({ file_path: path, old_string: "x", new_string: "y" }, context), {
      code: "ambiguous",
      message:
        "String appears 12 times, use replace_all or add context: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more",
    });
    assert.equal(read(), "x\n".repeat(12));
  }));

// Kills: the first of several occurrences is taken, or all of them.
test("S0.24: an ambiguous match never overwrites anything, alone or among other edits; replace_all is the bulk path", () =>
  withFile("a b\na b\nc\n", async ({ root, path, read, context }) => {
    const before = read();
    const ambiguous = { old_string: "a", new_string: "z" };
    await assert.rejects(run({ file_path: path, ...ambiguous }, context), { code: "ambiguous" });
    const edits = [{ old_string: "c", new_string: "d" }, ambiguous];
    await assert.rejects(call(MultiEdit, { file_path: path, edits }, context), { code: "ambiguous" });
    await assert.rejects(edit({ file_path: "a.txt", ...ambiguous }, { cwd: root }), { code: "ambiguous" });
    assert.equal(read(), before);
    await run({ file_path: path, ...ambiguous, replace_all: true }, context);
    assert.equal(read(), "z b\nz b\nc\n");
  }));

test("S0.22: Edit with replace_all renames every occurrence", () =>
  withFile("n = n + 1\nprint(n)\n", async ({ path, read, context }) => {
    const { content } = await run(
      { file_path: path, old_string: "n", new_string: "count", replace_all: true },
      context,
    );
    assert.equal(read(), "count = count + 1\npricountt(count)\n");
    assert.match(content, /4 replacements at lines 1, 1, 2, 2$/);
  }));

test("Edit gives hooks the input and the result that Claude Code gives them", () =>
  withFile("alpha\nbeta\n", async ({ root, context }) => {
    const { stdin } = JSON.parse(
      readFileSync(testData("captures/PostToolUse.Edit.json"), "utf8").replaceAll("/PROJ", root),
    );
    const input = await Edit.parse({ file_path: "./a.txt", old_string: "alpha", new_string: "ALPHA" });
    assert.equal(JSON.stringify(Edit.prepare!(input, context)), JSON.stringify(stdin.tool_input));
    const { response } = await run(input, context);
    assert.equal(JSON.stringify(response), JSON.stringify(stdin.tool_response));
    assert.match(Edit.render!(response) as string, /a\.txt has been updated/);
  }));

test("rule 1: replace_all takes true, false and their names, and never takes another truthy value for true", () =>
  withFile("a a", async ({ path, read, context }) => {
    const call = { file_path: path, old_string: "a", new_string: "b" };
    await assert.rejects(run({ ...call, replace_all: "false" }, context), { code: "ambiguous" });
    for (const wrong of ["yes", 1, 0, null, {}, "TRUE", ""]) {
      await assert.rejects(run({ ...call, replace_all: wrong }, context), { code: "invalid_input" });
    }
    for (const key of ["file_path", "old_string", "new_string"]) {
      for (const wrong of [undefined, null, 1, ["a"], { a: 1 }]) {
        await assert.rejects(run({ ...call, [key]: wrong }, context), {
          code: "invalid_input",
          message: new RegExp(`^Cannot use ${key} as`),
        });
      }
    }
    for (const wrong of [undefined, null, "a", [call]]) {
      await assert.rejects(run(wrong, context), { code: "invalid_input" });
    }
    await run({ ...call, replace_all: "true" }, context);
    assert.equal(read(), "b b");
  }));

test("rule 2: a lone surrogate is refused in each string", () =>
  withFile("a\ufffdb", async ({ path, context }) => {
    const call = { file_path: path, old_string: "a", new_string: "c" };
    for (const key of Object.keys(call)) {
      await assert.rejects(run({ ...call, [key]: "\ud83d" }, context), { code: "invalid_input" });
    }
  }));

test("rule 3: an empty or unchanged old_string is refused before the file is looked for", () =>
  inWorkspace(async (root) => {
    await assert.rejects(edit({ file_path: "none", old_string: "", new_string: "x" }, { cwd: root }), {
      code: "empty_old",
    });
    await assert.rejects(edit({ file_path: "none", old_string: "x", new_string: "x" }, { cwd: root }), {
      code: "identical",
    });
    await assert.rejects(edit({ file_path: "none", old_string: "x", new_string: "y" }, { cwd: root }), {
      code: "no_such_file",
    });
  }));

test("rule 7: UTF-32 is refused, because a match could be a part of a character", () => {
  for (const file of [[0xff, 0xfe, 0, 0, 0x61, 0, 0, 0], [0, 0, 0xfe, 0xff, 0, 0, 0, 0x61]]) {
    const result = applyEdit(Buffer.from(file), { old_string: "a", new_string: "bc" });
    assert.equal(result.ok ? "ok" : result.code, "not_utf8");
  }
});

test("rule 7: text that is not ASCII is never put into a file that is not UTF-8", () => {
  const result = applyEdit(Buffer.from("caf\xe9\nx\n", "latin1"), { old_string: "x", new_string: "é" });
  assert.equal(result.ok ? "ok" : result.code, "not_utf8");
});

test("rule 8: a long old_string is found only where each of its characters is, whichever part of it is rare", () => {
  const rare = "abcdefghijklmnopqrstuvwxyz0123456789";
  const common = "-".repeat(rare.length);
  for (const wanted of [rare + common + common, common + rare + common, common + common + rare]) {
    for (const at of [0, 1, wanted.length >> 1, wanted.length - 1]) {
      const other = `${wanted.slice(0, at)}_${wanted.slice(at + 1)}`;
      const result = applyEdit(Buffer.from(`${other}\n${wanted}\n`), { old_string: wanted, new_string: "found" });
      assert.equal(result.ok && Buffer.from(result.bytes).toString(), `${other}\nfound\n`);
    }
  }
});

test("rule 9: Edit says how it took the line breaks", () =>
  withFile("a\r\nb\r\n", async ({ path, read, context }) => {
    const { content } = await run({ file_path: path, old_string: "a\n", new_string: "a\nx\n" }, context);
    assert.equal(read(), "a\r\nx\r\nb\r\n");
    assert.match(content, /taken as CRLF/);
    writeFileSync(path, "a\nb\nc\n");
    const back = await run({ file_path: path, old_string: "a\r\nb", new_string: "a\r\nB" }, context);
    assert.equal(read(), "a\nB\nc\n");
    assert.match(back.content, /CRLF was taken as LF/);
  }));

test("rule 9: deleting a line by the break before it never leaves half of a CRLF, also in a mixed file", () => {
  const result = applyEdit(Buffer.from("h\ny\r\nfoo\r\n"), { old_string: "\nfoo", new_string: "" });
  assert.equal(result.ok && Buffer.from(result.bytes).toString(), "h\ny\r\n");
});

test("rule 12: a near miss is named and shown, with tabs visible, and never written", () =>
  withFile("func f() {\n\treturn 1 \n}\n", async ({ path, read, context }) => {
    const miss = run({ file_path: path, old_string: "    return 1\n}", new_string: "    return 2\n}" }, context);
    await assert.rejects(miss, {
      message:
        "String not found: the text at line 2 differs in trailing whitespace and indentation (the file has tabs, old_string has spaces)" +
        '; the file has there, each line as a JSON string:\n2: "\\treturn 1 "\n3: "}"',
    });
    assert.equal(read(), "func f() {\n\treturn 1 \n}\n");
  }));

test("rule 12: a near miss is named in the middle of a line, too", () => {
  const result = applyEdit(Buffer.from("x\nconst a = “b” + c;\n"), { old_string: 'a = "b" +', new_string: "" });
  assert.match(
    result.ok ? "ok" : result.message,
    /^String not found: the text at line 2 differs in typographic punctuation .*\n2: "const a = “b” \+ c;"$/s,
  );
});

test("rule 12: what has no name is shown by the lines that come closest, also at the start of a file", () => {
  for (const [file, line] of [["f(a,b)\ng()\n", 1], ["\nf(a,b)\ng()\n", 2]] as const) {
    const result = applyEdit(Buffer.from(file), { old_string: "f(a, b)", new_string: "h()" });
    assert.equal(
      result.ok ? "ok" : result.message,
      `String not found: the closest text is at line ${line}; the file has there, each line as a JSON string:\n${line}: "f(a,b)"`,
    );
  }
});

test("rule 12: U+FFFD never matches bytes that are not text, and the error says that the file has other bytes", () => {
  const cases: [file: Buffer, message: RegExp][] = [
    [
      Buffer.from("x\ncaf\xe9\n", "latin1"),
      /: the file has bytes that are not valid UTF-8, .* cannot name, at line 2$/,
    ],
    [Buffer.from("\ufeffx\ncaf\ud83d\n", "utf16le"), /: the file has other bytes, at line 2$/],
  ];
  for (const [file, message] of cases) {
    const result = applyEdit(file, { old_string: "caf\ufffd", new_string: "cafe" });
    assert.match(result.ok ? "ok" : result.message, message);
  }
});

test("rule 12: a new_string that is there already is reported", () =>
  withFile("const a = 2;\n", async ({ path, context }) => {
    const miss = run({ file_path: path, old_string: "const a = 1;", new_string: "const a = 2;" }, context);
    await assert.rejects(miss, { message: /^String not found[^]*new_string is in the file already, at line 1/ });
  }));

test("rule 20: the description of Edit says what it does", () => {
  for (
    const said of [
      /exact/,
      /replace_all/,
      /CRLF/,
      /to delete a line include its newline/,
      /number and a tab/,
      /workspace/,
      /literal/,
    ]
  ) {
    assert.match(Edit.description, said);
  }
});
