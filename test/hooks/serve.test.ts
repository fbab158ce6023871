import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { sharedData } from "../_shared.ts";
import { fromHost, type HostEvent } from "../../lib/hooks/serving/from-host.ts";
import { type Host, serve } from "../../lib/hooks/serve.ts";
import { scratch } from "../_scratch.ts";

type Json = Record<string, unknown>;

const BASE = { session_id: "s", transcript_path: "", cwd: "/tmp", prompt_id: "p", permission_mode: "default" };
const PRE = {
  ...BASE,
  hook_event_name: "PreToolUse",
  tool_name: "Bash",
  tool_input: { command: "ls", timeout: 5 },
  tool_use_id: "t",
};
const POST = { ...PRE, hook_event_name: "PostToolUse", tool_response: { stdout: "a", stderr: "" }, duration_ms: 3 };
const EVENTS: Record<string, { name: string; claude: Json; gemini: Json }> = {
  pre: {
    name: "pre-tool-use",
    claude: PRE,
    gemini: { ...PRE, hook_event_name: "BeforeTool", tool_name: "run_shell_command" },
  },
  post: {
    name: "post-tool-use",
    claude: POST,
    gemini: {
      ...POST,
      hook_event_name: "AfterTool",
      tool_name: "run_shell_command",
      tool_response: { llmContent: "a" },
    },
  },
  prompt: {
    name: "user-prompt-submit",
    claude: { ...BASE, hook_event_name: "UserPromptSubmit", prompt: "go" },
    gemini: { ...BASE, hook_event_name: "BeforeAgent", prompt: "go" },
  },
  stop: {
    name: "stop",
    claude: { ...BASE, hook_event_name: "Stop", stop_hook_active: false, last_assistant_message: "done" },
    gemini: { ...BASE, hook_event_name: "AfterAgent", prompt: "go", prompt_response: "done", stop_hook_active: false },
  },
  start: {
    name: "session-start",
    claude: { ...BASE, hook_event_name: "SessionStart", source: "startup" },
    gemini: { ...BASE, hook_event_name: "SessionStart", source: "startup" },
  },
  permission: {
    name: "permission-request",
    claude: { ...PRE, hook_event_name: "PermissionRequest", permission_suggestions: [] },
    gemini: {},
  },
};

async function ask(text: string, event: string, host: Host, { name, input }: { name?: string; input?: Json } = {}) {
  using folder = scratch();
  const row = EVENTS[event]!;
  const file = `${folder.path}/${name ?? `${row.name}.x.ts`}`;
  writeFileSync(file, text);
  if (file.endsWith(".sh")) chmodSync(file, 0o755);
  const told = input ?? (host === "gemini" ? row.gemini : row.claude);
  const env = { PATH: process.env.PATH, HOME: folder.path };
  const { stdout, stderr, code } = await serve(file, JSON.stringify(told), {
    host,
    env,
    signal: new AbortController().signal,
  });
  return { output: stdout === "" ? undefined : JSON.parse(stdout) as Json, stderr, code };
}

const answering = (answer: unknown) => `export default () => (${JSON.stringify(answer)});`;

const inside = (hookEventName: string, fields: Json) => ({ hookSpecificOutput: { hookEventName, ...fields } });

