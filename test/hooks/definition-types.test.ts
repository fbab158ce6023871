import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fire } from "../../lib/core/dispatch.ts";
import type { Model } from "../../lib/core/model.ts";
import { deny, modify } from "../../lib/core/verdict.ts";
import { definitions } from "../../lib/hooks/definitions.ts";
import { HookRegistry, sessionHooks } from "../../lib/hooks/registry.ts";
import { wrapToolCall } from "../../lib/hooks/wrap-tool-call.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { ended } from "../_crochet.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { put, scratch } from "../_scratch.ts";
import { load, one, preToolUse } from "./_definitions.ts";
import { testEnv } from "./_events.ts";
import { POST } from "./_fire.ts";

const CROCHET_LIB = new URL("../../lib/index.ts", import.meta.url).href;

test("S3.30: inline_rules may be text in the one-line form, and its mistakes keep their place in the file", async () => {
  const records = await one(`name: x\ntype: inline\nmatcher: { events: [PreToolUse] }\ninline_rules: |
  # guard
  args.command contains "rm -rf" and
    not args.command contains "tmp" -> deny("No")`);
  assert.equal((await preToolUse(records, "Bash", { command: "rm -rf /" })).reason, "No");
  assert.equal((await preToolUse(records, "Bash", { command: "rm -rf /tmp/x" })).decision, "continue");
  const problems: string[] = [];
  await one(`name: x\ntype: inline\ninline_rules: |\n  # guard\n  args.command like "x" -> deny("No")`, {
    onProblem: (message) => problems.push(message),
  });
  assert.match(problems.join(), /^Cannot load hooks\.yaml:7:22 as 'like' is not a known operator/);
});

test("S3.13, U3: a command reads one line of JSON and answers {action, modified_data} on stdout", async () => {
  using dir = scratch();
  put(dir.path, {
    "answer.sh": `#!/bin/sh\nread -r line; printf '%s' "$line" > "${dir.path}/stdin"\ncat "${dir.path}/answer"\n`,
  });
  const answer = async (text: string) => {
    put(dir.path, { answer: text });
    const records = await one(`name: x\ntype: command\nscript: answer.sh\nmatcher: { events: [PreToolUse] }`, {
      workspace: dir.path,
    });
    return await preToolUse(records, "Bash", { command: "ls" });
  };
  assert.equal((await answer("")).decision, "continue");
  assert.equal((await answer("{}")).decision, "continue");
  assert.equal((await answer("just words")).decision, "continue");
  const denied = await answer('{"action": "deny", "reason": "no"}');
  assert.deepEqual([denied.decision, denied.reason], ["deny", "no"]);
  assert.deepEqual((await answer('{"action": "modify", "modified_data": {"args": {"command": "pwd"}}}')).value, {
    command: "pwd",
  });
  assert.equal((await answer('{"action": "modify", "modified_data": {"other": 1}}')).modified, false);
  const stdin = JSON.parse(readFileSync(join(dir.path, "stdin"), "utf8"));
  assert.equal(stdin.event, "PreToolUse");
  assert.deepEqual([stdin.tool, stdin.args, stdin.session_id], ["Bash", { command: "ls" }, "s"]);
  assert.deepEqual([stdin.tool_name, stdin.tool_input], ["Bash", { command: "ls" }]);
});

