import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { findSubjects } from "../../../lib/extensions/check/find-subjects.ts";
import { hookFiles, settings, sh } from "./_check-files.ts";

/** What is found in a project, as the events of each hook, what was seen without running it, and problems. */
async function found(files: { readonly [path: string]: string }, path = ".", event?: string) {
  using folder = hookFiles(files);
  const { subjects, problems } = await findSubjects(path, { cwd: folder.path, env: {}, event });
  return {
    hooks: subjects.map(({ name, loaded, skip }) => [
      name,
      loaded?.moments.map(({ event, matcher }) => matcher === undefined ? event : `${event}@${matcher}`).join(" "),
      ...(skip === undefined ? [] : ["skipped"]),
    ]),
    seen: subjects.flatMap(({ seen }) => seen.map(({ code }) => code)),
    hosts: [...new Set(subjects.map(({ host }) => host))],
    problems,
    copies: subjects.flatMap(({ copies }) => copies.map(({ to }) => to)),
  };
}

/** Settings with a mistake, and the problem that is reported. */
const MISTAKES: readonly (readonly [claim: string, files: { readonly [path: string]: string }, says: RegExp])[] = [
  [
    'events outside of "hooks"',
    { "hooks/hooks.json": JSON.stringify({ Stop: [{ hooks: [{ type: "command", command: "true" }] }] }) },
    /^hooks\/hooks\.json: Cannot use 'Stop': claude reads hooks only under "hooks"/,
  ],
  [
    "an event without a list",
    { ".claude/settings.json": JSON.stringify({ hooks: { Stop: { hooks: [] } } }) },
    /Cannot use hooks\.Stop: it is not a list/,
  ],
  [
    "a type that no host has",
    { ".claude/settings.json": settings("Stop", { type: "process", command: "true" }) },
    /claude has no hooks of type 'process' and drops the whole file/,
  ],
  [
    "an event that no host has",
    { ".claude/settings.json": settings("PostTolUse", { command: "true" }) },
    /Cannot check hooks of 'PostTolUse': claude has no such event/,
  ],
  ["invalid JSON", { ".claude/settings.json": '{ "hooks": {' }, /^\.claude\/settings\.json: .*line 1, column 13/],
  ["invalid TOML", { ".codex/config.toml": "\nx = [\n" }, /\.codex\/config\.toml:3:1/],
  ["invalid YAML", { ".claude/agents/a.md": "---\nhooks:\n  Stop: [\n---\n" }, /\.claude\/agents\/a\.md:3/],
];

for (const [claim, files, says] of MISTAKES) {
  test(`settings with ${claim} are a problem, with the file and the place in it`, async () => {
    const { hooks, problems } = await found(files);
    assert.deepEqual([hooks, problems.length], [[], 1]);
    assert.match(problems[0]!, says);
  });
}

const RUN = { command: "true" };

/** Settings hooks, and the code that is reported without running them. */
const SEEN: readonly (readonly [claim: string, text: string, code: string])[] = [
  ["a matcher that is an event", settings("PostToolUse", RUN, "Stop"), "matcher-never-matches"],
  ["a matcher in another spelling", settings("PreToolUse", RUN, "bash"), "matcher-never-matches"],
  ["a matcher that is a permission rule", settings("PreToolUse", RUN, "Bash(rm *)"), "matcher-never-matches"],
  ["a way to start that there is not", settings("SessionStart", RUN, "init"), "matcher-never-matches"],
  ["a tool that is misspelled", settings("PreToolUse", RUN, "Writ"), "unknown-tool"],
  ["an 'if' at an event without a call", settings("SessionStart", { ...RUN, if: "Bash(git *)" }), "never-runs"],
];

for (const [claim, text, code] of SEEN) {
  test(`a settings hook with ${claim} is protocol.${code}, without running it`, async () => {
    assert.deepEqual((await found({ ".claude/settings.json": text })).seen, [`protocol.${code}`]);
  });
}

