import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { HOST_NAMES, HOSTS, isTried } from "../../lib/hooks/hosts/index.ts";
import { type HostName } from "../../lib/hooks/hosts/host.ts";
import { ourEvents } from "../../lib/hooks/hosts/read-event.ts";
import { scratch } from "../_scratch.ts";
import { testData } from "../_data.ts";
import { type Json, moduleAnswering, said } from "./_served.ts";

const answers = (action: string, more: Json) => moduleAnswering({ action, ...more });
const NO = answers("deny", { reason: "no" });
const REWRITE = `export default ({ input }) => ({ action: "modify", value: { ...input, content: input.file_path } });`;
const PERMISSION = { permissionDecision: "deny", permissionDecisionReason: "no" };

const COPILOT = { sessionId: "s", timestamp: 1, cwd: "/p" };
const CREATE = { path: "a", file_text: "b" };
const CURSOR = { conversation_id: "s", generation_id: "t", workspace_roots: ["/p"] };

/** Hook file, its answer, the host's stdin, and what the host reads back. */
const ANSWERS: [host: HostName, name: string, answer: string, stdin: Json, output: unknown][] = [
  ["copilot", "pre-tool-use@Bash.x.ts", NO, { ...COPILOT, toolName: "bash", toolArgs: { command: "ls" } }, {
    ...PERMISSION,
    hookSpecificOutput: { hookEventName: "preToolUse", ...PERMISSION },
  }],
  ["copilot", "pre-tool-use@Write.x.ts", REWRITE, { ...COPILOT, toolName: "create", toolArgs: CREATE }, {
    modifiedArgs: { path: "a", file_text: "a" },
    hookSpecificOutput: { hookEventName: "preToolUse", updatedInput: { path: "a", file_text: "a" } },
  }],
  [
    "copilot",
    "post-tool-use.x.ts",
    NO,
    { ...COPILOT, toolName: "bash", toolArgs: {}, toolResult: { resultType: "success", textResultForLlm: "x" } },
    { additionalContext: "no" },
  ],
  [
    "copilot",
    "post-tool-use.x.ts",
    answers("modify", { value: "y" }),
    { ...COPILOT, toolName: "bash", toolArgs: {}, toolResult: { resultType: "success", textResultForLlm: "x" } },
    { modifiedResult: { resultType: "success", textResultForLlm: "y" } },
  ],
  ["copilot", "user-prompt-submit.x.ts", answers("modify", { value: "p" }), { ...COPILOT, prompt: "go" }, {
    modifiedPrompt: "p",
  }],
  ["copilot", "stop.x.ts", NO, { ...COPILOT, stopReason: "end_turn", stop_hook_active: false }, {
    decision: "block",
    reason: "no",
  }],
  ["copilot", "permission-request.x.ts", NO, {
    ...COPILOT,
    hookName: "permissionRequest",
    toolName: "bash",
    toolInput: {},
  }, { behavior: "deny", message: "no" }],
  ["cursor", "pre-tool-use@Bash.x.ts", NO, {
    ...CURSOR,
    hook_event_name: "preToolUse",
    tool_name: "Shell",
    tool_input: { command: "ls" },
  }, { permission: "deny", user_message: "no", agent_message: "no" }],
  ["cursor", "user-prompt-submit.x.ts", NO, { ...CURSOR, hook_event_name: "beforeSubmitPrompt", prompt: "go" }, {
    continue: false,
    user_message: "no",
  }],
  ["cursor", "stop.x.ts", NO, { ...CURSOR, hook_event_name: "stop", status: "completed", loop_count: 0 }, {
    followup_message: "no",
  }],
  ["qwen", "pre-tool-use@Bash.x.ts", NO, {
    session_id: "s",
    hook_event_name: "PreToolUse",
    tool_name: "run_shell_command",
    tool_input: { command: "ls" },
  }, { hookSpecificOutput: { hookEventName: "PreToolUse", ...PERMISSION } }],
  ["qwen", "post-tool-use.x.ts", NO, {
    session_id: "s",
    hook_event_name: "PostToolUse",
    tool_name: "run_shell_command",
    tool_input: {},
    tool_response: { llmContent: "x" },
  }, { hookSpecificOutput: { hookEventName: "PostToolUse", additionalContext: "no" } }],
  [
    "qwen",
    "user-prompt-submit.x.ts",
    NO,
    { session_id: "s", hook_event_name: "UserPromptSubmit", prompt: "" },
    undefined,
  ],
];

for (const [host, name, answer, stdin, output] of ANSWERS) {
  test(`${host} reads what ${name} answers to ${Object.keys(stdin).at(-1)}`, async () => {
    const { output: found, stderr, code } = await said(name, answer, stdin, host);
    assert.deepEqual({ found, code }, { found: output, code: 0 }, stderr);
  });
}

/** Other hosts that run entries for Claude Code: what they write there, and what they read. */
const AS_CLAUDE: [who: string, env: NodeJS.ProcessEnv, stdin: Json, output: Json][] = [
  ["Copilot", { COPILOT_CLI: "1" }, {
    hook_event_name: "PreToolUse",
    session_id: "s",
    tool_name: "Bash",
    tool_input: { command: "ls" },
  }, { ...PERMISSION, hookSpecificOutput: { hookEventName: "preToolUse", ...PERMISSION } }],
  ["VS Code", {}, {
    hookEventName: "PreToolUse",
    sessionId: "s",
    tool_name: "run_in_terminal",
    tool_input: { command: "ls" },
  }, { hookSpecificOutput: { hookEventName: "PreToolUse", ...PERMISSION } }],
  ["Cursor", {}, { ...CURSOR, hook_event_name: "preToolUse", tool_name: "Shell", tool_input: { command: "ls" } }, {
    permission: "deny",
    user_message: "no",
    agent_message: "no",
  }],
];

