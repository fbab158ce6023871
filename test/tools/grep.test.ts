import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Grep, grep, type GrepInput } from "../../lib/tools/index.ts";
import type { GrepResponse } from "../../lib/tools/grep.ts";
import { HAYSTACK } from "./_haystack.ts";
import { call, plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

function found(root: string, input: GrepInput): Promise<GrepResponse> {
  return grep(input, { cwd: root });
}

async function text(root: string, input: GrepInput): Promise<string> {
  return (await call(Grep, input, { cwd: root })).content as string;
}

test("Grep gives the files that match, in the order of paths", () =>
  inWorkspace(async (root) => {
    plant(root, HAYSTACK);
    assert.equal(await text(root, { pattern: "needle" }), "Found 2 files\n.env\na.ts");
    assert.equal(await text(root, { pattern: "needle", "-i": true }), "Found 3 files\n.env\na.ts\nsrc/b.py");
    assert.equal(await text(root, { pattern: "absent" }), "No files found");
  }));

test("Grep gives lines with their numbers, and context around them with gaps marked", () =>
  inWorkspace(async (root) => {
    plant(root, HAYSTACK);
    const input = { pattern: "needle", output_mode: "content", glob: "*.ts" } as const;
    assert.equal(await text(root, input), "a.ts:2:needle\na.ts:7:needle again");
    assert.equal(await text(root, { ...input, "-n": false }), "a.ts:needle\na.ts:needle again");
    assert.equal(
      await text(root, { ...input, "-C": 1 }),
      "a.ts-1-one\na.ts:2:needle\na.ts-3-three\n--\na.ts-6-six\na.ts:7:needle again",
    );
    assert.equal(await text(root, { ...input, context: 1 }), await text(root, { ...input, "-C": 1 }));
    assert.equal(await text(root, { ...input, "-A": 1 }), "a.ts:2:needle\na.ts-3-three\n--\na.ts:7:needle again");
    assert.equal(
      await text(root, { ...input, "-B": 1, "-C": 0 }),
      "a.ts-1-one\na.ts:2:needle\n--\na.ts-6-six\na.ts:7:needle again",
    );
    assert.equal(await text(root, { ...input, pattern: "absent" }), "No matches found");
  }));

test("Grep omits the path if one file was asked for, ignored or not", () =>
  inWorkspace(async (root) => {
    plant(root, { ...HAYSTACK, "we [ird].log": "needle\n" });
    assert.equal(
      await text(root, { pattern: "needle", output_mode: "content", path: "a.ts" }),
      "2:needle\n7:needle again",
    );
    assert.equal(await text(root, { pattern: "needle", output_mode: "content", path: "debug.log" }), "1:needle");
    assert.equal(await text(root, { pattern: "needle", path: "we [ird].log" }), "Found 1 file\nwe [ird].log");
    assert.equal(
      await text(root, { pattern: "needle", path: "dist/d.ts", glob: "*.py", type: "py" }),
      "Found 1 file\ndist/d.ts",
    );
  }));

test("Grep counts matching lines per file", () =>
  inWorkspace(async (root) => {
    plant(root, HAYSTACK);
    assert.equal(
      await text(root, { pattern: "needle", output_mode: "count" }),
      ".env:1\na.ts:2\n\nFound 3 matches in 2 files",
    );
  }));

test("Grep narrows by glob, also by several, and by type", () =>
  inWorkspace(async (root) => {
    plant(root, HAYSTACK);
    const files = async (input: Partial<GrepInput>) => (await found(root, { pattern: "n", ...input })).filenames;
    assert.deepEqual(await files({ glob: "*.ts" }), ["a.ts", "src/c.ts"]);
    assert.deepEqual(await files({ glob: "src/*.ts" }), ["src/c.ts"]);
    assert.deepEqual(await files({ glob: "*.py, /*.ts" }), ["a.ts"]);
    assert.deepEqual(await files({ glob: "*.{py,ts} !a.ts" }), ["src/c.ts"]);
    assert.deepEqual(await files({ glob: "!src" }), [".env", "a.ts"]);
    assert.deepEqual(await files({ type: "ts" }), ["a.ts", "src/c.ts"]);
    assert.deepEqual(await files({ type: "ts", glob: "src/**" }), ["src/c.ts"]);
    await assert.rejects(found(root, { pattern: "n", type: "nope" }), /as ripgrep does not know it: use glob/);
    await assert.rejects(found(root, { pattern: "n", glob: "{a" }), /Cannot use a glob/);
  }));

test("Grep never lets a glob bring back what .gitignore leaves out", () =>
  inWorkspace(async (root) => {
    plant(root, { ...HAYSTACK, "keep.log": "needle\n", ".ignore": "!keep.log\n" });
    for (const glob of ["*", "**", "**/*", "*.ts", "dist/**", "*.log"]) {
      const { filenames } = await found(root, { pattern: "needle", glob });
      assert.ok(!filenames.some((path) => path.startsWith("dist/") || path === "debug.log"), `${glob}: ${filenames}`);
    }
    assert.deepEqual((await found(root, { pattern: "needle", glob: "*.log" })).filenames, ["keep.log"]);
    assert.deepEqual((await found(root, { pattern: "needle", glob: "*.ts" })).filenames, ["a.ts"]);
  }));

test("Grep matches across lines only when asked to", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": "struct {\n  field\n}\nstruct x\n" });
    const input = { pattern: "struct \\{.*?field", output_mode: "content" } as const;
    assert.equal(await text(root, input), "No matches found");
    assert.equal(await text(root, { ...input, multiline: true }), "a.txt:1:struct {\na.txt:2:  field");
    await assert.rejects(found(root, { pattern: "a\\nb" }), /the literal "\\n" is not allowed/);
  }));

