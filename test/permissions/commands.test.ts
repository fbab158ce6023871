import assert from "node:assert/strict";
import { test } from "node:test";
import type { Permissions } from "../../lib/permissions/rules.ts";
import { ALLOW, behavior, CWD } from "./_call.ts";

test("what evaluates data as code is never allowed by a pattern", () => {
  const allow = ["ok", "printf", "test", "[", "let", "declare", "read", "unset", "export"].map((name) =>
    `Bash(${name} *)`
  );
  for (
    const command of [
      "ok $((x))",
      "ok ${a[x]}",
      "ok ${!x}",
      "ok ${x@P}",
      "ok ${x:y}",
      "((x++)) && ok",
      "a[x]=1; ok",
      "[[ x -eq 1 ]] && ok",
      "[[ -v x ]] && ok",
      'printf -v "$x" y',
      "printf $x",
      "test -v x",
      "[ $x = y ]",
      "let x",
      "declare -i y=x",
      "read 'a[0]'",
      "export $x",
    ]
  ) assert.equal(behavior(command, { allow }), "ask", command);
  for (
    const command of [
      "ok $((1 + 2))",
      "ok ${x:-y} ${#x} ${a[@]} ${a[0]} ${x%.ts}",
      '[ "$x" = y ]',
      'printf %s "$x"',
      "read -r x",
      "[[ -n $x ]] && ok",
      "export X=1",
    ]
  ) {
    assert.equal(behavior(command, { allow }), "allow", command);
  }
});

test("honest compound commands are allowed when each of their commands is", () => {
  for (
    const command of [
      "ok && fine || ok; fine",
      "ok a | fine | ok",
      "ok 2>&1 | fine >/dev/null 2>/dev/null",
      "( ok; fine ) & { ok; }",
      "ok \"$x\" $y 'single $z' *.ts {a,b} ~/x",
      'for f in *.ts; do ok "$f"; done',
      "if ok; then fine; elif ok; then fine; else ok; fi",
      "if ok; then fine; fi",
      "$'\\157\\x6b' $'\\557'",
      'for x; do ok "$x"; done',
      "while ok; do fine; done < input.txt",
      "case $x in a|b) ok;; *) fine;; esac",
      'x=$(ok); fine "$x"',
      "ok <<'E'\n$(bad) `bad`\nE",
      "ok <<E\n$x text\nE\nfine",
      "ok $(fine <<< text)",
      "diff=1; ok <(fine) <(ok)",
      "bash -c 'ok; fine'",
      "sh -ec 'ok && fine'",
      "timeout 5 nohup ok x",
      "CI=1 NO_COLOR=1 ok",
      "env CI=1 ok",
      "ok | xargs -0 -n 1 fine",
      "eval 'ok; fine'",
      "! ok # bad",
      "time ok",
      "ok \\\n  --flag",
      "f() { ok; }",
      'arr=(a b c); ok "${arr[@]}"',
      "ok $(\n  fine\n  ok\n)",
      "[[ ! ( -d a && -n $x ) ]] && ok",
    ]
  ) assert.equal(behavior(command, ALLOW), "allow", command);
});

test("a variable that could change what a program runs is never waved through", () => {
  for (
    const command of [
      "PATH=/tmp ok",
      "LD_PRELOAD=x.so ok",
      "GIT_PAGER=bad ok",
      "PATH=/tmp",
      "IFS=x; ok",
      "env PATH=/tmp ok",
      "for PATH in /tmp; do ok; done",
      "http_proxy=x; ok",
    ]
  ) {
    assert.equal(behavior(command, ALLOW), "ask", command);
  }
  assert.equal(behavior("FOO=1 ok", { allow: ["Bash(FOO=1 ok *)"] }), "allow");
  assert.equal(behavior("FOO=2 ok", { allow: ["Bash(FOO=1 ok *)"] }), "ask");
});

