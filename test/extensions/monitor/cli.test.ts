import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "jsonc-parser";
import { allStandings } from "../../../lib/extensions/monitor/standing.ts";
import { CROCHET } from "../../_crochet.ts";
import { put, scratch } from "../../_scratch.ts";
import { testData } from "../../_data.ts";
import { until } from "../../_until.ts";

const BIN = fileURLToPath(new URL("../../../lib/cli/crochet", import.meta.url));
const folder = scratch();
const root = folder.path;
after(() => folder[Symbol.dispose]());
const env = { ...process.env, CROCHET_HOME: join(root, "state"), HOME: root, NO_COLOR: "1" };

/** On the runtime the test runs on: what is written names it. */
function crochet(args: string[], input = "", more: NodeJS.ProcessEnv = {}) {
  return start([...CROCHET, ...args], input, more);
}

function start([program, ...args]: readonly [string, ...string[]], input: string, more: NodeJS.ProcessEnv = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: root,
    env: { ...env, ...more },
    input,
    encoding: "utf8",
    timeout: 300_000,
  });
  return { status, stdout, stderr };
}

const SILENT = { status: 0, stdout: "", stderr: "" };
const hook = (name: string, id: string, input: unknown) =>
  crochet(["agent", "hook", name, id], typeof input === "string" ? input : JSON.stringify(input));
const stateOf = (id: string) => {
  const { state, ...more } = allStandings(join(root, "state", "agents")).find((one) => one.id === id) ?? {};
  return "prompt_type" in more ? `${state}(${more.prompt_type})` : state;
};

type Entry = { matcher?: string; hooks: { type: string; command: string }[] };

/** Watches an agent, and gives the entries that its settings file holds. */
function watch(id: string, ...more: string[]): { path: string; hooks: Readonly<Record<string, Entry[]>> } {
  const { status, stdout } = crochet(["agent", "settings", id, ...more]);
  assert.equal(status, 0);
  const path = stdout.trim().split("\n").at(-1)!;
  return { path, hooks: JSON.parse(readFileSync(path, "utf8")).hooks };
}

/** What the host sends on stdin, as it was recorded; `changed` names another tool. */
function captured(name: string, changed: object = {}): string {
  return JSON.stringify({
    ...JSON.parse(readFileSync(testData(`captures/${name}.json`), "utf8")).stdin,
    ...changed,
  });
}

const PROMPT_TOOLS = "ExitPlanMode|AskUserQuestion|EnterPlanMode";

test("S2.9, S2.10, S2.15, S2.18: agent settings writes one PreToolUse entry after Stop and Notification, and prints the path", () => {
  const { path, hooks } = watch("fresh");
  assert.equal(path, join(root, "state", "agents", "fresh.settings.json"));
  assert.deepEqual(Object.entries(hooks).map(([event, entries]) => [event, entries.map((entry) => entry.matcher)]), [
    ["Stop", [undefined]],
    ["Notification", [undefined]],
    ["PreToolUse", [PROMPT_TOOLS]],
    ["PostToolUse", [PROMPT_TOOLS]],
    ["PostToolUseFailure", [PROMPT_TOOLS]],
    ["UserPromptSubmit", [undefined]],
    ["SessionEnd", [undefined]],
  ]);
  const [{ type, command }] = hooks.PreToolUse![0]!.hooks as [Entry["hooks"][number]];
  assert.equal(type, "command");
  assert.match(command, /^\/.* \/.*note\.ts agent hook pretooluse fresh$/);
});

test("S2.1, S2.3, S2.4, S2.7, S2.8, S2.9, U14: the written commands are silent and follow what the agent does", () => {
  const { hooks } = watch("followed", "--on-prompt", "none");
  const tool = (tool_name: string) => ({ tool_name, tool_input: { questions: [{ question: "Which one?" }] } });
  for (
    const [event, stdin, state] of [
      ["PreToolUse", captured("PreToolUse.Bash"), "working"],
      ["PreToolUse", captured("PreToolUse.Bash", tool("AskUserQuestion")), "prompting(question)"],
      ["Notification", captured("Notification.elicitation_response"), "prompting(question)"],
      ["PostToolUse", captured("PostToolUse.Bash", tool("AskUserQuestion")), "working"],
      ["PreToolUse", captured("PreToolUse.Bash", tool("EnterPlanMode")), "prompting(plan_approval)"],
      ["PostToolUseFailure", captured("PostToolUseFailure.Bash", tool("EnterPlanMode")), "working"],
      ["Notification", captured("Notification.elicitation_response", PERMISSION), "prompting(permission)"],
      ["PreToolUse", captured("PreToolUse.Bash", tool("ExitPlanMode")), "prompting(plan_approval)"],
      ["Notification", captured("Notification.elicitation_response", PERMISSION), "prompting(plan_approval)"],
      ["Stop", captured("Stop"), "waiting"],
      ["UserPromptSubmit", captured("UserPromptSubmit"), "working"],
      ["SessionEnd", captured("SessionEnd.1"), "working"],
      ["SessionEnd", captured("SessionEnd"), "stopped"],
      ["UserPromptSubmit", captured("UserPromptSubmit"), "stopped"],
    ] as const
  ) {
    const { command } = hooks[event]![0]!.hooks[0]!;
    assert.deepEqual(start(["/bin/sh", "-c", command], stdin), SILENT, command);
    assert.equal(stateOf("followed"), state, `after ${event}`);
  }
});

