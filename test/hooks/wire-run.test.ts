import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "../../lib/agent/agent.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Agent, Bash, Edit, Read, Write } from "../../lib/tools/index.ts";
import { scratch } from "../_scratch.ts";
import { testData } from "../_data.ts";
import { settingsHooks } from "./_settings-files.ts";

type Sent = Readonly<Record<string, any>>;

let sent: Promise<Sent[]> | undefined;

/** What a command hook of every event read in one run of a scripted agent, which is made once for all tests. */
function sentInRun(): Promise<Sent[]> {
  return sent ??= run();
}

async function run(): Promise<Sent[]> {
  using folder = scratch();
  const proj = join(folder.path, "proj");
  mkdirSync(proj);
  writeFileSync(join(proj, "a.txt"), "alpha\nbeta\n");
  const log = join(folder.path, "log");
  const hooks = Object.fromEntries(
    EVENTS.map((e) => [e, [{ hooks: [{ type: "command", command: `cat >> ${log}` }] }]]),
  );
  const files = [{ path: "--settings", text: JSON.stringify({ hooks }) }] as const;
  const call = (name: string, input: object) => ({ tools: [{ name, input }] });
  const model = scripted([
    call("Bash", { command: "echo hi", description: "say hi" }),
    call("Bash", { command: "echo out; echo err >&2; exit 3", description: "fails" }),
    call("Read", { file_path: "a.txt" }),
    call("Edit", { file_path: "a.txt", old_string: "alpha", new_string: "ALPHA" }),
    call("Write", { file_path: "b.txt", content: "new\n" }),
    call("Read", { file_path: "nope.txt" }),
    call("Agent", {
      description: "do sub",
      prompt: "SUBPROMPT",
      subagent_type: "general-purpose",
      run_in_background: false,
    }),
    { text: "all done" },
  ], {
    routes: [{
      when: ({ messages }) => JSON.stringify(messages[0]).includes("SUBPROMPT"),
      replies: [call("Bash", { command: "echo sub", description: "s" }), { text: "sub result" }],
    }],
  });
  const session = await agent({ model, tools: [Bash, Read, Edit, Write, Agent], cwd: proj }).open({
    hooks: settingsHooks(files),
  });
  await session.prompt("go");
  await session.close();
  return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
}

/** Keys in their order, all the way down; what may be null or is a list is told by its kind alone. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? [shape(value[0])] : [];
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.entries(value).map(([key, part]) => [key, part === null ? "object" : shape(part)]);
}

const EVENTS =
  "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart SubagentStop Stop SessionEnd"
    .split(" ");

/** The capture of each thing that is told in such a run, by what tells it from the others. */
const CAPTURES: readonly [capture: string, of: (sent: Sent) => boolean][] = [
  ["SessionStart.startup", (s) => s.hook_event_name === "SessionStart"],
  ["UserPromptSubmit", (s) => s.hook_event_name === "UserPromptSubmit"],
  ...(["PreToolUse", "PostToolUse"] as const).flatMap((event) =>
    ["Bash", "Read", "Edit", "Write"].map((tool): [string, (sent: Sent) => boolean] => [
      `${event}.${tool}`,
      (s) => s.hook_event_name === event && s.tool_name === tool && s.agent_id === undefined,
    ])
  ),
  ["PostToolUseFailure.Bash", (s) => s.hook_event_name === "PostToolUseFailure" && s.tool_name === "Bash"],
  ["PostToolUseFailure.Read", (s) => s.hook_event_name === "PostToolUseFailure" && s.tool_name === "Read"],
  ["PreToolUse.Agent", (s) => s.hook_event_name === "PreToolUse" && s.tool_name === "Agent"],
  ["PreToolUse.Bash.1", (s) => s.hook_event_name === "PreToolUse" && s.agent_id !== undefined],
  ["PostToolUse.Bash.1", (s) => s.hook_event_name === "PostToolUse" && s.agent_id !== undefined],
  ["SubagentStart", (s) => s.hook_event_name === "SubagentStart"],
  ["SubagentStop", (s) => s.hook_event_name === "SubagentStop"],
  ["Stop", (s) => s.hook_event_name === "Stop"],
  ["SessionEnd", (s) => s.hook_event_name === "SessionEnd"],
];

test(
  "what command hooks read in a run of ours is shaped as in the host, key by key",
  async () => {
    const sent = await sentInRun();
    const differing = CAPTURES.flatMap(([capture, of]) => {
      const ours = sent.find(of);
      const { stdin } = JSON.parse(readFileSync(testData(`captures/${capture}.json`), "utf8"));
      const [a, b] = [JSON.stringify(shape(ours)), JSON.stringify(shape(stdin))];
      return a === b ? [] : [{ capture, ours: a, host: b }];
    });
    assert.deepEqual(differing, []);
  },
);

test("file paths in tool_input are absolute, the error of a failed call is what the model reads, ids fit together", async () => {
  const sent = await sentInRun();
  const of = (event: string, tool?: string) => sent.find((s) => s.hook_event_name === event && s.tool_name === tool)!;
  const { cwd } = of("SessionStart");
  assert.equal(of("PreToolUse", "Read").tool_input.file_path, join(cwd, "a.txt"));
  assert.deepEqual(of("PreToolUse", "Edit").tool_input, {
    file_path: join(cwd, "a.txt"),
    old_string: "alpha",
    new_string: "ALPHA",
    replace_all: false,
  });
  assert.equal(of("PostToolUseFailure", "Bash").error, "Exit code 3\nout\nerr");
  assert.equal(new Set(sent.map((s) => s.session_id)).size, 1);
  assert.equal(of("PreToolUse", "Read").tool_use_id, of("PostToolUse", "Read").tool_use_id);
  const [start, stop] = ["SubagentStart", "SubagentStop"].map((name) => sent.find((s) => s.hook_event_name === name)!);
  assert.deepEqual([start!.agent_id, start!.agent_type], [stop!.agent_id, "general-purpose"]);
  assert.equal(stop!.last_assistant_message, "sub result");
  const inside = sent.find((s) => s.hook_event_name === "PreToolUse" && s.agent_id !== undefined)!;
  assert.deepEqual([inside.agent_id, inside.agent_type], [start!.agent_id, "general-purpose"]);
});

test("what a SessionStart hook exports reaches every Bash call of the session, those of sub-agents too", async () => {
  using folder = scratch();
  const command = `echo "export GREETING='it is set'" >> "$CLAUDE_ENV_FILE"`;
  const text = JSON.stringify({ hooks: { SessionStart: [{ hooks: [{ type: "command", command }] }] } });
  const files = [{ path: "--settings", text }] as const;
  const say = { tools: [{ name: "Bash", input: { command: 'echo "$GREETING"' } }] };
  const model = scripted([say, { tools: [{ name: "Agent", input: { description: "d", prompt: "SUBPROMPT" } }] }, {
    text: ".",
  }], {
    routes: [{
      when: ({ messages }) => JSON.stringify(messages[0]).includes("SUBPROMPT"),
      replies: [say, { text: "sub" }],
    }],
  });
  const outputs: string[] = [];
  const session = await agent({
    model,
    tools: [Bash, Agent],
    cwd: folder.path,
    on: (event) => {
      if (event.type === "tool_end" && event.name === "Bash") outputs.push(event.content);
    },
  }).open({ hooks: settingsHooks(files) });
  await session.prompt("go");
  await session.close();
  assert.deepEqual(outputs, ["it is set", "it is set"]);
});
