import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, keepGoing, type RunEvent } from "crochet";
import { scripted } from "crochet/testing";
import { coloursFor } from "../../lib/cli/show/colours.ts";
import { messageLines } from "../../lib/cli/show/message.ts";
import { terminalView } from "../../lib/cli/show/view.ts";

const PLAIN = coloursFor(false, {});

function shown(events: readonly Partial<RunEvent>[]): string {
  let out = "";
  const show = terminalView((text) => out += text, PLAIN);
  for (const event of events) show({ agent_id: "a", ...event } as RunEvent);
  return out;
}

test("S1.18, S1.19: a hook's command and its input are shown as such", () => {
  const title = "Hook(TurnStart)";
  const lines = shown([
    { type: "exec", exec: { type: "exec_begin", title, command: ["make", "lint"] } },
    { type: "exec", exec: { type: "exec_output", title, text: "2 problems\n" } },
    { type: "exec", exec: { type: "exec_end", title, status: "failed", duration_ms: 12 } },
    { type: "hook_input", hook: "hook.toml", event: "turn-start", text: "2 problems" },
  ]);
  assert.match(
    lines,
    /Hook\(TurnStart\) make lint\n {2}2 problems\n.*Hook\(TurnStart\) failed 12 ms\n.*HookInput: 2 problems\n/,
  );
});

test("S1.21: what a hook puts in is told apart from what a person typed, by its own event and its own words", async () => {
  const events: RunEvent[] = [];
  let once = true;
  const model = scripted([], { then: { text: "ok" } });
  await agent({
    model,
    on: (e) => events.push(e),
    hooks: {
      turnEnd: (_, ctx) => {
        if (once) ctx.hookInput("check it");
        once = false;
      },
    },
  }).run("do it");
  assert.deepEqual(events.filter((e) => e.type === "hook_input").map((e) => [e.event, e.text]), [[
    "turn-end",
    "check it",
  ]]);
  assert.match(JSON.stringify(model.requests[1]!.messages.at(-1)), /HookInput \(TurnEnd\): check it/);
});

test("text of models, tools and hooks never steers the terminal", () => {
  const evil = "a\u001b]0;title\u0007\u001b[2Jb\u009bc";
  const out = shown([{ type: "text", text: evil }, { type: "warning", message: evil }, {
    type: "tool_end",
    id: "1",
    name: "X",
    outcome: "success",
    content: evil,
    ms: 1,
  }]);
  assert.equal(out, "ab\n\n! ab\n✓ X  ab · 1 ms\n");
});

test("a stop hook that sends the agent back is shown in those words", async () => {
  let out = "";
  await agent({
    model: scripted([], { then: { text: "done" } }),
    hooks: { stop: (e) => e.stop_hook_active ? undefined : keepGoing("not yet") },
    on: terminalView((text) => out += text, PLAIN),
  }).run("go");
  assert.match(out, /Hook\(Stop\) code:stop#0: .*sent back.*: not yet/);
});

test("in a conversation only what the model says stands at the margin: prompts and results of many lines do not", () => {
  const lines = (role: "user" | "assistant", ...content: object[]) =>
    messageLines({ role, content: content as never }, PLAIN).join("\n");
  const text = { type: "text", text: "one\ntwo\n" };
  assert.equal(lines("user", text), "› one\n  two");
  assert.equal(lines("assistant", text), "one\ntwo\n");
  const result = { type: "tool_result", tool_use_id: "t", content: "1\tone\n2\ttwo\n" };
  assert.equal(lines("user", result, { ...result, is_error: true }), "✓ 1\tone\n  2\ttwo\n✗ 1\tone\n  2\ttwo");
});
