import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { locateRipgrep, needRipgrep, runRipgrep } from "../../lib/tools/search/ripgrep.ts";
import { grep } from "../../lib/tools/index.ts";
import { withEnv } from "../_env.ts";
import { HAYSTACK } from "./_haystack.ts";
import { plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

/** A program in ripgrep's place, for what the real one does only when a disk or a machine is broken. */
function stand(root: string, script: string): string {
  const path = join(root, "..", "stand-in");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("Grep reads no configuration of ripgrep", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": "other\n", "rc": "--invert-match\n" });
    const found = await withEnv({ RIPGREP_CONFIG_PATH: join(root, "rc") }, () =>
      grep({ pattern: "needle" }, { cwd: root }));
    assert.deepEqual(found.filenames, []);
  }));

test("Grep refuses, with what to install, if ripgrep is missing or does not start", () =>
  inWorkspace(async (root) => {
    plant(root, { ...HAYSTACK, "not-a-binary": "x" });
    for (const ripgrep of [join(root, "absent"), join(root, "not-a-binary")]) {
      await assert.rejects(
        grep({ pattern: "needle" }, { cwd: root, ripgrep }),
        /^ToolError: Cannot start .*: install it \(/,
      );
    }
    assert.throws(
      () => needRipgrep(() => locateRipgrep(undefined, { PATH: "" })),
      /^ToolError: Cannot search as ripgrep is not installed: install it \(/,
    );
  }));

test("Grep says what could not be read, beside what was found", () =>
  inWorkspace(async (root) => {
    const problem = (name: string) => `echo 'rg: ./${name}: Permission denied (os error 13)' >&2`;
    const ripgrep = stand(root, `printf './a.ts\\000'; ${problem("regex error: x")}; ${problem("b")}; exit 2`);
    const found = await grep({ pattern: "needle" }, { cwd: root, ripgrep });
    assert.deepEqual(found.filenames, ["a.ts"]);
    assert.equal(found.notice, "Not searched: regex error: x: Permission denied (os error 13) and 1 more");
  }));

test("Grep refuses if ripgrep is ended from outside or is too old for a flag", () =>
  inWorkspace(async (root) => {
    plant(root, HAYSTACK);
    const scripts: [script: string, reason: RegExp][] = [
      ["printf './a.ts\\000'; kill -9 $$", /was ended by SIGKILL: try again/],
      ["echo 'rg: unrecognized flag --no-ignore-exclude' >&2; exit 2", /update it to version 14 or newer/],
    ];
    for (const [script, reason] of scripts) {
      await assert.rejects(grep({ pattern: "needle" }, { cwd: root, ripgrep: stand(root, script) }), reason);
    }
  }));

test("ripgrep is ended once it has said enough, and what it has said counts", () =>
  inWorkspace(async (root) => {
    const endless = stand(root, "while :; do echo ./a.ts; done");
    const { code, stdout } = await runRipgrep(endless, [], { cwd: root, enough: (_, total) => total > 100 });
    assert.equal(code, "enough");
    assert.match(stdout.toString(), /^(?:\.\/a\.ts\n){5}/);
  }));

test("ripgrep is the one npm installed, else the first executable one on PATH, else undefined", () =>
  inWorkspace(async (root) => {
    plant(root, { "packaged": "", "plain/rg": "", "first/rg": "", "second/rg": "" });
    for (const name of ["packaged", "first/rg", "second/rg"]) chmodSync(join(root, name), 0o755);
    const folders = ["absent", "plain", "first", "second"].map((name) => join(root, name));
    const env = { PATH: ["relative", "", ...folders].join(":") };
    assert.equal(locateRipgrep(join(root, "packaged"), env), join(root, "packaged"));
    assert.equal(locateRipgrep(join(root, "plain", "rg"), env), join(root, "first", "rg"));
    assert.equal(locateRipgrep(undefined, env), join(root, "first", "rg"));
    assert.equal(locateRipgrep(undefined, { PATH: join(root, "plain") }), undefined);
  }));

test("Grep leaves no file behind and ends ripgrep when the run is interrupted", () =>
  inWorkspace(async (root) => {
    const temporary = join(root, "..", "temporary");
    mkdirSync(temporary);
    plant(root, HAYSTACK);
    await withEnv({ TMPDIR: temporary }, async () => {
      assert.equal(tmpdir(), temporary);
      await grep({ pattern: "needle", glob: "*.ts" }, { cwd: root });
      assert.deepEqual(readdirSync(temporary), []);
      // A ripgrep that does not end: the call comes back only if the signal ends it.
      const options = { cwd: root, ripgrep: stand(root, "exec sleep 600"), signal: AbortSignal.timeout(100) };
      await assert.rejects(grep({ pattern: "needle", glob: "*.ts" }, options), { name: "TimeoutError" });
      assert.deepEqual(readdirSync(temporary), []);
    });
  }));
