import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { HOSTS } from "../../lib/hooks/hosts/index.ts";
import { type HostEvent, ourEvents } from "../../lib/hooks/hosts/read-event.ts";
import { scratch } from "../_scratch.ts";
import { testData } from "../_data.ts";
import { ask, BASE, EVENTS, type Json, moduleAnswering, POST, PRE, served } from "./_served.ts";

test("a script that other hosts ask reads an event of Claude Code", async () => {
  using folder = scratch();
  const file = `${folder.path}/pre-tool-use@Bash.x.sh`;
  writeFileSync(file, `#!/bin/sh\ncat > ${folder.path}/given\n`);
  const told = { ...EVENTS.pre!.gemini, cwd: folder.path, transcript_path: "/t" };
  await served(file, told, "gemini", { PATH: process.env.PATH });
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
  const deny = moduleAnswering({ action: "deny", reason: "no" });
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
  const also = `export const config = { also: ["post-tool-use@Bash"] };\n${deny}`;
  assert.equal(await at("pre-tool-use@Edit.x.ts", POST, also), true);
  assert.equal(await at("pre-tool-use@Edit.x.ts", PRE, also), false, "each event has its own tools");
  assert.equal(await at("pre-tool-use@Edit.x.ts", { ...PRE, tool_name: "Edit" }, also), true);
  assert.equal(await at("pre-tool-use.x.ts", { ...BASE, hook_event_name: "PostToolBatch", tool_calls: [] }), false);
  assert.equal(await at("pre-tool-use.x.ts", PRE, `export const config = { mode: "observe" };\n${deny}`), false);
});

test("codex's own tools are matched by the names its matchers know", async () => {
  const deny = moduleAnswering({ action: "deny", reason: "no" });
  const at = async (name: string, tool_name: string) => {
    const { output } = await ask(deny, "pre", "codex", { name, input: { ...PRE, tool_name } });
    return output !== undefined;
  };
  assert.equal(await at("pre-tool-use@Write.x.ts", "apply_patch"), true);
  assert.equal(await at("pre-tool-use@apply_patch.x.ts", "apply_patch"), true);
  assert.equal(await at("pre-tool-use@Agent.x.ts", "spawn_agent"), true);
  assert.equal(await at("pre-tool-use@Bash.x.ts", "apply_patch"), false);
});

