import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fixtures from "../../../lib/cli/fixtures.ts";
import { importSession } from "../../../lib/extensions/import/import-session.ts";
import { readTape } from "../../../lib/replay/read-tape.ts";
import { replyOf } from "../../../lib/log/recorded-reply.ts";
import { asksModel } from "../../../lib/replay/requests/api.ts";
import { SentMatcher } from "../../../lib/replay/requests/match-request.ts";
import { findSessions } from "../../../lib/extensions/import/sessions/find-session.ts";
import { readSession } from "../../../lib/extensions/import/sessions/read-session.ts";
import { place } from "../../_place.ts";
import { put, scratch } from "../../_scratch.ts";
import { noRecordings, recordings } from "../../_data.ts";
import { codexPrompt, item, jsonl, meta, said, text, typed } from "./sessions/_logs.ts";
import { ASKED, CALLED, hash, request, SESSION, SHAPE, TOLD } from "../../replay/_logged-session.ts";
import { asked, recordedRuns } from "../tape/_pairs.ts";

const LOGS = recordings("sessions");

function imported(...lines: Record<string, unknown>[]) {
  using folder = scratch();
  put(folder.path, { "s1.jsonl": jsonl(...lines) });
  return importSession(findSessions([folder.path]).sessions[0]!, "s1.jsonl");
}

test("a log with requests becomes a whole tape: requests as they were sent, and the replies to them", async () => {
  const { tape, format, notes } = imported(...SESSION);
  assert.equal(format, "claude-code");
  assert.deepEqual(notes, [
    "not in the log: the text of the billing line, metadata, stream chunks, and calls for titles and compaction",
  ]);
  assert.match(tape.header.source, /^imported from s1\.jsonl \(claude-code\)$/);
  assert.deepEqual(tape.calls.map(({ id, at }) => [id, at]), [["main#1", 0], ["main#2", 1000]]);
  const [first, second] = tape.calls.map(({ sent }) => sent!);
  assert.deepEqual(first, {
    ...{ api: "anthropic", method: "POST", path: "/v1/messages" },
    headers: { "user-agent": "claude-cli/2.1.325 (external, sdk-cli)", "anthropic-beta": "a,b" },
    body: {
      ...{ model: "claude-opus-5-5", max_tokens: 9, tools: SHAPE.tools, messages: [ASKED] },
      system: [text("{billing}"), {
        ...text("You work in {ROOT}. Memory: {HOME}/.claude/projects/{ROOT-NAME}/memory/"),
        cache_control: { type: "ephemeral" },
      }],
    },
  });
  assert.deepEqual(second!.body!.messages, [
    ASKED,
    { role: "assistant", content: CALLED },
    { role: "user", content: [TOLD] },
  ]);
  const replies = await Promise.all(tape.calls.map(replyOf));
  assert.deepEqual(replies.map((reply) => reply?.message.content), [CALLED, [text("Two.")]]);
});

test("a request whose messages are not all in the log is left out and named, never made up", () => {
  const { tape, notes } = imported(...SESSION.filter((line) => line.type !== "user" || "promptSource" in line));
  assert.deepEqual(tape.calls.map(({ id }) => id), ["main#1"]);
  assert.match(notes[1]!, /^left out, as not all of its messages are in the log: the request of line 7$/);
});

test("a reply that a person interrupted keeps what had come, and a request without a reply has none", () => {
  const cut = said("m2", text("Tw"), null, { requestRef: "2" });
  const { tape } = imported(...SESSION.slice(0, -1), cut, request("3", { base: "2", keep: 3, tail: [hash(ASKED)] }));
  const [whole, partial, none] = tape.calls.map(({ attempts }) => attempts[0]!);
  assert.deepEqual([whole!.ended, partial!.ended, none!.ended], [undefined, "aborted", "aborted"]);
  assert.match(JSON.stringify(partial!.events), /"Tw"/);
  assert.equal(none!.status, undefined);
});

