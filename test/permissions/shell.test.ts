import assert from "node:assert/strict";
import { test } from "node:test";
import { readLine } from "../../lib/permissions/shell-lines.ts";
import { rounds } from "../_counts.ts";
import { assertLinear } from "../_processor-time.ts";
import { ofBash } from "./_call.ts";

/** The words of each command, or undefined if the line is not read. */
const words = (line: string) => readLine(line).commands?.map((command) => command.words.map(({ text }) => text));

test("a line of literal simple commands is read, word by word", () => {
  const table: [line: string, commands: string[][]][] = [
    ["ls -la src", [["ls", "-la", "src"]]],
    ["a && b || c; d | e\n\n f;", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]],
    ["a &&\n b |\n\tc", [["a"], ["b"], ["c"]]],
    ["git commit -m 'two\nlines, $x `y` \\ * ~' \"a;b\"", [[
      "git",
      "commit",
      "-m",
      "two\nlines, $x `y` \\ * ~",
      "a;b",
    ]]],
    ["'l's \"\"''a", [["ls", "a"]]],
    ["npm test 2>&1 | tail >/dev/null 2>/dev/null", [["npm", "test"], ["tail"]]],
    ["sort <in >out.txt a>>b", [["sort", "a"]]],
    ["ls *.ts a?", [["ls", "*.ts", "a?"]]],
    ["dd if=a of=b --x=y", [["dd", "if=a", "of=b", "--x=y"]]],
    ["git -C dir --no-pager log", [["git", "-C", "dir", "--no-pager", "log"]]],
    ["git switch -c topic", [["git", "switch", "-c", "topic"]]],
    ["sh build.sh -x", [["sh", "build.sh", "-x"]]],
    ["printf %s a; test -f a", [["printf", "%s", "a"], ["test", "-f", "a"]]],
  ];
  for (const [line, commands] of table) assert.deepEqual(words(line), commands, line);
  assert.deepEqual(readLine("a <in >'o ut'>>c").commands![0]!.redirects, [
    { kind: "read", path: "in" },
    { kind: "write", path: "o ut" },
    { kind: "write", path: "c" },
  ]);
});

const UNREAD = [
  ...[
    "a $x",
    'a "$x"',
    "a `b`",
    'a "`b`"',
    "a \\b",
    'a "\\b"',
    "a\\\nb",
    "a $'b'",
    'a $"b"',
    "a $(b)",
    "a {b,c}",
    "a {}",
  ],
  ...[
    "a ~",
    "a ~/b",
    "a b~",
    "a [b]",
    "a b'c'*",
    "*",
    "a & b",
    "a &",
    "a |& b",
    "a &> b",
    "(a)",
    "{ a; }",
    "a() { b; }",
  ],
  ...[
    "x=1",
    "x=1 a",
    "x+=1",
    "a[1]=2",
    "! a",
    "time a",
    "if a; then b; fi",
    "for x in a; do b; done",
    "[[ a ]]",
    "[ a ]",
  ],
  ...["case a in b) c;; esac", "while a; do b; done", "a <<E\nE", "a <<< b", "a <(b)", "a >(b)", "a >| b", "a <> b"],
  ...[
    "a >& b",
    "a >&2",
    "a 2> b",
    "a 3>b",
    "a 12>b",
    "a 2>&1x",

    "a > ../b",
    "a > b/../c",
    "a >",
    "a > ''",
  ],
  ...[
    "a > *",
    "> a",
    "a &&",
    "| a",
    "a;; b",
    "; a",
    "a # b",
    "a \0",
    "a \r",
    "a 'open",
    'a "open',
    "a '\x1b'",
    "é",
    "",
  ],
  // What runs or evaluates its arguments.
  ...["xargs a", "/usr/bin/xargs a", "parallel a", "bash +x a", "sh +e -c a", "rbash -c a", "ksh93 -c a"],
  ...[
    "eval a",
    "exec a",
    "command a",
    "builtin a",
    "source a",
    ". a",
    "trap a EXIT",
    "let a",
    "declare a=b",
    "export a=b",
  ],
  ...[
    "read a",
    "unset a",
    "set -x",
    "alias a=b",
    "printf -v a b",
    "test -v a",
    "mapfile -C a",
    "compgen -C a",
    "wait -p a",
  ],
  ...[
    "sh",
    "sh -c a",
    "bash -x a",
    "zsh -c a",
    "a | bash",
    "find . -exec a {} +",
    "find . -exec a",
    "find . -ok a",
  ],
  ...[
    "git -c a=b c",
    "git -C d -c a=b c",
    "git --exec-path=a b",
    "git bisect run a",
    "git rebase -x a",
    "git rebase -ix a",
  ],
  ...["git rebase --ex=a", "git submodule foreach a", "git difftool --extcmd=a", "git grep -Oa b"],
  ...["git config alias.z '!rm x'", "git -C d config core.pager a", "git config --global core.editor a"],
];

