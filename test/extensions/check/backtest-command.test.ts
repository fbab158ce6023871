import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import hooks from "../../../lib/cli/hooks.ts";
import trust from "../../../lib/cli/trust.ts";
import { noSandbox } from "../../_needs.ts";
import { place } from "../../_place.ts";
import {
  called,
  codexCall,
  codexPrompt,
  codexResult,
  codexSays,
  codexScript,
  completed,
  jsonl,
  meta,
  result,
  said,
  text,
  typed,
  usage,
} from "../import/sessions/_logs.ts";

const CLAUDE = jsonl(
  typed("clean up"),
  called("t1", "Bash", { command: "rm -rf build" }),
  result("t1", "", { toolUseResult: { stdout: "", stderr: "" } }),
  called("t2", "Bash", { command: "npm test" }),
  result("t2", "1 failed", {}, true),
  said("m3", text("Done.")),
);
const CODEX = jsonl(
  meta("t1"),
  codexPrompt("clean up"),
  codexCall("c1", "exec_command", { cmd: "rm -rf dist" }),
  usage,
  codexResult("c1", "Process exited with code 0\nOutput:\n"),
  codexScript("c2", "tools.exec_command()"),
  usage,
  completed({ type: "CommandExecution", id: "x", command: ["bash", "-lc", "rm -rf tmp"], exit_code: 0 }),
  completed({
    type: "FileChange",
    id: "y",
    changes: { "/proj/.env": { type: "update", unified_diff: "@@\n-a\n+b\n" } },
  }),
  codexResult("c2", "Script completed"),
  codexSays("Done."),
  usage,
);

const GUARD = `export default ({ input }) => {
  if (String(input.command).includes("rm -rf")) return { action: "deny", reason: "Nothing is deleted here" };
  if (input.command === "npm test") return { action: "modify", value: { ...input, command: "npm test -- --bail" } };
};\n`;
const SENDS_BACK = `export default ({ stop_hook_active }) =>
  stop_hook_active ? undefined : { action: "deny", reason: "Say what you tested" };\n`;

/** The report in `--json`: hooks that were asked, and logs that could not be read. */
function reportIn(out: string) {
  const { items, ...rest } = JSON.parse(out);
  const problems = items.filter(({ word }: any) => word === "cannot run");
  return { ...rest, hooks: items.filter(({ hook }: any) => hook !== undefined), problems };
}

test("hooks backtest shows what hooks would have denied, modified and sent back, with the call, for both hosts", async () => {
  using w = place({
    "logs/claude.jsonl": CLAUDE,
    "logs/codex.jsonl": CODEX,
    "guards/pre-tool-use@Bash.guard.ts": GUARD,
    "guards/pre-tool-use@Edit+Write.env.rules": `args.file_path contains ".env" -> deny("It holds secrets")\n`,
    "guards/stop.tested.ts": SENDS_BACK,
    "guards/post-tool-use-failure.sh": "#!/bin/sh\necho 'Look at the log' >&2\nexit 2\n",
    "guards/user-prompt-submit.polite.ts":
      `export default ({ prompt }) => ({ action: "modify", value: prompt + ", please" });\n`,
  });
  const { out, err, code } = await w.call(hooks, "backtest", "logs", "--hooks", "guards", "--json");
  assert.equal(code, 0, err);
  const { sessions, calls, prompts, stops, hooks: tallies } = reportIn(out);
  assert.deepEqual({ sessions, calls, prompts, stops }, { sessions: 2, calls: 4, prompts: 2, stops: 2 });
  const rows = tallies.map(({ hook, asked, findings }: any) => [
    hook,
    asked,
    findings.map((one: any) => [`${one.file}:${one.line}`, one.would, one.reason, one.input?.command]),
  ]);
  const REASON = "Nothing is deleted here";
  assert.deepEqual(rows, [
    ["post-tool-use-failure.sh", 1, [
      ["logs/claude.jsonl:4", "deny", "[post-tool-use-failure.sh]: Look at the log\n", "npm test"],
    ]],
    ["pre-tool-use@Bash.guard.ts", 4, [
      ["logs/claude.jsonl:2", "deny", REASON, "rm -rf build"],
      ["logs/claude.jsonl:4", "modify", `{"command":"npm test -- --bail"}`, "npm test"],
      ["logs/codex.jsonl:3", "deny", REASON, "rm -rf dist"],
      ["logs/codex.jsonl:6", "deny", REASON, "rm -rf tmp"],
    ]],
    ["pre-tool-use@Edit+Write.env.rules", 1, [
      ["logs/codex.jsonl:6", "deny", "It holds secrets", undefined],
    ]],
    ["stop.tested.ts", 2, [
      ["logs/claude.jsonl:6", "send back", "Say what you tested", undefined],
      ["logs/codex.jsonl:12", "send back", "Say what you tested", undefined],
    ]],
    ["user-prompt-submit.polite.ts", 2, [
      ["logs/claude.jsonl:1", "modify", `"clean up, please"`, undefined],
      ["logs/codex.jsonl:2", "modify", `"clean up, please"`, undefined],
    ]],
  ]);
  const shown = await w.call(hooks, "backtest", "logs/claude.jsonl", "--hooks", "guards");
  assert.match(
    shown.out,
    /pre-tool-use@Bash\.guard\.ts {2}asked 2 times · would deny 1 · would modify 1\n {2}deny pre-tool-use Bash \{"command":"rm -rf build"\}\n {4}Nothing is deleted here\n {4}logs\/claude\.jsonl:2 {2}2026-11-16T10:00:00\.000Z\n/,
  );
  assert.match(shown.out, /\n1 session, 2 calls, 1 prompt, 1 stop · \d+\.\d s\nheld: 5 hooks\n$/);
});