test("Grep never searches binary files, even if their first NUL comes late", () =>
  inWorkspace(async (root) => {
    plant(root, {
      "early.bin": Buffer.from("\0needle\n"),
      "late.bin": Buffer.from("needle\n" + "x\n".repeat(40_000) + "\0"),
    });
    assert.deepEqual((await found(root, { pattern: "needle", output_mode: "content" })).content, "");
    assert.deepEqual((await found(root, { pattern: "needle", output_mode: "count" })).content, "");
  }));

test("Grep gives head_limit entries, and says where to continue", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": "needle\n".repeat(300), "b.txt": "needle\n" });
    const input = { pattern: "needle", output_mode: "content" } as const;
    const first = await found(root, input);
    assert.deepEqual([first.numLines, first.appliedLimit], [250, 250]);
    assert.equal(first.notice, "Showing lines 1 to 250 of 301: narrow the search, or go on with offset 250");
    const rest = await found(root, { ...input, offset: 250 });
    assert.deepEqual([rest.numLines, rest.appliedOffset, rest.notice], [51, 250, undefined]);
    assert.equal((await found(root, { ...input, head_limit: 0 })).numLines, 301);
    assert.equal(
      (await found(root, { ...input, offset: 400 })).notice,
      "There are 301 lines: offset 400 is past the last",
    );
    assert.match(
      await text(root, { pattern: "needle", head_limit: 1 }),
      /^Found 2 files\na\.txt\n\n\[Showing files 1 to 1 of 2: /,
    );
  }));

test("Grep gives about 30,000 characters at most, and cuts long lines", () =>
  inWorkspace(async (root) => {
    plant(root, {
      "a.txt": `${"needle".repeat(60)}\n`.repeat(200),
      "b.txt": `${"x".repeat(499)}😀needle${"x".repeat(3000)}\n`,
    });
    const many = await found(root, { pattern: "needle", output_mode: "content", path: "a.txt", head_limit: 0 });
    assert.ok(many.content!.length <= 30_000 && many.content!.length > 29_000);
    assert.match(many.notice!, /^Showing lines 1 to \d+ of 200: /);
    const { content } = await found(root, { pattern: "needle", output_mode: "content", path: "b.txt" });
    assert.equal(content, `1:${"x".repeat(499)} [line cut at 500 characters]`);
  }));

