import assert from "node:assert/strict";
import { test } from "node:test";
import { decide, matchesIf, type Permissions } from "../../lib/permissions/rules.ts";
import { CWD, ofBash, ofTool } from "./_call.ts";

const behavior = (command: string, permissions: Permissions) => ofBash(command, permissions).behavior;

test("deny beats ask, ask beats allow, and the rule that decided is named", () => {
  const all = { allow: ["Bash(git *)"], ask: ["Bash(git push *)"], deny: ["Bash(git push --force *)"] };
  assert.deepEqual(ofBash("git status", all), {
    behavior: "allow",
    rule: "Bash(git *)",
    reason: "every command of it is allowed by Bash(git *)",
  });
  assert.deepEqual(ofBash("git push", all), {
    behavior: "ask",
    rule: "Bash(git push *)",
    reason: "the rule Bash(git push *) asks",
  });
  assert.deepEqual(ofBash("git push --force origin", all), {
    behavior: "deny",
    rule: "Bash(git push --force *)",
    reason: "the rule Bash(git push --force *) denies it",
  });
});

test("an allowed compound command names the rules it needed, and only those", () => {
  const allow = ["Bash(git *)", "Bash(ls *)", "Bash(cat *)"];
  assert.equal(ofBash("cat a | ls", { allow }).reason, "every command of it is allowed by Bash(ls *), Bash(cat *)");
  assert.deepEqual(ofBash("x=1", { allow }), { behavior: "allow", reason: "it runs no program" });
});

test("modes: default asks for writes only", () => {
  assert.equal(ofTool("Read", { file_path: "a" }, {}, { effect: "read" }).behavior, "allow");
  assert.equal(ofTool("AskUserQuestion", {}, {}, { effect: "none" }).behavior, "allow");
  assert.equal(ofTool("Write", { file_path: "a" }, {}).behavior, "ask");
  assert.equal(ofTool("mcp__srv__do", {}, {}).behavior, "ask");
  assert.equal(ofBash("ls", {}).behavior, "ask");
  assert.equal(ofTool("KillShell", { shell_id: "bash_1" }, {}).behavior, "allow");
});

test("modes: plan refuses every write, also an allowed one", () => {
  const plan = { mode: "plan", allow: ["Bash", "Edit"], ask: ["Bash"] } as const;
  assert.equal(ofBash("ls", plan).behavior, "deny");
  assert.equal(ofTool("Edit", { file_path: "a" }, plan).behavior, "deny");
  assert.equal(ofTool("Read", { file_path: "a" }, plan, { effect: "read" }).behavior, "allow");
  assert.equal(ofTool("KillShell", { shell_id: "bash_1" }, plan).behavior, "allow");
});

test("modes: acceptEdits runs edits of the workspace, asks for the rest", () => {
  const mode = { mode: "acceptEdits", roots: [CWD] } as const;
  for (const name of ["Edit", "Write", "MultiEdit"]) {
    assert.equal(ofTool(name, { file_path: `${CWD}/src/a.ts` }, mode).behavior, "allow");
    assert.equal(ofTool(name, { file_path: "/srv/other/a.ts" }, mode).behavior, "ask");
    assert.equal(ofTool(name, { file_path: `${CWD}/../other/a.ts` }, mode).behavior, "ask");
    assert.equal(ofTool(name, { file_path: "/srv/project-other/a.ts" }, mode).behavior, "ask");
  }
  assert.equal(ofBash("ls", mode).behavior, "ask");
  assert.equal(ofBash("ls", { ...mode, allow: ["Bash(ls *)"] }).behavior, "allow");
  // What runs later without being asked is not an edit like others.
  for (const path of [".git/hooks/pre-commit", ".crochet/config.yaml", ".claude/settings.json", "sub/.git/config"]) {
    assert.equal(ofTool("Write", { file_path: `${CWD}/${path}` }, mode).behavior, "ask", path);
  }
});

test("modes: bypass lets everything through but deny and ask rules, under both names", () => {
  for (const mode of ["bypass", "bypassPermissions"] as const) {
    const permissions = { mode, deny: ["Bash(rm *)"], ask: ["Bash(git push *)"] };
    assert.equal(behavior("make install", permissions), "allow");
    assert.equal(behavior("make; rm -rf x", permissions), "deny");
    assert.equal(behavior("git push", permissions), "ask");
    assert.equal(ofTool("Write", { file_path: "/etc/x" }, permissions).behavior, "allow");
  }
  assert.throws(
    () => behavior("ls", { mode: "yolo" as "bypass" }),
    /Cannot use permission mode 'yolo' as it is unknown: expected default, acceptEdits/,
  );
});

