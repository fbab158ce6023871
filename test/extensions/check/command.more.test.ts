import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import hooks from "../../../lib/cli/hooks.ts";
import trust from "../../../lib/cli/trust.ts";
import { LAWS } from "../../../lib/extensions/check/check-report.ts";
import { place } from "../../_place.ts";
import { FEW, GOOD, LOOPS, reportIn, SLOW } from "./_check-files.ts";

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
  assert.match(err, /Cannot check as 'time' must be more than 0: current value is 0/);
});

test(
  "a table of hooks and laws comes before the details, in JSON and in a page, and in a pipe nothing before it",
  SLOW,
  async () => {
    const deny = "#!/bin/sh\ncat > /dev/null\necho No >&2\nexit 1\n";
    const files = { "hooks/pre-tool-use@Bash.no.sh": deny, "hooks/pre-tool-use@Bash.slow.sh": "sleep 9\n" };
    using here = place({ ...files, "hooks/stop.sh": GOOD });
    const { out, err } = await here.call(hooks, "check", "hooks", ...FEW, "--timeout", "1", "--out", "laws.html");
    assert.equal(err, "");
    const [head, ...rows] = out.split("\n").slice(0, 4).map((line) => line.split(/ {2,}/));
    assert.deepEqual(head, ["hook", ...LAWS]);
    assert.deepEqual(rows.map((row) => row.join(" ").trim()), [
      // What fails open has no strength as a guard; what timed out was held to nothing else.
      "pre-tool-use@Bash.no.sh ✓ ✗ – ✓ ✓ – ✓ ✓ –",
      "pre-tool-use@Bash.slow.sh ✗ – – – – – – – –",
      "stop.sh ✓ ✓ ✓ ✓ ✓ – ✓ ✓ –",
    ]);
    const page = readFileSync(`${here.cwd}/laws.html`, "utf8");
    assert.ok(
      page.includes('<tr><th scope="row">stop.sh</th><td>✓</td><td>✓</td><td>✓</td><td>✓</td><td>✓</td><td>–</td>'),
    );
    assert.match(page, /protocol\.exit-1 at PreToolUse/);
    const { out: json } = await here.call(hooks, "check", "hooks/stop.sh", ...FEW, "--json");
    const [hook] = JSON.parse(json).items;
    assert.deepEqual([hook.table.terminating, hook.table.guard], ["✓", "–"]);
  },
);

test("hooks check --for asks a script about calls of ours, and names what no hook of the host sees", SLOW, async () => {
  const told = `grep -Eq '"tool_name": ?"(Edit|Write)".*"file_path"' || echo '{"decision":'\n`;
  using here = place({ "hooks/pre-tool-use@Edit+Write.g.sh": `#!/bin/sh\n${told}` });
  const { out, code } = await here.call(hooks, "check", "hooks", ...FEW, "--for", "codex");
  assert.match(out, /^no hook of codex sees write_stdin: what is typed into a shell that already runs$/m);
  assert.deepEqual([code, /held: 1 hook/.test(out)], [0, true], out);
});

test("an event that shows a fault is a file that the report names, as it is too long for a line", SLOW, async () => {
  using here = place({ "hooks/pre-tool-use@Bash.no.sh": "#!/bin/sh\necho No >&2\nexit 1\n" });
  const { out } = await here.call(hooks, "check", "hooks", ...FEW);
  const [, file = ""] =
    /^ {4}again {2}cat (\S+protocol\.exit-1\.json) \| CLAUDE_PROJECT_DIR="\$PWD" \S+\.sh; echo "exit code \$\?"$/m
      .exec(out) ?? [];
  assert.equal(file, ".crochet/cases/pre-tool-use@Bash.no.sh-protocol.exit-1.json");
  assert.equal(JSON.parse(readFileSync(`${here.cwd}/${file}`, "utf8")).hook_event_name, "PreToolUse");
});
