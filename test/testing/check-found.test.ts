import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { test } from "node:test";
import { check } from "../../lib/testing/check/check.ts";
import { toldHost } from "../../lib/testing/check/find/_told-event.ts";
import { switchesIn } from "../../lib/testing/check/laws/_switches.ts";
import type { CheckReport } from "../../lib/testing/check/report/report.ts";
import { checkHook } from "../../lib/testing/index.ts";
import { hookFiles, sh, SLOW } from "./_check-files.ts";

const FEW = { runs: 4, seed: 1 };

const codes = ({ hooks }: CheckReport) => hooks.map(({ findings }) => findings.map(({ code }) => code));

/** Scripts whose names tell nothing, and when their texts say that they run. */
const TOLD: readonly (readonly [claim: string, text: string, event: string])[] = [
  ["calls itself one in a comment", sh("# Stop hook: reminds of open work", "exit 0"), "Stop"],
  [
    "names its event in its answer",
    sh(`false && echo '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"x"}}'; exit 0`),
    "Stop",
  ],
  ["refuses by what a call holds", sh("x=.tool_input.command", "[ 1 = 2 ] && exit 2", "exit 0"), "PreToolUse"],
  ["formats what was written", sh("f=.tool_input.file_path", ": prettier --write", "exit 0"), "PostToolUse"],
  ["reads what a tool gave back", sh("x=.tool_response.stdout", "exit 0"), "PostToolUse"],
  ["reads the prompt", sh(`x='.prompt '`, "exit 0"), "UserPromptSubmit"],
];

for (const [claim, text, event] of TOLD) {
  test(`a script that ${claim} is asked at ${event}`, SLOW, async () => {
    using folder = hookFiles({ "tidy.sh": text });
    const { hooks: [hook], problems } = await checkHook(`${folder.path}/tidy.sh`, { ...FEW, laws: ["total"] });
    assert.deepEqual([problems, hook?.events], [[], [event]]);
  });
}

test("a folder of another host stays one, though a script in it has a name that is ours", SLOW, async () => {
  using folder = hookFiles({
    ".claude/hooks/stop.sh": sh("exit 0"),
    ".claude/hooks/check-commands.sh": sh("# PreToolUse", "exit 0"),
    ".claude/hooks/never-told.sh": "#!/bin/sh\nexit 0\n",
  });
  for (const path of [folder.path, `${folder.path}/.claude`, `${folder.path}/.claude/hooks`]) {
    const { hooks, problems } = await checkHook(path, FEW);
    assert.deepEqual(problems, []);
    assert.deepEqual(hooks.map(({ hook, skipped }) => [hook, skipped?.replace(/:.*/, "")]), [
      ["check-commands.sh (PreToolUse)", undefined],
      ["never-told.sh", "nothing tells when it runs"],
      ["stop.sh (Stop)", undefined],
    ]);
  }
});

test("a hook that is a link is checked by its own name, with the examples beside it", SLOW, async () => {
  using folder = hookFiles({
    "shared/guard.ts": `export default () => ({ action: "deny", reason: "no" });`,
    "hooks/stop.linked.examples.yaml": "- expect: continue\n",
  });
  symlinkSync("../shared/guard.ts", `${folder.path}/hooks/stop.linked.ts`);
  for (const path of ["hooks", "hooks/stop.linked.ts"]) {
    const report = await checkHook(`${folder.path}/${path}`, { ...FEW, laws: ["examples"] });
    assert.deepEqual([report.problems, codes(report)], [[], [["examples.differs"]]]);
    assert.match(report.hooks[0]!.hook, /stop\.linked\.ts$/);
  }
});