test("Bash patterns: exact, prefix with a blank or a colon, star inside a word, star in the middle", () => {
  const allows = (rule: string, command: string) => behavior(command, { allow: [rule] }) === "allow";
  const table: [rule: string, yes: string[], no: string[]][] = [
    ["Bash(git status)", ["git status", "git  status", "'git' \"status\""], [
      "git status -s",
      "git",
      "gitstatus",
      '"git status"',
    ]],
    ["Bash(git *)", ["git", "git log", "git log --oneline"], ["gitk", "agit", "./git log", "/usr/bin/git log"]],
    ["Bash(npm run test:*)", ["npm run test", "npm run test -- -u"], ["npm run testing", "npm run", "npm run build"]],
    ["Bash(npm run test*)", ["npm run test", "npm run test:unit", "npm run testing x"], ["npm run build"]],
    ["Bash(ls*)", ["ls", "lsof", "ls -l"], ["als"]],
    ["Bash(* --version)", ["node --version", "a b --version"], ["node --version x"]],
    ["Bash(git * main)", ["git push main", "git push origin main"], ["git main", "git push main x", "git $x main"]],
    ["Bash(git commit -m 'a b')", ["git commit -m 'a b'", 'git commit -m "a b"', "git commit -m a\\ b"], [
      "git commit -m a b",
    ]],
    ["Bash(say $HOME)", ["say $HOME"], ["say $PATH", "say x"]],
    ["Bash(say \\*)", ["say '*'"], ["say x", "say *"]],
    ["Bash", ["anything; at all $(x)", "if"], []],
    ["Bash(*)", ["anything; at all $(x)", "if"], []],
  ];
  for (const [rule, yes, no] of table) {
    for (const command of yes) assert.ok(allows(rule, command), `${rule} allows ${command}`);
    for (const command of no) assert.ok(!allows(rule, command), `${rule} does not allow ${command}`);
  }
});

const ALLOW: Permissions = { allow: ["Bash(ok *)", "Bash(fine *)"] };

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
  "if BAD; then ok; fi",
  "if ok; then BAD; fi",
  "if ok; then fine; elif BAD; then ok; fi",
  "if ok; then fine; else BAD; fi",
  "while BAD; do ok; done",
  "until ok; do BAD; done",
  "for x in a b; do BAD; done",
  "for x in $(BAD); do ok; done",
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

test("no place in a command line hides a command from an allow rule", () => {
  for (const line of SMUGGLERS) {
    const command = line.replace("BAD", "bad");
    assert.notEqual(behavior(command, ALLOW), "allow", command);
    // Also where the one who wrote the rules allowed the runner itself.
    const runners = [
      "bash",
      "sh",
      "eval",
      "exec",
      "env",
      "find",
      "xargs",
      "timeout",
      "sudo",
      "ssh",
      "su",
      "watch",
      "trap",
      "time",
      "nice",
    ];
    assert.notEqual(
      behavior(command, { allow: [...ALLOW.allow!, ...runners.map((r) => `Bash(${r} *)`)] }),
      "allow",
      command,
    );
  }
});

test("no place in a command line hides a command from a deny or ask rule", () => {
  for (const line of SMUGGLERS) {
    const command = line.replace("BAD", "bad");
    assert.equal(behavior(command, { mode: "bypass", deny: ["Bash(bad *)"] }), "deny", command);
    assert.equal(behavior(command, { mode: "bypass", ask: ["Bash(bad:*)"] }), "ask", command);
  }
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
    assert.equal(behavior(command, { mode: "bypass", deny: ["Bash(other *)"] }), "deny", command.slice(0, 60));
    assert.equal(behavior(command, { mode: "bypass" }), "allow");
  }
});

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
      "((x++))",
      "a[x]=1",
      "[[ x -eq 1 ]]",
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
  assert.equal(behavior("sudo ok", { allow: ["Bash(sudo *)", "Bash(ok *)"] }), "allow");
  assert.equal(behavior("sudo ok", { allow: ["Bash(ok *)"] }), "ask");
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
});

