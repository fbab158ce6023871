import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { git } from "../../lib/process/git.ts";
import { gitIgnored } from "../../lib/replay/record/keep-files.ts";
import { filesUnder, LIB } from "../house/_files.ts";
import { put, scratch } from "../_scratch.ts";

const planted = (ran: string) =>
  `[core]
\trepositoryformatversion = 0
\tworktree = .
\tfsmonitor = "touch '${ran}';false"
`;

test("git as we start it never runs what a repository inside a clone names", () => {
  using folder = scratch({ "x/HEAD": "ref: refs/heads/main\n", "x/objects/a": "", "x/refs/a": "" });
  const [x, ran] = [join(folder.path, "x"), join(folder.path, "ran")];
  put(x, { config: planted(ran) });
  execFileSync("git", ["ls-files", "--others"], { cwd: x });
  assert.ok(existsSync(ran), "plain git runs it");
  rmSync(ran);
  assert.equal(git(x, "status"), undefined);
  assert.equal(git(x, "rev-parse", "--is-inside-work-tree"), undefined);
  assert.equal(gitIgnored(x, folder.path), undefined);
  assert.ok(!existsSync(ran));
});

test("git as we start it never runs a hook, a monitor or a diff program of a repository", () => {
  using folder = scratch({ "w/a": "1\n" });
  const [w, ran] = [join(folder.path, "w"), join(folder.path, "ran")];
  const plain = (...args: string[]) => execFileSync("git", args, { cwd: w, stdio: "pipe" });
  const touch = `echo x >> '${ran}'; false`;
  plain("init", "--quiet");
  plain("add", "a");
  plain("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "one");
  put(w, { ".git/hooks/post-checkout": `#!/bin/sh\n${touch}\n`, a: "2\n" });
  chmodSync(join(w, ".git/hooks/post-checkout"), 0o755);
  for (const key of ["core.fsmonitor", "diff.external", "core.hooksPath"]) {
    plain("config", key, key === "core.hooksPath" ? ".git/hooks" : touch);
  }
  git(w, "diff");
  git(w, "status");
  git(w, "worktree", "add", "--detach", "../tree");
  assert.ok(existsSync(join(folder.path, "tree/a")));
  assert.ok(!existsSync(ran), existsSync(ran) ? readFileSync(ran, "utf8") : "");
});

test("no other file of the library starts git", () => {
  const starts = /(?:spawn|exec)\w*\(\s*["'`]git\b|command: "git"/i;
  assert.deepEqual(
    filesUnder(LIB, ".ts").filter((file) => starts.test(readFileSync(file, "utf8"))),
    [join(LIB, "process/git.ts")],
  );
});