const PERMISSION = { notification_type: "permission_prompt", message: "Claude needs your permission to use Bash" };

for (const first of [["settings", "first"], ["hook", "stop", "first"]]) {
  test(`files about watched agents are readable by their user only, if agent ${first[0]} comes first`, () => {
    const state = join(mkdtempSync(join(root, "home-")), "state");
    const [program, ...words] = CROCHET;
    const { status } = spawnSync(program, [...words, "agent", ...first], {
      cwd: root,
      env: { ...env, CROCHET_HOME: state },
      input: "{}",
    });
    assert.equal(status, 0);
    const kept = [state, ...readdirSync(state, { recursive: true, encoding: "utf8" }).map((name) => join(state, name))];
    assert.ok(kept.length > 2);
    assert.deepEqual(kept.filter((path) => statSync(path).mode & 0o077), []);
  });
}

test("agent settings refuses a workspace whose own hooks it could not keep, and names the file", () => {
  const workspace = join(root, "odd");
  mkdirSync(join(workspace, ".claude"), { recursive: true });
  for (const text of ["{", "[]", "null", '{"hooks":[]}', '{"hooks":{"Stop":{}}}']) {
    writeFileSync(join(workspace, ".claude", "settings.json"), text);
    const { status, stderr } = crochet(["agent", "settings", "odd", "--workspace", workspace]);
    assert.equal(status, 2);
    assert.match(stderr, /Cannot keep the hooks of \S+settings\.json as /, text);
    assert.equal(readFileSync(join(workspace, ".claude", "settings.json"), "utf8"), text);
  }
});

test("S2.2: the user's own hooks and keys are kept, in front of ours, with comments and trailing commas", () => {
  const workspace = join(root, "project");
  const own = `{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "true" }] }`;
  const text = `{\n  // ours to say\n  "model": "x", /* here */\n  "hooks": {\n    "Stop": [], // none yet\n    ` +
    `"PreToolUse": [${own}],\n  },\n}\n`;
  put(workspace, { ".claude/settings.json": text });
  const { stdout, status } = crochet(["agent", "settings", "kept", "--workspace", workspace]);
  assert.equal(status, 0);
  const made = readFileSync(stdout.trim(), "utf8");
  for (const words of ["// ours to say", "/* here */", "// none yet", "agent hook stop kept"]) {
    assert.ok(made.includes(words), `${words} is not in\n${made}`);
  }
  const { model, hooks } = parse(made) as { model: string; hooks: Record<string, Entry[]> };
  assert.deepEqual([model, hooks.PreToolUse!.length, hooks.PreToolUse![0]], ["x", 2, JSON.parse(own)]);
  assert.equal(readFileSync(join(workspace, ".claude/settings.json"), "utf8"), text);
});

test("S2.7: the launcher of the package notes an event too", () => {
  assert.deepEqual(start([BIN, "agent", "hook", "stop", "launched"], "{}"), SILENT);
  assert.equal(stateOf("launched"), "waiting");
});

for (
  const [what, input] of [["no JSON", "not json"], ["no tool_name", {}], ["an unknown tool", { tool_name: "Bash" }], [
    "nothing",
    "",
  ]] as const
) {
  test(`S2.5, S2.6: ${what} on stdin is not an event: silent, exit 0`, () => {
    assert.deepEqual(hook("pretooluse", "quiet", input), SILENT);
    assert.equal(stateOf("quiet"), undefined);
  });
}

test("S2.8: a hook that cannot write its log, or read what to do, is silent and exits 0 all the same", () => {
  put(root, { "state/agents/torn.on-prompt.json": "{" });
  assert.deepEqual(hook("pretooluse", "torn", { tool_name: "AskUserQuestion" }), SILENT);
  assert.deepEqual(crochet(["agent", "hook", "stop", "x"], "{}", { CROCHET_HOME: "/proc/none" }), SILENT);
  assert.deepEqual(hook("stop", "../escape", {}), SILENT);
});

