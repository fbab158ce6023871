import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { unsetNames } from "../../lib/testing/check/find/_unset-names.ts";
import { findSubjects } from "../../lib/testing/check/find/find.ts";
import { checkHook, wordsIn } from "../../lib/testing/index.ts";
import { hookFiles, settings, sh, SLOW, WITH_JQ } from "./_check-files.ts";

/** Projects as others keep them, and all that is to be said of each. */
const PROJECTS:
  readonly (readonly [claim: string, files: { readonly [path: string]: string }, found: readonly string[]])[] = [
    [
      'events outside of "hooks" are never read',
      { "hooks/hooks.json": JSON.stringify({ Stop: [{ hooks: [{ type: "command", command: "true" }] }] }) },
      [`hooks/hooks.json: Cannot use 'Stop' as claude reads no hooks outside of "hooks": write {"hooks": {"Stop": …}}`],
    ],
    [
      "an event that has no list is told of",
      { ".claude/settings.json": JSON.stringify({ hooks: { Stop: { hooks: [] } } }) },
      ['.claude/settings.json: Cannot use hooks.Stop as it is no list: write [{ "hooks": [ … ] }]'],
    ],
    [
      "settings that cannot be read are told with their file and the place in it",
      {
        ".claude/settings.json": '{ "hooks": {',
        ".codex/config.toml": "\nx = [\n",
        ".claude/agents/look.md": "---\nname: look\nhooks:\n  Stop: [\n---\n",
      },
      [
        ".claude/settings.json: Cannot read the settings as CloseBraceExpected at line 1, column 13",
        "Cannot load .codex/config.toml:3:1 as it is not valid TOML: Invalid TOML document: invalid value",
        "Cannot load .claude/agents/look.md:4:10 as it is not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]",
      ],
    ],
    [
      "a type that no host has costs the whole file",
      { ".claude/settings.json": settings("Stop", { type: "process", command: "true" }) },
      [
        `.claude/settings.json: Cannot use hooks.Stop[0].hooks[0] as claude has no hooks of type 'process', and drops the whole file for it: write "type": "command"`,
      ],
    ],
    [
      "a matcher that is an event never matches",
      { ".claude/settings.json": settings("PostToolUse", { command: "true" }, "Stop") },
      ["lawful.matcher"],
    ],
    [
      "nobody means 10000 s",
      { ".claude/settings.json": settings("Notification", { command: "true", timeout: 10000 }) },
      [
        "total.timeout",
      ],
    ],
    [
      "an hour may be meant",
      { ".claude/settings.json": settings("Notification", { command: "true", timeout: 3600 }) },
      [],
    ],
    [
      "ten milliseconds are not ten seconds",
      { ".gemini/settings.json": settings("SessionStart", { command: "true", timeout: 10 }) },
      ["total.timeout"],
    ],
    [
      "a line that expects a file's name in a variable never gets one",
      { ".claude/settings.json": settings("PostToolUse", { command: 'echo "$CLAUDE_FILE_PATHS" >/dev/null' }, "Edit") },
      ["lawful.unset"],
    ],
    [
      "another host's variable is empty",
      { "hooks/hooks.json": settings("Stop", { command: '[ -d "$ELSE_PLUGIN_ROOT/x" ]; true' }) },
      ["lawful.unset"],
    ],
    [
      "what a script names in its project is there for it, and the folders it writes to",
      {
        ".claude/settings.json": settings(
          "PreToolUse",
          { command: '"$CLAUDE_PROJECT_DIR"/.claude/hooks/look.sh' },
          "Bash",
        ),
        ".claude/hooks/look.sh": sh(
          'cd "$CLAUDE_PROJECT_DIR" && echo x > logs/looked.txt && sh scripts/really.sh && bin/look',
        ),
        "scripts/really.sh": "exit 0\n",
        "bin/look": "#!/bin/sh\nexit 0\n",
        "logs/.keep": "",
      },
      [],
    ],
    [
      "a field that no event has says nothing",
      { ".claude/settings.json": settings("PreToolUse", { command: "jq -r '.tool // empty' >/dev/null" }, "Bash") },
      ["lawful.unknown-field"],
    ],
    [
      "a field of a file is none of the event's",
      {
        ".claude/settings.json": settings("SessionStart", { command: "jq -r '.tool' package.json 2>/dev/null; true" }),
      },
      [],
    ],
    [
      "a quote that is never closed ends every call with bash's own code 2",
      { ".claude/hooks/pre-tool-use.sh": '#!/bin/bash\necho "Looking at "$1"\ncat >/dev/null\nexit 0\n' },
      ["total.own-exit-2"],
    ],
    [
      "words for the model go nowhere where nobody reads them",
      { ".claude/settings.json": settings("PostToolUse", { command: "echo 'You must fix the lint errors'" }, "Edit") },
      ["lawful.unheard"],
    ],
    [
      "words for people are no fault",
      { ".claude/settings.json": settings("PostToolUse", { command: "echo 'Formatted 1 file'" }, "Edit") },
      [],
    ],
    [
      "a name that says session end is a stop hook where it blocks",
      {
        ".claude/hooks/session-end-notes.sh": sh(
          `case "$event" in *'"stop_hook_active":true'*) exit 0;; esac`,
          `echo '{"decision": "block", "reason": "Take notes"}'`,
        ),
      },
      [],
    ],
    [
      "a worktree needs a folder, and a hook that only takes notes gives none",
      { ".claude/settings.json": settings("WorktreeCreate", { command: "cat >/dev/null" }) },
      ["lawful.no-path"],
    ],
    ["a worktree has one", { ".claude/settings.json": settings("WorktreeCreate", { command: 'echo "$PWD/x"' }) }, []],
    [
      "a script of Gemini's folder is asked about Gemini's events",
      { ".gemini/hooks/before-tool.sh": sh(`echo '{"decision":"deny","reason":"Not here"}'`) },
      [],
    ],
  ];

