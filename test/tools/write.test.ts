import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { isBinary } from "../../lib/files/text-bytes.ts";
import type { ToolContext } from "../../lib/core/tool.ts";
import { recordRead } from "../../lib/files/file-history.ts";
import { standaloneContext } from "../../lib/tools/standalone.ts";
import { edit, undo, Write, write } from "../../lib/tools/index.ts";
import type { WriteResponse } from "../../lib/tools/write.ts";
import { rounds } from "../_counts.ts";
import { testData } from "../_data.ts";
import { bytes } from "./_edit-arbitraries.ts";
import { call } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

/** What Write answers, called as the loop calls it. */
function run(input: unknown, context: ToolContext): Promise<{ content: string; response: WriteResponse }> {
  return call(Write, input, context) as Promise<{ content: string; response: WriteResponse }>;
}

test("Write gives hooks the input and the result that Claude Code gives them", () =>
  inWorkspace(async (root) => {
    const { stdin } = JSON.parse(
      readFileSync(testData("captures/PostToolUse.Write.json"), "utf8").replaceAll("/PROJ", root),
    );
    const context = standaloneContext("Write", {}, { cwd: root });
    const input = Write.prepare!(await Write.parse({ file_path: "b.txt", content: "new\n" }), context);
    assert.equal(JSON.stringify(input), JSON.stringify(stdin.tool_input));
    const { content, response } = await run(input, context);
    assert.equal(JSON.stringify(response), JSON.stringify(stdin.tool_response));
    assert.equal(content, `The file ${root}/b.txt has been created`);
    assert.equal(Write.render!(response), content);
  }));

test("Write replaces a file whole, with a diff, and keeps its mode", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt"), context = standaloneContext("Write", {}, { cwd: root });
    writeFileSync(path, "one\ntwo\nthree\n");
    chmodSync(path, 0o750);
    recordRead(context.state, realpathSync(path), readFileSync(path));
    const { content, response } = await run({ file_path: path, content: "one\n2\nthree" }, context);
    assert.deepEqual(response, {
      type: "update",
      filePath: path,
      content: "one\n2\nthree",
      structuredPatch: [{
        oldStart: 1,
        oldLines: 3,
        newStart: 1,
        newLines: 3,
        lines: [" one", "-two", "-three", "+2", "+three", "\\ No newline at end of file"],
      }],
      originalFile: "one\ntwo\nthree\n",
      userModified: false,
    });
    assert.equal(content, `The file ${path} has been updated`);
    assert.equal(readFileSync(path, "utf8"), "one\n2\nthree");
    assert.equal(statSync(path).mode & 0o7777, 0o750);
  }));

test("Write says when the file was never read, or changed since, and undo holds the old bytes", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt"), context = standaloneContext("Write", {}, { cwd: root });
    writeFileSync(path, "old");
    assert.match((await run({ file_path: path, content: "new" }, context)).content, /had not been read/);
    assert.doesNotMatch((await run({ file_path: path, content: "newer" }, context)).content, /note/);
    writeFileSync(path, "by another");
    assert.match(
      (await run({ file_path: path, content: "newest" }, context)).content,
      /changed on disk since it was read/,
    );
    await undo(context.state);
    assert.equal(readFileSync(path, "utf8"), "by another");
  }));

test("Write makes the directories a new file needs, and takes them back when it fails", () =>
  inWorkspace(async (root) => {
    await write({ file_path: "d/e/f.txt", content: "x" }, { cwd: root });
    assert.equal(readFileSync(join(root, "d/e/f.txt"), "utf8"), "x");
    const umask = spawnSync("sh", ["-c", "umask"], { encoding: "utf8" }).stdout.trim();
    assert.equal(statSync(join(root, "d/e/f.txt")).mode & 0o777, 0o666 & ~parseInt(umask, 8));
    await assert.rejects(write({ file_path: `new/dir/${"n".repeat(300)}`, content: "x" }, { cwd: root }), {
      code: "ENAMETOOLONG",
    });
    await assert.rejects(write({ file_path: "d/e/f.txt/g", content: "x" }, { cwd: root }));
    assert.deepEqual(readdirSync(root), ["d"]);
  }));

test("Write refuses what Edit refuses: directories, FIFOs, read-only files, paths outside, wrong strings", () =>
  inWorkspace(async (root) => {
    const context = standaloneContext("Write", {}, { cwd: root });
    mkdirSync(join(root, "d"));
    assert.equal(spawnSync("mkfifo", [join(root, "pipe")]).status, 0);
    writeFileSync(join(root, "ro"), "x", { mode: 0o444 });
    symlinkSync("../out.txt", join(root, "leaves"));
    const codes = {
      d: "is_directory",
      "new/": "is_directory",
      "ro/": "is_directory",
      pipe: "not_regular",
      ro: "read_only",
      leaves: "outside_root",
      "../x": "outside_root",
      "": "invalid_input",
    };
    for (const [file_path, code] of Object.entries(codes)) {
      await assert.rejects(run({ file_path, content: "new" }, context), { code }, file_path);
    }
    for (const content of [undefined, null, 1, "\udc00"]) {
      await assert.rejects(run({ file_path: "x", content }, context), { code: "invalid_input" });
    }
    assert.deepEqual(readdirSync(root).sort(), ["d", "leaves", "pipe", "ro"]);
    assert.equal(existsSync(join(root, "../out.txt")), false);
  }));

