import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHook } from "../../lib/testing/index.ts";
import { hookFiles, sh, SLOW } from "./_check-files.ts";

/** Hooks as people write them, and all that is to be said of each. */
const HOOKS: readonly (readonly [claim: string, file: string, text: string, codes: readonly string[]])[] = [
  [
    "keeps the code it ends with in a variable, and means 1 to refuse",
    "pre-tool-use@Bash.sh",
    sh("no=0", "case $event in *'npm publish'*) no=1;; esac", "exit $no"),
    ["lawful.exit-1"],
  ],
  [
    "ends with the code of its last test",
    "pre-tool-use@Bash.sh",
    sh("case $event in *'npm publish'*) false;; esac"),
    ["total.silent-exit"],
  ],
  ["asks a program that is not there, and goes on", "pre-tool-use@Bash.sh", sh("x=$(no-such-jq .a)", "exit 0"), [
    "total.missing",
  ]],
  ["is run by a program that is not there", "pre-tool-use@Bash.py", "#!/usr/bin/env no-such-uv\nexit(0)\n", [
    "total.cannot-start",
  ]],
  ["says itself that a program is not there", "stop.sh", sh("echo 'prettier not found, skipped' >&2"), []],
];

for (const [claim, file, text, codes] of HOOKS) {
  test(`a hook that ${claim}: ${codes.join(", ") || "nothing"}`, SLOW, async () => {
    using folder = hookFiles({ [file]: text });
    const { hooks: [hook] } = await checkHook(`${folder.path}/${file}`, {
      runs: 60,
      seed: 1,
      laws: ["total", "lawful"],
    });
    assert.deepEqual(hook!.findings.map(({ code }) => code), codes);
    const [found] = hook!.findings;
    if (found && /missing|cannot-start/.test(found.code)) {
      assert.match(found.message, /^It needs 'no-such-\w+', which is not installed here; .* fails open$/);
    }
  });
}

const BLOCK = `echo '{"decision":"block","reason":"Once more"}'`;
const NODE_GUARD = `let text = "";
process.stdin.on("data", (data) => text += data).on("end", () => {
  const { tool_input } = JSON.parse(text);
  if (!String(tool_input.command).includes("npm publish")) return;
  console.error("Not from here");
  process.exit(2);
});
`;

/** Names as others give them, or none, and the event that is found. */
const NAMED: readonly (readonly [file: string, text: string, event: string])[] = [
  ["stop-hook.sh", sh("exit 0"), "Stop"],
  ["pre_tool_use.sh", sh("exit 0"), "PreToolUse"],
  ["userpromptsubmit.sh", sh("exit 0"), "UserPromptSubmit"],
  ["SubagentStop.sh", sh("exit 0"), "SubagentStop"],
  ["guard.sh", sh("# PreToolUse: looks at commands", "exit 0"), "PreToolUse"],
  ["finish.sh", sh(`case "$event" in *'"stop_hook_active":true'*) exit 0;; esac`), "Stop"],
  ["guard.cjs", `// A PreToolUse hook\n${NODE_GUARD}`, "PreToolUse"],
];

for (const [file, text, event] of NAMED) {
  test(`a script '${file}' of another host is asked at ${event}`, SLOW, async () => {
    using folder = hookFiles({ [file]: text });
    const { hooks: [hook], problems, ok } = await checkHook(`${folder.path}/${file}`, {
      runs: 2,
      seed: 1,
      laws: ["total"],
    });
    assert.deepEqual([problems, hook?.events, ok], [[], [event], true]);
  });
}

test("a script of node that reads stdin is run as a command, though a module could have its name", SLOW, async () => {
  using folder = hookFiles({ "guard.js": NODE_GUARD, "pre-tool-use@Bash.js": NODE_GUARD });
  const given = await checkHook(`${folder.path}/guard.js`, {
    event: "PreToolUse@Bash",
    runs: 4,
    seed: 1,
    laws: ["total", "guard"],
  });
  const named = await checkHook(`${folder.path}/pre-tool-use@Bash.js`, { runs: 4, seed: 1, laws: ["total", "guard"] });
  for (const { hooks: [hook] } of [given, named]) {
    assert.deepEqual([hook!.kind, [...new Set(hook!.findings.map(({ code }) => code))]], ["command", ["guard.bypass"]]);
  }
});

test(
  "a script that settings name is asked as they say, and one that nothing tells of needs --event",
  SLOW,
  async () => {
    const command = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/tidy.sh';
    using folder = hookFiles({
      ".claude/settings.json": JSON.stringify({
        hooks: { PostToolUse: [{ matcher: "Edit", hooks: [{ type: "command", command }] }] },
      }),
      ".claude/hooks/tidy.sh": sh("exit 0"),
      ".claude/hooks/other.sh": sh("exit 0"),
    });
    const tidy = await checkHook(`${folder.path}/.claude/hooks/tidy.sh`, { runs: 2, seed: 1 });
    assert.deepEqual([tidy.hooks.map(({ events }) => events), tidy.ok], [[["PostToolUse"]], true]);
    const other = await checkHook(`${folder.path}/.claude/hooks/other.sh`, { runs: 2, seed: 1 });
    assert.match(other.problems.join(), /^Cannot check 'other\.sh' as .*: add --event /);
  },
);

test(
  "a folder of another host's scripts is read as such: helpers and folders in it are no mistakes",
  SLOW,
  async () => {
    using folder = hookFiles({
      ".claude/hooks/stop_hook.sh": sh(BLOCK),
      ".claude/hooks/session_start.sh": sh("exit 0"),
      ".claude/hooks/shared.py": "LIMIT = 3\n",
      ".claude/hooks/lib/more.py": "",
      ".claude/hooks/README.md": "",
    });
    for (const path of [folder.path, `${folder.path}/.claude/hooks`]) {
      const { hooks, problems } = await checkHook(path, { runs: 2, seed: 1, rounds: 8 });
      assert.deepEqual(problems, []);
      assert.deepEqual(hooks.map(({ hook }) => hook), ["session_start.sh (SessionStart)", "stop_hook.sh (Stop)"]);
      assert.deepEqual(hooks.map(({ findings }) => findings.map(({ code }) => code)), [[], ["terminating.loops"]]);
    }
  },
);

test("a script finds what lies above it, and is asked about the tools it names alone", SLOW, async () => {
  using folder = hookFiles({
    "scripts/hooks/pre_tool_use.js": `#!/usr/bin/env node
const { known } = require("../lib/known.js");
let text = "";
process.stdin.on("data", (data) => text += data).on("end", () => {
  const { tool_name } = JSON.parse(text);
  if (!known.includes(tool_name)) throw new Error("unknown tool " + tool_name);
  if (tool_name === "Edit" || tool_name === "Write") return;
});
`,
    "scripts/lib/known.js": `exports.known = ["Edit", "Write"];\n`,
  });
  const { hooks: [hook] } = await checkHook(`${folder.path}/scripts/hooks/pre_tool_use.js`, { runs: 10, seed: 1 });
  assert.deepEqual(hook!.findings, []);
});
