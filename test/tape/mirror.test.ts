import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Mirror } from "../../lib/tape/shadow.ts";
import { inFolder } from "./_stage.ts";

test("a mirror has what its workspace has, each time it follows, and keeps what was changed in it meanwhile", async () => {
  await inFolder(async (folder) => {
    const here = (path: string) => join(folder, path);
    mkdirSync(here("src/deep"), { recursive: true });
    mkdirSync(here("node_modules/tea"), { recursive: true });
    writeFileSync(here("src/deep/a.txt"), "a");
    writeFileSync(here("b.txt"), "b");
    symlinkSync(here("b.txt"), here("link"));
    const mirror = new Mirror(folder);
    const there = (path: string) => join(mirror.root, path);
    const text = (path: string) => readFileSync(there(path), "utf8");
    try {
      mirror.follow();
      assert.deepEqual([text("src/deep/a.txt"), text("b.txt"), readlinkSync(there("link"))], [
        "a",
        "b",
        there("b.txt"),
      ]);
      assert.equal(existsSync(there("node_modules/tea")), true);
      writeFileSync(there("b.txt"), "changed");
      writeFileSync(there("own.txt"), "own");
      rmSync(there("src"), { recursive: true });
      mirror.follow();
      assert.deepEqual([text("b.txt"), text("own.txt"), readFileSync(here("b.txt"), "utf8")], ["changed", "own", "b"]);
      writeFileSync(here("src/deep/a.txt"), "longer");
      rmSync(here("b.txt"));
      mkdirSync(here("b.txt"));
      writeFileSync(here("b.txt/c"), "c");
      mirror.follow();
      assert.deepEqual([text("src/deep/a.txt"), text("b.txt/c")], ["longer", "c"]);
      rmSync(here("b.txt"), { recursive: true });
      writeFileSync(here("b.txt"), "again");
      mirror.follow();
      assert.deepEqual([text("b.txt"), existsSync(there("b.txt/c"))], ["again", false]);
    } finally {
      mirror.end();
    }
    assert.deepEqual([existsSync(mirror.root), existsSync(here("node_modules/tea"))], [false, true]);
  });
});
