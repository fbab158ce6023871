import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scratch } from "../_scratch.ts";
import { ROOT } from "./_files.ts";

test("where bubblewrap and the recordings are missing, tests of our own data run, and a line says how to get each", () => {
  using folder = scratch();
  const bin = join(folder.path, "bin");
  mkdirSync(bin);
  for (const name of readdirSync("/usr/bin").filter((name) => name !== "bwrap")) {
    symlinkSync(join("/usr/bin", name), join(bin, name));
  }
  const clone = join(folder.path, "clone");
  cpSync(join(ROOT, "test"), join(clone, "test"), { recursive: true });
  for (const name of ["lib", "node_modules", "package.json", "deno.json", "bunfig.toml"]) {
    symlinkSync(join(ROOT, name), join(clone, name));
  }
  const own = ["test/tools/edit.test.ts", "test/tools/bash.test.ts"];
  const foreign = ["test/models/openai/requests.test.ts", "test/extensions/check/backtest-command.test.ts"];
  const { stdout } = spawnSync(process.execPath, ["run", "test/run.ts", ...own, ...foreign], {
    cwd: clone,
    env: { ...process.env, PATH: `${join(ROOT, "node_modules/.bin")}:${bin}` },
    encoding: "utf8",
  });
  const skipped = stdout.split("\n").filter((line) => /^ {2}bun test|^skipped as/.test(line));
  assert.deepEqual(skipped.filter((line) => !/Chromium/.test(line)).map((line) => line.split(":", 1)[0]), [
    "  bun test/extensions/check/backtest-command.test.ts",
    "  bun test/models/openai/requests.test.ts",
    "skipped as bubblewrap does not work here",
    "skipped as recordings of other programs are not here",
  ], stdout);
  assert.match(stdout, /\n\d+ passed, 0 failed, 4 skipped\n$/);
});
