import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { discover, readHookFile } from "../../lib/hooks/discover.ts";
import { readHeader } from "../../lib/hooks/file/hook-record.ts";
import { programOf } from "../../lib/process/programs.ts";
import { scratch } from "../_scratch.ts";

/** A folder of empty files. */
const empty = (...names: string[]) => scratch(Object.fromEntries(names.map((name) => [name, ""])));

test("U4: files come in the order of priority, then name", () => {
  using folder = empty("stop.b.sh", "20-stop.sh", "stop.a.sh", "5-stop.z.sh", "100-stop.c.sh");
  const names = discover(folder.path).files.map((file) => file.name);
  assert.deepEqual(names, ["5-stop.z.sh", "20-stop.sh", "100-stop.c.sh", "stop.a.sh", "stop.b.sh"]);
});

test("every file loads or is a problem that names it; nothing is passed over in silence", () => {
  const skipped = ["_shared.ts", ".hidden", "stop.test.ts", "README.md", "x.examples.yaml"];
  using folder = empty("stop.sh", "stp.sh", "notes.txt", ...skipped);
  mkdirSync(`${folder.path}/more`);
  symlinkSync("/nowhere/at/all", `${folder.path}/stop.gone.sh`);
  const { files, problems } = discover(folder.path);
  assert.deepEqual(files.map((file) => file.name), ["stop.sh"]);
  assert.deepEqual(problems.map((problem) => problem.file), ["more", "notes.txt", "stop.gone.sh", "stp.sh"]);
  for (const { file, message } of problems) {
    assert.ok(message.startsWith(`Cannot load hook '${file}' as `), message);
  }
  assert.match(problems[0]!.message, /it is not a file: put what hooks share into '_more'/);
});

test("U1: what is put aside is a problem also if it may be run, and does not run", () => {
  const put = ["stop.k.sh.disabled", "stop.k.sh.orig", "stop.k.swp", "stop.bak", "stop.k.v2"];
  using folder = scratch(Object.fromEntries(["stop.k.sh", "stop.k", ...put].map((name) => [name, "#!/bin/sh\n"])));
  for (const name of [...put, "stop.k"]) chmodSync(`${folder.path}/${name}`, 0o755);
  const { files, problems } = discover(folder.path);
  assert.deepEqual(files.map(({ name }) => name), ["stop.k", "stop.k.sh"]);
  assert.deepEqual(problems.map(({ file }) => file), put.sort());
});

test("a hook is identified by its real path and loads once", () => {
  using folder = scratch({ "stop.a.sh": "x" });
  using elsewhere = scratch({ "stop.c.sh": "y" });
  symlinkSync(`${folder.path}/stop.a.sh`, `${folder.path}/stop.b.sh`);
  symlinkSync(`${elsewhere.path}/stop.c.sh`, `${folder.path}/10-stop.c.sh`);
  const { files, problems } = discover(folder.path);
  assert.deepEqual(files.map((file) => [file.name, file.path]), [
    ["10-stop.c.sh", `${elsewhere.path}/stop.c.sh`],
    ["stop.a.sh", `${folder.path}/stop.a.sh`],
  ]);
  assert.match(problems[0]!.message, /'stop\.b\.sh' as it is the same file as 'stop\.a\.sh'/);
});

test("a link is a hook by its own name, wherever it is read; one of another name is what it leads to", () => {
  using elsewhere = scratch({ "shared.ts": "x", "stop.c.sh": "y" });
  using folder = scratch();
  const at = `${folder.path}/pre-tool-use@Bash.guard.ts`;
  symlinkSync(`${elsewhere.path}/shared.ts`, at);
  const found = discover(folder.path).files[0]!;
  assert.deepEqual([found.name, found.at, found.path], [basename(at), at, `${elsewhere.path}/shared.ts`]);
  assert.deepEqual(readHookFile(at), found);
  symlinkSync(`${elsewhere.path}/stop.c.sh`, `${folder.path}/current.sh`);
  const { name, path } = readHookFile(`${folder.path}/current.sh`);
  assert.deepEqual([name, path], ["stop.c.sh", `${elsewhere.path}/stop.c.sh`]);
});

test("a link that leads nowhere is reported with its target", () => {
  using folder = scratch();
  symlinkSync("../gone/guard.ts", `${folder.path}/pre-tool-use.guard.ts`);
  const { problems: [problem] } = discover(folder.path);
  assert.match(problem!.message, /it is a link that leads nowhere: put a file at '\.\.\/gone\/guard\.ts'$/);
  assert.equal(problem!.hook?.on.event, "pre-tool-use");
});

test("a file of an unknown extension is a hook if it is a program, and only then", () => {
  using folder = scratch({
    "stop.lua": "#!/usr/bin/lua\n",
    "stop": "#!/bin/sh\n",
    "session-end.lua": "#!/usr/bin/lua\n",
  });
  chmodSync(`${folder.path}/stop.lua`, 0o755);
  chmodSync(`${folder.path}/stop`, 0o755);
  const { files, problems } = discover(folder.path);
  assert.deepEqual(files.map((file) => file.name), ["stop", "stop.lua"]);
  assert.deepEqual(problems.map((problem) => problem.file), ["session-end.lua"]);
});