test(
  "a matcher that fits no tool is a fault of its hook alone, and a name in another spelling a warning",
  SLOW,
  async () => {
    const rules = `args.command contains "rm" -> deny("no")\n`;
    using folder = hookFiles({
      "hooks/pre-tool-use.a.rules": `# crochet: matcher="Bash(rm *)"\n${rules}`,
      "hooks/pre-tool-use@bash.b.rules": rules,
      "hooks/pre-tool-use@Bash+myTool.c.rules": rules,
      ...settings({ PreToolUse: [{ matcher: "Bash(rm *)", hooks: [{ type: "command", command: "true" }] }] }),
    });
    const told = ({ hooks }: CheckReport) => hooks.map(({ findings: [f] }) => f && `${f.severity} ${f.code} ${f.mend}`);
    const options = { ...FEW, laws: ["lawful"] } as const;
    assert.deepEqual(told(await checkHook(`${folder.path}/hooks`, options)), [
      "fault lawful.matcher write names with | between them, or an expression",
      undefined,
      "warning lawful.matcher write Bash",
    ]);
    assert.deepEqual(told(await checkHook(`${folder.path}/.claude/settings.json`, options)), [
      'fault lawful.matcher match Bash, and look at its input in the hook, or in settings by "if"',
    ]);
  },
);

test("a script finds its neighbours through the folder of its project, as in its host", SLOW, async () => {
  using folder = hookFiles({
    ".claude/hooks/stop-words.sh": sh("set -e", 'cd "$CLAUDE_PROJECT_DIR/.claude/hooks"', "cat words.txt >/dev/null"),
    ".claude/hooks/words.txt": "words\n",
  });
  assert.deepEqual(codes(await checkHook(`${folder.path}/.claude/hooks`, { ...FEW, laws: ["total"] })), [[]]);
});

const settings = (hooks: object) => ({ ".claude/settings.json": JSON.stringify({ hooks }) });
const one = (command: string, more: object = {}) => [{ hooks: [{ type: "command", command, ...more }] }];

test("the command that shows a finding again always shows it, and ends no shell but its own", SLOW, async () => {
  using folder = hookFiles(settings({ Stop: one("[ -d .git ] && echo nobody; exit ${ENDS[0]}") }));
  const { hooks: [hook] } = await checkHook(`${folder.path}/.claude/settings.json`, { ...FEW, laws: ["total"] });
  const [found] = hook!.findings;
  assert.equal(found?.code, "total.own-exit-2");
  const { stdout } = spawnSync("bash", ["-c", found!.reproduce], { encoding: "utf8", cwd: folder.path });
  assert.match(stdout, /exit code 2\n$/);
});

test("a hook that its host drops without a word is at fault, and is not asked", SLOW, async () => {
  using folder = hookFiles(settings({
    SessionStart: [...one("echo hi", { if: "Bash(git *)" }), { hooks: [{ type: "prompt", prompt: "Ready?" }] }],
    PreToolUse: one("exit 0", { if: "Bash(git *)" }),
  }));
  const report = await checkHook(`${folder.path}/.claude/settings.json`, FEW);
  assert.deepEqual(codes(report), [["lawful.never-runs"], ["lawful.never-runs"], []]);
  assert.deepEqual(report.hooks.map(({ runs }) => runs), [0, 0, 4]);
  const { checkJunit } = await import("../../lib/testing/check/report/junit.ts");
  assert.equal(checkJunit(report).match(/<failure type="lawful\.never-runs"/g)?.length, 2);
});

test("a program of another desktop is no fault of a hook, and one that is missing elsewhere is", SLOW, async () => {
  using folder = hookFiles(settings({
    Notification: [...one("no-such-notifier hi"), ...one("terminal-notifier -message hi")],
    Stop: one("afplay done.aiff"),
  }));
  const { hooks } = await checkHook(`${folder.path}/.claude/settings.json`, { ...FEW, rounds: 9 });
  assert.deepEqual(hooks.map(({ findings }) => findings.map(({ code, severity }) => [code, severity])), [
    [["total.cannot-start", "fault"]],
    [["total.missing", "warning"]],
    [["total.missing", "warning"]],
  ]);
});

