import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { checkHook } from "../../../lib/testing/index.ts";
import { EVERYDAY_COMMANDS, EVERYDAY_FILES } from "../../../lib/extensions/check/laws/everyday.ts";
import { reliable } from "../../../lib/extensions/check/laws/reliable.ts";
import { isProjectTool } from "../../../lib/extensions/check/project-tools.ts";
import { hookFiles, settings, SLOW } from "./_check-files.ts";
import { expectFound, GUARDS } from "./_guards.ts";

test("a guard that cannot do what it is for is a fault, and one that only looks on a warning", SLOW, async () => {
  await expectFound(GUARDS.filter(([, file]) => /needs|case|Bash\.all|Bash\.log\./.test(file)));
});

test("settings that misspell a tool are a fault, unless a server of the project has it", async () => {
  using folder = hookFiles({
    ".claude/settings.json": settings("PreToolUse", { command: "true" }, "Writ"),
    ".mcp.json": JSON.stringify({ mcpServers: { grp: { command: "true" } } }),
  });
  const { hooks: [hook] } = await checkHook(folder.path, { laws: ["guard"], runs: 1, seed: 1, cwd: folder.path });
  assert.deepEqual(hook!.findings.map(({ severity, code }) => [severity, code])[0], ["fault", "protocol.unknown-tool"]);
  assert.deepEqual(["grp_find", "Writ"].map((name) => isProjectTool(name, folder.path)), [true, false]);
});

/** What interpreters say of a program that is not there. */
const SAID: readonly string[] = [
  "hook.sh: line 2: jqq: command not found",
  "/bin/sh: 1: jqq: not found",
  "env: 'jqq': No such file or directory",
  "  File \"/usr/lib/python3.12/subprocess.py\", line 1955, in _execute_child\n    raise child_exception_type(errno_num, err_msg, err_filename)\nFileNotFoundError: [Errno 2] No such file or directory: 'jqq'",
  "Error: spawnSync jqq ENOENT\n    at Object.spawnSync (node:internal/child_process:1124:20)",
  "Error: spawn jqq ENOENT",
  "NotFound: Failed to spawn 'jqq': entity not found",
  'error: Executable not found in $PATH: "jqq"',
  "Traceback (most recent call last):\nModuleNotFoundError: No module named 'jqq'",
  "error: Cannot find package 'jqq' from '/hooks/stop.ts'",
];

test("a missing program is named in Python, Node, Deno and Bun as in a shell; a missing file is not one", () => {
  const found = (stderr: string) =>
    reliable({
      subject: { kind: "command", target: { type: "command", command: "x" }, copies: [] } as never,
      loaded: { moments: [], mode: "gate", nondeterministic: false },
      probe: { event: { hook_event_name: "PreToolUse", tool_name: "Bash" } },
      probed: { ms: 1, ran: { code: 1, signal: null, stdout: "", stderr } },
      limit: 1000,
      secrets: [],
    })[0]!;
  for (const stderr of SAID) {
    const { code, message } = found(stderr);
    assert.deepEqual([code, message.includes("It needs 'jqq'")], ["fails.missing-program", true], stderr);
  }
  const file = found("Traceback:\nFileNotFoundError: [Errno 2] No such file or directory: 'rules.txt'");
  assert.equal(file.code, "fails.crash");
  assert.match(file.fix, /^prevent what it says, or catch it/);
  assert.match(found("Traceback:\nKeyError: 'tool_input'").fix, /^check that a field is there/);
});

test("the docs list the everyday calls", () => {
  const page = readFileSync(new URL("../../../docs/test-your-hooks.md", import.meta.url), "utf8");
  for (const call of [...EVERYDAY_COMMANDS, ...EVERYDAY_FILES]) assert.ok(page.includes(`\`${call}\``), call);
});