test("a damaged session never ends a backtest: it is named, and the others are played", async () => {
  const deep = `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}`;
  using w = place({
    "logs/good.jsonl": CLAUDE,
    "logs/folder.jsonl": jsonl(typed("go"), called("t1", "Agent", {})),
    "logs/folder/subagents/agent-a7.jsonl": jsonl(called("t3", "Read", {})),
    "logs/folder/subagents/agent-a7.meta.json/is-a-folder": "",
    "logs/nameless.jsonl": jsonl(typed("go"), called("t1", undefined as unknown as string, {})),
    "logs/deep.jsonl": jsonl(typed("go"), called("t1", "Bash", { command: "DEEP" })).replace('"DEEP"', deep),
    "guards/pre-tool-use@Bash.guard.ts": GUARD,
  });
  const { out, code } = await w.call(hooks, "backtest", "logs", "--hooks", "guards", "--json");
  const { hooks: [tally], problems } = reportIn(out);
  assert.equal(code, 2);
  assert.deepEqual(tally.findings.map(({ would, file }: any) => [would, file]), [
    ["deny", "logs/good.jsonl"],
    ["modify", "logs/good.jsonl"],
  ]);
  const named = new Set(problems.map(({ name }: any) => name.replace(/:\d+$/, "")));
  assert.ok(named.has("logs/folder.jsonl"), JSON.stringify(problems));
});

test("a backtest asks hooks as they were asked then: time, place, session, agent and turn are those of the log", async () => {
  const seen = `export default (event, ctx) => {
    const { session_id, agent_id, agent_type = null, turn_id, timestamp } = event;
    const before = ctx.values.size;
    ctx.values.set(event.tool_use_id, true);
    return { action: "deny", reason: JSON.stringify([session_id, agent_id, agent_type, turn_id, timestamp, ctx.cwd, before]) };
  };\n`;
  using w = place({
    "s1.jsonl": jsonl(typed("go"), called("t1", "Agent", {}), called("t2", "Read", {})),
    "s1/subagents/agent-a7.jsonl": jsonl(called("t3", "Read", {})),
    "s1/subagents/agent-a7.meta.json": `{"toolUseId":"t1","agentType":"Explore"}`,
    "guards/pre-tool-use.seen.ts": seen,
  });
  const { out } = await w.call(hooks, "backtest", "s1.jsonl", "--hooks", "guards", "--json");
  const { findings } = reportIn(out).hooks[0];
  const at = ["2026-11-16T10:00:00.000Z", "/proj"];
  const asked = findings.map((one: any) => [one.lane, ...JSON.parse(one.reason)]);
  assert.deepEqual(asked, [
    ["main", "s1", "s1", null, "p1", ...at, 0],
    ["main", "s1", "s1", null, "p1", ...at, 1],
    ["agent:1", "s1", "a7", "Explore", "", ...at, 0],
  ]);
});

