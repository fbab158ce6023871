import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import hooks from "../../lib/cli/hooks.ts";
import trust from "../../lib/cli/trust.ts";
import type { CheckReport, HookReport } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";

/** Real processes on a busy machine. */
const SLOW = { timeout: 120_000 };

/** The report in `--json`: the hooks that were checked, and what could not be. */
function reportIn(out: string) {
  const { items, ...rest } = JSON.parse(out) as { word: string; items: (HookReport & { word: string; why: string })[] };
  return {
    ...rest as Pick<CheckReport, "seed" | "runs" | "host"> & { word: string },
    hooks: items.filter(({ hook }) => hook !== undefined),
    problems: items.filter(({ word }) => word === "cannot run").map(({ why }) => why),
  };
}

const GOOD = "#!/bin/sh\ncat > /dev/null\n";
const LOOPS = '#!/bin/sh\ncat > /dev/null\necho \'{"decision":"block","reason":"more"}\'\n';
const FEW = ["--runs", "4", "--rounds", "10", "--seed", "7"];

test("hooks check shows each hook, and exits 0 if no law is broken", SLOW, async () => {
  using here = place({ "hooks/notification.sh": GOOD, "hooks/session-start.sh": GOOD });
  const { out, code } = await here.call(hooks, "check", "hooks", ...FEW);
  assert.equal(code, 0);
  assert.match(out, /^✓ notification\.sh {2}4 events · p50 [\d.]+ m?s, p95 [\d.]+ m?s$/m);
  assert.match(
    out,
    /^seed 7 · (?:in bubblewrap|without a sandbox.*) · [\d.]+ s\nheld: 2 hooks$/m,
  );
});

test("hooks check exits 1 at a fault, with the play, the fix and the command that shows it again", SLOW, async () => {
  using here = place({ "hooks/stop.sh": LOOPS, "hooks/notification.sh": GOOD });
  const { out, code } = await here.call(hooks, "check", "hooks/stop.sh", ...FEW);
  assert.equal(code, 1);
  assert.match(out, /^✗ stop\.sh/m);
  assert.match(out, /^ {2}endless\.loop at Stop$/m);
  assert.match(out, /still blocking after 10 rounds .*refuted$/m);
  assert.match(out, /round 1 {2}model calls Edit, says 'Okay\.' → blocked: more/);
  assert.match(out, /^ {4}fix {4}let go when stop_hook_active is true/m);
  assert.match(out, /^ {4}again {2}crochet hooks check hooks\/stop\.sh --seed 7 --runs 4 --rounds 10$/m);
  assert.match(out, /^broken: 1 hook$/m);
});

test("hooks check prints its report as JSON and writes it as JUnit", SLOW, async () => {
  using here = place({ "hooks/stop.sh": LOOPS });
  const data = await here.call(hooks, "check", "hooks", ...FEW, "--json");
  assert.equal(data.code, 1);
  const report = reportIn(data.out);
  assert.deepEqual([report.word, report.seed, report.runs, report.host], ["broken", 7, 4, "claude"]);
  const [finding] = report.hooks[0]!.findings;
  assert.deepEqual([finding!.law, finding!.code, finding!.hook, finding!.event, finding!.seed], [
    "terminating",
    "endless.loop",
    "stop.sh",
    "Stop",
    7,
  ]);
  const junit = await here.call(hooks, "check", "hooks", ...FEW, "--junit", "reports/check.xml");
  assert.equal(junit.code, 1);
  assert.match(junit.out, /^broken: 1 hook$/m);
  const xml = readFileSync(`${here.cwd}/reports/check.xml`, "utf8");
  assert.match(xml, /<testsuite name="crochet hooks check" tests="1" failures="1" errors="0" time="0\.000">/);
  assert.match(
    xml,
    /<testcase classname="hooks\/stop\.sh" name="stop\.sh" time="0\.000">\n {6}<failure message="endless\.loop: /,
  );
});

test("hooks check exits 3 if a hook was too slow to be checked enough, and says how far it came", SLOW, async () => {
  const slow = `${GOOD}sleep 0.3\n`;
  using here = place({ "hooks/pre-tool-use@Bash.slow.sh": slow, "hooks/pre-tool-use@Edit.ts": "export default 5;\n" });
  const check = (...args: string[]) => here.call(hooks, "check", ...args, "--runs", "100", "--seed", "7");
  const { out, code } = await check("hooks/pre-tool-use@Bash.slow.sh", "--time", "1.5", "--junit", "check.xml");
  assert.equal(code, 3);
  assert.match(out, /^– pre-tool-use@Bash\.slow\.sh {2}[0-5] of \d+ events: not checked enough, --time allows more/m);
  assert.match(out, /^not measured: 1 hook$/m);
  assert.match(
    readFileSync(`${here.cwd}/check.xml`, "utf8"),
    /<error type="not measured" message="\d of \d+ events: not checked enough/,
  );
  // What is broken counts more than what was not seen.
  assert.equal((await check("hooks", "--time", "1.5")).code, 1);
  const { err, code: wrong } = await check("hooks", "--time", "0");
  assert.equal(wrong, 2);
  assert.match(err, /Cannot check as 'time' must be seconds above 0: current value is 0/);
});