for (const [claim, files, expected] of PROJECTS) {
  const options = JSON.stringify(files).includes("jq ") ? WITH_JQ : SLOW;
  test(`hooks as others keep them: ${claim}`, options, async () => {
    using folder = hookFiles(files);
    const scripts = join(folder.path, ".gemini/hooks");
    const path = ".gemini/hooks/before-tool.sh" in files ? scripts : folder.path;
    const { hooks, problems } = await checkHook(path, {
      cwd: folder.path,
      runs: 4,
      seed: 1,
      laws: ["total", "lawful"],
    });
    // Ten milliseconds may be enough for `true`, or not.
    const found = hooks.flatMap(({ findings }) => findings.map(({ code }) => code)).filter((code) =>
      code !== "total.late"
    );
    assert.deepEqual([...problems, ...found], expected);
    if (path === scripts) assert.deepEqual(hooks[0]!.events, ["BeforeTool"]);
  });
}

test("skills and agents bring hooks at their head: an agent's Stop is a subagent's", SLOW, async () => {
  const head = (event: string, command: string) =>
    `---\nname: x\nhooks:\n  ${event}:\n    - hooks:\n        - type: command\n          command: '${command}'\n---\n\nGo on.\n`;
  using folder = hookFiles({
    ".claude/skills/keep/SKILL.md": head("Stop", 'sh "$CLAUDE_SKILL_DIR/keep.sh"'),
    ".claude/skills/keep/keep.sh": sh("echo 'Not yet' >&2", "exit 2"),
    ".claude/agents/look.md": head("Stop", "cat >/dev/null"),
    ".claude/agents/plain.md": "---\nname: plain\n---\n",
  });
  const { hooks, problems } = await checkHook(folder.path, { cwd: folder.path, runs: 4, seed: 1 });
  assert.deepEqual(problems, []);
  assert.deepEqual(hooks.map(({ events, findings }) => [events, findings.map(({ code }) => code)]), [
    [["SubagentStop"], []],
    [["Stop"], ["terminating.loops"]],
  ]);
});

test("a guard of paths is not told that a relative one passes: Claude Code makes them absolute", SLOW, async () => {
  using folder = hookFiles({
    "pre-tool-use@Write.sh": sh(
      'case "$event" in *"\\"file_path\\":\\"$PWD/.env\\""*) echo no >&2; exit 2;; esac',
    ),
  });
  const { hooks: [hook] } = await checkHook(folder.path, { runs: 20, seed: 1, laws: ["guard"] });
  const ways = hook!.findings.flatMap(({ trace = [] }) => trace.map((line) => line.split(":")[0]));
  assert.deepEqual(ways, ["./ in the path", "../ in the path", "two slashes", "a symbolic link"]);
});