/** event, answer, and what each host is told; "failed" where it cannot be done there and the failure refuses nothing. */
const TABLE: [event: string, answer: Json, claude: unknown, codex: unknown, gemini: unknown][] = [
  [
    "pre",
    { action: "deny", reason: "no" },
    inside("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: "no" }),
    inside("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: "no" }),
    { decision: "deny", reason: "no" },
  ],
  ["pre", { action: "allow" }, inside("PreToolUse", { permissionDecision: "allow" }), undefined, { decision: "allow" }],
  [
    "pre",
    { action: "ask", reason: "sure?" },
    inside("PreToolUse", { permissionDecision: "ask", permissionDecisionReason: "sure?" }),
    inside("PreToolUse", {
      permissionDecision: "deny",
      permissionDecisionReason: "A person has to decide, and codex asks none: sure?",
    }),
    { decision: "deny", reason: "A person has to decide, and gemini asks none: sure?" },
  ],
  [
    "pre",
    { action: "modify", value: { command: "ls -a", timeout: 5 } },
    inside("PreToolUse", { updatedInput: { command: "ls -a", timeout: 5 } }),
    inside("PreToolUse", { permissionDecision: "allow", updatedInput: { command: "ls -a", timeout: 5 } }),
    inside("BeforeTool", { tool_input: { command: "ls -a", timeout: 5 } }),
  ],
  [
    "pre",
    { action: "halt", reason: "enough" },
    { continue: false, stopReason: "enough" },
    inside("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: "enough" }),
    { continue: false, stopReason: "enough" },
  ],
  [
    "pre",
    { action: "continue", context: "note", systemMessage: "for you" },
    { systemMessage: "for you", ...inside("PreToolUse", { additionalContext: "note" }) },
    { systemMessage: "for you", ...inside("PreToolUse", { additionalContext: "note" }) },
    { decision: "deny", reason: "Cannot use the answer to PreToolUse as gemini cannot tell the model anything there" },
  ],
  [
    "post",
    { action: "deny", reason: "see" },
    { decision: "block", reason: "see" },
    { decision: "block", reason: "see" },
    inside("AfterTool", { additionalContext: "see" }),
  ],
  [
    "post",
    { action: "modify", value: "b" },
    inside("PostToolUse", { updatedToolOutput: { stdout: "b", stderr: "" } }),
    "failed",
    { decision: "deny", reason: "b" },
  ],
  [
    "prompt",
    { action: "deny", reason: "no" },
    { decision: "block", reason: "no" },
    { decision: "block", reason: "no" },
    { decision: "deny", reason: "no" },
  ],
  [
    "prompt",
    { action: "continue", context: "note" },
    inside("UserPromptSubmit", { additionalContext: "note" }),
    inside("UserPromptSubmit", { additionalContext: "note" }),
    inside("BeforeAgent", { additionalContext: "note" }),
  ],
  [
    "prompt",
    { action: "modify", value: "other" },
    { decision: "block", reason: "Cannot use the answer to UserPromptSubmit as claude cannot rewrite anything there" },
    { decision: "block", reason: "Cannot use the answer to UserPromptSubmit as codex cannot rewrite anything there" },
    { decision: "deny", reason: "Cannot use the answer to UserPromptSubmit as gemini cannot rewrite anything there" },
  ],
  [
    "stop",
    { continue: true, reason: "go on" },
    { decision: "block", reason: "go on" },
    { decision: "block", reason: "go on" },
    { decision: "deny", reason: "go on" },
  ],
  ["stop", { action: "continue", context: "never continues" }, "failed", "failed", "failed"],
  [
    "stop",
    { action: "deny", reason: "go on", context: "and this" },
    { decision: "block", reason: "go on\nand this" },
    { decision: "block", reason: "go on\nand this" },
    { decision: "deny", reason: "go on\nand this" },
  ],
  ["stop", { action: "halt", reason: "" }, { continue: false }, { continue: false }, { continue: false }],
  [
    "start",
    { action: "continue", context: "hello" },
    inside("SessionStart", { additionalContext: "hello" }),
    inside("SessionStart", { additionalContext: "hello" }),
    inside("SessionStart", { additionalContext: "hello" }),
  ],
  [
    "permission",
    { action: "deny", reason: "no" },
    inside("PermissionRequest", { decision: { behavior: "deny", message: "no" } }),
    inside("PermissionRequest", { decision: { behavior: "deny", message: "no" } }),
    undefined,
  ],
  [
    "permission",
    { action: "allow" },
    inside("PermissionRequest", { decision: { behavior: "allow" } }),
    inside("PermissionRequest", { decision: { behavior: "allow" } }),
    undefined,
  ],
];

for (const [event, answer, claude, codex, gemini] of TABLE) {
  test(`${JSON.stringify(answer)} on ${event} means the same in every host`, async () => {
    for (const [host, expected] of [["claude", claude], ["codex", codex], ["gemini", gemini]] as [Host, unknown][]) {
      if (host === "gemini" && event === "permission") continue;
      const { output, stderr, code } = await ask(answering(answer), event, host);
      if (expected === "failed") {
        assert.deepEqual({ output, code }, { output: undefined, code: 1 }, host);
        assert.match(stderr, /^Hook .* failed on /, host);
      } else assert.deepEqual({ output, code }, { output: expected, code: 0 }, `${host}: ${stderr}`);
    }
  });
}

test("gemini, which lays the new input over the old, is never given one that would leave something in", async () => {
  const { output } = await ask(answering({ action: "modify", value: { command: "ls" } }), "pre", "gemini");
  assert.deepEqual(output, {
    decision: "deny",
    reason: "Cannot use the answer to PreToolUse as gemini cannot take 'timeout' out of the input",
  });
});

test("U7: a hook that throws, runs out of time or cannot be loaded refuses where it guards, and is told elsewhere", async () => {
  const broken: [string, RegExp][] = [
    [`export default () => { throw new Error("oh"); };`, /oh/],
    [
      `export const config = { timeout: 0.05 }; export default () => new Promise(() => {});`,
      /longer than its limit of 0\.05 s/,
    ],
    [`export default () => ({ action: "maybe" });`, /action "maybe" is unknown/],
    [`export default 5;`, /default export is no function/],
    [`export default (`, /Cannot load hook/],
  ];
  for (const [text, why] of broken) {
    const { output } = await ask(text, "pre", "claude");
    const { permissionDecision, permissionDecisionReason } = output!.hookSpecificOutput as Json;
    assert.equal(permissionDecision, "deny", text);
    assert.match(String(permissionDecisionReason), why);
    const { output: quiet, stderr, code } = await ask(text, "stop", "claude");
    assert.deepEqual({ quiet, code }, { quiet: undefined, code: 1 }, text);
    assert.match(stderr, why);
  }
});

test("onError decides for a script that fails, in every host", async () => {
  const failing = (header: string) => `#!/bin/sh\n${header}\necho broken >&2\nexit 1\n`;
  const at = (header: string, host: Host) => ask(failing(header), "pre", host, { name: "pre-tool-use.x.sh" });
  assert.equal((await at("", "claude")).code, 1);
  assert.equal((await at("", "codex")).output, undefined);
  for (const host of ["claude", "codex", "gemini"] as const) {
    const { output } = await at("# crochet: onError=deny", host);
    assert.match(JSON.stringify(output), /"deny".*exited with code 1: broken/, host);
  }
});

test("scripts speak the language of Claude Code, and other hosts hear it in theirs", async () => {
  const script = (body: string) => `#!/bin/sh\ncat >/dev/null\n${body}\n`;
  const rewrite = script(
    `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"x","timeout":5}}}'`,
  );
  const at = (text: string, event: string, host: Host) =>
    ask(text, event, host, { name: `${EVENTS[event]!.name}.x.sh` });
  assert.deepEqual(
    (await at(rewrite, "pre", "gemini")).output,
    inside("BeforeTool", { tool_input: { command: "x", timeout: 5 } }),
  );
  assert.deepEqual(
    (await at(rewrite, "pre", "codex")).output,
    inside("PreToolUse", { permissionDecision: "allow", updatedInput: { command: "x", timeout: 5 } }),
  );
  const block = script(`echo '{"decision":"block","reason":"not done"}'`);
  assert.deepEqual((await at(block, "stop", "gemini")).output, { decision: "deny", reason: "not done" });
  const words = script("echo some words");
  assert.deepEqual(
    (await at(words, "prompt", "gemini")).output,
    inside("BeforeAgent", { additionalContext: "some words" }),
  );
  assert.equal((await at(words, "stop", "codex")).output, undefined);
  const two = script("echo why >&2; exit 2");
  assert.deepEqual((await at(two, "stop", "codex")).output, { decision: "block", reason: "why" });
});

test("a script that other hosts ask reads an event of Claude Code", async () => {
  using folder = scratch();
  const file = `${folder.path}/pre-tool-use@Bash.x.sh`;
  writeFileSync(file, `#!/bin/sh\ncat > ${folder.path}/given\n`);
  const told = { ...EVENTS.pre!.gemini, cwd: folder.path, transcript_path: "/t" };
  await serve(file, JSON.stringify(told), {
    host: "gemini",
    env: { PATH: process.env.PATH },
    signal: new AbortController().signal,
  });
  const { hook_event_name, tool_name, tool_input, transcript_path } = JSON.parse(
    readFileSync(`${folder.path}/given`, "utf8"),
  );
  assert.deepEqual({ hook_event_name, tool_name, tool_input, transcript_path }, {
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command: "ls", timeout: 5 },
    transcript_path: "/t",
  });
});

test("a hook is asked only about what its name and config say", async () => {
  const deny = answering({ action: "deny", reason: "no" });
  const at = async (name: string, input: Json, text = deny) =>
    (await ask(text, "pre", "claude", { name, input })).output !== undefined;
  assert.equal(await at("pre-tool-use@Bash.x.ts", PRE), true);
  assert.equal(await at("10-pre-tool-use@Edit+Bash.x.ts", PRE), true);
  assert.equal(await at("pre-tool-use@Edit.x.ts", PRE), false);
  assert.equal(await at("stop.x.ts", PRE), false);
  assert.equal(
    await at("stop.x.ts", { ...EVENTS.stop!.claude, hook_event_name: "SubagentStop", agent_id: "a" }),
    false,
  );
  assert.equal(
    await at("subagent-stop.x.ts", { ...EVENTS.stop!.claude, hook_event_name: "SubagentStop", agent_id: "a" }),
    true,
  );
  assert.equal(await at("pre-tool-use.x.ts", { ...PRE, agent_id: "a" }), true);
  assert.equal(await at("post-tool-use.x.ts", POST), true);
  const failure = { ...POST, hook_event_name: "PostToolUseFailure", error: "Exit code 1" };
  assert.equal(await at("post-tool-use.x.ts", failure), false);
  assert.equal(await at("post-tool-use-failure.x.ts", failure), true);
  assert.equal(await at("post-tool-use-failure.x.ts", POST), false);
  assert.equal(await at("pre-tool-use.x.ts", PRE, `export const config = { matcher: "^Ed" };\n${deny}`), false);
  assert.equal(
    await at("pre-tool-use@Edit.x.ts", POST, `export const config = { also: ["post-tool-use@Bash"] };\n${deny}`),
    true,
  );
  assert.equal(await at("pre-tool-use.x.ts", { ...BASE, hook_event_name: "PostToolBatch", tool_calls: [] }), false);
  assert.equal(await at("pre-tool-use.x.ts", PRE, `export const config = { mode: "observe" };\n${deny}`), false);
});

test("codex's own tools are matched by the names its matchers know", async () => {
  const deny = answering({ action: "deny", reason: "no" });
  const at = async (name: string, tool_name: string) => {
    const { output } = await ask(deny, "pre", "codex", { name, input: { ...PRE, tool_name } });
    return output !== undefined;
  };
  assert.equal(await at("pre-tool-use@Write.x.ts", "apply_patch"), true);
  assert.equal(await at("pre-tool-use@apply_patch.x.ts", "apply_patch"), true);
  assert.equal(await at("pre-tool-use@Agent.x.ts", "spawn_agent"), true);
  assert.equal(await at("pre-tool-use@Bash.x.ts", "apply_patch"), false);
});

test("U2: the event of a served hook is read-only, complete and typed as everywhere", async () => {
  const text = `export default (event, ctx) => {
    let frozen = 0;
    for (const part of [event, event.input, event.original_input]) try { part.x = 1; } catch { frozen++; }
    return { action: "deny", reason: JSON.stringify([frozen, event.event, event.session_id, event.turn_id, event.tool_name, ctx.cwd, typeof event.timestamp, ctx.uuid().length]) };
  };`;
  const { output } = await ask(text, "pre", "claude");
  const { permissionDecisionReason } = output!.hookSpecificOutput as Json;
  assert.deepEqual(JSON.parse(String(permissionDecisionReason)), [
    3,
    "pre-tool-use",
    "s",
    "p",
    "Bash",
    "/tmp",
    "string",
    36,
  ]);
});

test("ctx.values are shared by the processes of a session, a file a key, and swept when they are old", async () => {
  using folder = scratch();
  const env = { HOME: folder.path };
  const file = `${folder.path}/stop.x.ts`;
  writeFileSync(
    file,
    `export default (_, { values }) => { const n = (values.get("n") ?? 0) + 1; values.set("n", n); values.set("gone", 1); values.delete("gone");
      if (n === 3) return { action: "deny", reason: "third" }; };`,
  );
  const once = async (session_id: string) => {
    const told = JSON.stringify({ ...EVENTS.stop!.claude, session_id });
    return (await serve(file, told, { host: "claude", env, signal: new AbortController().signal })).stdout !== "";
  };
  assert.deepEqual([await once("one"), await once("one"), await once("../two"), await once("one")], [
    false,
    false,
    false,
    true,
  ]);
  const values = `${folder.path}/.crochet/values`;
  assert.deepEqual(readdirSync(values).sort(), ["%2E%2E%2Ftwo", "one"]);
  assert.equal(readdirSync(`${values}/one`).length, 1);
  utimesSync(`${values}/one`, new Date(0), new Date(0));
  await once("three");
  assert.equal(existsSync(`${values}/one`), false);
});

test("values that cannot be kept are told, and never cost a hook its verdict", async () => {
  using folder = scratch();
  const file = `${folder.path}/stop.x.ts`;
  const answer = `{ action: "deny", reason: "not yet" }`;
  writeFileSync(
    file,
    `export default (_, { values }) => { values.set("big", 1n); values.set("n", 1); return ${answer}; };`,
  );
  const served = (CROCHET_HOME: string) =>
    serve(file, JSON.stringify(EVENTS.stop!.claude), {
      host: "claude",
      env: { CROCHET_HOME },
      signal: new AbortController().signal,
    });
  for (const [home, complaints] of [[folder.path, ["big"]], ["/dev/null", ["big", "n"]]] as const) {
    const { stdout, stderr, code } = await served(home);
    assert.deepEqual([JSON.parse(stdout), code], [{ decision: "block", reason: "not yet" }, 0]);
    const told = stderr.trimEnd().split("\n").map((line) => /^Cannot keep the value '(.*)' as ./.exec(line)?.[1]);
    assert.deepEqual(told, complaints);
  }
});

test("stdin that holds no event is told, and refuses nothing", async () => {
  for (const stdin of ["", "{", "null", "[]", '"x"', "{}", '{"hook_event_name":5}']) {
    const { stdout, stderr, code } = await serve("/x/stop.ts", stdin, {
      host: "claude",
      env: {},
      signal: new AbortController().signal,
    });
    assert.deepEqual({ stdout, code }, { stdout: "", code: 1 }, stdin);
    assert.match(stderr, /^Cannot /, stdin);
  }
});

/** Where a field of the host is found in what we make of it, if not under its name. */
const PLACES: { readonly [field: string]: (heard: HostEvent, fired: Json) => unknown } = {
  hook_event_name: ({ wireName }) => wireName,
  session_id: ({ session_id }) => session_id,
  cwd: ({ cwd }) => cwd,
  prompt_id: ({ turn_id }) => turn_id,
  agent_id: ({ agent_id }) => agent_id,
  tool_input: (_, { input }) => input,
  tool_response: (_, { result }) => (result as Json).response,
  from_model: (_, { old_model }) => old_model,
  to_model: (_, { new_model }) => new_model,
  custom_instructions: (_, { instructions }) => instructions || null,
};

/** What no event of ours has a field for. */
const LEFT_OUT = new Set(
  ("transcript_path agent_transcript_path permission_mode effort mcp_server is_interrupt background_tasks session_crons " +
    "seconds_since_last_response context_tokens prompt_cache_likely_expired prompt_cache_warm cache_ttl pricing " +
    "estimated_cache_write_usd requested_model PreModelSwitch.source PreToolUse.agent_type PostToolUse.agent_type")
    .split(" "),
);

const captures = sharedData("captures");

test("every capture of a host's event is read, and only what no event of ours has is left out", {
  skip: captures ? false : "the shared data is not here",
}, () => {
  const read: string[] = [];
  for (const name of readdirSync(captures!)) {
    const stdin: Json = JSON.parse(readFileSync(`${captures}/${name}`, "utf8")).stdin;
    const heard = fromHost(stdin, "claude");
    if (!heard) continue;
    const event = String(stdin.hook_event_name);
    read.push(event);
    const fired = heard.fired as unknown as Json;
    for (const [field, told] of Object.entries(stdin)) {
      if (LEFT_OUT.has(field) || LEFT_OUT.has(`${event}.${field}`)) continue;
      assert.deepEqual(PLACES[field]?.(heard, fired) ?? fired[field] ?? null, told, `${name} ${field}`);
    }
    assert.equal(heard.parent_agent_id !== undefined, "agent_id" in stdin, name);
  }
  assert.deepEqual([...new Set(read)].sort(), [
    "Notification",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreModelSwitch",
    "PreToolUse",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
  ]);
});