test("hooks check passes over data beside hooks, and never over what looks like one", SLOW, async () => {
  const data = { "hooks/words.json": "[]", "hooks/allowed.txt": "", "hooks/lists/a.csv": "" };
  using here = place({ "hooks/notification.sh": GOOD, ...data });
  assert.equal((await here.call(hooks, "check", "hooks", ...FEW)).code, 0);
  using typo = place({ "hooks/notification.sh": GOOD, "hooks/stpo.yaml": "", "hooks/settings.json": "{}" });
  const { out, code } = await typo.call(hooks, "check", "hooks", ...FEW);
  assert.deepEqual([code, out.match(/^✗ Cannot load hook '(?:stpo\.yaml|settings\.json)'/gm)?.length], [2, 2]);
});

/** Hooks whose answer no run can use, each with the code that says so. */
const UNUSABLE: readonly (readonly [file: string, text: string, code: string])[] = [
  ["pre-tool-use@Bash.keys.sh", `${GOOD}echo '{decision: block}'\n`, "protocol.invalid-json"],
  ["post-tool-use@Bash.exit.sh", `${GOOD}exit 1\n`, "fails.silent-exit"],
  ["post-tool-use@Bash.says.sh", `${GOOD}echo 3 problems >&2\nexit 1\n`, "protocol.exit-code"],
  ["pre-tool-use@Bash.shape.ts", 'export default () => ({ decision: "block" });\n', "protocol.unreadable-answer"],
];

test("what hooks test calls failed, hooks check calls failed", SLOW, async () => {
  using here = place(Object.fromEntries(UNUSABLE.map(([file, text]) => [`hooks/${file}`, text])));
  for (const [file] of UNUSABLE) {
    const { out, code } = await here.call(hooks, "test", `hooks/${file}`);
    assert.equal(code, 1, file);
    assert.match(out, /^verdict {2}failed: /m, file);
  }
  const { out, code } = await here.call(hooks, "check", "hooks", ...FEW);
  assert.equal(code, 1);
  for (const [file, , found] of UNUSABLE) assert.ok(out.includes(`✗ ${file}`) && out.includes(`  ${found} at `), file);
});

/** A wrong call, and its error. */
const MISTAKES: readonly (readonly [args: readonly string[], says: RegExp])[] = [
  [["nowhere.sh"], /Cannot check 'nowhere\.sh': there is no such file or folder\. Name a hook/],
  [["--for", "vscode"], /Unknown host 'vscode': expected claude, codex, gemini/],
  [["--runs", "many"], /Cannot use --runs many as it is not a number of at least 0/],
  [["hooks", "--runs", "1.5"], /Cannot check as 'runs' must be a whole number of 0 or more: current value is 1\.5/],
  [["--sed", "1"], /did you mean --seed/],
  [["empty"], /There is no hook to check in empty: name a hook file, a folder or settings/],
];

for (const [args, says] of MISTAKES) {
  test(`hooks check ${args.join(" ")} is a wrong call: exit code 2 and one line`, SLOW, async () => {
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
  const { hooks: found, problems } = reportIn(out);
  assert.deepEqual(
    found.map(({ hook, skipped, findings }) => [
      hook,
      skipped,
      findings.filter((f) => f.severity === "fault").map((f) => f.code),
    ]),
    [
      [".claude/settings.json#0 (guard.sh)", undefined, []],
      [".claude/settings.json#1 (stop.sh)", undefined, ["endless.loop"]],
      [
        ".claude/settings.json#2",
        "a check has no network: check the program behind the URL as a command",
        [],
      ],
    ],
  );
  assert.match(problems[0]!, /Cannot check hooks of 'PostTolUse': claude has no such event/);
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
      const { hooks: found } = reportIn(out);
      assert.deepEqual(found.map(({ findings }) => findings.map((f) => f.code)), [["endless.loop"]], path);
    }
  },
);

test("hooks check holds a hook to the protocol of the host it is for, which the path may name", SLOW, async () => {
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
    return reportIn(out).hooks.flatMap(({ findings }) =>
      findings.filter((f) => f.severity === "fault").map((f) => f.code)
    );
  };
  assert.deepEqual(await codes("ask.sh", "--event", "pre-tool-use@Bash"), []);
  assert.deepEqual(await codes("ask.sh", "--event", "pre-tool-use@Bash", "--for", "codex"), ["protocol.wrong-value"]);
  assert.deepEqual(await codes(".codex/hooks.json"), ["protocol.wrong-value"]);
  assert.deepEqual(await codes(".gemini/settings.json"), ["protocol.wrong-event-name"]);
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
  const { hooks: found, problems } = reportIn(out);
  assert.deepEqual(problems, []);
  assert.deepEqual(found.map(({ hook }) => hook), ["hooks.yaml: no-push", "hooks.yaml: chatty"]);
});

