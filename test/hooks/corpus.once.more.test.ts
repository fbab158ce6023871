import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { check } from "../../lib/extensions/check/check.ts";
import type { CheckReport } from "../../lib/testing/index.ts";
import type { Finding } from "../../lib/extensions/check/check-report.ts";
import { rounds } from "../_counts.ts";

const CORPUS = fileURLToPath(new URL("./corpus", import.meta.url));

/** A hook of the corpus, the one thing that is wrong with it, and what else may be said of it. */
type Row = readonly [hook: string, code: string | undefined, warnings?: readonly string[]];

/** A guard that looks at texts can always be got around. */
const GUARD = ["guard.bypass", "guard.first-command"];

/** Said of the machine as much as of the hook. */
const SLOW = "slow.answers";

/** Hooks that have a fault, and hooks that have none. */
const TABLE: readonly Row[] = [
  // What never lets the agent end, from the start or once its state file is there.
  ["stop.always-blocks.sh", "endless.loop"],
  ["stop.says-block.sh", "endless.loop"],
  ["stop.ralph-unbounded.sh", "endless.loop"],
  ["stop.armed.sh", "endless.*"],
  ["stop.until-done.ts", "endless.*"],
  ["stop.always.rules", "endless.loop"],
  ["subagent-stop.always.sh", "endless.loop"],
  ["turn-end.again.ts", "endless.loop"],
  ["plugin-loop", "endless.loop"],
  ["plugin-ralph", "endless.*"],
  ["plugin-rules", "endless.*"],
  // What falls over, hangs, or leaves something behind.
  ["pre-tool-use@Edit+Write.missing-field.py", "fails.crash"],
  ["pre-tool-use@Bash.no-description.py", "fails.crash"],
  ["pre-tool-use@Edit+Write.throws.ts", "fails.crash"],
  ["stop.transcript.py", "fails.crash"],
  ["user-prompt-submit.ascii.py", "fails.crash"],
  ["pre-tool-use@Bash.exits.ts", "fails.ends-process"],
  ["pre-tool-use@Bash.endless.ts", "fails.timeout"],
  ["pre-tool-use@Bash.slow.sh", "fails.timeout"],
  ["session-start.leaves-process.sh", "fails.leftover-process"],
  ["session-start.forks.sh", "fails.leftover-process"],
  ["pre-tool-use@Bash.interpreter-two.sh", "fails.interpreter-exit-2"],
  ["pre-tool-use@Bash.arithmetic.sh", "fails.interpreter-exit-2"],
  ["pre-tool-use@Write.broken.prompt.md", "fails.load"],
  // What says something that no host hears.
  ["pre-tool-use@Bash.exit-one.sh", "protocol.exit-1", GUARD],
  ["pre-tool-use@Bash.silent-two.sh", "protocol.no-reason", GUARD],
  ["pre-tool-use@Bash.json-on-stderr.sh", "protocol.json-on-stderr"],
  ["pre-tool-use@Bash.text-around.sh", "protocol.text-around-json"],
  ["pre-tool-use@Bash.unquoted.sh", "protocol.invalid-json", [...GUARD, "unsafe.long-output"]],
  ["pre-tool-use@Bash.wrong-event.py", "protocol.wrong-event-name"],
  ["pre-tool-use@Bash.wrong-word.py", "protocol.wrong-value"],
  ["user-prompt-submit.top-level-context.py", "protocol.misplaced-key"],
  ["permission-request.wrong-shape.py", "protocol.misplaced-key"],
  ["pre-tool-use@Bash.unknown-verdict.ts", "protocol.unreadable-answer"],
  ["settings-misnamed", "protocol.matcher-never-matches"],
  // What says one thing now and another then, too much, or what is nobody's business.
  ["pre-tool-use@Bash.moody.py", "nondeterministic.verdict", GUARD],
  ["pre-tool-use@Bash.every-third.ts", "nondeterministic.verdict", GUARD],
  ["session-start.huge.sh", "unsafe.long-output"],
  ["post-tool-use.large-context.ts", "unsafe.long-output"],
  ["user-prompt-submit.leaks.sh", "unsafe.secret-leak"],
  ["user-prompt-submit.key.ts", "unsafe.secret-leak"],
  ["post-tool-use@Edit+Write.writes-outside.sh", "unsafe.writes-outside"],
  // What is only a warning.
  ["pre-tool-use@Bash.naive-guard.sh", "guard.first-command"],
  ["two-rewriters", "conflict.same-field"],
  // What is in order.
  ["stop.once.sh", undefined],
  ["stop.once.rules", undefined],
  ["stop.asks-once.ts", undefined],
  ["stop.bounded.ts", undefined],
  ["stop.ralph-bounded.sh", undefined, ["race.lost-update", "race.verdict"]],
  ["stop.open-work.py", undefined],
  ["pre-tool-use@Bash.guard.py", undefined, GUARD],
  ["pre-tool-use@Bash.no-publish.rules", undefined, GUARD],
  ["pre-tool-use@Edit+Write.lock-files.rules.yaml", undefined, GUARD],
  ["pre-tool-use@Bash.time-limit.ts", undefined],
  ["pre-tool-use@Bash.review.prompt.md", undefined],
  ["post-tool-use.count.py", undefined],
  ["session-start.date.sh", undefined],
  ["notification.quiet.sh", undefined],
  ["user-prompt-submit.branch.sh", undefined],
  ["settings-clean", undefined, GUARD],
];