test("a rule that spells what a runner runs vouches for it", () => {
  assert.equal(behavior("sudo systemctl restart x", { allow: ["Bash(sudo systemctl *)"] }), "allow");
  assert.equal(behavior("sudo rm x", { allow: ["Bash(sudo systemctl *)"] }), "ask");
  for (const runner of ["busybox", "doas", "strace", "sudo"]) {
    assert.equal(behavior(`${runner} ok`, { allow: ["Bash(ok *)"] }), "ask", runner);
    assert.equal(behavior(`${runner} ok`, { allow: ["Bash(ok *)", `Bash(${runner} *)`] }), "allow", runner);
  }
  assert.equal(behavior("bash scripts/build.sh x", { allow: ["Bash(bash scripts/*)"] }), "allow");
  assert.equal(behavior("bash build.sh", { allow: ["Bash(bash *)"] }), "ask");
  assert.equal(behavior("bash build.sh", { allow: ["Bash(bash *)", "Bash(build.sh *)"] }), "allow");
  assert.equal(behavior("ssh host uptime", { allow: ["Bash(ssh host *)"] }), "allow");
  assert.equal(behavior("bash -c 'bad'", { allow: ["Bash(bash -c 'bad')"] }), "allow");
});

test("a redirection writes a file only where an edit could", () => {
  const write = (command: string, permissions: Permissions) => behavior(command, { roots: [CWD], ...permissions });
  const allow = ["Bash(ok *)", "Bash(cd *)"];
  for (
    const command of [
      "ok > out.txt",
      "ok >> out.txt",
      "ok &> out.txt",
      "ok >| out.txt",
      "ok <> out.txt",
      "> out.txt",
      "{ ok; } > out.txt",
      "bash -c 'ok > out.txt'",
    ]
  ) {
    assert.equal(write(command, { allow }), "ask", command);
    assert.equal(write(command, { allow: [...allow, "Edit(/out.txt)"] }), "allow", command);
    assert.equal(write(command, { allow, mode: "acceptEdits" }), "allow", command);
    assert.equal(write(command, { mode: "bypass", deny: ["Edit(*.txt)"] }), "deny", command);
  }
  for (
    const command of [
      "ok > /etc/passwd",
      "ok > ../x",
      "ok > $x",
      "cd .. && ok > x",
      "cd $d && ok > x",
      "ok > .git/hooks/x",
      "bash -c 'cd /; ok > etc/x'",
      "ok > ~/x",
    ]
  ) {
    assert.equal(write(command, { allow, mode: "acceptEdits" }), "ask", command);
    assert.equal(write(command, { allow: [...allow, "Edit"] }), "ask", command);
  }
  assert.equal(write("cd sub && ok > x", { allow, mode: "acceptEdits" }), "allow");
  assert.equal(write("ok > $x", { mode: "bypass", deny: ["Edit(.env)"] }), "deny");
  assert.equal(write("ok < .env", { mode: "bypass", deny: ["Read(.env)"] }), "deny");
  assert.equal(write("ok < /dev/tcp/host/80", { allow }), "ask");
  assert.equal(write("ok < in.txt 2>/dev/null >&2", { allow }), "allow");
  assert.equal(write("ok 0< in.txt 10>/dev/null", { allow: ["Bash(ok)"] }), "allow", "a number is no argument");
  assert.equal(write("ok >& out.txt", { allow, mode: "acceptEdits" }), "allow");
  assert.equal(write("ok >&$fd", { allow, mode: "acceptEdits" }), "ask");
});

test("commands that only print run without asking, unless they write to a file or run another", () => {
  for (const command of ["echo hi", "pwd", "true && echo a; false"]) {
    assert.equal(behavior(command, {}), "allow", command);
  }
  for (const command of ["echo hi > f", "echo $(touch f)", "echo hi | sh", "touch f"]) {
    assert.equal(behavior(command, {}), "ask", command);
  }
});

test("git needs a rule for what it is told to run, and none more where it only runs itself", () => {
  const cases: [command: string, allow: string[], behavior: string][] = [
    ["git bisect run npm test", ["git *", "npm test"], "allow"],
    ["git rebase -x 'npm test' main", ["git *", "npm test"], "allow"],
    ["git bisect run npm publish", ["git *", "npm test"], "ask"],
    ["git bisect run npm publish", ["git bisect run npm *"], "allow"],
    ['git -c user.name="$me" -c color.ui=always commit -m "$words"', ["git *"], "allow"],
    ["git -c alias.x=status x", ["git -c *", "git status"], "allow"],
  ];
  for (const [command, allow, expected] of cases) {
    assert.equal(behavior(command, { allow: allow.map((rule) => `Bash(${rule})`) }), expected, command);
  }
});
