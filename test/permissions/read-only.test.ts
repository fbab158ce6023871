import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { READ_ONLY } from "../../lib/permissions/read-only.ts";
import { put, scratch } from "../_scratch.ts";
import { behavior, CWD } from "./_call.ts";

test("commands that only read run unasked inside the workspace, in default, acceptEdits and plan mode", () => {
  const lines = [
    ...[
      "ls",
      "ls -la src",
      "cat a b",
      "head -20 a",
      "tail -n 5 a",
      "wc -l a",
      "pwd",
      "echo 'hi there'",
      "true",
      "which node",
    ],
    ...[
      "grep -rn 'a b' src",
      "grep -c --include='*.ts' x .",
      "rg -n x src -g '*.ts'",
      "find . -name '*.ts' -type f",
      "sort -u a",
    ],
    ...[
      "git status -sb",
      "git diff --stat",
      "git log --oneline -5",
      "git show HEAD",
      "git --no-pager diff main..topic -- src",
    ],
    ...[
      "cat a | grep x | sort | uniq -c | sort -rn | head -5",
      "ls && git status; cat a || echo none",
      "cd src && ls\nwc -l a",
    ],
    ...[
      "ls 2>/dev/null",
      "cat a 2>&1 | tr a-z A-Z | cut -d, -f1",
      "cat < a",
      "git blame src/a",
      "ls *.ts",
      "cat src/?.ts",
    ],
    ...[`cat ${CWD}/a`, "grep x a /dev/null", "git rev-parse --show-toplevel", "git ls-files"],
  ];
  for (const line of lines) {
    for (const mode of ["default", "acceptEdits", "plan"] as const) {
      assert.equal(behavior(line, { mode }), "allow", line);
    }
  }
});

test("a command that could write, run a program or leave the workspace is asked", () => {
  const lines = [
    ...[
      "cat /etc/passwd",
      "cat ../a",
      "ls ..",
      "ls /",
      "cd ..",
      "cd",
      "cd -",
      "cd /tmp && ls",
      "head -n1 src/../../a",
      "echo /etc/*",
    ],
    ...[
      "cat ~/.ssh/id_rsa",
      "cat $(</etc/passwd)",
      "cat $HOME/x",
      "git diff --no-index /etc/passwd a",
      "git diff /etc/passwd a",
    ],
    ...[
      "git diff --output=x",
      "git diff --outp=x",
      "git diff --ext-diff",
      "git log --textconv",
      "git -C /x status",
      "git grep x",
    ],
    ...[
      "git branch -D a",
      "git stash",
      "git -c core.fsmonitor=x status",
      "git log -O/etc/x",
      "git push",
    ],
    ...[
      "rg --pre=x a",
      "rg --pre x a",
      "rg --hostname-bin=x a",
      "rg -L a",
      "rg -z a",
      "rg -f/etc/passwd",
      "grep -R a .",
      "grep -f/x a",
    ],
    ...[
      "find . -delete",
      "find . -exec a {} +",
      "find . -fprint x",
      "find -L .",
      "find /etc",
      "sort -o a b",
      "sort -oa b",
    ],
    ...[
      "sort --compress-program=x a",
      "sort -T/x a",
      "uniq a b",
      "wc --files0-from=a",
      "tail -f a",
      "tee a",
      "sed -n 1p a",
      "awk 1 a",
    ],
    ...["/bin/ls", "./ls", "ls > a", "ls &", "ls; make", "cat a | sh", "constructor", "ls /etc/*", "cat -- ../a"],
  ];
  for (const line of lines) assert.equal(behavior(line, {}), "ask", line);
});

test("a deny or ask rule beats the list of read-only commands", () => {
  assert.equal(behavior("ls", { deny: ["Bash"] }), "deny");
  assert.equal(behavior("cat a; ls", { deny: ["Bash(cat *)"] }), "deny");
  assert.equal(behavior("ls src", { ask: ["Bash(ls *)"] }), "ask");
  assert.equal(behavior("cat secret/a", { deny: ["Read(secret/**)"] }), "deny");
  assert.equal(behavior("cat a", { ask: ["Read(a)"] }), "ask");
});