test("each hook is asked by itself: one that denies hides nothing that another would do", async () => {
  using w = place({
    "s1.jsonl": CLAUDE,
    "guards/pre-tool-use@Bash.a.ts": GUARD,
    "guards/pre-tool-use@Bash.b.ts": GUARD,
  });
  const { out } = await w.call(hooks, "backtest", "s1.jsonl", "--hooks", "guards", "--json");
  assert.deepEqual(reportIn(out).hooks.map(({ would }: any) => would), Array(2).fill({ deny: 1, modify: 1 }));
});

test("nothing in a log is run, and hooks that have no say, ask a model or want a process are not run either", async () => {
  using w = place({
    "s1.jsonl": jsonl(called("t1", "Bash", { command: "touch ran" }), result("t1", "ok"), said("m", text("Done."))),
    "guards/pre-tool-use@Bash.review.prompt.md": "Is {{input}} fine?",
    "guards/stop.tests.ts": `export default (event, ctx) => ctx.$("touch", ["tested"]);\n`,
  });
  const write =
    `import { writeFileSync } from "node:fs";\nexport default () => writeFileSync("${w.cwd}/logged", "x");\n`;
  w.put({ "guards/post-tool-use.log.ts": `${write}export const config = { mode: "observe" };\n` });
  const { out, code } = await w.call(hooks, "backtest", "s1.jsonl", "--hooks", "guards");
  assert.match(out, /! post-tool-use\.log\.ts is not asked: it has no say\n/);
  assert.match(out, /! pre-tool-use@Bash\.review\.prompt\.md is not asked: it asks a model\n/);
  assert.match(
    out,
    /asked once · would fail 1\n {2}fail stop "Done\."\n {4}Cannot run 'touch' in a backtest as the log does not have what it would/,
  );
  assert.equal(code, 3, "a hook whose process is missing here was not measured");
  for (const name of ["ran", "logged", "tested"]) assert.equal(existsSync(join(w.cwd, name)), false);
});

test("a hook that fails is broken, and one whose program or files are missing here was not measured", async () => {
  using w = place({ "s1.jsonl": CLAUDE });
  const words = async (text: string, name = "pre-tool-use@Bash.x.ts") => {
    w.put({ [`guards/${name}`]: text });
    const { out, code } = await w.call(hooks, "backtest", "s1.jsonl", "--hooks", "guards", "--json");
    return [code, JSON.parse(out).word];
  };
  const reads = `import { readFileSync } from "node:fs";\nexport default () => { readFileSync("rules.txt"); };\n`;
  const starts = `import { execFileSync } from "node:child_process";\nexport default () => { execFileSync("jqq"); };\n`;
  assert.deepEqual(await words(reads), [3, "not measured"]);
  assert.deepEqual(await words(starts), [3, "not measured"]);
  assert.deepEqual(await words(`export default () => { throw new Error("no"); };\n`), [1, "broken"]);
});

test("command hooks of a backtest cannot write, if there is a sandbox", { skip: noSandbox }, async () => {
  using w = place({
    "s1.jsonl": CLAUDE,
    "guards/pre-tool-use@Bash.sh": `#!/bin/sh\ntouch "$CLAUDE_PROJECT_DIR/written" && exit 0\necho held >&2\nexit 2\n`,
  });
  const { out } = await w.call(hooks, "backtest", "s1.jsonl", "--hooks", "guards", "--json");
  assert.deepEqual(reportIn(out).hooks[0].would, { deny: 2 });
  assert.equal(existsSync(join(w.cwd, "written")), false);
});

test("the hooks of a project are asked only if they are trusted", async () => {
  using w = place({ "s1.jsonl": CLAUDE, "hooks/pre-tool-use@Bash.guard.ts": GUARD });
  const before = await w.call(hooks, "backtest", "s1.jsonl");
  assert.equal(before.code, 2);
  assert.match(before.err, /there is no hook to ask; hooks is not trusted: look at it, then run 'crochet trust'/);
  await w.call(trust);
  assert.match(
    (await w.call(hooks, "backtest", "s1.jsonl")).out,
    /guard\.ts {2}asked 2 times · would deny 1 · would modify 1/,
  );
});

