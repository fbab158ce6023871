import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import hooks from "../../../lib/cli/hooks.ts";
import { place } from "../../_place.ts";
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
  "hooks check exits 1 at a fault, with the play, the fix and the command that shows it again, and writes JUnit and a page",
  SLOW,
  async () => {
    using here = place({ "hooks/stop.sh": LOOPS, "hooks/notification.sh": GOOD });
    const files = ["--junit", "reports/check.xml", "--out", "t.html"];
    const { out, code } = await here.call(hooks, "check", "hooks/stop.sh", ...FEW, ...files);
    assert.equal(code, 1);
    assert.match(out, /^✗ stop\.sh/m);
    assert.match(out, /^ {2}endless\.loop at Stop$/m);
    assert.match(out, /still blocking after 50 rounds .*refuted$/m);
    assert.match(out, /round 1 {2}model calls Edit, says 'Okay\.' → blocked: more/);
    assert.match(out, /^ {4}fix {4}let go when stop_hook_active is true/m);
    assert.match(out, /^ {4}again {2}crochet hooks check hooks\/stop\.sh --seed 7 --runs 4$/m);
    assert.ok(out.endsWith(`\n${here.cwd}/t.html\nbroken: 1 hook\n`), out);
    const html = readFileSync(`${here.cwd}/t.html`, "utf8");
    assert.match(html, /\.eval \.bad\{color:var\(--tone\)\}[^]*<td class="bad">✗<\/td>[^]*\nbroken: 1 hook\n<\/pre>/);
    const xml = readFileSync(`${here.cwd}/reports/check.xml`, "utf8");
    assert.match(xml, /<testsuite name="crochet hooks check" tests="1" failures="1" errors="0" time="0\.000">/);
    assert.match(
      xml,
      /<testcase classname="hooks\/stop\.sh" name="stop\.sh" time="0\.000">\n {6}<failure message="endless\.loop: /,
    );
  },
);

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
