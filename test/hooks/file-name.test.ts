import assert from "node:assert/strict";
import { test } from "node:test";
import { BadFileName, isSkipped, parseFileName, parseMoment } from "../../lib/hooks/file/file-name.ts";

test("DESIGN 3: a file's name says event, tools, priority, label and kind", () => {
  const cases: [string, string][] = [
    ["stop.sh", "stop - - - command"],
    ["stop.tests-pass.ts", "stop - - tests-pass module"],
    ["10-pre-tool-use@Bash.no-force-push.sh", "pre-tool-use Bash 10 no-force-push command"],
    ["pre-tool-use@Edit+Write.read-first.ts", "pre-tool-use Edit,Write - read-first module"],
    ["pre-tool-use@mcp__srv__echo.mjs", "pre-tool-use mcp__srv__echo - - module"],
    ["0-stop.js", "stop - 0 - module"],
    ["9999-stop.py", "stop - 9999 - command"],
    ["subagent-stop.rb", "subagent-stop - - - command"],
    ["post-tool-use-failure@Bash.pl", "post-tool-use-failure Bash - - command"],
    ["pre-generation.x.rules", "pre-generation - - x rules"],
    ["pre-tool-use.guard.rules.yaml", "pre-tool-use - - guard rules"],
    ["pre-tool-use.rules.yaml", "pre-tool-use - - - rules"],
    ["pre-tool-use.review.prompt.md", "pre-tool-use - - review prompt"],
    ["stop.v1.2.sh", "stop - - v1.2 command"],
    ["error@Bash.sh", "error Bash - - command"],
  ];
  for (const [file, expected] of cases) {
    const { event, tools, priority, label, kind } = parseFileName(file);
    assert.equal(`${event} ${tools.join() || "-"} ${priority ?? "-"} ${label ?? "-"} ${kind}`, expected, file);
  }
});

test("an executable with a #! line needs no extension", () => {
  assert.equal(parseFileName("stop", { executable: true }).kind, "command");
  for (const name of ["stop.lua", "10-stop.check", "pre-tool-use@Bash+Edit.mine", "stop.backup", "stop.spec"]) {
    const { label, ext } = parseFileName(name, { executable: true });
    assert.deepEqual([label, ext], [name.split(".")[1], ""], name);
  }
  assert.throws(() => parseFileName("stop"), BadFileName);
});

test("U1: an executable is no hook if its name is that of a copy, or ends in more than one label", () => {
  const aside = ["bak", "disabled", "off", "old", "orig", "rej", "save", "swp", "tmp", "BAK"];
  const names = [
    ...aside.flatMap((label) => [`stop.${label}`, `stop.k.sh.${label}`, `pre-tool-use@Bash.${label}`]),
    ...["stop~", "stop.k~", "stop.k.sh~", "stop.k.txt", "stop.check.lua", "stop.", "stop..x"],
  ];
  for (const name of names) {
    assert.throws(() => parseFileName(name, { executable: true }), BadFileName, name);
    assert.throws(() => parseFileName(name), BadFileName, name);
  }
  assert.throws(
    () => parseFileName("stop.k.sh.orig", { executable: true }),
    /'\.orig': to keep it and not run it, begin/,
  );
  assert.throws(() => parseFileName("stop.check.lua", { executable: true }), /'\.lua': did you mean 'stop\.check\.sh'/);
});

test("a name that names no hook is an error with the nearest name that does", () => {
  const cases: [string, RegExp][] = [
    ["stp.tests.ts", /'stp' is not an event: did you mean 'stop\.tests\.ts'\?/],
    ["PreToolUse.sh", /'PreToolUse' is not an event: did you mean 'pre-tool-use\.sh'\?/],
    ["pre_tool_use@Bash.sh", /did you mean 'pre-tool-use@Bash\.sh'\?/],
    ["stop.yaml", /hooks do not have the extension '\.yaml': did you mean 'stop\.rules\.yaml'\?/],
    ["stop.check.md", /did you mean 'stop\.check\.prompt\.md'\?/],
    ["stop.cjs", /did you mean 'stop\.mjs'\?/],
    ["stop", /it has no extension and is not an executable/],
    ["12345-stop.sh", /priority 12345 has more than four digits: did you mean '1234-stop\.sh'\?/],
    ["stop@Bash.sh", /'stop' has no tools to match: leave out '@Bash'/],
    ["pre-tool-use@.sh", /'' is not the name of a tool: did you mean 'pre-tool-use\.sh'\?/],
    ["pre-tool-use@Ba sh.sh", /'Ba sh' is not the name of a tool: did you mean 'pre-tool-use@Bash\.sh'\?/],
    [
      "pre-tool-use@Edit,Write.sh",
      /'Edit,Write' is not the name of a tool: did you mean 'pre-tool-use@Edit\+Write\.sh'\?/,
    ],
    ["pre-tool-use@Edit|Write.sh", /did you mean 'pre-tool-use@Edit\+Write\.sh'\?/],
    ["stop..sh", /its label '' is not made of/],
    ["stop.a b.sh", /its label 'a b' is not made of.*did you mean 'stop\.ab\.sh'\?/],
    ["stop.sh~", /hooks do not have the extension '\.sh~': to keep it and not run it, begin its name with '_'/],
    ["stop.ts.disabled", /extension '\.disabled': to keep it and not run it, begin its name with '_'/],
    ["stop.TS", /extension '\.TS': did you mean 'stop\.ts'\?/],
    ["stop.x.Rules.YML", /did you mean 'stop\.x\.rules\.yaml'\?/],
    ["stop.prompt.txt", /did you mean 'stop\.prompt\.md'\?/],
    ["00010-stop.sh", /did you mean '10-stop\.sh'\?/],
    [
      "settings.json",
      /it is a list of hooks: it is read as \.claude\/settings\.json; 'crochet hooks check' tries each/,
    ],
    ["hook.toml", /it is a list of hooks: it is read as \.agent\/hook\.toml; /],
    ["hooks.yaml", /it is a list of hooks: it is read as hooks\.yaml of the project; /],
    ["notes.txt", /it is not a hook: begin its name with .?_/],
    [".sh", /it names no event/],
  ];
  for (const [file, message] of cases) {
    assert.throws(() => parseFileName(file), (error) => {
      assert.ok(error instanceof BadFileName);
      assert.match(error.message, message);
      assert.match(error.message, /^Cannot load hook '/);
      return true;
    }, file);
  }
});

test("helpers, hidden files, tests, examples, types and manuals are passed over, and nothing else", () => {
  for (
    const file of [
      "_x.ts",
      ".x",
      ".gitkeep",
      "stop.test.ts",
      "stop.spec.ts",
      "pre-tool-use@Bash.guard.spec.sh",
      "a.test.sh",
      "x.examples.yaml",
      "x.d.ts",
      "README",
      "README.md",
    ]
  ) {
    assert.ok(isSkipped(file), file);
  }
  for (
    const file of [
      "stop.ts",
      "stop.testing.ts",
      "stop.spec-1.ts",
      "stop.spec",
      "examples.yaml",
      "readme.md",
      "d.ts",
      "stop.README.ts",
    ]
  ) {
    assert.ok(!isSkipped(file), file);
  }
});

test("a moment is read as the beginning of a name", () => {
  assert.deepEqual(parseMoment("post-tool-use@Read+Edit").tools, ["Read", "Edit"]);
  assert.throws(() => parseMoment("post-tool-us@Read"), /Cannot listen to .* did you mean 'post-tool-use@Read'\?/);
});
