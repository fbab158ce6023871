import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { rounds } from "../_counts.ts";
import { RUNTIME } from "../_runtime.ts";
import { allEnd, script, withScript } from "./_edit-scripts.ts";
import { inWorkspace } from "./_workspace.ts";

test("P18: edits of several processes never lose an update", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt"), count = rounds(40, 300);
    const names = ["p", "q", "r"];
    const file = (open: string, close: string) =>
      Array.from({ length: count }, (_, k) => names.map((name) => `${open}${name}.${k}${close}\n`).join("")).join("");
    writeFileSync(path, file("<", ">"));
    symlinkSync("a.txt", join(root, "alias"));
    const [program, ...args] = RUNTIME;
    // They all find a lock that a process left when it was killed, and only one may take its place.
    await withScript("_edit-hold.ts", [path], () => Promise.resolve());
    const children = names.map((name, i) =>
      spawn(program, [...args, script("_edit-tokens.ts"), join(root, i % 2 ? "alias" : "a.txt"), name, String(count)], {
        stdio: ["ignore", "inherit", "inherit"],
        // Another temporary directory must not keep them from seeing each other's locks.
        env: { ...process.env, TMPDIR: i === 0 ? root : dirname(root) },
      })
    );
    await allEnd(children);
    assert.equal(readFileSync(path, "utf8"), file("[", "]"));
    assert.deepEqual(readdirSync(root).sort(), ["a.txt", "alias"]);
  }));

test("a lock left by a killed process is always taken over by one at a time", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt"), notes = join(root, "notes");
    const [program, ...args] = RUNTIME;
    for (let round = 0; round < rounds(4, 40); round++) {
      writeFileSync(notes, "");
      await withScript("_edit-hold.ts", [path], () => Promise.resolve());
      const moment = String(Date.now() + 700);
      await allEnd(
        Array.from({ length: 4 }, () =>
          spawn(program, [...args, script("_edit-contend.ts"), path, notes, moment], { stdio: "inherit" })),
      );
      assert.equal(readFileSync(notes, "utf8"), "in\nout\n".repeat(4));
    }
  }));

/** A file of this many bytes takes long enough to write that a kill or a look can fall into it. */
const BIG = 2_000_000;

/** What a looping editor goes back and forth between. */
const VERSIONS = ["AAAA", "BBBBBBBB"].map((word) => `${"x".repeat(BIG / 2)}${word}${"y\n".repeat(BIG / 4)}`);

const withLoopingEditor = (path: string, work: () => Promise<void>) =>
  withScript("_edit-loop.ts", [path, "AAAA", "BBBBBBBB"], work);

test(
  "P20: a kill at any point always leaves the old or the new file, and no litter that stays",
  () =>
    inWorkspace(async (root) => {
      const path = join(root, "a.txt");
      let interrupted = 0;
      for (let round = 0; round < rounds(20, 200); round++) {
        writeFileSync(path, VERSIONS[0]!);
        await withLoopingEditor(path, () => sleep(Math.random() * 30));
        const now = readFileSync(path, "utf8");
        assert.ok(VERSIONS.includes(now), `a third state, ${now.length} characters long`);
        if (readdirSync(root).length > 1) interrupted++;
        assert.ok(readdirSync(root).length <= 2, "what an earlier round left was not swept");
      }
      assert.ok(interrupted > 0, "no kill fell into a write");
      writeFileSync(path, "<t.0>");
      const [program, ...args] = RUNTIME;
      assert.equal(spawnSync(program, [...args, script("_edit-tokens.ts"), path, "t", "1"]).status, 0);
      assert.deepEqual(readdirSync(root), ["a.txt"]);
    }),
);

test("P22: a reader never sees a third state", () =>
  inWorkspace(async (root) => {
    const path = join(root, "a.txt");
    const versions = VERSIONS.map((version) => Buffer.from(version));
    writeFileSync(path, versions[0]!);
    const seen = new Set<number>();
    await withLoopingEditor(path, async () => {
      // On a busy machine the editor may need longer than the looks do.
      for (let look = 0; look < rounds(300, 3000) || (seen.size < 2 && look < 100_000); look++) {
        const now = readFileSync(path);
        seen.add(versions.findIndex((version) => version.equals(now)));
        if (look % 20 === 0) await sleep(1);
      }
    });
    assert.deepEqual([...seen].sort(), [0, 1]);
  }));