/** Texts, and the variable each waits for in vain. */
const TEXTS: readonly (readonly [text: string, name: string | undefined])[] = [
  ['[ "$CLAUDE_TOOL_NAME" = Bash ] || exit 0', "CLAUDE_TOOL_NAME"],
  ['name = os.environ.get("CLAUDE_TOOL_INPUT")', "CLAUDE_TOOL_INPUT"],
  ["const file = process.env.CLAUDE_FILE_PATH", "CLAUDE_FILE_PATH"],
  ['n=$(cat "$FILE"); jq -r .phase "$FILE"; echo "$CLAUDE_OUTPUT"', "CLAUDE_OUTPUT"],
  ['while IFS= read -r line; do :; done < list; echo "$TOOL_INPUT"', "TOOL_INPUT"],
  ["prettier --write $(jq -r '.tool_input.file_path') # $CLAUDE_FILE_PATHS", undefined],
  ['input=$(cat); file=${CLAUDE_FILE_PATH:-$(echo "$input" | jq -r .x)}', undefined],
  ['TOOL_INPUT=$(head -c 100)\necho "$TOOL_INPUT"', undefined],
  ["# $CLAUDE_TOOL_NAME is gone\necho $CLAUDE_PROJECT_DIR", undefined],
  ["read -r line\necho $TOOL_NAME", undefined],
  ["const root = process.env.CLAUDE_PLUGIN_ROOT || process.env.CODEX_PLUGIN_ROOT", undefined],
  ["const root = process.env.CODEX_PLUGIN_ROOT", "CODEX_PLUGIN_ROOT"],
  ["data = json.load(sys.stdin) or os.environ['CLAUDE_TOOL_INPUT']", undefined],
];

test("a variable that no host sets is named, unless the event is read from stdin too", () => {
  for (const [text, name] of TEXTS) {
    const [found] = unsetNames(text, "claude");
    assert.equal(/\$(\w+)/.exec(found?.message ?? "")?.[1], name, text);
  }
});

test("wordsIn() reads what bash compares without quotes, and goes on where a pattern ends in a blank", () => {
  assert.deepEqual(wordsIn("[[ $text =~ ^p:(hint|quit) ]] && x"), ["p:hint", "p:quit"]);
  assert.deepEqual(wordsIn("grep -q 'git -C '"), ["git -C x"]);
});

test("a hook sees its own folder, also where something above it looks like a project", async () => {
  using folder = hookFiles({ "package.json": "{}", "a/stop.sh": sh("exit 0") });
  const { subjects: [hook] } = await findSubjects("a/stop.sh", { cwd: folder.path, env: {} });
  assert.deepEqual(hook!.visible, [folder.path, join(folder.path, "a")]);
});

test("a stop hook that means 1 to block is at fault, also where only a file of its own makes it", SLOW, async () => {
  using folder = hookFiles({
    ".claude/hooks/stop.sh": sh(
      'TASK_FILE="vault/now/task.md"',
      '[ -f "$TASK_FILE" ] || exit 0',
      "echo Go on",
      "exit 1",
    ),
  });
  const { hooks: [hook] } = await checkHook(join(folder.path, ".claude/hooks"), { runs: 4, seed: 1 });
  assert.deepEqual(hook!.findings.map(({ code }) => code), ["lawful.exit-1"]);
  assert.match(hook!.findings[0]!.message, /says 'Go on' with a file vault\/now\/task\.md: only code 2 blocks/);
});

test("a guard that looks for secrets is shown some, and its refusal is judged", SLOW, async () => {
  const looks = `case "$event" in *AKIA*|*'BEGIN RSA'*) echo 'Keep secrets out' >&2; exit 1;; esac`;
  using folder = hookFiles({ "pre-tool-use@Write.sh": sh(looks) });
  const { hooks: [hook] } = await checkHook(folder.path, { runs: 4, seed: 1, laws: ["lawful"] });
  assert.deepEqual(hook!.findings.map(({ code }) => code), ["lawful.exit-1"]);
});

/** Stop hooks that nothing here makes block, and whether that is worth a word. */
const UNTRIED: readonly (readonly [claim: string, text: string, told: boolean])[] = [
  ["could block for good", sh("[ -e packages/no-such/file ] || exit 0", "echo no >&2", "exit 2"), true],
  [
    "lets go when it is told",
    sh(
      `case "$event" in *'"stop_hook_active":true'*) exit 0;; esac`,
      "[ -e packages/no-such/file ] || exit 0",
      "echo no >&2",
      "exit 2",
    ),
    false,
  ],
  ["never blocks", sh("git status --short >&2", "exit 0"), false],
];

for (const [claim, text, told] of UNTRIED) {
  test(`a Stop hook that ${claim} and never blocked here is ${told ? "" : "not "}warned of`, SLOW, async () => {
    using folder = hookFiles({ ".claude/hooks/finish-stop.sh": text });
    const { hooks: [hook], ok } = await checkHook(join(folder.path, ".claude/hooks"), { runs: 4, seed: 1 });
    assert.equal(ok, true);
    assert.deepEqual(hook!.findings.map(({ code }) => code), told ? ["terminating.untried"] : []);
  });
}