test("Grep ends a flood early, and still gives the first lines in the order of paths", () =>
  inWorkspace(async (root) => {
    const flood = "needle in a very long hay stack, over and over again\n".repeat(60_000);
    plant(root, { "a/first.txt": "needle\n", "b.txt": flood, "c.txt": flood, "d.txt": flood, "e.txt": flood });
    const input = { pattern: "needle", output_mode: "content", head_limit: 2 } as const;
    const { content, notice } = await found(root, input);
    assert.equal(content, "a/first.txt:1:needle\nb.txt:1:needle in a very long hay stack, over and over again");
    assert.equal(notice, "Showing lines 1 to 2 of many more: narrow the search, or go on with offset 2");
  }));

test("Grep refuses an invalid pattern, with the reason", () =>
  inWorkspace(async (root) => {
    plant(root, HAYSTACK);
    const refused: [pattern: string, reason: RegExp][] = [
      ["(", /unclosed group/],
      ["interface{", /repetition quantifier expects a valid decimal/],
      ["(?=x)", /look-around/],
      ["(a)\\1", /backreferences are not supported/],
      ["[z-a]", /invalid character class range/],
      ["a\0b", /NUL/],
    ];
    for (const [pattern, reason] of refused) {
      await assert.rejects(grep({ pattern }, { cwd: root }), (error: Error & { code: string }) => {
        assert.match(error.message, /^Cannot search for /);
        assert.match(error.message, reason);
        assert.equal(error.code, "invalid_input");
        return true;
      });
    }
  }));

test("Grep never takes a pattern or a path for a flag", () =>
  inWorkspace(async (root) => {
    plant(root, { "--version": "--files\n", "-e": "--files\n", "other": "x\n" });
    assert.deepEqual((await found(root, { pattern: "--files" })).filenames, ["--version", "-e"]);
    assert.deepEqual((await found(root, { pattern: "-", path: "--version" })).filenames, ["--version"]);
    assert.deepEqual((await found(root, { pattern: "--pre=cat", glob: "--version" })).filenames, []);
  }));

test("U16: Grep refuses what lies outside the workspace and never follows a link out of it", () =>
  inWorkspace(async (root) => {
    const outside = join(root, "..", "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "secret.txt"), "needle\n");
    symlinkSync(outside, join(root, "link"));
    symlinkSync(join(outside, "secret.txt"), join(root, "file-link"));
    for (const path of [outside, "..", "link", "file-link", "link/secret.txt"]) {
      await assert.rejects(grep({ pattern: "needle", path }, { cwd: root }), { code: "outside_root" });
    }
    assert.deepEqual((await found(root, { pattern: "needle" })).filenames, []);
  }));

test("Grep absolutises path for hooks, and shows a result that a hook replaced", () => {
  const input = { pattern: "x", path: "src" };
  assert.deepEqual(Grep.prepare!(input, { cwd: "/w" }), { pattern: "x", path: "/w/src" });
  assert.equal(Grep.render!({ mode: "content", filenames: [], numFiles: 1, content: "a:1:x", numLines: 1 }), "a:1:x");
  assert.equal(Grep.render!({ mode: "files_with_matches", filenames: ["a"], numFiles: 1 }), "Found 1 file\na");
  for (const wrong of [null, "text", {}, { mode: "other" }]) assert.throws(() => Grep.render!(wrong), /another form/);
});

test("Grep.render() always gives back what Grep gave the model", () =>
  inWorkspace(async (root) => {
    plant(root, HAYSTACK);
    for (const output_mode of ["content", "files_with_matches", "count"] as const) {
      const { content, response } = await call(Grep, { pattern: "needle", output_mode, head_limit: 1 }, { cwd: root });
      assert.equal(Grep.render!(JSON.parse(JSON.stringify(response))), content);
    }
  }));
