import assert from "node:assert/strict";
import { test } from "node:test";
import hooks from "../../lib/cli/hooks.ts";
import type { CheckReport } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";

/** Real processes on a busy machine. */
const SLOW = { timeout: 120_000 };

const GOOD = "#!/bin/sh\ncat > /dev/null\n";
const LOOPS = '#!/bin/sh\ncat > /dev/null\necho \'{"decision":"block","reason":"more"}\'\n';
const FEW = ["--runs", "4", "--rounds", "10", "--seed", "7"];

test("hooks check says what each hook was held to, and exits 0 where no law is broken", SLOW, async () => {
  using here = place({ "hooks/notification.sh": GOOD, "hooks/session-start.sh": GOOD });
  const { out, code } = await here.call(hooks, "check", ...FEW);
  assert.equal(code, 0);
  assert.match(out, /^✓ notification\.sh {2}4 runs · p50 [\d.]+ m?s, p95 [\d.]+ m?s$/m);
  assert.match(
    out,
    /^2 hooks, none at fault · seed 7 · 4 runs each · (?:in bubblewrap|without a sandbox.*) · [\d.]+ s$/m,
  );
});

test("hooks check exits 1 at a fault, with the play, the mend and the line that shows it again", SLOW, async () => {
  using here = place({ "hooks/stop.sh": LOOPS, "hooks/notification.sh": GOOD });
  const { out, code } = await here.call(hooks, "check", "hooks/stop.sh", ...FEW);
  assert.equal(code, 1);
  assert.match(out, /^✗ stop\.sh/m);
  assert.match(out, /^ {2}terminating\.loops at Stop$/m);
  assert.match(out, /still blocking after 10 rounds .*refuted$/m);
  assert.match(out, /round 1 {2}model calls Edit, says 'Okay\.' → blocked: more/);
  assert.match(out, /^ {4}mend {3}let go when stop_hook_active is true/m);
  assert.match(out, /^ {4}again {2}crochet hooks check hooks\/stop\.sh --seed 7 --runs 4 --rounds 10$/m);
  assert.match(out, /^1 hook, 1 at fault/m);
});

test("hooks check gives all of it as data, and as JUnit", SLOW, async () => {
  using here = place({ "hooks/stop.sh": LOOPS });
  const data = await here.call(hooks, "check", ...FEW, "--json");
  assert.equal(data.code, 1);
  const report: CheckReport = JSON.parse(data.out);
  assert.deepEqual([report.ok, report.seed, report.runs, report.host], [false, 7, 4, "claude"]);
  const [finding] = report.hooks[0]!.findings;
  assert.deepEqual([finding!.law, finding!.code, finding!.hook, finding!.event, finding!.seed], [
    "terminating",
    "terminating.loops",
    "stop.sh",
    "Stop",
    7,
  ]);
  const junit = await here.call(hooks, "check", ...FEW, "--junit");
  assert.equal(junit.code, 1);
  assert.match(junit.out, /<testsuite name="crochet hooks check" tests="8" failures="1" errors="0">/);
  assert.match(
    junit.out,
    /<testcase classname="hooks\/stop\.sh" name="stop\.sh: terminating">\n {6}<failure type="terminating\.loops"/,
  );
});

/** A mistake in the call, and the sentence for it. */
const MISTAKES: readonly (readonly [args: readonly string[], says: RegExp])[] = [
  [["nowhere.sh"], /Cannot check 'nowhere\.sh' as there is no such file or folder: name a hook/],
  [["--for", "vscode"], /Cannot check for 'vscode' as it is no host: expected claude, codex, gemini/],
  [["--runs", "many"], /Cannot read --runs many as it is no number/],
  [["--runs", "1.5"], /Cannot check as 'runs' must be a whole number of 0 or more: current value is 1\.5/],
  [["--sed", "1"], /did you mean --seed/],
  [["empty"], /as there is no hook: name a hook file, a folder or settings/],
];

for (const [args, says] of MISTAKES) {
  test(`hooks check ${args.join(" ")} is a mistake of the call: exit code 2 and one line`, SLOW, async () => {
    using here = place({ "hooks/notification.sh": GOOD, "empty/readme.txt": "" });
    const { err, code } = await here.call(hooks, "check", ...args);
    assert.equal(code, 2);
    assert.match(err, says);
    assert.equal(err.trim().split("\n").length, 1);
  });
}

const settings = (hooks: unknown) => JSON.stringify({ hooks });

