import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { changesSince, hashFiles, readFiles, snapshot } from "../../lib/replay/scratch.ts";
import { inScratch } from "../../lib/replay/fixture.ts";
import { inFolder } from "./_stage.ts";

/** Everything below a folder: its kind and mode, what a file says and where a link leads. */
function all(folder: string, below = ""): string[] {
  return readdirSync(join(folder, below)).sort().flatMap((name) => {
    const path = join(below, name);
    const stat = lstatSync(join(folder, path));
    const says = stat.isFile()
      ? readFileSync(join(folder, path), "utf8")
      : stat.isSymbolicLink()
      ? readlinkSync(join(folder, path))
      : "";
    const own = `${path} ${stat.mode.toString(8)} ${says}`;
    return stat.isDirectory() ? [own, ...all(folder, path)] : [own];
  });
}

test("a scratch copy has all of a fixture's files: folders, programs, links and read-only files", async () => {
  await inFolder(async (folder) => {
    const files = join(folder, "files");
    mkdirSync(join(files, "a/b"), { recursive: true });
    mkdirSync(join(files, "empty"));
    for (
      const [path, mode] of [["run.sh", 0o755], ["a/b/deep.md", 0o644], ["fixed", 0o400], [".hidden", 0o600]] as const
    ) {
      writeFileSync(join(files, path), `this is ${path}`);
      chmodSync(join(files, path), mode);
    }
    chmodSync(join(files, "a"), 0o700);
    symlinkSync("run.sh", join(files, "link"));
    symlinkSync("nowhere", join(files, "broken"));
    symlinkSync("../../run.sh", join(files, "a/b/up"));
    const before = all(files);
    const scratch = await inScratch(files, async (cwd) => {
      const copied = all(cwd);
      for (const link of ["link", "a/b/up", "broken"]) appendFileSync(join(cwd, link), "changed");
      return copied;
    });
    assert.deepEqual(scratch, before);
    assert.equal(scratch.length, 10);
    assert.deepEqual(all(files), before, "what is written through a link never reaches the fixture");
  });
});

test("a scratch workspace always goes, and what a run has locked in it is read before", async () => {
  const seen = await inScratch(undefined, async (cwd) => {
    mkdirSync(join(cwd, "locked"));
    writeFileSync(join(cwd, "locked/a.md"), "a");
    chmodSync(join(cwd, "locked"), 0);
    writeFileSync(join(cwd, "b.md"), "b");
    chmodSync(join(cwd, "b.md"), 0);
    return { cwd, hashes: Object.keys(hashFiles(cwd)), texts: Object.fromEntries(readFiles(cwd)) };
  });
  assert.deepEqual(seen.hashes, ["b.md", "locked/a.md"]);
  assert.deepEqual(seen.texts, { "b.md": "b", "locked/a.md": "a" });
  assert.equal(existsSync(seen.cwd), false);
  const left = await inScratch(undefined, async (cwd) => {
    mkdirSync(join(cwd, "locked/in"), { recursive: true });
    chmodSync(join(cwd, "locked"), 0);
    return cwd;
  });
  assert.equal(existsSync(left), false);
});

test("a file too long for a string is hashed, but neither read as text nor recorded", async () => {
  await inScratch(undefined, async (cwd) => {
    const before = snapshot(cwd);
    writeFileSync(join(cwd, "long"), "");
    truncateSync(join(cwd, "long"), 600 * 2 ** 20);
    writeFileSync(join(cwd, "__proto__"), "a");
    assert.deepEqual([...readFiles(cwd)], [["__proto__", "a"]]);
    assert.deepEqual(Object.entries(changesSince(cwd, before)), [["__proto__", "a"]]);
    truncateSync(join(cwd, "long"), 257 * 2 ** 20);
    assert.deepEqual(Object.keys(hashFiles(cwd, { shown: String })), ["__proto__", "long"]);
  });
});

test("the files of a workspace are always listed by name, on every runtime", async () => {
  await inScratch(undefined, async (cwd) => {
    const before = snapshot(cwd);
    const names = Array.from({ length: 40 }, (_, i) => `${(i * 7) % 40}.txt`);
    for (const name of names) writeFileSync(join(cwd, name), name);
    for (const found of [readFiles(cwd).keys(), Object.keys(changesSince(cwd, before))]) {
      assert.deepEqual([...found], names.toSorted());
    }
  });
});
