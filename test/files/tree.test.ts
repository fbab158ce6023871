import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { removeTree } from "../../lib/files/tree.ts";
import { scratch } from "../_scratch.ts";

test("a folder goes while a process that ends soon still writes there", async () => {
  const root = mkdtempSync(join(tmpdir(), "crochet-test-"));
  mkdirSync(join(root, "below"));
  // With as many files the removal takes longer than the process takes to make the next.
  for (let i = 0; i < 300; i++) writeFileSync(join(root, "below", `${i}`), "");
  const writes = "i=0; while [ $i -lt 1500 ] && : > new$i; do mv new$i moved$i; i=$((i+1)); done";
  const child = spawn("/bin/sh", ["-c", writes], { cwd: join(root, "below"), stdio: "ignore" });
  const exit = once(child, "exit");
  while (!readdirSync(join(root, "below")).some((name) => name.startsWith("moved"))) await new Promise(setImmediate);
  removeTree(root);
  assert.equal(existsSync(root), false);
  await exit;
});

test("what a run has locked goes too, and what a link leads to stays as it was", () => {
  using outside = scratch({ "mine/a": "1" });
  chmodSync(join(outside.path, "mine"), 0o500);
  const root = mkdtempSync(join(tmpdir(), "crochet-test-"));
  mkdirSync(join(root, ".git/objects"), { recursive: true });
  writeFileSync(join(root, ".git/objects/pack"), "");
  symlinkSync(join(outside.path, "mine"), join(root, "link"));
  for (const locked of [".git/objects", ".git", "."]) chmodSync(join(root, locked), 0o000);
  removeTree(root);
  assert.equal(existsSync(root), false);
  removeTree(root);
  assert.equal(statSync(join(outside.path, "mine")).mode & 0o777, 0o500);
});