const TOOLS = item({ type: "additional_tools", tools: [] });
const REFUSED: readonly [what: string, lines: readonly Record<string, unknown>[], says: RegExp][] = [
  [
    "Claude Code before 2.1.300",
    [typed("go", { version: "2.1.200" })],
    /Claude Code 2\.1\.200 did not log .*: the system prompt, the tools and the parameters \(2\.1\.300/,
  ],
  [
    "Codex",
    [meta("t1"), codexPrompt("go")],
    /Codex 0\.166\.0 did not log .*: the tools, the base instructions, reasoning, text, include and tool_choice/,
  ],
  [
    "Codex in code mode",
    [meta("t1"), TOOLS],
    /: reasoning, text, include and tool_choice\. 'crochet record --' keeps whole requests/,
  ],
];

for (const [what, lines, says] of REFUSED) {
  test(`a log of ${what} is refused with what is missing to rebuild its requests`, () => {
    assert.throws(() => imported(...lines), says);
  });
}

test("fixtures import takes session logs, with those of their agents, and shows them as a conversation", async () => {
  const agent = SESSION.map((line) => ({ ...line, agentId: "a7", ...("id" in line && { id: `a${line.id}` }) }));
  const own = agent.map((line) => JSON.parse(JSON.stringify(line).replaceAll(/"(requestRef|base)":"/g, '"$1":"a')));
  using w = place({
    "logs/s1.jsonl": jsonl(...SESSION),
    "logs/s1/subagents/agent-a7.jsonl": jsonl(...own),
    "logs/s1/subagents/agent-a7.meta.json": `{"toolUseId":"t1"}`,
    "logs/old.jsonl": jsonl(typed("go", { version: "2.1.200" })),
  });
  const { out, code } = await w.call(fixtures, "import", "logs", "--json");
  const [old, whole, ...more] = JSON.parse(out);
  assert.deepEqual([more, code], [[], 1]);
  assert.match(old.refused, /Cannot import 'logs\/old\.jsonl' as Claude Code 2\.1\.200 did not log its requests/);
  assert.deepEqual([whole.tape, whole.format, whole.calls], ["fixtures/imported/s1/tape.jsonl", "claude-code", 4]);
  const { calls } = await readTape(join(w.cwd, whole.tape));
  assert.deepEqual(calls.map(({ id }) => id).sort(), ["agent-1#1", "agent-1#2", "main#1", "main#2"]);
  assert.match((await w.call(fixtures, "show", "imported/s1")).out, /› count\nI count\.\n▸ Bash .*\n✓ 2\nTwo\./);
});

test(
  "requests rebuilt from logs are those that went over the wire, in this and in every unchanged run",
  { skip: noRecordings },
  () => {
    let runs = 0;
    for (const run of recordedRuns().filter(({ client, expect }) => client === "claude" && expect !== "drift")) {
      const path = join(LOGS!, "claude", `${run.scenario}.jsonl`);
      if (!existsSync(path)) continue;
      const { tape } = importSession(findSessions([path]).sessions[0]!, path);
      const matcher = new SentMatcher(tape, { elsewhere: true });
      const missed = [...asked(run)].filter(({ sent }) => asksModel(sent) && !matcher.find(sent));
      // The call that compacts is not in the log.
      assert.equal(missed.length, run.scenario === "compact" ? 1 : 0, `${run.scenario} ${run.variant}`);
      assert.deepEqual(matcher.unused, [], `${run.scenario} ${run.variant}`);
      runs++;
    }
    assert.ok(runs >= 10, `${runs} runs`);
  },
);

test("every reply of a session with requests is on its tape", { skip: noRecordings }, async () => {
  for (const files of findSessions([join(LOGS!, "claude")]).sessions) {
    const session = readSession(files);
    if (!readFileSync(files.path, "utf8").includes(`"api-request"`)) continue;
    const { tape } = importSession(files, files.path);
    const replies = await Promise.all(tape.calls.map(replyOf));
    assert.equal(replies.filter((reply) => reply !== undefined).length, session.modelCalls, files.path);
  }
});