test("the event of a script is the one of --event, of settings that name it, or its own name, and nothing else", async () => {
  const command = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/tidy.sh';
  const files = {
    ".claude/settings.json": settings("PostToolUse", { command }, "Edit"),
    ".claude/hooks/tidy.sh": sh("exit 0"),
    ".claude/hooks/pre_tool_use.sh": sh("exit 0"),
    ".claude/hooks/SubagentStop.sh": sh("exit 0"),
    ".claude/hooks/other.sh": sh("# Stop hook: stop_hook_active", "exit 2"),
    ".claude/hooks/shared.py": "LIMIT = 3\n",
  };
  assert.deepEqual((await found(files, ".claude/hooks")).hooks, [
    ["SubagentStop.sh (SubagentStop)", "subagent-stop"],
    ["other.sh", "stop", "skipped"],
    ["pre_tool_use.sh (PreToolUse)", "pre-tool-use"],
    [".claude/settings.json#0 (tidy.sh)", "PostToolUse@Edit"],
  ]);
  const { problems } = await found(files, ".claude/hooks/other.sh");
  assert.match(problems[0]!, /^Cannot check 'other\.sh': neither its name nor settings say its event: add --event/);
  const given = await found(files, ".claude/hooks/other.sh", "pre-tool-use@Bash");
  assert.deepEqual(given.hooks, [["other.sh", "pre-tool-use@Bash"]]);
});

// Kills: looking for 'export default' in a file; taking a script for another one of its name.
test("a script belongs to a host by its folder or a hooks.json beside it, whatever is in it", async () => {
  const command = "node ${CLAUDE_PLUGIN_ROOT}/hooks/stop.js";
  const text = "export default () => {};\n";
  const files = {
    "hooks/hooks.json": settings("Stop", { command }),
    "hooks/stop.js": text,
    ".claude/hooks/stop.js": text,
    "mine/stop.js": text,
  };
  assert.deepEqual((await found(files, "hooks/stop.js")).hooks, [["hooks/hooks.json#0 (stop.js)", "Stop"]]);
  assert.deepEqual((await found(files, ".claude/hooks/stop.js")).hooks, [["stop.js (Stop)", "stop"]]);
  assert.deepEqual((await found(files, "mine/stop.js")).hooks, [["stop.js", undefined]]);
});

test("skills and agents bring hooks in their front matter: the Stop of an agent is SubagentStop", async () => {
  const head = (event: string) =>
    `---\nname: x\nhooks:\n  ${event}:\n    - hooks:\n        - { type: command, command: "true" }\n---\n\nGo on.\n`;
  const { hooks, problems } = await found({
    ".claude/skills/keep/SKILL.md": head("Stop"),
    ".claude/agents/look.md": head("Stop"),
    ".claude/agents/plain.md": "---\nname: plain\n---\n",
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(hooks.map(([, event]) => event), ["SubagentStop", "Stop"]);
});

test("a host is known by its folder, a Gemini extension by its manifest, Codex by its config.toml", async () => {
  const codex =
    '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true"\n[hooks.state."a"]\nenabled = true\n';
  assert.deepEqual((await found({ ".codex/config.toml": codex })).hosts, ["codex"]);
  assert.deepEqual((await found({ ".gemini/settings.json": settings("BeforeTool", { command: "true" }) })).hosts, [
    "gemini",
  ]);
  const extension = { "gemini-extension.json": "{}", "hooks/hooks.json": settings("BeforeTool", { command: "true" }) };
  assert.deepEqual((await found(extension)).hosts, ["gemini"]);
});

test("the files that a command line names are copied into the scratch project, with their folder if it is small", async () => {
  const { copies } = await found({
    ".claude/settings.json": settings("Stop", {
      command: 'sh "$CLAUDE_PROJECT_DIR"/scripts/look.sh; sh ask.sh; sh big/run.sh; /bin/true',
    }),
    "scripts/look.sh": "",
    "ask.sh": "",
    "big/run.sh": "",
    ...Object.fromEntries(Array.from({ length: 401 }, (_, i) => [`big/${i}.txt`, ""])),
  });
  assert.deepEqual(copies, ["project/scripts", "project/ask.sh", "project/big/run.sh"]);
});

test("a hook sees its own folder, also if something above it looks like a project", async () => {
  using folder = hookFiles({ "package.json": "{}", "a/stop.sh": sh("exit 0") });
  const { subjects: [hook] } = await findSubjects("a/stop.sh", { cwd: folder.path, env: {} });
  assert.deepEqual(hook!.visible, [folder.path, join(folder.path, "a")]);
});