test("anything else is unread: no pattern allows it, and a deny or ask rule with a pattern makes it ask", () => {
  for (const line of UNREAD) {
    assert.equal(typeof readLine(line).unread, "string", line);
    const says = (permissions: object) => ofBash(line, permissions).behavior;
    const name = /[a-z.[]+/.exec(line)?.[0] ?? "a";
    assert.equal(says({ allow: ["Bash(a *)", "Bash(* *)", `Bash(${name}*)`] }), "ask", line);
    for (const allowed of [{ allow: ["Bash"] }, { allow: ["Bash(*)"] }, { mode: "bypass" }]) {
      assert.equal(says(allowed), "allow", line);
      for (const rule of ["Bash(other *)", "Read(.env)", "Edit(src/**)", "Write(/x)"]) {
        assert.equal(says({ ...allowed, deny: [rule] }), "ask", `${line} with ${rule}`);
        assert.equal(says({ ...allowed, ask: [rule] }), "ask", `${line} with ${rule}`);
      }
      assert.equal(says({ ...allowed, deny: ["WebFetch", "Edit", "mcp__srv"] }), "allow", line);
    }
  }
});

test("a line of more than 64 kB is unread", () => {
  assert.ok(readLine(`echo ${"a".repeat(65_531)}`).commands);
  assert.match(readLine(`echo ${"a".repeat(65_532)}`).unread!, /longer than 65536 characters/);
});

test("no command line takes rules a time that grows with a power of its length", async () => {
  const rules = {
    allow: ["Bash(echo *)", "Bash(* a * b * c)"],
    deny: ["Bash(rm *)", "Bash(git push * x)", "Read(.env)", "Edit(src/**)"],
  };
  const shapes = [
    ...[
      "su ",
      "a;",
      "a|",
      "a && ",
      "'",
      '"',
      "''",
      '""',
      "a''",
      "{",
      "[",
      "~",
      "*",
      "a*",
      "? ",
      "a=",
      "=a",
      "-c a=b ",
      "-x ",
    ],
    ...[
      "push ",
      "-C push ",
      "/a",
      "a/",
      "../",
      "<a ",
      ">a ",
      ">>a;",
      "cd a;",
      "2>&1 ",
      ">/dev/null ",
      "\n",
      "\\",
      "$(",
      "a\0",
    ],
    ...["0", "1>", "git ", "cat a|", "echo a > b\n", "cat * ", ".env "],
  ];
  const begins = ["", "echo ", "git ", "cat "];
  for (const [i, shape] of shapes.entries()) {
    for (let n = 0; n < rounds(1, begins.length, begins.length); n++) {
      const begin = begins[(i + n) % begins.length];
      const line = (size: number) => begin + shape.repeat(Math.floor(size / shape.length));
      await assertLinear(60_000, (size) => {
        const text = line(size);
        return () => ofBash(text, rules);
      });
    }
  }
});
