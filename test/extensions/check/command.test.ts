import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import hooks from "../../../lib/cli/hooks.ts";
import { place } from "../../_place.ts";
import { LAWS } from "../../../lib/extensions/check/check-report.ts";
import { FEW, GOOD, LOOPS, reportIn, SLOW } from "./_check-files.ts";

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

test("hooks check says on a terminal before all how long it takes, and at most", SLOW, async () => {
  using here = place({ "hooks/session-start.sh": GOOD });
  let err = "";
  const said = { out: () => {}, err: (text: string) => void (err += text), tty: true };
  const io = { ...said, env: here.env, cwd: here.cwd, signal: new AbortController().signal };
  assert.equal(await hooks(["check", "hooks", ...FEW], io), 0);
  assert.match(err, /^checking 1 hook: about \d+ s, at most \d+ (?:s|min) \(--time\)\n/);
});

test(
  "a table of hooks and laws comes before the details, in JSON and in a page, and in a pipe nothing before it",
  SLOW,
  async () => {
    const deny = "#!/bin/sh\ncat > /dev/null\necho No >&2\nexit 1\n";
    using here = place({ "hooks/pre-tool-use@Bash.no.sh": deny, "hooks/stop.sh": GOOD });
    const { out, err } = await here.call(hooks, "check", "hooks", ...FEW, "--out", "laws.html");
    assert.equal(err, "");
    const [head, ...rows] = out.split("\n").slice(0, 3).map((line) => line.split(/ {2,}/));
    assert.deepEqual(head, ["hook", ...LAWS]);
    assert.deepEqual(rows.map((row) => row.join(" ").trim()), [
      "pre-tool-use@Bash.no.sh ✓ ✗ – ✓ ✓ ✓ ✓ ✓ –",
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

test("an event that shows a fault is a file that the report names, as it is too long for a line", SLOW, async () => {
  using here = place({ "hooks/pre-tool-use@Bash.no.sh": "#!/bin/sh\necho No >&2\nexit 1\n" });
  const { out } = await here.call(hooks, "check", "hooks", ...FEW);
  const [, file = ""] =
    /^ {4}again {2}cat (\S+protocol\.exit-1\.json) \| CLAUDE_PROJECT_DIR="\$PWD" \S+\.sh; echo "exit code \$\?"$/m
      .exec(out) ?? [];
  assert.equal(file, ".crochet/cases/pre-tool-use@Bash.no.sh-protocol.exit-1.json");
  assert.equal(JSON.parse(readFileSync(`${here.cwd}/${file}`, "utf8")).hook_event_name, "PreToolUse");
});

test(
  "hooks check exits 1 at a fault, with the play, the fix and the command that shows it again, and writes JUnit",
  SLOW,
  async () => {
    using here = place({ "hooks/stop.sh": LOOPS, "hooks/notification.sh": GOOD });
    const { out, code } = await here.call(hooks, "check", "hooks/stop.sh", ...FEW, "--junit", "reports/check.xml");
    assert.equal(code, 1);
    assert.match(out, /^✗ stop\.sh/m);
    assert.match(out, /^ {2}endless\.loop at Stop$/m);
    assert.match(out, /still blocking after 50 rounds .*refuted$/m);
    assert.match(out, /round 1 {2}model calls Edit, says 'Okay\.' → blocked: more/);
    assert.match(out, /^ {4}fix {4}let go when stop_hook_active is true/m);
    assert.match(out, /^ {4}again {2}crochet hooks check hooks\/stop\.sh --seed 7 --runs 4$/m);
    assert.match(out, /^broken: 1 hook$/m);
    const xml = readFileSync(`${here.cwd}/reports/check.xml`, "utf8");
    assert.match(xml, /<testsuite name="crochet hooks check" tests="1" failures="1" errors="0" time="0\.000">/);
    assert.match(
      xml,
      /<testcase classname="hooks\/stop\.sh" name="stop\.sh" time="0\.000">\n {6}<failure message="endless\.loop: /,
    );
  },
);

test("hooks check --for asks a script about calls of ours, and names what no hook of the host sees", SLOW, async () => {
  const told = `grep -Eq '"tool_name": ?"(Edit|Write)".*"file_path"' || echo '{"decision":'\n`;
  using here = place({ "hooks/pre-tool-use@Edit+Write.g.sh": `#!/bin/sh\n${told}` });
  const { out, code } = await here.call(hooks, "check", "hooks", ...FEW, "--for", "codex");
  assert.match(out, /^no hook of codex sees write_stdin: what is typed into a shell that already runs$/m);
  assert.deepEqual([code, /held: 1 hook/.test(out)], [0, true], out);
});

test("hooks check prints its report as JSON", SLOW, async () => {
  using here = place({ "hooks/notification.sh": `${GOOD}echo '{"decision":'\n` });
  const data = await here.call(hooks, "check", "hooks", ...FEW, "--json");
  assert.equal(data.code, 1);
  const report = reportIn(data.out);
  assert.deepEqual([report.word, report.seed, report.runs, report.host], ["broken", 7, 4, "claude"]);
  const [finding] = report.hooks[0]!.findings;
  assert.deepEqual([finding!.law, finding!.code, finding!.hook, finding!.event, finding!.seed], [
    "protocol",
    "protocol.invalid-json",
    "notification.sh",
    "Notification",
    7,
  ]);
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

/** A wrong call, and its error. */
const MISTAKES: readonly (readonly [args: readonly string[], says: RegExp])[] = [
  [["nowhere.sh"], /Cannot check 'nowhere\.sh': there is no such file or folder\. Name a hook/],
  [["--for", "vscode"], /Unknown host 'vscode': expected claude, codex, gemini/],
  [["--runs", "many"], /Cannot use --runs many as it is not a number of at least 0/],
  [["hooks", "--runs", "1.5"], /Cannot check as 'runs' must be a whole number: current value is 1\.5/],
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