test("other tools: names, wildcards, servers, fields and domains", () => {
  const allows = (rule: string, tool: string, input = {}) =>
    ofTool(tool, input, { allow: [rule] }).behavior === "allow";
  assert.ok(allows("mcp__srv__*", "mcp__srv__echo"));
  assert.ok(allows("mcp__srv", "mcp__srv__echo"));
  assert.ok(!allows("mcp__srv", "mcp__srv2__echo"));
  assert.ok(!allows("mcp__srv__e", "mcp__srv__echo"));
  assert.ok(allows("WebFetch(domain:example.com)", "WebFetch", { url: "https://example.com/a?b" }));
  assert.ok(!allows("WebFetch(domain:example.com)", "WebFetch", { url: "https://example.com.evil.org/" }));
  assert.ok(!allows("WebFetch(domain:example.com)", "WebFetch", { url: "https://evil.org/#example.com" }));
  assert.ok(!allows("WebFetch(domain:example.com)", "WebFetch", { url: "https://example.com@evil.org/" }));
  assert.ok(allows("WebFetch(domain:*.example.com)", "WebFetch", { url: "https://a.example.com" }));
  assert.ok(!allows("WebFetch(domain:example.com)", "WebFetch", {}));
  assert.ok(allows("Agent(reviewer)", "Agent", { subagent_type: "reviewer" }));
  assert.ok(allows("Task(reviewer)", "Agent", { subagent_type: "reviewer" }));
  const denied = (subagent_type: string) =>
    decide({ deny: ["Agent(reviewer)"] }, { tool_name: "Agent", input: { subagent_type }, cwd: "/", effect: "write" })
      .behavior;
  assert.deepEqual([denied("reviewer"), denied("coder")], ["deny", "allow"]);
  assert.ok(allows("mcp__db__query(mode:read*)", "mcp__db__query", { mode: "readonly" }));
  assert.ok(!allows("bash", "Bash", { command: "ls" }));
  assert.ok(!allows("Bas", "Bash", { command: "ls" }));
});

test("a malformed rule is an error that names it and says how to write it", () => {
  const table: [rule: string, words: RegExp][] = [
    ["", /'' as it is blank: write a tool/],
    ["Bash(git *", /'Bash\(git \*' as its brackets do not match: write Tool or Tool\(pattern\)/],
    ["Bash(git *) x", /brackets do not match/],
    ["Bash()", /'Bash\(\)' as its brackets are empty: write Bash for every call/],
    ["Bash (git *)", /'Bash ' is no tool name/],
    ["Bash(git:* push)", /':\*' stands before its end/],
    ["Bash(git status && ls)", /holds several commands: write one rule for each command/],
    ["Bash(a | b)", /holds several commands/],
    ["Edit(!src)", /'Edit\(!src\)' as a rule cannot exclude: write the excluded path as a deny rule/],
    ["Edit(src/{a)", /'Edit\(src\/\{a\)' as .*: write Edit\(src\/\*\*\)/],
    ["Foo(bar)", /the pattern of Foo names no field: write Foo, or Foo\(field:pattern\)/],
  ];
  for (const [rule, words] of table) {
    for (const list of ["allow", "ask", "deny"]) {
      assert.throws(
        () => ofTool("Read", { file_path: "a" }, { [list]: [rule] }, { effect: "read" }),
        (error: Error) => {
          assert.ok(error instanceof TypeError);
          assert.match(error.message, /^Cannot read permission rule '/);
          assert.match(error.message, words);
          return true;
        },
      );
    }
  }
});

test("a hook's `if` holds as the host's does, and holds where it cannot be told", () => {
  const holds = (rule: string, command: string) => matchesIf(rule, { tool_name: "Bash", input: { command }, cwd: CWD });
  for (const rule of ["Bash(echo *)", "Bash(echo hi)", "Bash", "Bash(*)"]) assert.ok(holds(rule, "echo hi"), rule);
  for (const rule of ["Bash(git *)", "Write(*)", "bash(echo *)"]) assert.ok(!holds(rule, "echo hi"), rule);
  assert.ok(holds("Bash(echo *)", "X=1 echo hi"));
  assert.ok(holds("Bash(echo *)", "touch a && echo hi"));
  assert.ok(holds("Bash(echo *)", "touch $(echo hi)"));
  assert.ok(holds("Bash(echo *)", "touch `echo hi`"));
  assert.ok(holds("Bash(git *)", "echo 'unreadable"));
  assert.ok(holds("Bash(git push *)", "echo $x"), "an expansion, and a pattern longer than a name");
  assert.ok(!holds("Bash(git *)", "echo $x"), "the name is enough to tell");
  assert.ok(matchesIf("Edit(src/**)", { tool_name: "Write", input: { file_path: `${CWD}/src/a.ts` }, cwd: CWD }));
  assert.ok(!matchesIf("Edit(src/**)", { tool_name: "Write", input: { file_path: `${CWD}/lib/a.ts` }, cwd: CWD }));
});

test("commands that only print run without asking, unless they write to a file or run another", () => {
  const behavior = (command: string) =>
    decide({}, { tool_name: "Bash", input: { command }, cwd: "/", effect: "write" }).behavior;
  for (const command of ["echo hi", "pwd", "true && echo a; false"]) assert.equal(behavior(command), "allow", command);
  for (const command of ["echo hi > f", "echo $(touch f)", "echo hi | sh", "touch f"]) {
    assert.equal(behavior(command), "ask", command);
  }
});
