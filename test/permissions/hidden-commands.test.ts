import assert from "node:assert/strict";
import { test } from "node:test";
import { ALLOW, behavior } from "./_call.ts";

/** Every way a second command can stand in a line; BAD is where it stands. */
const SMUGGLERS = [
  "ok && BAD",
  "ok || BAD",
  "ok; BAD",
  "ok | BAD",
  "ok |& BAD",
  "ok & BAD",
  "ok\nBAD",
  "ok &&\n\n BAD",
  "(BAD)",
  "ok && (fine; (BAD))",
  "{ BAD; }",
  "! BAD",
  "time BAD",
  "ok $(BAD)",
  'ok "a $(BAD) b"',
  "ok `BAD`",
  'ok "`BAD`"',
  "ok $(fine $(BAD))",
  "ok ${x:-$(BAD)}",
  'ok "${x:-`BAD`}"',
  "ok $((1 + $(BAD)))",
  "ok <(BAD)",
  "ok >(BAD)",
  "X=1 BAD",
  "X=$(BAD) ok",
  "x=$(BAD)",
  "x=(a $(BAD))",
  "ok <<E\n$(BAD)\nE",
  "ok <<E\ntext\nE\nBAD",
  "ok <<'E'\ntext\nE\nBAD",
  "ok <<-E\n\ttext\n\tE\nBAD",
  "ok <<<$(BAD)",
  "ok > $(BAD)",
  "ok >&'`BAD`'",
  "ok 2>&1$'`BAD`'",
  "ok <&'$(BAD)'",
  "if BAD; then ok; fi",
  "if ok; then BAD; fi",
  "if ok; then fine; elif BAD; then ok; fi",
  "if ok; then fine; else BAD; fi",
  "while BAD; do ok; done",
  "until ok; do BAD; done",
  "for x in a b; do BAD; done",
  "for x in $(BAD); do ok; done",
  "for ((i=0; i<$(BAD); i++)); do ok; done",
  "case a in a) BAD;; esac",
  "case $(BAD) in a) ok;; esac",
  "case a in b) ok;; (c|a) BAD; esac",
  "f() { BAD; }; ok",
  "function f { BAD; }",
  "[[ -n $(BAD) ]]",
  "bash -c BAD",
  "bash -c 'ok; BAD'",
  'sh -c "BAD"',
  "bash -ec 'BAD' x y",
  "sh -c -e BAD",
  "eval BAD",
  "eval ok ';' BAD",
  "exec BAD",
  "command BAD",
  "builtin BAD",
  "env BAD",
  "env -i X=1 BAD",
  "nohup BAD",
  "nice -n 5 BAD",
  "timeout 5 BAD",
  "timeout -k 1 -s KILL 5 BAD",
  "setsid BAD",
  "stdbuf -oL BAD",
  "ok | xargs BAD",
  "ok | xargs -n 1 BAD",
  "fd x -x BAD",
  "fd -HX BAD",
  "fdfind x --exec BAD {}",
  "fd x --exec=BAD",
  "fd x -xBAD",
  "fd x -HIxBAD",
  "pkexec BAD",
  "gosu me BAD",
  "prlimit --nofile=10 BAD",
  "bwrap --bind / / BAD",
  "ls | entr -r BAD",
  "git bisect run BAD",
  "git -C src --no-pager bisect run BAD",
  "git rebase --exec BAD main",
  "git rebase --exec=BAD main",
  "git rebase -i --ex 'ok; BAD' main",
  "git rebase -ix BAD main",
  "git rebase -xBAD main",
  'git rebase -x "$x" BAD',
  `git rebase -''x"$x" BAD`,
  "git submodule foreach BAD",
  "git submodule foreach --recursive 'ok; BAD'",
  "git submodule --quiet foreach BAD",
  "git filter-branch --tree-filter BAD HEAD",
  "git difftool --extcmd=BAD",
  "git -c alias.x='!BAD' x",
  "git -c Alias.x='bisect run' x BAD",
  "git -c user.name=a -c alias.x='!ok; BAD' x",
  'git -c "$x" BAD',
  "git --config-env=alias.x=X BAD",
  "git --config-env alias.x=X BAD",
  "find . -exec BAD {} ;",
  "find . -exec BAD {} \\;",
  "find . -name x -execdir BAD +",
  "sudo BAD",
  "ssh host BAD",
  "su -c 'ok; BAD'",
  "watch BAD",
  "trap BAD EXIT",
  "timeout 5 nohup bash -c 'ok && eval \"BAD\"'",
  "ok # comment\nBAD",
  "ok 'quoted # not a comment'; BAD",
  "ok \\\n && BAD",
  "coproc BAD",
  "time -p -- BAD",
  "ok <<< BAD | sh",
  "echo BAD | bash -s",
  "bash <<< BAD",
  "bash <(echo BAD)",
  ". /dev/stdin <<< BAD",
  "source <(echo BAD)",
  "env -S 'BAD x'",
  "xargs -I{} sh -c '{}' <<< BAD",
  "sh -c \"eval 'ok &>/dev/null BAD'\"",
  "sh -c \"trap 'ok &>/dev/null BAD' EXIT\"",
  "bash BAD",
  "source BAD",
  ". BAD",
  "source -- BAD",
  "env -SBAD x",
  "env -SBAD",
  "xargs -i sh -c '{}' <<< BAD",
  "echo BAD | zsh",
  "echo BAD | parallel",
  "echo BAD | xargs -n1 env",
  "sh -c 'ok &>/dev/null BAD'",
  "sh -c 'eval BAD$\"ok\"'",
  "sh -c 'ok &>/dev/null; ok &>>/dev/null BAD'",
  "sh -c '[[ a || BAD ]]'",
  "sh -c '((BAD))'",
  "sh -c 'ok <<<x; BAD'",
  `sh -c "ok \\$'\\\\'; BAD; ok '"`,
  "sh -c 'function x { ok; }; BAD'",
  "compgen -C BAD",
  "compgen -W '$(BAD)'",
  "alias ok=BAD",
  "PS4='$(BAD)'; set -x; ok",
  "BASH_ENV=<(echo BAD) bash -c ok",
];

