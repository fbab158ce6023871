import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inScratch } from "../../lib/tape/fixture.ts";
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

test("a scratch copy has all that a fixture's files are: folders, programs, links, and files nobody may write", async () => {
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