test("hooks check without a path runs trusted hooks only, and exits 2 for those that are not", SLOW, async () => {
  using here = place({ "hooks/notification.sh": `${GOOD}# first\n`, "codex.sh": GOOD });
  here.put({
    ".claude/settings.json": settings({ Notification: [{ hooks: [{ type: "command", command: "true" }] }] }),
    ".codex/hooks.json": settings({ SessionStart: [{ hooks: [{ type: "command", command: "sh codex.sh" }] }] }),
  });
  const check = async (...args: string[]) => {
    const { out, code } = await here.call(hooks, "check", ...args, ...FEW, "--json");
    const { hooks: found, problems } = reportIn(out);
    return { code, checked: found.map(({ path }) => path), problems };
  };
  const before = await check();
  assert.deepEqual([before.code, before.checked], [2, []]);
  assert.match(
    before.problems[0]!,
    /^hooks was not checked: it is not trusted\. Run 'crochet trust', or name it: crochet hooks check hooks$/,
  );
  assert.match(
    before.problems[2]!,
    /^\.codex\/hooks\.json was not checked: name it: crochet hooks check \.codex\/hooks\.json$/,
  );
  assert.deepEqual((await check("hooks")).checked, ["hooks/notification.sh"]);
  await here.call(trust);
  const after = await check();
  assert.deepEqual([after.code, after.checked], [2, ["hooks/notification.sh", ".claude/settings.json"]]);
  here.put({ "hooks/notification.sh": GOOD });
  assert.match((await check()).problems[0]!, /^hooks was not checked: it changed since it was trusted/);
});

const refusing = (code: number) =>
  `#!/bin/sh\ngrep -q '"command":"rm' && { echo "Blocked: no rm" >&2; exit ${code}; }\nexit 0\n`;
const ASKED = JSON.stringify({
  hookSpecificOutput: {
    hookEventName: "PermissionRequest",
    permissionDecision: "deny",
    permissionDecisionReason: "no",
  },
});

/** What authors get wrong: the finding, its event, its line if a file declares it, and words of the fix. */
const AUTHORS:
  readonly (readonly [file: string, text: string, code: string, place: string | undefined, fix: RegExp])[] = [
    ["pre-tool-use@Bahs.sh", GOOD, "protocol.unknown-name", undefined, /correct the name/],
    [
      "pre-tool-use.ts",
      'export const config = { matcher: "Bahs" };\nexport default () => {};\n',
      "protocol.unknown-name",
      "hooks/pre-tool-use.ts:1",
      /correct the name/,
    ],
    [
      "pre-tool-use@Bash.rules",
      '# Removing is for people\nargs.comand contains "rm" -> deny("no rm")\n',
      "protocol.unknown-name",
      "hooks/pre-tool-use@Bash.rules:2",
      /correct the name/,
    ],
    [
      "pre-tool-use@Bash.rules",
      'args.whatever contains "rm" -> deny("no rm")\n',
      "protocol.unknown-name",
      "hooks/pre-tool-use@Bash.rules:1",
      /correct the name/,
    ],
    [
      "permission-request@Bash.sh",
      `#!/bin/sh\necho '${ASKED}'\n`,
      "protocol.misplaced-key",
      undefined,
      /"behavior": "deny"/,
    ],
    ["pre-tool-use@Bash.sh", refusing(1), "protocol.exit-1", undefined, /exit 2 to block/],
    ["pre-tool-use@Bash.sh", refusing(2), "guard.first-command", undefined, /split the line/],
  ];

for (const [file, text, code, declared, fix] of AUTHORS) {
  test(`hooks check finds ${code} in ${file}, with its event, its line and the fix`, SLOW, async () => {
    using here = place({ [`hooks/${file}`]: text });
    const { out } = await here.call(hooks, "check", "hooks", "--runs", "20", "--seed", "7", "--json");
    const report = reportIn(out);
    const found = report.hooks.flatMap(({ findings }) => findings).find((finding) => finding.code === code);
    assert.ok(found, out);
    assert.equal(found.event, file.startsWith("permission") ? "PermissionRequest" : "PreToolUse");
    assert.equal(found.place, declared);
    assert.match(found.fix, fix);
  });
}

test("hooks check --for judges by what that host can do", SLOW, async () => {
  using here = place({ "hooks/pre-tool-use@Bash.ts": 'export default () => ({ action: "ask", reason: "sure?" });\n' });
  const said = async (host: string) => {
    const { out } = await here.call(hooks, "check", "hooks", "--runs", "3", "--for", host, "--json");
    const report = reportIn(out);
    return [report.host, report.hooks.flatMap(({ findings }) => findings.map(({ code }) => code))];
  };
  assert.deepEqual(await said("claude"), ["claude", []]);
  assert.deepEqual(await said("codex"), ["codex", ["protocol.unsupported-by-host"]]);
});