const SPELLINGS = [
  "bad x",
  "'bad' x",
  '"bad" x',
  "b\\ad x",
  "b''ad x",
  "/bin/bad x",
  "./bad x",
  "$'bad' x",
  "$'\\x62ad' x",
];

const RUNNERS = [
  ...["bash", "sh", "eval", "exec", "env", "find", "xargs", "timeout", "sudo", "ssh", "git"],
  ...["su", "watch", "trap", "time", "nice"],
].map((name) => `Bash(${name} *)`);

test("no place in a command line hides a command from an allow rule", () => {
  for (const line of SMUGGLERS) {
    const command = line.replace("BAD", "bad");
    assert.notEqual(behavior(command, ALLOW), "allow", command);
    // Also where the one who wrote the rules allowed the runner itself.
    assert.notEqual(behavior(command, { allow: [...ALLOW.allow!, ...RUNNERS] }), "allow", command);
  }
});

test("no place in a command line hides a command from a deny or ask rule", () => {
  for (const line of SMUGGLERS) {
    const command = line.replace("BAD", "bad");
    assert.equal(behavior(command, { mode: "bypass", deny: ["Bash(bad *)"] }), "deny", command);
    assert.equal(behavior(command, { mode: "bypass", ask: ["Bash(bad:*)"] }), "ask", command);
  }
});

test("no place in a command line hides a redirection from a deny or ask rule for the file", () => {
  for (const line of SMUGGLERS) {
    const command = line.replace("BAD", "bad>.env");
    assert.equal(behavior(command, { mode: "bypass", deny: ["Edit(.env)"] }), "deny", command);
    assert.equal(behavior(command, { mode: "bypass", ask: ["Edit(.env)"] }), "ask", command);
  }
});

test("an option that only looks like one which runs a command runs none", () => {
  assert.equal(behavior("command -v bad", { allow: ["Bash(command *)"] }), "allow");
  for (
    const command of [
      "git rebase --onto bad x",
      "git log -x bad",
      "git bisect bad",
      "git -c a.x='!bad' bad",
      "git -c alias.x=log x bad",
      "fd -tx bad",
      "fd -etxt bad",
      "fd -Ex bad",
      "find . -name -execute bad",
    ]
  ) {
    assert.equal(behavior(command, { mode: "bypass", deny: ["Bash(bad *)", "Bash(bad)"] }), "allow", command);
  }
});

