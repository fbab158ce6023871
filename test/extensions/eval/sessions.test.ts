import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { scriptedServer } from "../../../lib/testing/index.ts";
import { withEnv } from "../../_env.ts";
import { place } from "../../_place.ts";
import { evaluated } from "./_tossed.ts";

/** A session of Claude Code, as its log has it, in which these tools were called. */
function claude(
  name: string,
  prompt: string,
  ...tools: readonly (readonly [name: string, input: object, error?: true])[]
) {
  const base = (type: string, message: object) =>
    JSON.stringify({
      ...{ isSidechain: false, cwd: "/repo", sessionId: name, version: "2.1.0", timestamp: "2026-11-02T09:00:01.000Z" },
      type,
      message,
    });
  const model = { type: "message", role: "assistant", model: "m", usage: {} };
  return [
    base("user", { role: "user", content: prompt }),
    ...tools.flatMap(([tool, input, is_error], i) => [
      base("assistant", {
        ...model,
        id: `m${i}`,
        content: [{ type: "tool_use", id: `t${i}`, name: tool, input }],
        stop_reason: "tool_use",
      }),
      base("user", {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `t${i}`, content: "found", ...(is_error && { is_error }) }],
      }),
    ]),
    base("assistant", {
      ...model,
      id: "end",
      content: [{ type: "text", text: `${name} is done` }],
      stop_reason: "end_turn",
    }),
  ].join("\n") + "\n";
}

/** A session of Codex that runs a command in a shell. */
const CODEX = [
  { type: "session_meta", payload: { id: "c1", cwd: "/repo", cli_version: "0.9" } },
  {
    type: "response_item",
    payload: { type: "message", role: "user", content: [{ type: "input_text", text: "push" }] },
  },
  {
    type: "response_item",
    payload: { type: "function_call", name: "exec_command", arguments: '{"cmd":"git push"}', call_id: "k" },
  },
  { type: "response_item", payload: { type: "function_call_output", call_id: "k", output: "pushed" } },
].map((line) => JSON.stringify({ timestamp: "2026-11-02T09:00:01.000Z", ...line })).join("\n") + "\n";

const LOGS = {
  "logs/a.jsonl": claude("a", "notes", ["Skill", { skill: "notes" }], ["Read", { file_path: "log" }]),
  "logs/b.jsonl": claude("b", "notes", ["Read", { file_path: "log" }]),
  "logs/c.jsonl": claude("c", "what?"),
  "logs/d.jsonl": claude("d", "notes", ["Read", { file_path: "log" }, true], ["Skill", { skill: "notes" }]),
};

const invariant = (broken: string) => `export default [{ name: "uses a skill", broken: ${broken} }];\n`;
const SKILL = invariant(
  `({ calls, tape }) => calls("Skill").length > 0 ? undefined : "after " + tape.prompts.length + " prompt"`,
);
const ARGS = ["--sessions", "logs", "--graders", "graders"];

test("sessions that already happened are graded by their logs: how often a skill was called", async () => {
  using w = place({ ...LOGS, "logs/notes.jsonl": '{"a": 1}\n', "graders/invariants.ts": SKILL });
  w.put({ "logs/c.jsonl": `${LOGS["logs/c.jsonl"]}{"cut` });
  const { code, out, err } = await evaluated(w, ...ARGS);
  assert.deepEqual([code, err], [
    0,
    "left out, as no log of Claude Code or Codex: logs/notes.jsonl\n4 sessions\nlogs/c.jsonl:3 was not read: it is not JSON: it may be cut off\n",
  ], out);
  assert.equal(
    out,
    `
passed 2 of 4 runs

fixture   logged  95%    pass^4  cost      calls
sessions  2/4     7-93%  0.00    0 tokens  0.0

  sessions  2 of 4: "uses a skill": after 1 prompt
            logs/b.jsonl
4 runs, 0 tokens
held: 2 claims
`,
  );
  const few = await evaluated(w, ...ARGS, "--at-least", "0.9");
  assert.match(few.out, /below 0\.9 on sessions|not shown to be below 0\.9/);
  for (const flag of ["--resume", "--regrade"]) {
    const kept = await evaluated(w, flag);
    assert.match(kept.err, /as it is of logs: crochet eval --sessions logs/);
    assert.equal(kept.code, 2);
  }
});