test("gemini's tools of servers are known by our names, whatever they are called there", async () => {
  const mcp_context = { server_name: "my-srv", tool_name: "do_it", command: "srv" };
  for (const tool_name of ["mcp_my-srv_do_it", "mcp__my-srv__do_it", "do_it"]) {
    const input = { ...EVENTS.pre!.gemini, tool_name, mcp_context };
    const text = `export default ({ tool_name }) => ({ action: "deny", reason: tool_name });`;
    const asked = (name: string) => ask(text, "pre", "gemini", { name, input });
    assert.equal((await asked("pre-tool-use@mcp__my-srv__do_it.x.ts")).output?.reason, "mcp__my-srv__do_it", tool_name);
    assert.equal((await asked("pre-tool-use@mcp__other__do_it.x.ts")).output, undefined, tool_name);
  }
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

test("U2: the event of a served hook says of a sub-agent which one it is and of what kind, as everywhere", async () => {
  const text = `export default ({ agent_id, parent_agent_id, agent_type }) =>
    ({ action: "deny", reason: JSON.stringify([agent_id, parent_agent_id, agent_type]) });`;
  const told = async (more: Json) => {
    const { output } = await ask(text, "pre", "claude", { input: { ...PRE, ...more } });
    return JSON.parse(String((output!.hookSpecificOutput as Json).permissionDecisionReason));
  };
  assert.deepEqual(await told({ agent_id: "a1", agent_type: "Explore" }), ["a1", "s", "Explore"]);
  assert.deepEqual(await told({ agent_type: "reviewer" }), ["s", null, null]);
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
    return (await served(file, { ...EVENTS.stop!.claude, session_id }, "claude", env)).stdout !== "";
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

test("values that cannot be kept are reported, and never cost a hook its verdict", async () => {
  using folder = scratch();
  const file = `${folder.path}/stop.x.ts`;
  const answer = `{ action: "deny", reason: "not yet" }`;
  writeFileSync(
    file,
    `export default (_, { values }) => { values.set("big", 1n); values.set("n", 1); return ${answer}; };`,
  );
  for (const [home, complaints] of [[folder.path, ["big"]], ["/dev/null", ["big", "n"]]] as const) {
    const { stdout, stderr, code } = await served(file, EVENTS.stop!.claude, "claude", { CROCHET_HOME: home });
    assert.deepEqual([JSON.parse(stdout), code], [{ decision: "block", reason: "not yet" }, 0]);
    const told = stderr.trimEnd().split("\n").map((line) => /^Cannot keep the value '(.*)': ./.exec(line)?.[1]);
    assert.deepEqual(told, complaints);
  }
});

test("a script runs in the host's folder if the agent's folder is gone, and still guards", async () => {
  const script = "#!/bin/sh\npwd >&2\nexit 2\n";
  for (const cwd of ["/no/such/folder", "/etc/passwd/x", "no/absolute/path", ""]) {
    const { stderr, code } = await ask(script, "pre", "claude", {
      name: "pre-tool-use.x.sh",
      input: { ...PRE, cwd },
    });
    assert.deepEqual([code, stderr], [2, `${process.cwd()}\n`], cwd);
  }
});

test("a prompt hook without a model reports that to the host, and lets nothing through silently", async () => {
  for (const host of ["claude", "codex", "gemini"] as const) {
    assert.deepEqual(await ask("Judge {{args}}", "pre", host, { name: "pre-tool-use.x.prompt.md" }), {
      output: undefined,
      stderr: "Prompt hooks are off as there is no model to ask: set ANTHROPIC_API_KEY\n",
      code: 1,
    });
  }
});

test("stdin without an event is reported, and refuses nothing", async () => {
  for (const stdin of ["", "{", "null", "[]", '"x"', "{}", '{"hook_event_name":5}']) {
    const { stdout, stderr, code } = await served("/x/stop.ts", stdin, "claude", {});
    assert.deepEqual({ stdout, code }, { stdout: "", code: 1 }, stdin);
    assert.match(stderr, /^Cannot /, stdin);
  }
});

/** Where a field of the host is found in what we make of it, if not under its name. */
const PLACES: { readonly [field: string]: (heard: HostEvent, fired: Json) => unknown } = {
  event: (_, { change }) => change,
  turn_id: ({ turn_id }) => turn_id,
  hook_event_name: ({ wireName }) => wireName,
  session_id: ({ session_id }) => session_id,
  cwd: ({ cwd }) => cwd,
  prompt_id: ({ turn_id }) => turn_id,
  agent_id: ({ agent_id }) => agent_id,
  agent_type: ({ agent_type }) => agent_type,
  tool_input: (_, { input }) => input,
  tool_response: (_, { result }) => (result as Json).response,
  from_model: (_, { old_model }) => old_model,
  to_model: (_, { new_model }) => new_model,
  compact_summary: (_, { summary }) => summary,
  tool_calls: (_, { tool_calls }) =>
    (tool_calls as readonly Json[]).map(({ input, response, is_error: _, ...rest }) => ({
      ...rest,
      tool_input: input,
      tool_response: response,
    })),
  custom_instructions: (_, { instructions }) => instructions || null,
};

test("U8: a call of another host is a success or a failure in every field that says so", () => {
  const cases: [told: Json, content: string, error: string | null][] = [
    [{ hook_event_name: "PostToolUse", tool_response: "done" }, "done", null],
    [{ hook_event_name: "PostToolUse", tool_response: { stdout: "out", stderr: "err" } }, "out\nerr", null],
    [{ hook_event_name: "PostToolUse", tool_response: { error: "no file" } }, "no file", "no file"],
    [{ hook_event_name: "PostToolUseFailure", error: "Exit code 1" }, "Exit code 1", "Exit code 1"],
  ];
  for (const [told, content, error] of cases) {
    const { tool_response: _, ...base } = POST;
    const fired = ourEvents({ ...base, ...told }, HOSTS.claude)[0]!.fired as unknown as Json;
    const failed = error !== null;
    const result = { content, is_error: failed, response: told.tool_response ?? error };
    const expected = { outcome: failed ? "failure" : "success", failed, error, result };
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(fired[field], value, field);
  }
});

/** What no event of ours has a field for. */
const LEFT_OUT = new Set(
  ("transcript_path agent_transcript_path permission_mode effort mcp_server is_interrupt background_tasks session_crons " +
    "seconds_since_last_response context_tokens prompt_cache_likely_expired prompt_cache_warm cache_ttl pricing " +
    "estimated_cache_write_usd requested_model PreModelSwitch.source PostModelSwitch.source trigger_file_path")
    .split(" "),
);

const captures = testData("captures");

test("every capture of a host's event is read, and only what no event of ours has is left out", () => {
  const read: string[] = [];
  for (const name of readdirSync(captures)) {
    const stdin: Json = JSON.parse(readFileSync(`${captures}/${name}`, "utf8")).stdin;
    const heard = ourEvents(stdin, HOSTS.claude)[0]!;
    const event = String(stdin.hook_event_name);
    read.push(event);
    const fired = heard.fired as unknown as Json;
    for (const [field, told] of Object.entries(stdin)) {
      if (LEFT_OUT.has(field) || LEFT_OUT.has(`${event}.${field}`)) continue;
      assert.deepEqual(PLACES[field]?.(heard, fired) ?? fired[field] ?? null, told, `${name} ${field}`);
    }
    assert.equal(heard.parent_agent_id !== undefined, "agent_id" in stdin, name);
  }
  assert.ok(new Set(read).size >= 31, "every capture is read");
});