for (const [who, env, stdin, output] of AS_CLAUDE) {
  test(`an entry for Claude Code understands ${who}, which runs it too`, async () => {
    const answered = await said("pre-tool-use@Bash.guard.ts", NO, stdin, "claude", env);
    assert.deepEqual({ output: answered.output, code: answered.code }, { output, code: 0 }, answered.stderr);
  });
}

test("a script gets Claude Code's form from VS Code too, and a new input goes back in its own", async () => {
  const script = '#!/bin/sh\ngrep -q \'"file_path":"a"\' && echo no >&2 && exit 2\n';
  const stdin = {
    hookEventName: "PreToolUse",
    sessionId: "s",
    tool_name: "create_file",
    tool_input: { filePath: "a" },
  };
  const denied = await said("pre-tool-use@Write.guard.sh", script, stdin, "claude", { PATH: process.env.PATH });
  assert.match(JSON.stringify(denied.output), /"permissionDecision":"deny"/, denied.stderr);
  const { output } = await said("pre-tool-use@Write.x.ts", REWRITE, stdin, "claude");
  assert.deepEqual(output?.hookSpecificOutput, {
    hookEventName: "PreToolUse",
    updatedInput: { filePath: "a", content: "a" },
  });
});

test("a guard that is asked in a form it does not know refuses, and any other hook fails", async () => {
  for (const stdin of [{ type: "tool", name: "bash" }, { hook_event_name: "Unheard" }] as Json[]) {
    for (const name of ["pre-tool-use@Bash.guard.ts", "10-permission-request.x.ts", "user-prompt-submit.ts"]) {
      const { code, stderr } = await said(name, answers("continue", {}), stdin, "claude");
      assert.equal(code, 2, name);
      assert.match(stderr, /stdin is not an event/);
    }
    assert.equal((await said("stop.x.ts", NO, stdin, "claude")).code, 1);
  }
});

test("Copilot's Stop has no last message: it is read from the log of the session", async () => {
  using log = scratch({
    "events.jsonl": ["first", "I tested it"].map((content) =>
      `${JSON.stringify({ type: "assistant.message", data: { content } })}\n`
    ).join("") + `{"type":"assistant.turn_end"}\n`,
  });
  const hook = `export default (e) => ({ action: "deny", reason: e.last_assistant_message });`;
  const stdin = { ...COPILOT, transcriptPath: join(log.path, "events.jsonl"), stopReason: "end_turn" };
  assert.equal((await said("stop.x.ts", hook, stdin, "copilot")).output?.reason, "I tested it");
});

const DATA = testData("hosts");

test("an event of ours that another host has too is read with all its fields", () => {
  const { fired } = ourEvents({ hook_event_name: "PreModelRequest", session_id: "s" }, HOSTS.codex)[0]!;
  const empty = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const request = { system: "", messages: [] };
  assert.deepEqual(fired, { event: "iteration", iteration: 0, total_iterations: 0, usage: empty, request });
});

test("every recorded event of a host is read as the event of ours that its table names", () => {
  const folders: [host: HostName, folder: string, skipped: readonly string[]][] = [
    ["codex", "codex/stdin", []],
    ["gemini", "gemini/stdin", ["AfterModel", "BeforeToolSelection", "PreCompress"]],
    ["qwen", "qwen/stdin", []],
    ["copilot", "copilot/stdin-camel", ["userPromptTransformed"]],
    ["copilot", "copilot/stdin-claude-settings", []],
  ];
  for (const [host, folder, skipped] of folders) {
    for (const file of readdirSync(join(DATA, folder))) {
      const name = file.replace(".json", "");
      const table = HOSTS[host];
      const input = JSON.parse(readFileSync(join(DATA, folder, file), "utf8"));
      const given = table.read ? table.read(input) : input;
      const [heard] = given ? ourEvents(given, table) : [];
      if (skipped.includes(name)) {
        assert.equal(heard, undefined, `${host} ${name}`);
        continue;
      }
      assert.ok(heard, `${host} ${name}`);
      if (!folder.endsWith("settings")) assert.equal(heard.wireName, name);
      const [ours] = table.events[heard.wireName]!.ours!;
      const event =
        { "subagent-start": "agent-start", "subagent-stop": "stop", "post-tool-use-failure": "post-tool-use" }[ours] ??
          ours;
      assert.equal(heard.fired.event, event, `${host} ${name}`);
      if ("tool_name" in heard.fired && name.startsWith("pre")) assert.equal(heard.fired.tool_name, "Bash");
    }
  }
});

/** The events of a host that we have recorded, or seen in a run whose stdin was not kept. */
function seenEvents(host: HostName): readonly string[] {
  const names = (folder: string) => readdirSync(folder).map((file) => file.split(".")[0]!);
  const lines = () => readFileSync(join(DATA, host, "events.txt"), "utf8").trim().split("\n");
  switch (host) {
    case "claude":
      return names(testData("captures"));
    case "codex":
      return [...names(join(DATA, "codex/stdin")), "SubagentStop", "PreCompact"];
    case "copilot":
      return names(join(DATA, "copilot/stdin-camel"));
    case "opencode":
    case "pi":
      return lines();
    case "gemini":
    case "qwen":
      return names(join(DATA, host, "stdin"));
    default:
      return [];
  }
}

for (const host of HOST_NAMES) {
  test(`the table of ${host} says of exactly the events we have seen that they were tried`, () => {
    const seen = seenEvents(host);
    const { events, tried } = HOSTS[host];
    for (const name of Object.keys(events)) assert.equal(isTried(host, name), seen.includes(name), name);
    assert.deepEqual((tried?.unseen ?? []).filter((name) => !Object.hasOwn(events, name)), [], "no such event");
  });
}
