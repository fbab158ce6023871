import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import hooks from "../../lib/cli/hooks.ts";
import trust from "../../lib/cli/trust.ts";
import { logText } from "../_log.ts";
import { place } from "../_place.ts";

const DENY = `export default () => ({ action: "deny", reason: "not yet" });`;

test("a fresh user can make a hook, see it listed, tested, installed and removed", async () => {
  using w = place({ "hooks/stop.sh": "#!/bin/sh\n[ -e done ] || { touch done; echo 'once more' >&2; exit 2; }\n" });
  const run = (...args: string[]) => w.main(args);
  assert.match((await run("hooks")).out, /stop\.sh: hooks is not trusted: look at it, then run 'crochet trust'/);
  const trusted = await run("trust");
  assert.equal(trusted.code, 0);
  assert.match(trusted.out, /trusted in .*\/project, as it is now:\n {2}hooks\/stop\.sh\n/);
  assert.match((await run("hooks")).out, /1 +stop\.sh +stop +command +hooks +on +yes/);
  const tested = await run("hooks", "test", "hooks/stop.sh");
  assert.match(tested.out, /verdict {2}deny: \[stop\.sh\]: once more/);
  assert.match(tested.out, /model {4}would see\n +Stop hook feedback:\n +\[stop\.sh\]: once more/);
  const installed = await run("hooks", "install", "--for", "claude");
  assert.equal(installed.code, 0, installed.err);
  const { command } = JSON.parse(readFileSync(`${w.cwd}/.claude/settings.json`, "utf8")).hooks.Stop[0].hooks[0];
  assert.match(command, /exec crochet hook "\$CLAUDE_PROJECT_DIR\/hooks\/stop\.sh" --dialect claude$/);
  assert.equal((await run("hooks", "uninstall", "--for", "claude")).code, 0);
  assert.equal(existsSync(`${w.cwd}/.claude`), false);
});