test(
  "JSON on stderr is a fault where nothing comes of it, and a warning where it blocks all the same",
  SLOW,
  async () => {
    const says = `echo '{"decision":"block","reason":"Not on main"}' >&2`;
    using folder = hookFiles({
      "pre-tool-use@Bash.open.sh": sh(says, "exit 0"),
      "pre-tool-use@Bash.shut.sh": sh(says, "exit 2"),
    });
    const { hooks } = await checkHook(folder.path, { ...FEW, laws: ["lawful"] });
    assert.deepEqual(hooks.map(({ findings }) => findings.map(({ code, severity }) => [code, severity])), [
      [["lawful.json-on-stderr", "fault"]],
      [["lawful.json-on-stderr", "warning"]],
    ]);
  },
);

test("what tells the time is not taken for undecided, and what says now this, now that is", SLOW, async () => {
  using folder = hookFiles({
    "user-prompt-submit.clock.sh": sh("date '+It is %A, %d %b, %T.%N'"),
    "user-prompt-submit.moody.sh": sh('echo "Be $(tr -dc g-z < /dev/urandom | head -c 8)"'),
  });
  const { hooks } = await checkHook(folder.path, { runs: 20, seed: 1, laws: ["deterministic"] });
  assert.deepEqual(hooks.map(({ findings }) => findings.map(({ code }) => code)), [[], ["deterministic.words"]]);
});

test("a loop that lacks a program where it would go on says so, and not that it never blocked", SLOW, async () => {
  using folder = hookFiles({
    "stop.loop.sh": sh(
      "[ -f .claude/my-loop.local.md ] || exit 0",
      "set -e",
      "next=$(no-such-jq . .claude/my-loop.local.md)",
      'echo "$next" >&2; exit 2',
    ),
  });
  const { hooks: [hook], ok } = await checkHook(`${folder.path}/stop.loop.sh`, { ...FEW, rounds: 9 });
  const [found] = hook!.findings;
  assert.deepEqual([ok, found?.code, found?.event], [false, "total.cannot-start", "Stop"]);
  assert.match(found!.message, /^It needs 'no-such-jq', .* with a file \.claude\/my-loop\.local\.md/);
});

test("a loop that a variable switches on is found, and told with it", SLOW, async () => {
  using folder = hookFiles({
    "stop.strict.sh": sh('[ "${STRICT_STOP:-0}" != "1" ] && exit 0', "echo 'Once more' >&2", "exit 2"),
    "stop.quiet.sh": sh('[ "${SKIP_STOP:-1}" = "1" ] && exit 0', "echo 'Once more' >&2", "exit 2"),
  });
  const { hooks } = await checkHook(folder.path, { ...FEW, rounds: 9 });
  assert.deepEqual(hooks.map(({ hook, findings }) => [hook, findings[0]?.code]), [
    ["stop.quiet.sh", undefined],
    ["stop.strict.sh", "terminating.loops"],
  ]);
  assert.match(hooks[1]!.findings[0]!.message, /; tried with STRICT_STOP=1: refuted$/);
});

test("whose a script is, the folder it lies in tells, else the event it answers with", () => {
  const answering = (event: string) => sh(`echo '{"hookSpecificOutput":{"hookEventName":"${event}"}}'`);
  const cases: [path: string, text: string, host: string | undefined][] = [
    ["/x/.gemini/hooks/guard.sh", sh("exit 0"), "gemini"],
    ["/x/.codex/hooks/guard.sh", answering("BeforeTool"), "codex"],
    ["/x/guard.sh", answering("BeforeTool"), "gemini"],
    ["/x/guard.sh", answering("PreToolUse"), undefined],
    ["/x/guard.sh", sh("exit 0"), undefined],
  ];
  for (const [path, text, host] of cases) assert.equal(toldHost(path, text), host, `${path} ${text}`);
});