/** Python itself, the machine's own first: what stands before it in some paths takes longer than the hook. */
const python = ["/usr/bin/python3", pythonInPath()].find((path) => path !== undefined && existsSync(path));
const env = { ...process.env, PATH: `${python ? `${dirname(python)}${delimiter}` : ""}${process.env.PATH}` };

function pythonInPath(): string | undefined {
  return spawnSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).stdout?.trim();
}

/** Other seeds in every run would make a failure nobody can see again. */
const SEEDS = Array.from({ length: rounds(1, 20) }, (_, i) => 1000 + i);

const checked = new Map<number, Promise<CheckReport>>();

/** The whole corpus by one seed, hooks side by side; once for all tests. */
function checkedBy(seed: number): Promise<CheckReport> {
  let report = checked.get(seed);
  if (!report) {
    const paths = TABLE.filter(([hook]) => python || !needsPython(hook)).map(([hook]) => `${CORPUS}/${hook}`);
    const options = { seed, runs: 20, rounds: 12, timeout: 3, cwd: CORPUS, env };
    checked.set(seed, report = check(paths, options));
  }
  return report;
}

function needsPython(hook: string): boolean {
  return hook.endsWith(".py") || hook === "settings-clean" || hook === "plugin-rules" ||
    hook.includes("interpreter-two");
}

/** What was found of one row: a folder's hooks are all its own. */
async function findings(hook: string, seed: number): Promise<Finding[]> {
  const { hooks } = await checkedBy(seed);
  const own = hooks.filter(({ path }) => path === hook || path.startsWith(`${hook}/`));
  assert.ok(own.length > 0, `${hook} was not checked`);
  return own.flatMap((report) => report.findings);
}

const shown = (found: readonly Finding[]) => found.map(({ code, message }) => `${code}: ${message}`).join("\n");

for (const [hook, code, warnings = []] of TABLE) {
  const skip = !python && needsPython(hook) && "there is no python3 here";
  const claim = code === undefined ? `finds no fault in ${hook}` : `finds ${code} in ${hook}, and no other fault`;
  test(`check always ${claim}`, { skip, timeout: 3_600_000 }, async () => {
    for (const seed of SEEDS) {
      const found = await findings(hook, seed);
      const is = (finding: Finding) =>
        code !== undefined && (code.endsWith("*") ? finding.code.startsWith(code.slice(0, -1)) : finding.code === code);
      assert.ok(code === undefined || found.some(is), `seed ${seed} misses it: ${shown(found) || "nothing was found"}`);
      const others = found.filter((finding) => !is(finding) && ![...warnings, SLOW].includes(finding.code));
      const wrong = code === undefined ? others : others.filter(({ severity }) => severity === "fault");
      assert.deepEqual(wrong.map((finding) => finding.code), [], `seed ${seed}: ${shown(wrong)}`);
    }
  });
}

test("every hook of the corpus is in the table, in all the languages, and the clean ones are many", () => {
  const hooks = TABLE.map(([hook]) => hook);
  assert.deepEqual(readdirSync(CORPUS).filter((name) => !hooks.includes(name) && !name.endsWith(".examples.yaml")), []);
  for (const hook of hooks) assert.ok(existsSync(`${CORPUS}/${hook}`), hook);
  assert.ok(hooks.length >= 40);
  assert.ok(TABLE.filter(([, code]) => code === undefined).length >= 12);
  for (const ending of [".sh", ".py", ".ts", ".rules", ".rules.yaml", ".prompt.md"]) {
    assert.ok(hooks.some((hook) => hook.endsWith(ending)), ending);
  }
});

test("every fault comes with an example, a seed, a command that shows it again and a fix", async () => {
  const { hooks } = await checkedBy(SEEDS[0]!);
  assert.ok(hooks.filter(({ findings }) => findings.length > 0).length >= 30);
  for (const { hook, findings } of hooks) {
    for (const { code, seed, reproduce, fix, message, counterexample, trace } of findings) {
      assert.equal(seed, SEEDS[0], `${hook} ${code}`);
      assert.ok(reproduce !== "" && fix !== "" && message !== "", `${hook} ${code}`);
      const needsNone = [
        "fails.load",
        "protocol.matcher-never-matches",
        "conflict.same-field",
        "guard.denies-nothing",
        "guard.denies-everything",
        SLOW,
      ].includes(code);
      assert.ok(needsNone || counterexample !== null || trace !== undefined, `${hook} ${code} has no example`);
      assert.ok(!JSON.stringify([message, counterexample, reproduce]).includes("crochet-check-"), `${hook} ${code}`);
    }
  }
});