test("a script is started by itself if it can be, else by what its first line or its extension names", () => {
  using folder = scratch({
    "stop.sh": "echo hi",
    "stop.py": "#!/usr/bin/env -S python3 -u\n",
    "stop.rb": "",
    "stop.x.sh": "#!/bin/bash -eu\n",
    "stop.y.sh": "#!/bin/bash\n",
  });
  for (const name of ["stop.sh", "stop.x.sh"]) chmodSync(`${folder.path}/${name}`, 0o644);
  const start = (name: string) => {
    const { command, args } = programOf(readHookFile(`${folder.path}/${name}`));
    return [command, ...args].map((word) => word.replace(`${folder.path}/`, "")).join(" ");
  };
  assert.equal(start("stop.sh"), "/bin/sh stop.sh");
  assert.equal(start("stop.py"), "/usr/bin/env -S python3 -u stop.py");
  assert.equal(start("stop.rb"), "/usr/bin/env ruby stop.rb");
  assert.equal(start("stop.x.sh"), "/bin/bash -eu stop.x.sh");
  assert.equal(start("stop.y.sh"), "stop.y.sh");
});

test("an event that is given stands in for what the name does not say", () => {
  using folder = scratch({ "check.sh": "", "notes.json": "{}" });
  const { event, tools, name } = readHookFile(`${folder.path}/check.sh`, "PreToolUse@Bash");
  assert.deepEqual([event, tools, name], ["pre-tool-use", ["Bash"], "check.sh"]);
  assert.throws(() => readHookFile(`${folder.path}/check.sh`, "stpo"), /did you mean 'stop'/);
  // Of the file that was named, never of the name that stands in for it.
  assert.throws(
    () => readHookFile(`${folder.path}/notes.json`, "stop"),
    /hook 'notes\.json' as it is not a hook: /,
  );
  assert.throws(() => readHookFile(folder.path), /as it is a folder: name one file of it; 'crochet hooks check' tries/);
  assert.throws(() => readHookFile(`${folder.path}/none.sh`), /hook 'none\.sh' as there is no such file: /);
});

test("the header line of a text hook is its config", () => {
  const header =
    `#!/bin/sh\n# Some words.\n# crochet: timeout=5 onError=deny matcher="mcp__.* \\"x\\"" mode=observe scope=all nondeterministic\n`;
  assert.deepEqual(readHeader(header), {
    timeout: 5,
    onError: "deny",
    matcher: 'mcp__.* "x"',
    mode: "observe",
    scope: "all",
    nondeterministic: true,
  });
  assert.deepEqual(readHeader("# crochet: also=post-tool-use@Read,stop nondeterministic=false"), {
    also: ["post-tool-use@Read", "stop"],
    nondeterministic: false,
  });
  assert.deepEqual(readHeader(`# crochet: matcher="\\bBash\\b"`), { matcher: "\\bBash\\b" });
  assert.deepEqual(readHeader("echo crochet: timeout=5"), {});
  assert.deepEqual(readHeader(`#!/bin/sh\n${"# of a licence\n".repeat(20)}\n# crochet: timeout=5\nexit 0`), {
    timeout: 5,
  });
  for (const end of ["\n", "\r\n"]) {
    const front = ["---", "model: m", "# A mark \u2028 of lines", "# crochet: onError=deny", "---", ""].join(end);
    assert.deepEqual(readHeader(front), { onError: "deny" });
  }
  assert.deepEqual(readHeader(`${"true\n".repeat(20)}# crochet: timeout=5`), {});
});

test("a byte order mark hides no header, and makes no program of a script", () => {
  using folder = scratch({
    "stop.a.sh": "\uFEFF# crochet: onError=deny\nexit 1\n",
    "stop.b.sh": "\uFEFF#!/bin/sh\nexit 0\n",
  });
  chmodSync(`${folder.path}/stop.b.sh`, 0o755);
  const [marked, script] = discover(folder.path).files;
  assert.deepEqual(readHeader(marked!.text), { onError: "deny" });
  assert.equal(script!.executable, false);
  assert.deepEqual(programOf(script!), { command: "/bin/sh", args: [script!.path] });
});

test("a mistake in the header is an error that says what would be right", () => {
  const cases: [string, RegExp][] = [
    ["# crochet: timeot=5", /option 'timeot' is unknown: did you mean 'timeout'\?/],
    ["# crochet: timeout=5s", /'timeout' must be a number of seconds: current value is "5s"$/],
    ["# crochet: timeout=0", /must be a number of seconds: current value is 0$/],
    ["# crochet: onError=maybe", /'onError' must be "continue" or "deny" or "abort"/],
    ["# crochet: mode", /'mode' must be "gate" or "observe" or "async": current value is true/],
    ["# crochet: =5", /Cannot read '=5' in the '# crochet:' line: write key=value/],
    ["# crochet: timeout=5\n# crochet: mode=gate", /a second '# crochet:' line/],
  ];
  for (const [text, message] of cases) assert.throws(() => readHeader(text), message, text);
});