test("links and patterns never lead a read-only command out of the workspace", () => {
  using folder = scratch();
  const root = join(folder.path, "project");
  for (const dir of ["project/in", "project/hostile", "project/sub", "outside"]) {
    mkdirSync(join(folder.path, dir), { recursive: true });
  }
  for (const file of ["project/a.ts", "project/in/b.ts", "project/.env", "outside/key"]) {
    writeFileSync(join(folder.path, file), "");
  }
  writeFileSync(join(root, "hostile/--pre=x"), "");
  symlinkSync(join(folder.path, "outside/key"), join(root, "sub/key"));
  symlinkSync(join(folder.path, "outside"), join(root, "sub/out"));
  symlinkSync(join(folder.path, "outside/key"), join(root, "sub/-n"));
  const says = (command: string, permissions = {}) => behavior(command, { roots: [root], ...permissions }, root);
  const asks = [
    ...[
      "cat sub/key",
      "cat sub/out/key",
      "ls sub/out",
      "cat sub/*",
      "cat s*/k?y",
      "cat */key",
      "cd sub && cat *",
      "cd sub/out && ls",
    ],
    ...["cd sub && cat -- -n", "cd hostile && rg x *", "cat < sub/key", "cat /*", "cat sub/../*", "cat ./*/-n"],
  ];
  for (const line of asks) assert.equal(says(line), "ask", line);
  for (
    const line of ["cat *.ts", "cat in/*", "cat */b.ts", "ls *", "cat nothing*", "cd hostile && rg x ./*", "cat .e*"]
  ) {
    assert.equal(says(line), "allow", line);
  }
  assert.equal(says("cat .e*", { deny: ["Read(.env)"] }), "deny");
  assert.equal(says("cat *.ts", { deny: ["Read(.env)"] }), "allow");
});

test("a git command counts as read-only only where git uses a .git of the workspace or above it, and none is nearer", () => {
  using folder = scratch({ "ws/a": "", "ws/src/b": "", "ws/own/b": "", "ws/link/HEAD": "" });
  const [ws, ran] = [join(folder.path, "ws"), join(folder.path, "ran")];
  const config = `[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = "touch '${ran}';false"\n`;
  put(ws, { "bare/HEAD": "ref: refs/heads/main\n", "bare/objects/a": "", "bare/refs/a": "", "bare/config": config });
  put(ws, { "common/commondir": "../bare\n", "common/deep/a": "" });
  symlinkSync("refs/heads/none", join(ws, "common/HEAD"));
  const init = (cwd: string) => void execFileSync("git", ["init", "--quiet"], { cwd });
  const says = (cwd: string, command = "git status") => behavior(command, { roots: [ws] }, join(ws, cwd));
  assert.deepEqual(["", "bare"].map((cwd) => says(cwd)), ["allow", "ask"], "without a .git there is nothing to run");
  init(folder.path);
  assert.deepEqual(["", "src"].map((cwd) => says(cwd)), ["allow", "allow"], "one above the workspace is the person's");
  init(ws);
  init(join(ws, "own"));
  const git = (cwd: string, ...args: string[]) => execFileSync("git", args, { cwd: join(ws, cwd), encoding: "utf8" });
  git("bare", "status");
  assert.ok(existsSync(ran), "git runs what a bare repository names");
  assert.equal(
    git("common/deep", "rev-parse", "--git-dir").trim(),
    join(ws, "common"),
    "git takes it for a repository",
  );
  for (const cwd of ["bare", "bare/objects", "common", "common/deep", "own", "link", ".git"]) {
    assert.equal(says(cwd), "ask", cwd);
    assert.equal(says("", `cd ${cwd} && git status`), "ask", `cd ${cwd}`);
  }
  for (const cwd of ["", "src"]) assert.equal(says(cwd), "allow", cwd);
  assert.equal(says("", "cd src && git diff; git log"), "allow");
});

test("the documentation lists the read-only commands", () => {
  const docs = readFileSync(new URL("../../docs/tools.md", import.meta.url), "utf8");
  const listed = /These commands only read: (.*?)\n\n/s.exec(docs)![1]!;
  const names = [...listed.matchAll(/`([a-z]+)/g)].map(([, name]) => name!);
  assert.deepEqual([...new Set(names)].sort(), [...READ_ONLY].sort());
});