test("S2.13, S2.18: a plan that waits triggers the on_prompt action, once", async () => {
  const out = join(root, "escalated");
  watch("planner", "--on-prompt", `echo "$CROCHET_AGENT_ID $CROCHET_PROMPT_TYPE" >> ${out}`);
  hook("pretooluse", "planner", { tool_name: "ExitPlanMode", tool_input: { plan: "1. do it" } });
  hook("notification", "planner", PERMISSION);
  // Actions are started and not awaited: the next prompt shows that the permission before it started none.
  hook("stop", "planner", {});
  hook("pretooluse", "planner", { tool_name: "AskUserQuestion", tool_input: { questions: [{ question: "Why?" }] } });
  await until("the question is reported", () => textOf(out).includes("question"));
  assert.deepEqual(textOf(out).trim().split("\n").sort(), ["planner plan_approval", "planner question"]);
});

test("S2.13, U14: a question told twice notifies once, one after the end not at all, and idling does not dismiss it", async () => {
  const out = join(root, "told");
  watch("asker", "--on-prompt", `echo "$CROCHET_PROMPT_MESSAGE" >> ${out}`);
  const asks = (question: string) =>
    hook("pretooluse", "asker", { tool_name: "AskUserQuestion", tool_input: { questions: [{ question }] } });
  asks("Why?");
  asks("Why?");
  hook("notification", "asker", { notification_type: "idle_prompt", message: "Claude is waiting for your input" });
  assert.equal(stateOf("asker"), "prompting(question)");
  asks("Why?");
  asks("How?");
  await until("the second question is reported", () => textOf(out).includes("How?"));
  hook("sessionend", "asker", { reason: "exit" });
  asks("Still?");
  watch("another", "--on-prompt", `echo "another" >> ${out}`);
  hook("pretooluse", "another", { tool_name: "ExitPlanMode", tool_input: { plan: "1. do it" } });
  await until("the other agent is reported", () => textOf(out).includes("another"));
  assert.deepEqual(textOf(out).trim().split("\n"), ["Why?", "How?", "another"]);
});

test("S2.14, S2.18: without --on-prompt a person is notified on the desktop", async () => {
  const out = join(root, "notified");
  put(root, { "bin/notify-send": `#!/bin/sh\necho "$2" >> ${out}\n` });
  chmodSync(join(root, "bin/notify-send"), 0o755);
  const { hooks } = watch("default");
  const { command } = hooks.PreToolUse![0]!.hooks[0]!;
  const input = JSON.stringify({ tool_name: "ExitPlanMode", tool_input: { plan: "1. do it" } });
  const PATH = `${join(root, "bin")}:${process.env.PATH}`;
  assert.deepEqual(start(["/bin/sh", "-c", command], input, { PATH }), SILENT);
  await until("a person is notified", () => textOf(out) !== "");
  assert.equal(textOf(out), "Agent default waits (plan_approval): 1. do it\n");
  assert.deepEqual(crochet(["agent", "hook", "pretooluse", "unprepared"], input, { PATH }), SILENT);
  await until("a person is notified", () => textOf(out).endsWith("Agent unprepared waits (plan_approval): 1. do it\n"));
});

test("S2.3: the agent-prompt hooks of a watched agent's project are asked, once it is trusted", async () => {
  const workspace = join(root, "with-hooks");
  const out = join(root, "fired");
  put(workspace, { "hooks/agent-prompt.sh": `cat >> ${out}\n` });
  const { hooks } = watch("asker", "--workspace", workspace, "--on-prompt", "none");
  assert.equal(crochet(["agent", "prompt", "asker"]).status, 0);
  assert.equal(textOf(out), "");
  assert.equal(crochet(["trust", workspace]).status, 0);
  const input = JSON.stringify({ tool_name: "AskUserQuestion", tool_input: { questions: [{ question: "Why?" }] } });
  assert.deepEqual(start(["/bin/sh", "-c", hooks.PreToolUse![0]!.hooks[0]!.command], input), SILENT);
  await until("the hook is asked", () => textOf(out).endsWith("\n"));
  const { hook_event_name, session_id, prompt_type, message } = JSON.parse(textOf(out));
  assert.deepEqual([hook_event_name, session_id, prompt_type, message], ["AgentPrompt", "asker", "question", "Why?"]);
});

test("agents lists what is watched, with what each asks", () => {
  hook("pretooluse", "shown", { tool_name: "EnterPlanMode" });
  const { stdout } = crochet(["agents"]);
  assert.match(stdout, /shown\s+prompting\(plan_approval\)/);
});

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