test("hooks check reads Claude Code's settings: scripts of the project, matchers, what never runs", SLOW, async () => {
  using here = place({
    ".claude/settings.json": settings({
      PreToolUse: [{
        matcher: "Bash",
        hooks: [{ type: "command", command: '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh' }],
      }],
      Stop: [{
        hooks: [{ type: "command", command: "sh .claude/hooks/stop.sh", timeout: 5 }, {
          type: "http",
          url: "https://example.com/",
        }],
      }],
      PostTolUse: [{ hooks: [{ type: "command", command: "true" }] }],
    }),
    ".claude/hooks/guard.sh": '#!/bin/sh\n. "$(dirname "$0")/_words.sh"\n',
    ".claude/hooks/_words.sh": 'case "$(cat)" in *"git push"*) echo "not from here" >&2; exit 2;; esac\n',
    ".claude/hooks/stop.sh": LOOPS,
  });
  const { out, code } = await here.call(hooks, "check", ".claude/settings.json", ...FEW, "--json");
  assert.equal(code, 1);
  const { hooks: found, problems }: CheckReport = JSON.parse(out);
  assert.deepEqual(
    found.map(({ hook, skipped, findings }) => [
      hook,
      skipped,
      findings.filter((f) => f.severity === "fault").map((f) => f.code),
    ]),
    [
      [".claude/settings.json#0 (guard.sh)", undefined, []],
      [".claude/settings.json#1 (stop.sh)", undefined, ["terminating.loops"]],
      [
        ".claude/settings.json#2",
        "its server is not asked, as a check reaches nothing outside its workspace: check the program behind it as a command",
        [],
      ],
    ],
  );
  assert.match(problems[0]!, /Cannot check hooks of 'PostTolUse' as claude has no such event/);
});

test(
  "hooks check runs a plugin's hooks.json with its own root, from the file or from the plugin's folder",
  SLOW,
  async () => {
    using here = place({
      "plugin/hooks/hooks.json": JSON.stringify({
        description: "one",
        hooks: { Stop: [{ hooks: [{ type: "command", command: "sh ${CLAUDE_PLUGIN_ROOT}/scripts/stop.sh" }] }] },
      }),
      "plugin/scripts/stop.sh": LOOPS,
    });
    for (const path of ["plugin", "plugin/hooks/hooks.json"]) {
      const { out, code } = await here.call(hooks, "check", path, ...FEW, "--json");
      assert.equal(code, 1);
      const { hooks: found }: CheckReport = JSON.parse(out);
      assert.deepEqual(found.map(({ findings }) => findings.map((f) => f.code)), [["terminating.loops"]], path);
    }
  },
);

test("hooks check holds a hook to the protocol of the host it is for, which the path may tell", SLOW, async () => {
  const ask =
    `#!/bin/sh\ncat > /dev/null\necho '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?"}}'\n`;
  using here = place({
    "ask.sh": ask,
    ".codex/hooks.json": settings({ PreToolUse: [{ hooks: [{ type: "command", command: "sh ask.sh" }] }] }),
    ".gemini/settings.json": settings({
      BeforeTool: [{ hooks: [{ type: "command", command: "sh ask.sh", timeout: 60000 }] }],
    }),
  });
  const codes = async (...args: string[]) => {
    const { out } = await here.call(hooks, "check", ...args, ...FEW, "--json");
    return (JSON.parse(out) as CheckReport).hooks.flatMap(({ findings }) =>
      findings.filter((f) => f.severity === "fault").map((f) => f.code)
    );
  };
  assert.deepEqual(await codes("ask.sh", "--event", "pre-tool-use@Bash"), []);
  assert.deepEqual(await codes("ask.sh", "--event", "pre-tool-use@Bash", "--for", "codex"), ["lawful.value"]);
  assert.deepEqual(await codes(".codex/hooks.json"), ["lawful.value"]);
  assert.deepEqual(await codes(".gemini/settings.json"), ["lawful.event-name"]);
});

test("hooks check reads definitions in hooks.yaml, each by its name", SLOW, async () => {
  using here = place({
    "hooks.yaml": [
      "hooks:",
      "  definitions:",
      "    - name: no-push",
      "      type: inline",
      "      matcher: { events: [PreToolUse], tools: [Bash] }",
      '      rules: \'args.command contains "git push" -> deny("No")\'',
      "    - name: chatty",
      "      type: command",
      "      matcher: { events: [PreToolUse] }",
      "      command: echo nonsense",
    ].join("\n"),
  });
  const { out, code } = await here.call(hooks, "check", "hooks.yaml", ...FEW, "--json");
  assert.equal(code, 0);
  const { hooks: found, problems }: CheckReport = JSON.parse(out);
  assert.deepEqual(problems, []);
  assert.deepEqual(found.map(({ hook }) => hook), ["hooks.yaml: no-push", "hooks.yaml: chatty"]);
});