test("a call is seen as hooks backtest sees it: with what came of it, and by the names that hooks have for it", async () => {
  const all = invariant(
    `({ calls }) => JSON.stringify(calls().map((one) => [one.name, one.input, one.outcome, one.content]))`,
  );
  using w = place({ "logs/c.jsonl": CODEX, "logs/d.jsonl": LOGS["logs/d.jsonl"], "graders/invariants.ts": all });
  const { out, err } = await evaluated(w, ...ARGS, "--json");
  assert.deepEqual(JSON.parse(out).rows[0].cells[0].failures.map(({ run, seen }: any) => [run, JSON.parse(seen)]), [
    ["logs/c.jsonl", [["Bash", { command: "git push" }, "success", "pushed"]]],
    ["logs/d.jsonl", [["Read", { file_path: "log" }, "failure", "found"], [
      "Skill",
      { skill: "notes" },
      "success",
      "found",
    ]]],
  ], err);
});

test("a judge reads what a log has", async () => {
  await using server = await scriptedServer([], { then: { text: '{"reason": "so", "pass": true}' } });
  const judge = "---\nmodel: claude-haiku-5-5\n---\nIt is kind.\n";
  using w = place({ "logs/a.jsonl": LOGS["logs/a.jsonl"], "graders/grade.tone.prompt.md": judge });
  await withEnv({ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "k" }, async () => {
    w.env.CI = "1";
    assert.match((await evaluated(w, ...ARGS)).err, /Cannot run an eval in CI without a budget/);
    const { code, out, err } = await evaluated(w, ...ARGS, "--budget", "1");
    assert.deepEqual([code, server.requests.length], [0, 1], err + out);
    assert.match(
      JSON.stringify(server.requests[0]!.body),
      /The agent was asked: notes\\n\\nSkill [^]*success[^]*: found[^]*a is done/,
    );
  });
});

const REFUSED: readonly [what: string, args: readonly string[], files: Record<string, string>, words: RegExp][] = [
  [
    "files",
    ARGS,
    { "graders/invariants.ts": invariant("({ files }) => files.get('a')") },
    /grader uses a skill crashed: .*it asks for files, which a log does not have, on its first run/,
  ],
  ["files of some", ARGS, {
    "graders/invariants.ts": invariant("(o) => o.results[0].text[0] === 'c' ? o.files : undefined"),
  }, /grader uses a skill crashed: .*it asks for files/],
  [
    "requests",
    ARGS,
    { "graders/invariants.ts": invariant("({ tape }) => tape.calls.length") },
    /it asks for calls, which a log does not have/,
  ],
  [
    "a workspace",
    ARGS,
    { "graders/grade.left.sh": "true" },
    /Cannot grade sessions of hosts as grade\.left\.sh asks for files, which a log does not have: leave it out of --graders/,
  ],
  ["no graders", ["--sessions", "logs"], {}, /as no graders are named: add --graders <dir>/],
  ["no grader", ARGS, { "graders/a.md": "" }, /as nothing in .*graders grades: put invariants\.ts/],
  ["no logs", ["--graders", "logs"], {}, /as no sessions are named: add --sessions <dir>/],
  ["no folder", ["--sessions", "gone", "--graders", "logs"], {}, /as there is no .*gone: name a folder/],
  [
    "a file of graders",
    ["--sessions", "logs", "--graders", "graders/invariants.ts"],
    { "graders/invariants.ts": SKILL },
    /as .*graders\/invariants\.ts is a file: name its folder/,
  ],
  [
    "no session",
    ["--sessions", "graders", "--graders", "graders"],
    { "graders/invariants.ts": SKILL },
    /has no log of one: name a folder/,
  ],
  ["cases", [...ARGS, "--cases", "a.yaml"], {}, /Cannot use --cases with --sessions as no agent runs/],
  ["another", [...ARGS, "--against", "last"], {}, /Cannot use --against with --sessions as no agent runs/],
];

test("sessions are refused to what asks for more than a log has, by name, and leave nothing", async () => {
  for (const [what, args, files, words] of REFUSED) {
    using w = place({ ...LOGS, ...files });
    const { code, err } = await evaluated(w, ...args);
    assert.match(err, words, what);
    assert.equal(code, 2, what);
    if (what !== "files of some") assert.ok(!existsSync(`${w.cwd}/.crochet/evals/last/summary.json`), what);
  }
});
