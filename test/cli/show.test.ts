import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, keepGoing, type RunEvent } from "crochet";
import { scripted } from "crochet/testing";
import { messageLines } from "../../lib/cli/show/message.ts";
import { RefusedCalls } from "../../lib/cli/run-agent.ts";
import { Screen } from "../../lib/extensions/view/terminal/screen.ts";
import { coloursFor, harmless } from "../../lib/cli/show/text.ts";
import { RunView, terminalView } from "../../lib/extensions/view/terminal/terminal-view.ts";

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

test("S1.21: input from a hook has its own event and label, unlike what a person typed", async () => {
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

/** One event of each kind, with a text in each of its fields. */
const EVENTS: { readonly [T in RunEvent["type"]]: Omit<Extract<RunEvent, { type: T }>, "type" | "agent_id"> } = {
  start: { session_id: "s", agent_type: "a", prompt: "p", model: "m" },
  text: { text: "t" },
  thinking: { text: "t" },
  tool_start: { id: "1", name: "Bash", input: { command: "c", description: "d" } },
  tool_progress: { id: "1", text: "t" },
  tool_end: {
    id: "1",
    name: "Bash",
    outcome: "failure",
    content: "c",
    response: { r: "r" },
    refused: { by: "b", reason: "r", note: "n" },
    ms: 1,
  },
  hook_start: { hook: "h", event: "stop" },
  hook_end: { hook: "h", event: "stop", decision: "deny", reason: "r", failure: "f", ms: 1 },
  fired: {
    event: "stop",
    folded: {
      decision: "deny",
      reason: "r",
      deniedBy: "h",
      contexts: [{ hook: "h", text: "t" }],
      systemMessages: [],
      inputs: [],
      warnings: ["w"],
      runs: [{ hook: "h", decision: "deny", reason: "r", ms: 1 }],
    } as never,
    tool_use_id: "1",
  },
  hook_output: { hook: "h", event: "stop", stream: "stderr", text: "t" },
  exec: {
    exec: { id: "1", hook: "h", title: "Hook(TurnStart)", turn_id: "t", type: "exec_begin", command: ["c"], cwd: "/" },
  },
  hook_input: { hook: "h", event: "stop", text: "t" },
  message: {
    message: {
      role: "assistant",
      content: [{ type: "text", text: "t" }, { type: "tool_use", id: "1", name: "Bash", input: { command: "c" } }],
    },
    index: 0,
  },
  usage: { usage: { input_tokens: 1, output_tokens: 1 } as never, model: "m", cost: 0, hook: "h" },
  retry: { attempt: 1, reason: "r", wait_ms: 1 },
  model: { model: "m", was: "w", reason: "r" },
  compact: { messages: [], before: 1, after: 1 },
  checkpoint: { id: "c", at: 1, kind: "auto" },
  question: { token: "t", tool_name: "Bash", input: { command: "c" }, reason: "r" },
  warning: { message: "m" },
  log: { hook: "h", message: "m" },
  system_message: { hook: "h", text: "t" },
  end: { stop: "done", text: "t" },
};

/** A value with one of its texts, by number, made another; undefined if it has fewer. */
function withText(value: unknown, at: number, make: (text: string) => string): unknown {
  let seen = -1;
  const made = JSON.stringify(value, (_, one) => typeof one === "string" && ++seen === at ? make(one) : one);
  return seen < at ? undefined : JSON.parse(made);
}

// Kills: a name, an id or any other field that a view prints as it is.
test("no field of any event ever steers the terminal, or makes a row of its own", () => {
  const EVIL = ["\u001b]0;pwned\u0007", "\u001b[2J", "\u009b2J", "\u001b[8m", "\r", "\u202e", "\u001b[31;8m"];
  let tried = 0;
  for (const [type, fields] of Object.entries(EVENTS)) {
    for (const evil of EVIL) {
      for (let at = 0;; at++) {
        const event = withText(fields, at, (text) => `${text}${evil}x`);
        if (event === undefined) break;
        tried++;
        for (const isWide of [true, false]) {
          let out = "";
          const write = (text: string) => void (out += text);
          const screen = new Screen({ write, columns: () => isWide ? 200 : 20, rows: () => 50 });
          const view = new RunView({
            print: (rows) => screen.print(rows),
            colours: PLAIN,
            columns: () => isWide ? 200 : 20,
            cwd: "/",
          });
          const refused = new RefusedCalls("/");
          const seen = [{ type, agent_id: "a", ...event as object }, {
            type: "tool_end",
            agent_id: "a",
            ...EVENTS.tool_end,
          }];
          for (const one of seen as RunEvent[]) {
            view.see(one);
            screen.show(view.live());
            screen.clear();
            write(harmless(refused.see(one) ?? ""));
          }
          // deno-lint-ignore no-control-regex
          const own = /\r\n|\u001b\[\?(?:2026|25)[hl]|\r(?:\u001b\[\d+A)?\u001b\[J/g;
          // deno-lint-ignore no-control-regex
          assert.doesNotMatch(out.replace(own, ""), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/, type);
        }
      }
    }
  }
  assert.ok(tried > 300, String(tried));
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