test("hooks ls shows order, event, matcher, kind, source, switch and last result, also as data", async () => {
  using w = place({
    "hooks/10-pre-tool-use@Bash.a.rules": `args.command contains "rm" -> deny("no")\n`,
    "hooks/stop.b.ts": `export const config = { mode: "observe" };\n${DENY}`,
    "hooks/post-tool-use-failure@Edit.c.ts":
      `export const config = { also: ["post-tool-use-failure@Write"] };\n${DENY}`,
    ".claude/settings.json":
      `{ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "true" }, { "type": "agent", "prompt": "x" }] }] } }`,
  });
  await w.call(trust);
  leaveRun(w.cwd, "run-1", "10-pre-tool-use@Bash.a.rules");
  const { out, code } = await w.call(hooks, "ls", "--json");
  assert.equal(code, 0);
  const { hooks: rows, unloaded } = JSON.parse(out);
  assert.deepEqual(
    rows.map((
      r: Record<string, unknown>,
    ) => [r.order, r.name, String(r.events), r.matcher, r.kind, r.source, r.enabled, r.last]),
    [
      [1, "10-pre-tool-use@Bash.a.rules", "pre-tool-use", "Bash", "rules", "hooks", true, "deny: no rm"],
      [2, "post-tool-use-failure@Edit.c.ts", "post-tool-use-failure", "Edit", "module", "hooks", true, null],
      [3, ".claude/settings.json#0", "stop", null, "command", ".claude/settings.json", true, null],
      [4, "stop.b.ts", "stop", null, "module", "hooks", true, null],
    ],
  );
  assert.match(unloaded[0].why, /type 'agent' are not run here/);
  assert.match((await w.call(hooks)).out, /Found and not loaded:\n {2}\.claude\/settings\.json#1: /);
});

test("hooks ls exits 1 and shows the fix if a file should be a hook and is not", async () => {
  using w = place({ "hooks/stp.sh": "", "hooks/stop.a.ts": "export default 1;" });
  await w.call(trust);
  const { out, code } = await w.call(hooks);
  assert.equal(code, 1);
  assert.match(out, /^2 +stp\.sh +hooks\s+broken /m, "no event that its name does not have");
  assert.match(out, /^1 +stop\.a\.ts +stop\s+module\s+hooks\s+broken /m);
  w.put({ "hooks/notes.txt": "", "hooks/words.json": "" });
  const beside = (await w.call(hooks)).out;
  for (const file of ["notes.txt", "words.json"]) assert.ok(beside.includes(`'${file}' as it is not a hook: `), beside);
  assert.match(out, /Wrong:\n.*\n {2}Cannot load hook 'stp\.sh' as 'stp' is not an event: did you mean 'stop\.sh'\?/);
});

test("hooks test changes the event as asked, takes one from a file, and shows what the hook was given", async () => {
  using w = place({
    "hooks/pre-tool-use@Bash.a.ts":
      `export default ({ input, tool_name }) => input.command === "rm -rf /" ? { action: "modify", value: { ...input, command: "ls" } } : { action: "continue", context: tool_name + input.n };`,
    "event.json": `{ "tool_input": { "command": "pwd", "n": 7 } }`,
  });
  const file = "hooks/pre-tool-use@Bash.a.ts";
  const set = await w.call(hooks, "test", file, "--set", "tool_input.command=rm -rf /", "--json");
  const { word, planned, items: [shown] } = JSON.parse(set.out);
  assert.deepEqual([word, planned, shown.name, shown.word], ["held", 1, "pre-tool-use@Bash.a.ts", "held"]);
  assert.equal(shown.stdin.tool_input.command, "rm -rf /");
  assert.equal(shown.stdin.hook_event_name, "PreToolUse");
  assert.equal(shown.run.opinion.value.to.command, "ls");
  const input = await w.call(hooks, "test", file, "--input", "event.json", "--set", "tool_input.n=8");
  assert.match(input.out, /verdict {2}context\n/);
  assert.match(input.out, /would see\n +<system-reminder>\n +Context from hook pre-tool-use@Bash\.a\.ts: Bash8/);
  const piped = await w.crochet(["hooks", "test", file, "--input", "-", "--json"], {}, `{ "tool_input": { "n": 1 } }`);
  assert.deepEqual(JSON.parse(piped.out).items[0].stdin.tool_input, { n: 1 });
});

test("hooks test --set refuses a field that the event does not have, and names those that it has", async () => {
  using w = place({ "hooks/pre-tool-use@Bash.a.ts": "export default () => {};" });
  for (const set of ["inputt.command=rm", "command=rm", "tool=Bash"]) {
    const { code, err } = await w.call(hooks, "test", "hooks/pre-tool-use@Bash.a.ts", "--set", set);
    assert.equal(code, 2, err);
    assert.match(err, /Cannot set '\w+' as PreToolUse has no such field: expected .*tool_name, tool_input, /);
  }
  const misspelt = await w.call(hooks, "test", "hooks/pre-tool-use@Bash.a.ts", "--set", "tool_input.comand=rm");
  assert.deepEqual([misspelt.code, misspelt.err], [
    2,
    "crochet: Cannot set 'tool_input.comand' as Bash has no such field: did you mean 'command'?\n",
  ]);
  for (const set of ["tool_input.own=1", "tool_input={}", "agent_id=a", "permission_mode=plan"]) {
    assert.equal((await w.call(hooks, "test", "hooks/pre-tool-use@Bash.a.ts", "--set", set)).code, 0, set);
  }
});

test("hooks test --set tool_name starts from the sample of that tool", async () => {
  using w = place({ "hooks/pre-tool-use.a.ts": "export default () => {};" });
  for (const [tool, field] of [["Edit", "old_string"], ["Read", "file_path"], ["Bash", "command"]] as const) {
    const set = ["--set", `tool_name=${tool}`, "--set", "tool_use_id=x"];
    const { out } = await w.call(hooks, "test", "hooks/pre-tool-use.a.ts", ...set, "--json");
    const { tool_name, tool_input } = JSON.parse(out).items[0].stdin;
    assert.deepEqual([tool_name, field in tool_input, "command" in tool_input], [tool, true, tool === "Bash"]);
  }
});

test("hooks test fires every event a file can be named after", async () => {
  const { EVENT_NAMES } = await import("../../lib/core/names.ts");
  for (const event of EVENT_NAMES) {
    using w = place({
      [`hooks/${event}.a.ts`]: `export default (event) => ({ action: "continue", systemMessage: event.event });`,
    });
    const { out, code, err } = await w.call(hooks, "test", `hooks/${event}.a.ts`, "--json");
    assert.equal(code, 0, `${event}: ${err}`);
    const { items: [{ run, event: fired }] } = JSON.parse(out);
    assert.equal(run.opinion?.systemMessage, fired, event);
  }
});

test("hooks test exits 1 if the hook failed, and 2 if it was called wrongly", async () => {
  using w = place({ "hooks/stop.a.ts": `export default () => { throw new Error("oh"); };`, "x.ts": DENY });
  const failed = await w.call(hooks, "test", "hooks/stop.a.ts");
  assert.equal(failed.code, 1);
  assert.match(failed.out, /verdict {2}failed: oh/);
  const cases: [string[], RegExp][] = [
    [["test"], /Cannot fire 0 hooks: name one file, or hosts with --in/],
    [["test", "x.ts"], /'x' is not an event/],
    [["test", "none.ts"], /none\.ts/],
    [["test", "hooks/stop.a.ts", "--set", "x"], /not path=value/],
    [["test", "hooks/stop.a.ts", "--input", "none.json"], /Cannot read --input none\.json/],
    [["test", "hooks/stop.a.ts", "--input", "x.ts"], /not a JSON object/],
    [["tset"], /did you mean 'crochet hooks test'\?/],
    [["test", "--evnt", "stop"], /did you mean --event\?/],
  ];
  for (const [args, message] of cases) {
    const { code, err } = await w.call(hooks, ...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(err, message);
  }
  assert.equal((await w.call(hooks, "test", "x.ts", "--event", "stop")).code, 0);
});

test("hooks test shows what the model would see of each answer of a hook", async () => {
  const cases: [string, string, RegExp][] = [
    ["pre-tool-use.a.ts", DENY, /tool_result \(error\): Denied by hook pre-tool-use\.a\.ts: not yet/],
    ["user-prompt-submit.a.ts", DENY, /no request: Prompt dropped by hook user-prompt-submit\.a\.ts: not yet/],
    [
      "user-prompt-submit.a.ts",
      `export default () => ({ action: "modify", value: "something else" });`,
      /would see\n +something else/,
    ],
    [
      "session-start.a.ts",
      `export default (_, ctx) => ctx.addContext("the branch is main");`,
      /Context from hook session-start\.a\.ts: the branch is main/,
    ],
    ["post-tool-use.a.ts", DENY, /not yet/],
    ["post-tool-use.a.ts", `export default () => ({ action: "modify", value: "shorter" });`, /tool_result: shorter/],
    ["permission-request.a.ts", DENY, /tool_result \(error\): Denied by hook permission-request\.a\.ts: not yet/],
    ["permission-request.a.ts", `export default () => ({ action: "allow" });`, /tool_result: \(the tool's result\)/],
    ["permission-request.a.ts", `export default () => {};`, /sees nothing of it/],
    ["notification.a.ts", `export default () => {};`, /sees nothing of it/],
    ["turn-end.a.ts", `export default (_, ctx) => ctx.hookInput("now the docs");`, /would see\n +.*now the docs/],
    ["stop.a.ts", `export default () => {};`, /sees nothing of it/],
  ];
  for (const [name, text, sees] of cases) {
    using w = place({ [`hooks/${name}`]: text });
    const { out, code } = await w.call(hooks, "test", `hooks/${name}`);
    assert.equal(code, 0);
    assert.match(out.slice(out.indexOf("\nmodel")), sees, name);
  }
});

test("hooks add copies a shipped hook, executable, trusted if its folder was, and never over another", async () => {
  using w = place();
  const list = await w.call(hooks, "add");
  assert.match(list.out, /^tests-pass +stop\.tests-pass\.ts$/m);
  assert.equal((await w.call(hooks, "add", "git-status")).code, 0);
  assert.ok(statSync(`${w.cwd}/hooks/session-start.git-status.sh`).mode & 0o100);
  assert.ok(statSync(`${w.cwd}/hooks/session-start.git-status.examples.yaml`).isFile());
  assert.match((await w.call(hooks)).out, /session-start\.git-status\.sh/);
  assert.equal((await w.call(hooks, "add", "stop.tests-pass.ts")).code, 0);
  assert.equal(JSON.parse((await w.call(hooks, "--json")).out).hooks.length, 2);
  assert.match((await w.call(hooks, "add", "git-status")).err, /is there already/);
  assert.match((await w.call(hooks, "add", "test-pass")).err, /did you mean 'tests-pass'\?/);
  w.put({ "hooks/stop.mine.ts": DENY });
  assert.match((await w.call(hooks, "add", "secrets")).out, /look at \.\/hooks, then run 'crochet trust'/);
  assert.equal(JSON.parse((await w.call(hooks, "--json")).out).hooks.length, 2);
});

test("hooks enable and disable switch by name, and know the names", async () => {
  using w = place({ "hooks/stop.a.ts": DENY });
  await w.call(trust);
  const on = async () => JSON.parse((await w.call(hooks, "--json")).out).hooks[0].enabled;
  assert.equal(await on(), true);
  assert.equal((await w.call(hooks, "disable", "stop.a.ts")).code, 0);
  assert.equal(await on(), false);
  assert.equal((await w.call(hooks, "enable", "stop.a.ts")).code, 0);
  assert.equal(await on(), true);
  const { code, err } = await w.call(hooks, "disable", "stop.ts");
  assert.equal(code, 2);
  assert.match(err, /did you mean 'stop\.a\.ts'\?/);
});

/** A run's log with one event of two hooks. */
function leaveRun(cwd: string, id: string, guard = "guard"): void {
  mkdirSync(`${cwd}/.crochet/runs`, { recursive: true });
  const runs = [
    { hook: guard, opinion: { decision: "deny" as const, reason: "no rm" }, ms: 2 },
    { hook: "audit", skipped: "denied by guard" },
    { hook: "slow", failure: "it took longer than its limit of 1 s", ms: 1000 },
  ];
  const folded = {
    decision: "deny" as const,
    reason: "no rm",
    deniedBy: "guard",
    denials: [{ hook: "guard", reason: "no rm" }],
    modified: false,
    contexts: [],
    inputs: [],
    systemMessages: [],
    warnings: ["Hook slow failed"],
    runs,
  };
  const fired = { type: "fired", agent_id: id, event: "pre-tool-use", folded };
  writeFileSync(`${cwd}/.crochet/runs/${id}.jsonl`, logText(id, [fired]));
}

test("U18: hooks explain shows who was considered, who was skipped and why, and what was decided", async () => {
  using w = place();
  assert.match((await w.call(hooks, "explain")).err, /the last run as there is none here/);
  leaveRun(w.cwd, "run-1");
  const { out, code } = await w.call(hooks, "explain", "run-");
  assert.equal(code, 0);
  assert.match(out, /^run run-1\n\npre-tool-use at \S+ of run-1: deny, by guard\n/);
  assert.match(
    out,
    / {2}guard {2}deny: no rm \(2\.0 ms\)\n {2}audit {2}skipped: denied by guard\n {2}slow {3}failed: it took longer/,
  );
  assert.match(out, / {2}! Hook slow failed/);
  assert.equal(JSON.parse((await w.call(hooks, "explain", "--json")).out).fires.length, 1);
  assert.match((await w.call(hooks, "explain", "--event", "stop")).out, /No hook was considered/);
  assert.match((await w.call(hooks, "explain", "other")).err, /no such run: 'crochet runs' lists them/);
});

test("hooks stats counts what hooks did in stored runs", async () => {
  using w = place();
  assert.match((await w.call(hooks, "stats")).out, /No hook has run/);
  leaveRun(w.cwd, "one");
  leaveRun(w.cwd, "two");
  writeFileSync(`${w.cwd}/.crochet/runs/odd.jsonl`, "not a log\n");
  const { out, err } = await w.call(hooks, "stats", "--json");
  assert.deepEqual(JSON.parse(out), [
    { hook: "audit", runs: 0, denied: 0, modified: 0, failed: 0, skipped: 2, total_ms: 0 },
    { hook: "guard", runs: 2, denied: 2, modified: 0, failed: 0, skipped: 0, total_ms: 4 },
    { hook: "slow", runs: 2, denied: 0, modified: 0, failed: 2, skipped: 0, total_ms: 2000 },
  ]);
  assert.match(err, /odd is left out/);
});

test("hooks install refuses what is not trusted or broken, and a dry run writes nothing", async () => {
  using w = place({ "hooks/stop.a.ts": DENY, "hooks/turn-start.b.ts": "export default () => {};" });
  const untrusted = await w.call(hooks, "install", "--for", "claude");
  assert.equal(untrusted.code, 1);
  assert.match(untrusted.err, /Cannot install the hooks as hooks is not trusted/);
  await w.call(trust);
  const dry = await w.call(hooks, "install", "--for", "codex", "--dry-run");
  assert.match(
    dry.out,
    /Stop: crochet hook hooks\/stop\.a\.ts\n {2}left out turn-start\.b\.ts: codex has no event like turn-start\n {2}no hook of codex sees write_stdin: .*\n.*would be written\nCodex runs none of these hooks until a person trusts the project and them/,
  );
  assert.equal(existsSync(`${w.cwd}/.codex`), false);
  assert.equal((await w.call(hooks, "install")).code, 2);
  assert.match((await w.call(hooks, "install", "--for", "gemni")).err, /did you mean 'gemini'\?/);
  w.put({ "hooks/stp.sh": "" });
  assert.equal((await w.call(hooks, "install", "hooks", "--for", "claude")).code, 1);
});

test("what we wrote into trusted settings ourselves stays trusted", async () => {
  using w = place({ "hooks/stop.a.ts": DENY });
  await w.call(trust);
  await w.call(hooks, "install", "--for", "claude");
  const { hooks: rows, unloaded } = JSON.parse((await w.call(hooks, "--json")).out);
  assert.equal(rows.length, 1);
  assert.deepEqual(unloaded.map((u: { why: string }) => u.why), ["the file it serves is loaded already"]);
});

test("hooks --help lists the actions, and first the one that may be left out", async () => {
  using w = place();
  assert.match((await w.call(hooks, "--help")).out, /^crochet hooks \[action\]\n\n {2}ls /);
});
