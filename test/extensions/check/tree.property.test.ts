import assert from "node:assert/strict";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { KeptTree } from "../../../lib/files/kept-tree.ts";
import { tries } from "../../_counts.ts";
import { scratch } from "../../_scratch.ts";

const PATHS = ["a.txt", "b/c.txt", "b/d/e.txt", "f", "b/link"];

/** All there is in a folder, by path. */
function seen(root: string, folder = ""): string[] {
  return readdirSync(join(root, folder)).sort().flatMap((name) => {
    const path = folder === "" ? name : `${folder}/${name}`;
    const stats = lstatSync(join(root, path));
    if (stats.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(root, path))}`];
    if (stats.isDirectory()) return [`${path}/`, ...seen(root, path)];
    return [`${path} ${stats.mode & 0o777} ${readFileSync(join(root, path), "utf8")}`];
  });
}

type Change = readonly [what: "write" | "remove" | "chmod" | "link" | "folder", path: string, text: string];

function apply(root: string, [what, path, text]: Change): void {
  const full = join(root, path);
  try {
    mkdirSync(dirname(full), { recursive: true });
  } catch {
    return; // A file stands where a folder would have to be.
  }
  if (what === "chmod") {
    if (lstatSync(full, { throwIfNoEntry: false })?.isFile()) chmodSync(full, 0o755);
    return;
  }
  if (what === "remove") return rmSync(full, { recursive: true, force: true });
  rmSync(full, { recursive: true, force: true });
  if (what === "write") writeFileSync(full, text);
  else if (what === "link") symlinkSync("a.txt", full);
  else mkdirSync(full);
}

// Kills: folders that are not made again, links that are followed, modes that are forgotten, baselines of the first state only.
test("KeptTree always puts a folder back as it was adopted, whatever was done to it, again and again", () => {
  const change: fc.Arbitrary<Change> = fc.tuple(
    fc.constantFrom("write" as const, "remove" as const, "chmod" as const, "link" as const, "folder" as const),
    fc.constantFrom(...PATHS, "b", "b/d"),
    fc.constantFrom("", "one", "two"),
  );
  const changes = fc.array(change, { maxLength: 6 });
  fc.assert(
    fc.property(changes, changes, changes, (before, first, second) => {
      using folder = scratch();
      const root = folder.path;
      for (const one of before) apply(root, one);
      const was = seen(root);
      const tree = new KeptTree(root);
      tree.adopt();
      assert.deepEqual(tree.changes(), []);
      for (const steps of [first, second]) {
        for (const one of steps) apply(root, one);
        const differs = JSON.stringify(seen(root)) !== JSON.stringify(was);
        if (differs) assert.notDeepEqual(tree.changes(), []);
        tree.restore();
        assert.deepEqual(seen(root), was);
        assert.deepEqual(tree.changes(), []);
      }
    }),
    { numRuns: tries(150, 3000) },
  );
});

test("KeptTree never misses a write that leaves size, place and time as they were", () => {
  using folder = scratch();
  const file = join(folder.path, "a.txt");
  const tree = new KeptTree(folder.path);
  for (let i = 0; i < 50; i++) {
    writeFileSync(file, "one");
    tree.adopt();
    writeFileSync(file, "two");
    assert.deepEqual(tree.changes(), ["a.txt"], `time ${i}`);
    tree.restore();
    writeFileSync(file, "two");
    assert.deepEqual(tree.changes(), ["a.txt"], `restored, time ${i}`);
  }
});
