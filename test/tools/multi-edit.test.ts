import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { isBinary } from "../../lib/files/text-bytes.ts";
import { ToolError, type ToolOutput } from "../../lib/core/tool.ts";
import { standaloneContext } from "../../lib/tools/standalone.ts";
import { applyEdit, MultiEdit, multiEdit, undo } from "../../lib/tools/index.ts";
import type { MultiEditResponse } from "../../lib/tools/multi-edit.ts";
import { rounds } from "../_counts.ts";
import { editedInTurn } from "./_edit-arbitraries.ts";
import { inWorkspace } from "./_workspace.ts";

test("MultiEdit makes its edits in order, each in what the ones before it made", () =>
  inWorkspace(async (root) => {
    writeFileSync(join(root, "a.txt"), "one\n2\n3\n4\n5\n6\n7\n8\n9\nten\n");
    const context = standaloneContext("MultiEdit", {}, { cwd: root });
    const input = await MultiEdit.parse({
      file_path: "a.txt",
      edits: [
        { old_string: "one", new_string: "two" },
        { old_string: "two", new_string: "three" },
        { old_string: "ten", new_string: "10", replace_all: "true" },
      ],
    });
    const prepared = MultiEdit.prepare!(input, context);
    assert.equal(prepared.file_path, join(root, "a.txt"));
    const { content, response } = await MultiEdit.run(prepared, context) as ToolOutput & {
      response: MultiEditResponse;
    };
    assert.equal(readFileSync(join(root, "a.txt"), "utf8"), "three\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    assert.match(content as string, /3 replacements at lines 1, 10$/);
    assert.deepEqual(Object.keys(response), ["filePath", "edits", "originalFile", "structuredPatch", "userModified"]);
    assert.equal(response.originalFile, "one\n2\n3\n4\n5\n6\n7\n8\n9\nten\n");
    assert.deepEqual(response.structuredPatch, [
      { oldStart: 1, oldLines: 4, newStart: 1, newLines: 4, lines: ["-one", "+three", " 2", " 3", " 4"] },
      { oldStart: 7, oldLines: 4, newStart: 7, newLines: 4, lines: [" 7", " 8", " 9", "-ten", "+10"] },
    ]);
    assert.equal(response.edits[2]!.replace_all, true);
    assert.match(MultiEdit.render!(response) as string, /has been updated/);
    await undo(context.state);
    assert.ok(readFileSync(join(root, "a.txt"), "utf8").startsWith("one\n"));
  }));

test("MultiEdit always says how line breaks were taken, whichever of its edits has some", () =>
  inWorkspace(async (root) => {
    const edits = [{ old_string: "one", new_string: "1" }, { old_string: "two\n", new_string: "2\n2\n" }, {
      old_string: "three",
      new_string: "3",
    }];
    for (const order of [[0, 1, 2], [1, 0, 2], [0, 2, 1]]) {
      writeFileSync(join(root, "a.txt"), "one\r\ntwo\r\nthree\r\n");
      const context = standaloneContext("MultiEdit", {}, { cwd: root });
      const input = await MultiEdit.parse({ file_path: join(root, "a.txt"), edits: order.map((i) => edits[i]) });
      const { content } = await MultiEdit.run(input, context) as ToolOutput;
      assert.match(content as string, /\(line breaks were taken as CRLF, which all of the file has\)/, order.join());
      assert.equal(readFileSync(join(root, "a.txt"), "utf8"), "1\r\n2\r\n2\r\n3\r\n");
    }
  }));

test("MultiEdit applies nothing when one edit is refused, and says which", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt");
    writeFileSync(path, "one two\n");
    const { ino, mtimeMs } = statSync(path);
    const edits = [{ old_string: "one", new_string: "1" }, { old_string: "one", new_string: "2" }, {
      old_string: "two",
      new_string: "3",
    }];
    await assert.rejects(multiEdit({ file_path: path, edits }, { cwd: root }), {
      code: "not_found",
      message: /^String not found[^]*\nThis was edit 2 of 3, and none was applied$/,
    });
    assert.equal(readFileSync(path, "utf8"), "one two\n");
    assert.deepEqual([statSync(path).ino, statSync(path).mtimeMs], [ino, mtimeMs]);
  }));

test("MultiEdit refuses wrong input before it looks at the file", async () => {
  for (
    const edits of [undefined, [], {}, "x", [1], [{ old_string: "a" }], [{ old_string: "", new_string: "b" }], [{
      old_string: "a",
      new_string: "a",
    }]]
  ) {
    await assert.rejects(async () => await MultiEdit.parse({ file_path: "none", edits }), ToolError);
  }
  await assert.rejects(
    async () =>
      await MultiEdit.parse({
        file_path: "none",
        edits: [{ old_string: "a", new_string: "b" }, { old_string: 1, new_string: "b" }],
      }),
    {
      message: /^Cannot use edits\.1\.old_string as/,
    },
  );
});

test(
  "MultiEdit always gives the same bytes as its edits one after another, or changes nothing",
  () =>
    inWorkspace(async (root) => {
      const path = join(root, "a.txt");
      let several = 0;
      await fc.assert(
        fc.asyncProperty(
          editedInTurn,
          async ({ file, calls: edits }) => {
            writeFileSync(path, file);
            let expected: Uint8Array | undefined = isBinary(file) ? undefined : file;
            for (const edit of edits) {
              const result: ReturnType<typeof applyEdit> | undefined = expected && applyEdit(expected, edit);
              expected = result?.ok ? result.bytes : undefined;
            }
            const done = await multiEdit({ file_path: path, edits }, { cwd: root }).then(() => true, () => false);
            assert.equal(done, expected !== undefined);
            if (done && edits.length > 1) several++;
            assert.deepEqual(readFileSync(path), Buffer.from(expected ?? file));
          },
        ),
        { numRuns: rounds(60, 1000) },
      );
      assert.ok(several > 0);
    }),
);
