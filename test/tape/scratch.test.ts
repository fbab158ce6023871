import assert from "node:assert/strict";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inScratch } from "../../lib/tape/fixture.ts";
import { inFolder } from "./_stage.ts";

/** Everything below a folder: its kind and mode, and what a file says. */
function all(folder: string, below = ""): string[] {
  return readdirSync(join(folder, below)).sort().flatMap((name) => {
    const path = join(below, name);
    const stat = lstatSync(join(folder, path));
    const own = `${path} ${stat.mode.toString(8)} ${stat.isFile() ? readFileSync(join(folder, path), "utf8") : ""}`;
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
    const copied = join(folder, "copied");
    cpSync(files, copied, { recursive: true });
    const scratch = await inScratch(files, async (cwd) => all(cwd));
    assert.deepEqual(scratch, all(copied));
    assert.equal(scratch.length, 9);
  });
});
