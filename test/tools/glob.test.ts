import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Glob, glob, type GlobInput } from "../../lib/tools/index.ts";
import type { GlobResponse } from "../../lib/tools/glob.ts";
import { call, plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

const TREE = {
  ".gitignore": "dist/\n*.log\n!keep.log\n",
  ".github/ci.yml": "",
  "dist/a.ts": "",
  "a.ts": "",
  "src/a.ts": "",
  "src/b.tsx": "",
  "src/deep/c.ts": "",
  "src/.gitignore": "b.tsx\n",
  "debug.log": "",
  "keep.log": "",
  "with space.txt": "",
};

async function found(root: string, input: GlobInput): Promise<readonly string[]> {
  return (await glob(input, { cwd: root })).filenames;
}

test("Glob finds files at any depth by name, from the top by path, in the order of paths", () =>
  inWorkspace(async (root) => {
    plant(root, TREE);
    assert.deepEqual(await found(root, { pattern: "*.ts" }), ["a.ts", "src/a.ts", "src/deep/c.ts"]);
    assert.deepEqual(await found(root, { pattern: "**/*.ts" }), ["a.ts", "src/a.ts", "src/deep/c.ts"]);
    assert.deepEqual(await found(root, { pattern: "/*.ts" }), ["a.ts"]);
    assert.deepEqual(await found(root, { pattern: "src/*.ts" }), ["src/a.ts"]);
    assert.deepEqual(await found(root, { pattern: "src/**" }), ["src/.gitignore", "src/a.ts", "src/deep/c.ts"]);
    assert.deepEqual(await found(root, { pattern: "*.{yml,txt}" }), [".github/ci.yml", "with space.txt"]);
    assert.deepEqual(await found(root, { pattern: "{**/*.yml,**/c.ts}" }), [".github/ci.yml", "src/deep/c.ts"]);
    assert.deepEqual(await found(root, { pattern: "with space.txt" }), ["with space.txt"]);
  }));

test("Glob never brings back what .gitignore leaves out, and gives hidden files", () =>
  inWorkspace(async (root) => {
    plant(root, TREE);
    for (const pattern of ["**", "*", "**/*"]) {
      assert.deepEqual(await found(root, { pattern }), [
        ...[".github/ci.yml", ".gitignore", "a.ts", "keep.log", "src/.gitignore", "src/a.ts", "src/deep/c.ts"],
        "with space.txt",
      ]);
    }
    assert.deepEqual(await found(root, { pattern: "dist/**" }), []);
    assert.deepEqual(await found(root, { pattern: "*.log" }), ["keep.log"]);
    assert.deepEqual(await found(root, { pattern: "a.ts", path: "dist" }), ["dist/a.ts"]);
  }));

test("Glob respects .gitignore also without a repository, and never one above a repository", () =>
  inWorkspace(async (root) => {
    plant(root, { ".gitignore": "*.txt\n", "a.txt": "", "inner/b.txt": "", "inner/c.md": "" });
    assert.deepEqual(await found(root, { pattern: "*.txt" }), []);
    assert.deepEqual(await found(root, { pattern: "*", path: "inner" }), ["inner/c.md"]);
    mkdirSync(join(root, "inner", ".git"));
    assert.deepEqual(await found(root, { pattern: "*", path: "inner" }), ["inner/b.txt", "inner/c.md"]);
  }));

test("Glob never gives folders, links or what version control keeps", () =>
  inWorkspace(async (root) => {
    plant(root, { "a/x": "", ".git/config": "", ".hg/store": "", ".svn/entries": "", ".jj/repo": "" });
    symlinkSync("a/x", join(root, "link"));
    symlinkSync("a", join(root, "folder-link"));
    assert.deepEqual(await found(root, { pattern: "**" }), ["a/x"]);
    const { notice } = await glob({ pattern: "a" }, { cwd: root });
    assert.equal(notice, "Only files are given: for what is in a folder use folder/**");
  }));

test("Glob takes an absolute glob, and shows paths relative to the working directory", () =>
  inWorkspace(async (root) => {
    plant(root, TREE);
    assert.deepEqual(await found(root, { pattern: `${root}/src/*.ts` }), ["src/a.ts"]);
    assert.deepEqual(await found(root, { pattern: `${root}/**/*.ts` }), ["a.ts", "src/a.ts", "src/deep/c.ts"]);
    assert.deepEqual(await found(join(root, "src"), { pattern: "*.ts" }), ["a.ts", "deep/c.ts"]);
    const { filenames } = await glob({ pattern: "*.ts", path: ".." }, {
      cwd: join(root, "src", "deep"),
      roots: [root],
    });
    assert.deepEqual(filenames, [`${root}/src/a.ts`, `${root}/src/deep/c.ts`]);
  }));

test("U16: Glob refuses folders outside the workspace, by path, by dots, by link and by pattern", () =>
  inWorkspace(async (root) => {
    const outside = join(root, "..", "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "secret.txt"), "");
    symlinkSync(outside, join(root, "link"));
    const ways: GlobInput[] = [outside, "..", "link"].map((path) => ({ pattern: "*", path }));
    for (const input of [...ways, { pattern: `${outside}/*` }]) {
      await assert.rejects(glob(input, { cwd: root }), { code: "outside_root" });
    }
    await assert.rejects(glob({ pattern: "../**" }, { cwd: root }), { code: "invalid_input" });
  }));

test("Glob gives at most 250 files, and says how many there are", () =>
  inWorkspace(async (root) => {
    plant(root, Object.fromEntries(Array.from({ length: 260 }, (_, i) => [`f${String(i).padStart(3, "0")}`, ""])));
    const { content, response } = await call(Glob, { pattern: "*" }, { cwd: root });
    const { filenames, numFiles, truncated } = response as GlobResponse;
    assert.deepEqual([filenames.length, filenames[249], numFiles, truncated], [250, "f249", 260, true]);
    assert.match(content as string, /\n\n\[Showing 250 of 260 files: use a narrower pattern or path\]$/);
  }));

test("Glob refuses a malformed glob, a file for a folder, and what is not there", () =>
  inWorkspace(async (root) => {
    plant(root, TREE);
    await assert.rejects(glob({ pattern: "{a" }, { cwd: root }), /Cannot use a glob as it has a '\{' without '\}'/);
    await assert.rejects(glob({ pattern: "*", path: "a.ts" }, { cwd: root }), /as it is a file: give its folder/);
    await assert.rejects(glob({ pattern: "*", path: "nowhere" }, { cwd: root }), /'.*\/nowhere' as it does not exist/);
  }));

test("Glob absolutises path for hooks, and shows a result that a hook replaced", async () => {
  assert.deepEqual(Glob.prepare!({ pattern: "*", path: "src" }, { cwd: "/w" }), { pattern: "*", path: "/w/src" });
  assert.equal(Glob.render!({ filenames: ["x", "y"], numFiles: 2, truncated: false }), "x\ny");
  assert.equal(Glob.render!({ filenames: [], numFiles: 0, truncated: false }), "No files found");
  assert.throws(() => Glob.render!("text"), /another form/);
});

test("Glob ends when the run is interrupted", () =>
  inWorkspace(async (root) => {
    plant(root, TREE);
    const signal = AbortSignal.abort(new Error("stop"));
    await assert.rejects(glob({ pattern: "*" }, { cwd: root, signal }), /stop/);
  }));
