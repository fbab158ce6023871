import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesIf } from "../../lib/permissions/rules.ts";
import { behavior, CWD, ofBash, ofTool } from "./_call.ts";

test("deny beats ask, ask beats allow, and the rule that decided is named", () => {
  const all = { allow: ["Bash(git *)"], ask: ["Bash(git push *)"], deny: ["Bash(git push --force *)"] };
  assert.deepEqual(ofBash("git commit", all), {
    behavior: "allow",
    rule: "Bash(git *)",
    reason: "its commands only read or are allowed by Bash(git *)",
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
  const allow = ["Bash(git *)", "Bash(make *)", "Bash(npm *)"];
  const { reason } = ofBash("npm test | make; ls > /dev/null", { allow });
  assert.equal(reason, "its commands only read or are allowed by Bash(npm *), Bash(make *)");
});

test("modes: default asks for writes only", () => {
  assert.equal(ofTool("Read", { file_path: "a" }, {}, { effect: "read" }).behavior, "allow");
  assert.equal(ofTool("AskUserQuestion", {}, {}, { effect: "none" }).behavior, "allow");
  assert.equal(ofTool("Write", { file_path: "a" }, {}).behavior, "ask");
  assert.equal(ofTool("mcp__srv__do", {}, {}).behavior, "ask");
  assert.equal(behavior("make", {}), "ask");
  assert.equal(ofTool("KillShell", { shell_id: "bash_1" }, {}).behavior, "allow");
});

test("modes: plan refuses every write, also an allowed one", () => {
  const plan = { mode: "plan", allow: ["Bash", "Edit"], ask: ["Bash"] } as const;
  assert.equal(behavior("make", plan), "deny");
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
  assert.equal(behavior("make", mode), "ask");
  assert.equal(behavior("make", { ...mode, allow: ["Bash(make *)"] }), "allow");
});

test("files that decide what runs later ask, also under acceptEdits and a rule for all edits, unless a pattern names them", () => {
  const paths = [
    ...[".git/hooks/pre-commit", ".crochet/config.yaml", ".claude/settings.json", "sub/.git/config", ".mcp.json"],
    ...["hooks/stop.tests.ts", "hooks.yaml", "agents/a.md", ".agent/hook.toml", ".codex/hooks.json"],
  ];
  for (const path of paths) {
    const says = (permissions: object) =>
      [
        ofTool("Write", { file_path: `${CWD}/${path}` }, { roots: [CWD], ...permissions }).behavior,
        behavior(`echo x > ${path}`, { roots: [CWD], ...permissions }),
      ].join(" ");
    assert.equal(says({ mode: "acceptEdits" }), "ask ask", path);
    assert.equal(says({ allow: ["Edit"] }), "ask ask", path);
    assert.equal(says({ allow: [`Edit(/${path})`] }), "allow allow", path);
    assert.equal(says({ mode: "bypass" }), "allow allow", path);
  }
  const below = ofTool("Write", { file_path: `${CWD}/src/hooks/use.ts` }, { mode: "acceptEdits", roots: [CWD] });
  assert.equal(below.behavior, "allow", "hooks and agents mean nothing in folders below");
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

test("Bash patterns: exact, prefix with a space or a colon, star inside a word, star in the middle", () => {
  const allows = (rule: string, command: string) => behavior(command, { allow: [rule] }) === "allow";
  const table: [rule: string, yes: string[], no: string[]][] = [
    ["Bash(git fetch)", ["git fetch", "git  fetch", "'git' \"fetch\""], [
      "git fetch -s",
      "git",
      "gitfetch",
      '"git fetch"',
    ]],
    ["Bash(git *)", ["git", "git log", "git merge x"], ["gitk", "agit", "./git log", "/usr/bin/git log"]],
    ["Bash(npm run test:*)", ["npm run test", "npm run test -- -u"], ["npm run testing", "npm run", "npm run build"]],
    ["Bash(npm run test*)", ["npm run test", "npm run test:unit", "npm run testing x"], ["npm run build"]],
    ["Bash(make*)", ["make", "makeinfo", "make -l"], ["amake"]],
    ["Bash(* --version)", ["node --version", "a b --version"], ["node --version x"]],
    ["Bash(git * main)", ["git push main", "git push origin main"], ["git main", "git push main x", "git $x main"]],
    ["Bash(git commit -m 'a b')", ["git commit -m 'a b'", 'git commit -m "a b"'], [
      "git commit -m a b",
      "git commit -m a\\ b",
    ]],
    ["Bash(say $HOME)", ["say '$HOME'"], ["say $HOME", "say x"]],
    ["Bash(say \\*)", ["say '*'"], ["say x", "say *"]],
    ["Bash", ["anything; at all $(x)", "if"], []],
    ["Bash(*)", ["anything; at all $(x)", "if"], []],
  ];
  for (const [rule, yes, no] of table) {
    for (const command of yes) assert.ok(allows(rule, command), `${rule} allows ${command}`);
    for (const command of no) assert.ok(!allows(rule, command), `${rule} does not allow ${command}`);
  }
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
  const denied = (subagent_type: string) => ofTool("Agent", { subagent_type }, { deny: ["Agent(reviewer)"] }).behavior;
  assert.deepEqual([denied("reviewer"), denied("coder")], ["deny", "allow"]);
  assert.ok(allows("mcp__db__query(mode:read*)", "mcp__db__query", { mode: "readonly" }));
  assert.ok(!allows("bash", "Bash", { command: "make" }));
  assert.ok(!allows("Bas", "Bash", { command: "make" }));
});

test("a malformed rule is an error that names it and says how to write it", () => {
  const table: [rule: string, words: RegExp][] = [
    ["", /'' as it is blank: write a tool/],
    ["Bash(git *", /'Bash\(git \*' as its brackets do not match: write Tool or Tool\(pattern\)/],
    ["Bash(git *) x", /brackets do not match/],
    ["Bash()", /'Bash\(\)' as its brackets are empty: write Bash for every call/],
    ["Bash (git *)", /'Bash ' is not a tool name/],
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

test("a hook's `if` holds for a matching command of a line that is read, and for every unread line", () => {
  const holds = (rule: string, command: string) => matchesIf(rule, { tool_name: "Bash", input: { command }, cwd: CWD });
  for (const rule of ["Bash(echo *)", "Bash(echo hi)", "Bash", "Bash(*)"]) assert.ok(holds(rule, "echo hi"), rule);
  for (const rule of ["Bash(git *)", "Write(*)", "bash(echo *)"]) assert.ok(!holds(rule, "echo hi"), rule);
  assert.ok(holds("Bash(echo *)", "touch a && echo hi"));
  for (const behind of ["timeout 5 git push", "sh -c 'git push'", "nice bash -c x"]) {
    assert.ok(holds("Bash(git push *)", behind));
  }
  assert.ok(!holds("Bash(git)", "git push"));
  for (const unread of ["X=1 echo hi", "touch $(echo hi)", "touch `echo hi`", "echo 'unread", "echo $x"]) {
    assert.ok(holds("Bash(git push *)", unread), unread);
    assert.ok(!holds("Edit(a)", unread), unread);
  }
  assert.ok(matchesIf("Edit(src/**)", { tool_name: "Write", input: { file_path: `${CWD}/src/a.ts` }, cwd: CWD }));
  assert.ok(!matchesIf("Edit(src/**)", { tool_name: "Write", input: { file_path: `${CWD}/lib/a.ts` }, cwd: CWD }));
});
