import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scratch } from "../_scratch.ts";
import { LIB } from "../_runtime.ts";

const isBun = "Bun" in globalThis;

/** A package of its own, and its command as a process. */
function pack(folder: string): (...args: string[]) => { code: number | null; out: string; err: string } {
  cpSync(LIB, join(folder, "lib"), { recursive: true });
  cpSync(join(LIB, "../package.json"), join(folder, "package.json"));
  const main = [...(isBun ? [] : ["run", "-A", "--quiet"]), join(folder, "lib/cli/main.ts")];
  return (...args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...main, ...args], { cwd: folder });
    return { code: status, out: String(stdout), err: String(stderr) };
  };
}

test("what a command has compiled is kept inside the package, and never stands for code that has changed", () => {
  using here = scratch();
  const crochet = pack(here.path);
  const version = /"version": "(.*)"/.exec(readFileSync(join(here.path, "package.json"), "utf8"))![1]!;
  const before = crochet("--json");
  assert.deepEqual(crochet("--json"), before);
  assert.ok(before.code === 0 && before.out.includes(version), before.err);
  const kept = join(here.path, "node_modules/.cache/crochet");
  assert.equal(existsSync(kept) && readdirSync(kept, { recursive: true }).length > 3, isBun);
  // As a tool may leave it that keeps times: neither the size nor the date shows it.
  const file = join(here.path, "lib/cli/kit/report.ts");
  const { atime, mtime } = statSync(file);
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("io.out(", "io.err("));
  utimesSync(file, atime, mtime);
  const after = crochet("--json");
  assert.ok(after.out === "" && after.err.includes(version), after.out);
});

test("a package that cannot keep anything does everything", () => {
  using here = scratch();
  const crochet = pack(here.path);
  mkdirSync(join(here.path, "node_modules"));
  writeFileSync(join(here.path, "node_modules/.cache"), "");
  assert.equal(crochet("--json").code, 0);
  assert.equal(crochet("nothing").code, 2);
});

test("what was compiled of scripts that came and went does not pile up", () => {
  using here = scratch();
  const crochet = pack(here.path);
  const kept = join(here.path, "node_modules/.cache/crochet");
  const count = (version: string) => existsSync(join(kept, version)) ? readdirSync(join(kept, version)).length : 0;
  for (const [version, files] of [["few", 2000], ["many", 2001]] as const) {
    mkdirSync(join(kept, version), { recursive: true });
    for (let i = 0; i < files; i++) writeFileSync(join(kept, version, String(i)), "");
  }
  assert.equal(crochet("--json").code, 0);
  assert.deepEqual([count("few"), count("many")], [2000, 0]);
});