test("Write keeps links: it writes through a symbolic one, also to a file not there yet, and into a hard-linked file", () =>
  inWorkspace(async (root) => {
    symlinkSync("d/real", join(root, "link"));
    await write({ file_path: "link", content: "1" }, { cwd: root });
    assert.equal(readlinkSync(join(root, "link")), "d/real");
    assert.equal(readFileSync(join(root, "d/real"), "utf8"), "1");
    linkSync(join(root, "d/real"), join(root, "hard"));
    const { hardLinked } = await write({ file_path: "hard", content: "longer" }, { cwd: root });
    assert.equal(hardLinked, true);
    await write({ file_path: "link", content: "2" }, { cwd: root });
    assert.deepEqual([readFileSync(join(root, "d/real"), "utf8"), readFileSync(join(root, "hard"), "utf8")], [
      "2",
      "2",
    ]);
  }));

test("Write says when it turns UTF-16 into UTF-8, and its diff is of the text", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt"), context = standaloneContext("Write", {}, { cwd: root });
    writeFileSync(path, Buffer.from("\ufeffone\ntwo\n", "utf16le"));
    const { content, response } = await run({ file_path: path, content: "\ufeffone\n2\n" }, context);
    assert.match(content, /UTF-16/);
    assert.deepEqual(response.structuredPatch[0]!.lines, [" \ufeffone", "-two", "+2"]);
    assert.equal(response.originalFile, "\ufeffone\ntwo\n");
  }));

test("undo() removes a file that Write made", () =>
  inWorkspace(async (root) => {
    const state = new Map<string, unknown>();
    await write({ file_path: "a.txt", content: "x" }, { cwd: root, state });
    await write({ file_path: "b.txt", content: "y" }, { cwd: root, state });
    assert.deepEqual(await undo(state, { file_path: "a.txt", cwd: root }), {
      path: join(root, "a.txt"),
      removed: true,
    });
    assert.deepEqual(readdirSync(root), ["b.txt"]);
    rmSync(join(root, "b.txt"));
    await assert.rejects(undo(state), { code: "changed" });
  }));

test("undo() refuses when the bytes are no longer those the change wrote", () =>
  inWorkspace(async (root) => {
    const state = new Map<string, unknown>(), path = join(root, "a.txt");
    await write({ file_path: path, content: "one two" }, { cwd: root, state });
    await edit({ file_path: path, old_string: "one", new_string: "1" }, { cwd: root, state });
    writeFileSync(path, "1 two, and more");
    await assert.rejects(undo(state), { code: "changed" });
    assert.equal(readFileSync(path, "utf8"), "1 two, and more");
    writeFileSync(path, "1 two");
    await undo(state);
    assert.equal(readFileSync(path, "utf8"), "one two");
    writeFileSync(path, "one tw");
    await assert.rejects(undo(state), { code: "changed" });
    assert.ok(existsSync(path));
  }));

test("undo() says when the old bytes were not kept", () =>
  inWorkspace(async (root) => {
    const state = new Map<string, unknown>(), path = join(root, "a.txt");
    for (let i = 0; i < 10; i++) {
      writeFileSync(path, Buffer.alloc(8 * 1024 * 1024, 97 + i));
      await write({ file_path: path, content: "small" }, { cwd: root, state });
    }
    await undo(state);
    assert.equal(statSync(path).size, 8 * 1024 * 1024);
    for (let i = 0; i < 7; i++) {
      writeFileSync(path, "small");
      await undo(state);
    }
    writeFileSync(path, "small");
    await assert.rejects(undo(state), { code: "not_kept", message: /later edits took its place/ });
  }));

test(
  "Write always leaves exactly the bytes of its content, whatever was there",
  () =>
    inWorkspace(async (root) => {
      const path = join(root, "a.txt");
      await fc.assert(
        fc.asyncProperty(bytes, fc.string({ unit: "binary", maxLength: 20 }), async (before, content) => {
          fc.pre(!isBinary(before));
          writeFileSync(path, before);
          const state = new Map<string, unknown>();
          await write({ file_path: path, content }, { cwd: root, state });
          assert.deepEqual(readFileSync(path), Buffer.from(content));
          await undo(state);
          assert.deepEqual(readFileSync(path), Buffer.from(before));
        }),
        { numRuns: rounds(60, 1000) },
      );
    }),
);