test("what cannot be read is named by file and line, the rest is played, and the exit code says so", async () => {
  using w = place({
    "logs/s1.jsonl": `${CLAUDE}{"type":"assis`,
    "logs/tape.jsonl": `{"tape":1}\n`,
    "guards/pre-tool-use@Bash.guard.ts": GUARD,
  });
  const { out, code } = await w.call(hooks, "backtest", "logs", "--hooks", "guards");
  assert.equal(code, 2);
  assert.match(out, /! 1 file passed over, as no log of Claude Code or Codex: tape\.jsonl\n/);
  assert.match(out, /✗ logs\/s1\.jsonl:7 was not read: it is not JSON: it may be cut off\n/);
  assert.match(out, /asked 2 times · would deny 1/);
});

const BAD_CALLS: readonly [args: readonly string[], says: RegExp][] = [
  [[], /Cannot backtest as no log is named: crochet hooks backtest/],
  [["nowhere"], /Cannot backtest on 'nowhere' as there is no such file or folder/],
  [["tape.jsonl", "--hooks", "guards"], /tape\.jsonl' as it is not a log of Claude Code or Codex/],
  [["empty", "--hooks", "guards"], /empty' as it is not a log of Claude Code or Codex/],
  [["s1.jsonl"], /Cannot take hooks from '.*\/hooks' as there is no such folder: name one with --hooks/],
  [["s1.jsonl", "--hooks", "s1.jsonl"], /as that is a file: name the folder that it is in with --hooks/],
  [["s1.jsonl", "--since", "soon"], /Cannot read --since soon as it is not a time: write 7d, 12h or 2026-11-01/],
];

for (const [args, says] of BAD_CALLS) {
  test(`'hooks backtest ${args.join(" ")}' is a usage error`, async () => {
    using w = place({
      "s1.jsonl": CLAUDE,
      "tape.jsonl": `{"tape":1}\n`,
      "empty/x.md": "",
      "guards/stop.ts": SENDS_BACK,
    });
    const { err, code } = await w.call(hooks, "backtest", ...args);
    assert.equal(code, 2);
    assert.match(err, says);
  });
}

test("--since leaves out what is older", async () => {
  const at = (timestamp: string) => ({ timestamp: `${timestamp}T10:00:00.000Z` });
  using w = place({
    "s1.jsonl": jsonl(called("t1", "Bash", {}, at("2020-01-01")), called("t2", "Bash", {}, at("2020-02-01"))),
    "guards/pre-tool-use.ts": `export default () => ({ action: "deny", reason: "no" });\n`,
  });
  const played = async (since: string) => {
    const { out } = await w.call(hooks, "backtest", "s1.jsonl", "--hooks", "guards", "--since", since, "--json");
    return JSON.parse(out).calls;
  };
  assert.deepEqual([await played("2019-12-31"), await played("2020-01-15")], [2, 1]);
});

test("a thousand calls are asked about one by one in this process, and none is lost", async () => {
  const lines = Array.from({ length: 1000 }, (_, i) => [
    called(`t${i}`, "Bash", { command: i % 10 === 0 ? "rm -rf x" : "ls" }),
    result(`t${i}`, "ok"),
  ]).flat();
  using w = place({
    "s1.jsonl": jsonl(...lines),
    "guards/pre-tool-use@Bash.guard.ts": `let asked = 0;\n${
      GUARD.replace("=> {", "=> {\n  asked++;").replace(
        '"Nothing',
        'asked + " Nothing',
      )
    }`,
  });
  const { out } = await w.call(hooks, "backtest", "s1.jsonl", "--hooks", "guards", "--json");
  const { calls, hooks: [guard] } = reportIn(out);
  assert.deepEqual([calls, guard.asked, guard.would], [1000, 1000, { deny: 100 }]);
  assert.equal(guard.findings.at(-1).reason, "991 Nothing is deleted here", "one process counted them all");
});