test("S3.1, S3.2, S3.4, S3.34, S3.35: a command gets the seed's event names and data, from wrapToolCall and sessionHooks", async () => {
  using dir = scratch();
  const log = join(dir.path, "log");
  const hooks = new HookRegistry().registerSource(
    definitions({ hooks: { definitions: [{ name: "log", type: "command", command: `cat >> ${log}` }] } }),
  );
  await hooks.load();
  const life = sessionHooks(hooks, "s1");
  await life.onSessionStart({ profile: "ci", config: { depth: 2 } });
  await wrapToolCall(hooks, "s1", "bash", { command: "ls" }, () => "a.txt");
  const fails = () => Promise.reject(new RangeError("too far"));
  await assert.rejects(wrapToolCall(hooks, "s1", "bash", { command: "rm" }, fails));
  await life.onError(new RangeError("too far"), "bash");
  await life.onCheckpoint("c1");
  await life.onModelSwitch(null, "opus");
  await life.onMemoryUpdate("AGENTS.md");
  await life.onSessionEnd(1200, "done");
  const got = readFileSync(log, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const call = { tool: "bash", args: { command: "ls" } };
  const expected = [
    { event: "SessionStart", event_type: "start", profile: "ci", config: { depth: 2 } },
    { event: "PreToolUse", ...call },
    { event: "PostToolUse", ...call, result: "a.txt", error: null, duration_ms: 0 },
    { event: "PreToolUse", tool: "bash", args: { command: "rm" } },
    { event: "PostToolUse", tool: "bash", args: { command: "rm" }, result: null, error: "too far", duration_ms: 0 },
    { event: "Error", error_type: "RangeError", error_message: "too far", tool: "bash", severity: "error" },
    { event: "Checkpoint", checkpoint_id: "c1", checkpoint_type: "auto", message_count: 0, storage_path: null },
    { event: "ModelSwitch", old_model: null, new_model: "opus", reason: null, profile: null, triggered_by: "user" },
    { event: "MemoryUpdate", file_path: "AGENTS.md", update_type: "modified", content_size: null, path: "AGENTS.md" },
    { event: "SessionEnd", event_type: "end", duration_ms: 1200, exit_reason: "done" },
  ];
  assert.equal(got.length, expected.length);
  for (const [i, fields] of expected.entries()) {
    const timed = "tool" in fields && "duration_ms" in fields ? { duration_ms: got[i].duration_ms as number } : {};
    assert.partialDeepStrictEqual(got[i], { session_id: "s1", ...fields, ...timed });
    if ("duration_ms" in fields) assert.equal(typeof got[i].duration_ms, "number");
  }
});

test("U7: in wrapToolCall a guard that fails is a warning, and console.warn's if the host does not take it", async () => {
  const guard = { name: "guard", type: "command", command: "echo broken >&2; exit 1" } as const;
  const warnings: string[] = [];
  const hooks = new HookRegistry({ warn: (message) => warnings.push(message) })
    .registerSource(definitions({ hooks: { definitions: [guard] } }));
  await hooks.load();
  assert.equal(await wrapToolCall(hooks, "s", "bash", {}, () => "ran"), "ran");
  assert.equal(warnings.length, 2);
  assert.match(warnings[0]!, /Hook guard failed on pre-tool-use: .*exited with code 1: broken/);
  const script = `import { definitions, HookRegistry, wrapToolCall } from ${JSON.stringify(CROCHET_LIB)};
    const hooks = new HookRegistry().registerSource(definitions({ hooks: { definitions: [${
    JSON.stringify(guard)
  }] } }));
    await hooks.load();
    await wrapToolCall(hooks, "s", "bash", {}, () => "ran");`;
  using dir = scratch();
  put(dir.path, { "host.ts": script });
  const { err } = await ended([...OUR_RUNTIME, join(dir.path, "host.ts")], { cwd: dir.path });
  assert.match(err, /^crochet: Hook guard failed on pre-tool-use/);
});

test("S3.17, U7: under on_error: deny an llm definition without a model refuses", async () => {
  const judge = { name: "judge", type: "llm", prompt: "Is it safe?", on_error: "deny" } as const;
  for (const options of [{}, { by: { model: undefined } }]) {
    const hooks = new HookRegistry({ warn: () => {} })
      .registerSource(definitions({ hooks: { definitions: [judge] } }, options));
    await hooks.load();
    await assert.rejects(
      wrapToolCall(hooks, "s", "bash", {}, () => "ran"),
      /as there is no model: set ANTHROPIC_API_KEY/,
    );
  }
});

test("U7: a definition of any type that fails lets the thing happen and warns", async () => {
  const failing: [string, RegExp][] = [
    [`type: command\ncommand: "echo oops >&2; exit 1"`, /exited with code 1: oops/],
    [`type: command\ncommand: "echo '{ \\"action\\": '"`, /not valid JSON/],
    [`type: command\ncommand: "echo '{\\"action\\": \\"explode\\"}'"`, /action 'explode' is unknown/],
    [`type: command\ncommand: "sleep 10"\ntimeout: 0.2`, /longer than its limit of 0\.2 s/],
    [`type: internal`, /broken on purpose/],
    [`type: llm\nprompt: "Judge {{args}}"`, /no JSON verdict/],
  ];
  for (const [lines, why] of failing) {
    const records = await one(`name: x\nmatcher: { events: [PreToolUse] }\n${lines}`, {
      internal: {
        x: () => {
          throw new Error("broken on purpose");
        },
      },
      by: { model: scripted([{ text: "?" }]) },
    });
    const folded = await preToolUse(records, "Bash", {});
    assert.equal(folded.decision, "continue", lines);
    assert.match(folded.warnings.join("\n"), why, lines);
  }
});

test("C3: on_error overrides what a failure does", async () => {
  const records = await one(
    `name: x\ntype: command\ncommand: "exit 3"\non_error: deny\nmatcher: { events: [PreToolUse] }`,
  );
  assert.equal((await preToolUse(records, "Bash", {})).decision, "deny");
});

test("U13: exit code 2 of a command is a denial with stderr as its reason", async () => {
  const decide = async (command: string) =>
    await preToolUse(
      await one(`name: x\ntype: command\nmatcher: { events: [PreToolUse] }\ncommand: ${JSON.stringify(command)}`),
      "Bash",
      {},
    );
  assert.equal((await decide("echo not here >&2; exit 2")).reason, "not here");
  assert.equal((await decide("exit 2")).reason, "Denied by hook x");
  assert.equal((await decide(`echo '{"action":"deny","reason":"json"}'; echo err >&2; exit 2`)).reason, "json");
});

test("S3.17: an llm definition without a model is not created, with one warning; the rest works", async () => {
  const warnings: string[] = [];
  const records = await load(
    `hooks:
  definitions:
    - { name: a, type: llm, prompt: "x" }
    - { name: b, type: llm, prompt: "y" }
    - { name: c, type: command, command: "true" }
`,
    { warn: (message) => warnings.push(message) },
  );
  assert.deepEqual(records.map((r) => r.name), ["c"]);
  assert.equal(warnings.length, 1);
});

test("S3.17: an llm definition is off while there is no model, with one warning, and asks one that comes later", async () => {
  const warnings: string[] = [];
  const by: { model: Model | undefined } = { model: undefined };
  const records = await load(
    `hooks:
  definitions:
    - { name: a, type: llm, prompt: "x", matcher: { events: [PreToolUse] } }
    - { name: b, type: llm, prompt: "y", matcher: { events: [PreToolUse] } }
`,
    { by, warn: (message) => warnings.push(message) },
  );
  const off = await preToolUse(records, "Bash", {});
  assert.equal(off.decision, "continue");
  assert.match(off.runs[0]!.skipped!, /prompt hooks are off/);
  assert.equal(warnings.length, 1);
  by.model = scripted([{ text: '{"ok": false, "reason": "late"}' }]);
  assert.equal((await preToolUse(records, "Bash", {})).reason, "late");
});

test("S3.18: an llm definition asks its own model, else hooks.llm_model", async () => {
  const model = scripted([], { then: { text: '{"action": "deny", "reason": "policy"}' } });
  const records = await load(
    `hooks:
  llm_model: settings-model
  definitions:
    - { name: a, type: llm, prompt: "A {{args.command}}", matcher: { events: [PreToolUse] } }
    - { name: b, type: llm, prompt: "B", model: own, matcher: { events: [PostToolUse] } }
`,
    { by: { model } },
  );
  assert.equal((await preToolUse(records, "Bash", { command: "ls" })).reason, "policy");
  assert.equal(model.requests[0]!.model, "settings-model");
  assert.deepEqual(model.requests[0]!.messages[0]!.content, [{ type: "text", text: "A ls" }]);
  await fire(records, structuredClone(POST), testEnv());
  assert.equal(model.requests[1]!.model, "own");
});

test("an internal function may answer as in code or as definitions do", async () => {
  const answer = async (raw: unknown) =>
    await preToolUse(
      await one(`name: x\ntype: internal\nmatcher: { events: [PreToolUse] }`, { internal: { x: () => raw as never } }),
      "Bash",
      { command: "ls" },
    );
  assert.equal((await answer(deny("no"))).reason, "no");
  assert.deepEqual((await answer(modify({ command: "pwd" }))).value, { command: "pwd" });
  assert.deepEqual((await answer({ action: "modify", modified_data: { args: { a: 1 } } })).value, { a: 1 });
});