test("options before the first operand hide no command from a deny or ask rule, and need no rule more", () => {
  const rules = {
    deny: ["Bash(git push *)"],
    ask: ["Bash(kubectl delete pod)"],
    allow: ["Bash(git *)", "Bash(kubectl *)"],
  };
  const table: [string, string][] = [
    ["git -C . push origin", "deny"],
    ["git --no-pager push", "deny"],
    ["git -c user.name=x --git-dir .git push origin", "deny"],
    ["/usr/bin/git --exec-path=. push", "deny"],
    [`git -''C "$dir" push`, "deny"],
    ['git -C . "$what"', "deny"],
    ["kubectl -n prod delete pod", "ask"],
    ["git -C . log push", "allow"],
    ['git -C "$dir" status', "allow"],
    ["git -C $dir status", "allow"],
    ["git log -C push", "allow"],
    ["kubectl delete -n pod", "allow"],
  ];
  for (const [command, said] of table) assert.equal(behavior(command, rules), said, command);
});

test("no spelling of a command hides it from a deny rule, nor passes for an allowed one", () => {
  for (const spelling of SPELLINGS) {
    assert.equal(behavior(spelling, { mode: "bypass", deny: ["Bash(bad *)"] }), "deny", spelling);
    assert.equal(behavior(`ok; ${spelling}`, ALLOW), "ask", spelling);
  }
  for (
    const unknown of [
      "$cmd x",
      "${cmd} x",
      "$(ok) x",
      "`ok` x",
      "b?d x",
      "/bin/b* x",
      "b[a]d x",
      "{bad,x}",
      "$x bad",
      '"$@" bad',
      "~/bad x",
      "${a}ad x",
    ]
  ) {
    assert.equal(behavior(unknown, { mode: "bypass", deny: ["Bash(bad *)"] }), "deny", unknown);
    assert.equal(behavior(unknown, { allow: ["Bash(ok *)"] }), "ask", unknown);
  }
});

test("an argument that only the shell knows counts as what it could be for a deny rule, and as nothing sure for an allow rule", () => {
  for (
    const command of [
      'bad "$x" y',
      "bad $x y",
      'bad -"$x" y',
      "bad -r* y",
      "bad {-rf,y}",
      "bad `ok` y",
      'bad "$@" -rf y',
    ]
  ) {
    assert.equal(behavior(command, { mode: "bypass", deny: ["Bash(bad -rf *)"] }), "deny", command);
  }
  for (const command of ['bad a"$x"', "bad -f $x"]) {
    assert.equal(behavior(command, { mode: "bypass", deny: ["Bash(bad -rf *)"] }), "allow", command);
  }
  for (const command of ['ok a"$x"', "ok a$x", "ok a $x", "ok a*", 'ok a "$@"', "ok {a,b}", '"$x"ok a']) {
    assert.equal(behavior(command, { allow: ["Bash(ok a)", "Bash(ok a b)"] }), "ask", command);
  }
});

test("what cannot be read is never allowed by a pattern, and never passes a deny rule", () => {
  const unreadable = [
    "ok 'open",
    'ok "open',
    "ok $(open",
    "ok `open",
    "ok (",
    "ok )",
    "ok &&",
    "| ok",
    "if ok; then",
    "ok <<E\nno end",
    "ok ${x",
    "ok \\",
    "ok a\\\nb",
    "ok $\\\n(bad)",
    "select x in a; do ok; done",
    "ok $[1]",
    "ok ${ bad; }",
    "ok \0",
    `ok ${"$(".repeat(60)}x${")".repeat(60)}`,
    `${"(".repeat(50_000)}`,
    `ok ${"${a:-".repeat(50_000)}`,
    "x='a[$(bad)]'; ok $((x))",
  ];
  for (const command of unreadable) {
    assert.equal(behavior(command, ALLOW), "ask", command.slice(0, 60));
    for (const rule of ["Bash(other *)", "Edit(.env)", "Read(.env)"]) {
      assert.equal(behavior(command, { mode: "bypass", deny: [rule] }), "deny", `${rule} ${command.slice(0, 60)}`);
    }
    assert.equal(behavior(command, { mode: "bypass" }), "allow");
  }
});