test("a variable is a switch where a hook compares it with what is not 'off', and has not set it itself", () => {
  const cases: [text: string, switches: object][] = [
    ['[ "$STRICT_STOP" != "1" ] && exit 0', { STRICT_STOP: "1" }],
    ['if (process.env.STRICT_STOP === "yes") block();', { STRICT_STOP: "yes" }],
    ['if os.environ.get("STRICT_STOP", "") == "on":', { STRICT_STOP: "on" }],
    ['[ "$STRICT_STOP" = "off" ] && exit 0', {}],
    ['[ "$SKIP_STOP" = "1" ] && exit 0', {}],
    ['STRICT_STOP=$(cat mode)\n[ "$STRICT_STOP" = "1" ] || exit 0', {}],
  ];
  for (const [text, switches] of cases) assert.deepEqual(switchesIn(text), switches, text);
});

test("hooks in Codex's config.toml are checked as Codex runs them", SLOW, async () => {
  using folder = hookFiles({
    ".codex/config.toml": `model = "m"
[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "echo all done"

[[hooks.Notification]]
[[hooks.Notification.hooks]]
type = "command"
command = "true"

[hooks.state."a:b"]
enabled = true
`,
  });
  for (const path of [folder.path, `${folder.path}/.codex`, `${folder.path}/.codex/config.toml`]) {
    const report = await checkHook(path, { ...FEW, laws: ["lawful"] });
    assert.deepEqual(codes(report), [["lawful.words"]]);
    assert.match(report.problems.join(), /'Notification' as codex has no such event/);
  }
});

test("--for holds a module to what the host can do", SLOW, async () => {
  using folder = hookFiles({
    "notification.quiet.ts": "export default () => undefined;\n",
    "post-tool-use@Bash.mask.ts": 'export default () => ({ action: "modify", value: "masked" });\n',
    "pre-tool-use@Bash.ask.ts": 'export default () => ({ action: "ask", reason: "Sure?" });\n',
  });
  const found = async (host: "claude" | "codex" | "gemini") =>
    codes(await checkHook(folder.path, { ...FEW, host, laws: ["lawful"] }));
  assert.deepEqual(await found("claude"), [[], [], []]);
  assert.deepEqual(await found("codex"), [["lawful.never-runs"], ["lawful.host"], ["lawful.host"]]);
  assert.deepEqual(await found("gemini"), [[], [], ["lawful.host"]]);
});

test("a definition's command that prints no answer is told so", SLOW, async () => {
  const definition = (name: string, command: string) =>
    `    - name: ${name}\n      type: command\n      matcher: { events: [PreToolUse] }\n      command: ${
      JSON.stringify(command)
    }\n`;
  const answer = `echo '{"action":"deny","reason":"x"}'`;
  using folder = hookFiles({
    "hooks.yaml": `hooks:\n  definitions:\n${definition("words", "echo nonsense")}${
      definition("around", `echo hi; ${answer}`)
    }${definition("fine", answer)}${definition("quiet", "true")}`,
  });
  const report = await checkHook(`${folder.path}/hooks.yaml`, { ...FEW, laws: ["lawful"] });
  assert.deepEqual(codes(report), [["lawful.words"], ["lawful.text-around-json"], [], []]);
});

test("a path without a hook is named among those that have some", SLOW, async () => {
  using folder = hookFiles({ "hooks/stop.sh": sh("exit 0"), "empty/README.md": "" });
  const { problems, ok } = await check(["hooks", "empty"], { cwd: folder.path, ...FEW });
  assert.deepEqual([problems, ok], [["Cannot check 'empty' as there is no hook in it"], false]);
});

test("a guard of words is tried with a command that somebody would run", SLOW, async () => {
  using folder = hookFiles({
    "pre-tool-use@Bash.sh": sh("case $event in *--no-verify*) echo 'Hooks must run' >&2; exit 2;; esac"),
  });
  const { hooks: [hook] } = await checkHook(`${folder.path}/pre-tool-use@Bash.sh`, { runs: 30, seed: 1 });
  assert.match(hook!.findings[0]!.message, /^It denies `git commit --no-verify/);
});
