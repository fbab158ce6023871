import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import type { AnyEvent } from "../../lib/core/events.ts";
import { DEFAULTS } from "../../lib/hooks/registry.ts";
import { HOSTS } from "../../lib/hooks/hosts/index.ts";
import { ourEvents } from "../../lib/hooks/hosts/read-event.ts";
import { projection, type WireFacts, wireInput, wireLabel, wireName } from "../../lib/hooks/process/wire.ts";
import { testData } from "../_data.ts";
import { POST, PRE, STOP } from "./_fire.ts";

type Sent = Readonly<Record<string, any>>;

const BASE = { event_id: "e", timestamp: "2026-01-02T03:04:05.000Z", turn_id: "t" };

/** What we read of a host's event, and the facts beside it. */
function read(sent: Sent): { event: AnyEvent; facts: WireFacts } {
  const { fired } = ourEvents(sent, HOSTS.claude)[0]!;
  const sub = sent.agent_id !== undefined;
  const base = {
    ...BASE,
    ...(sent.turn_id !== undefined && { turn_id: sent.turn_id }),
    session_id: sent.session_id,
    agent_id: sent.agent_id ?? sent.session_id,
    ...(sub && { parent_agent_id: "p", agent_type: sent.agent_type }),
  };
  const facts = Object.fromEntries(
    [
      "transcript_path",
      "prompt_id",
      "permission_mode",
      "agent_transcript_path",
      "effort",
      "background_tasks",
    ]
      .filter((key) => key in sent).map((key) => [key, sent[key]]),
  );
  const extra = Object.fromEntries(EXTRA.filter((key) => key in sent).map((key) => [key, sent[key]]));
  return { event: { ...fired, ...base } as unknown as AnyEvent, facts: { ...facts, fields: extra } };
}

/** What no event of ours carries and the agent supplies where it knows it. */
const EXTRA = ("seconds_since_last_response context_tokens prompt_cache_likely_expired prompt_cache_warm cache_ttl " +
  "estimated_cache_write_usd pricing mcp_server trigger_file_path").split(" ");

const folder = testData("captures");
const captures = readdirSync(folder).map((file) => `${folder}/${file}`);

for (const file of captures) {
  test(`what is read of a capture is written as it was, in the host's order: ${basename(file)}`, () => {
    const { stdin } = JSON.parse(readFileSync(file, "utf8"));
    const { event, facts } = read(stdin);
    assert.equal(JSON.stringify(wireInput(event, stdin.cwd, facts, stdin.hook_event_name)), JSON.stringify(stdin));
  });
}

const event = (fields: object) => ({ ...BASE, session_id: "s", agent_id: "s", ...fields }) as unknown as AnyEvent;

test("wireInput() gives our own events in snake_case, distinguished by turn and time", () => {
  const sent = wireInput(event({ event: "checkpoint", checkpoint_id: "c", ...DEFAULTS.checkpoint }), "/w");
  assert.deepEqual(Object.keys(sent), [
    "session_id",
    "transcript_path",
    "cwd",
    "permission_mode",
    "hook_event_name",
    "checkpoint_id",
    "checkpoint_type",
    "message_count",
    "duration_since_last_ms",
    "storage_path",
    "turn_id",
    "timestamp",
  ]);
  assert.deepEqual([sent.hook_event_name, sent.timestamp], ["Checkpoint", BASE.timestamp]);
});

test("wireInput() never reads what is costly: the history of a turn", () => {
  const turn = event({ event: "turn-start", trigger: "user", prompt: "p" });
  Object.defineProperty(turn, "turn", { get: () => assert.fail("the history was read"), enumerable: true });
  assert.equal(wireInput(turn, "/").prompt, "p");
  assert.equal(projection(turn).prompt, "p");
});

test("wireName() is the name a hook was registered under, unless that is narrower than the event", () => {
  const model = event({ event: "model-switch", old_model: "a", new_model: "b" });
  assert.deepEqual([wireName(model), wireName(model, "PreModelSwitch")], ["ModelSwitch", "PreModelSwitch"]);
  const turn = event({ event: "turn-start" });
  assert.deepEqual([wireName(turn), wireName(turn, "pre-generation")], ["TurnStart", "PreGeneration"]);
  assert.equal(wireName(event(STOP), "SubagentStop"), "Stop");
  assert.equal(wireName(event({ ...POST, failed: true }), "PostToolUse"), "PostToolUseFailure");
  assert.equal(wireName(event(PRE), "no-such-event"), "PreToolUse");
});

test("wireLabel() names the tool or the source if the host does", () => {
  assert.equal(wireLabel(event(PRE), "PreToolUse"), "PreToolUse:Bash");
  assert.equal(wireLabel(event(STOP), "Stop"), "Stop");
});

test("U2: projection() knows the event by its other names", () => {
  const post = projection(event({ ...POST, input: { file_path: "/f" } }));
  assert.deepEqual([post.event, post.hook_event_name, post.tool, post.tool_name], [
    "PostToolUse",
    "PostToolUse",
    "Bash",
    "Bash",
  ]);
  for (const name of ["args", "input", "tool_input"]) assert.deepEqual(post[name], { file_path: "/f" }, name);
  for (const name of ["result", "tool_response"]) assert.deepEqual(post[name], POST.result.response, name);
  assert.deepEqual([post.path, post.duration_ms, post.nothing], ["/f", 3, undefined]);
  assert.equal(projection(event({ ...PRE, input: { path: "/a", file_path: "/b" } })).path, "/a");
  const memory = { event: "memory-update", file_path: "/m", ...DEFAULTS["memory-update"] };
  assert.equal(projection(event(memory)).path, "/m");
});

test("U2: projection() as JSON is the event's own part of the wire", () => {
  assert.deepEqual(JSON.parse(JSON.stringify(projection(event(PRE)))), {
    event: "PreToolUse",
    session_id: "s",
    tool_name: "Bash",
    tool_input: { command: "ls" },
    tool_use_id: "toolu_1",
  });
});

test("S3.35: a session's begin and end carry event_type and exit_reason too", () => {
  const start = projection(event({ event: "session-start", ...DEFAULTS["session-start"] }));
  const end = projection(event({ event: "session-end", reason: "done", duration_ms: 1 }));
  assert.deepEqual([start.event_type, start.exit_reason], ["start", undefined]);
  assert.deepEqual([end.event_type, end.exit_reason], ["end", "done"]);
});
