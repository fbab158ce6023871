import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import hooksTest from "../../../lib/cli/hooks/test.ts";
import { noSandbox } from "../../_needs.ts";
import { type Place, place } from "../../_place.ts";
import { RUNTIME } from "../../_runtime.ts";
import { put } from "../../_scratch.ts";

/** A host that asks its model, runs its hooks before a call and at the end, and runs the call. */
const HOST = `
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
const { hooks = {} } = existsSync(".claude/settings.json") ? JSON.parse(readFileSync(".claude/settings.json", "utf8")) : {};
const session = async (prompt) => {
const messages = [{ role: "user", content: prompt }];
const headers = { "x-api-key": "test", "anthropic-version": "1" };
const ask = async () => {
  const tools = ["Bash", "Write"].map((name) => ({ name, input_schema: { type: "object" } }));
  const body = JSON.stringify({ model: "fake", max_tokens: 9, messages, tools });
  const { content } = await (await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body })).json();
  messages.push({ role: "assistant", content });
  return content[0];
};
const run = (line, input = "") => spawnSync("/bin/sh", ["-c", line], { input, encoding: "utf8", env: { ...process.env, CLAUDE_PROJECT_DIR: process.cwd() } });
const fire = (event, fields) => (hooks[event] ?? []).filter((entry) => !entry.matcher || entry.matcher.split("|").includes(fields.tool_name)).flatMap(({ hooks }) => hooks)
  .map(({ command }) => run(command, JSON.stringify({ hook_event_name: event, session_id: "s", cwd: process.cwd(), ...fields })))
  .map(({ status, stdout, stderr }) => status === 2 ? { decision: "block", reason: stderr, hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: stderr } } : JSON.parse(stdout || "{}"));
const write = (path, text) => { mkdirSync(dirname(path), { recursive: true }); writeFileSync(path, text); };
let said = await ask();
while (said.type === "tool_use") {
  const denied = fire("PreToolUse", { tool_name: said.name, tool_input: said.input }).find((answer) => answer.hookSpecificOutput?.permissionDecision === "deny");
  const content = denied ? denied.hookSpecificOutput.permissionDecisionReason : (said.name === "Bash" ? run(said.input.command).stdout : said.name === "Agent" ? await session(said.input.prompt) : said.name === "Read" ? readFileSync(said.input.file_path, "utf8") : write(said.input.file_path, said.input.content)) || "nothing";
  messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: said.id, content }] });
  said = await ask();
}
const back = fire("Stop", { last_assistant_message: said.text }).find((answer) => answer.decision === "block");
if (back) messages.push({ role: "user", content: back.reason });
if (back) await ask();
return said.text;
};
await session("go");
`;

/** What may be wrong with it: the words it has, and those it has instead. */
const FAULTS = {
  none: ["", ""],
  "reads the answer by a wrong key": [".permissionDecision ===", ".permission_decision ==="],
  "drops entries with a matcher": [
    '!entry.matcher || entry.matcher.split("|").includes(fields.tool_name)',
    "!entry.matcher",
  ],
  "renames an event": [`fire("PreToolUse"`, `fire("BeforeToolUse"`],
  "refuses in words of its own": ["denied.hookSpecificOutput.permissionDecisionReason", `"Not allowed"`],
  "ends before it asks": ["let said", `console.error("no model for you"); process.exit(1);\nlet said`],
  "asks with a wrong key": [
    "max_tokens: 9, messages,",
    `max_tokens: 9, messages: messages.map((one) => ({ ...one, name: "x" })),`,
  ],
  "dies after it asked": ["while (said.type", `process.kill(process.pid, "SIGKILL");\nwhile (said.type`],
  "ends with an error": ["while (said.type", "process.exit(7);\nwhile (said.type"],
  "hangs after it asked": [
    "while (said.type",
    "await new Promise((resolve) => setTimeout(resolve, 60_000));\nwhile (said.type",
  ],
  "shows the last refusal": ["tool_input: said.input }).find(", "tool_input: said.input }).findLast("],
  "starts sub-agents, too": [`["Bash", "Write"]`, `["Bash", "Write", "Edit", "Agent"]`],
  "reads files, too": [`["Bash", "Write"]`, `["Bash", "Write", "Read"]`],
  "runs no calls": ["run(said.input.command).stdout", `""`],
  "asks hooks about its shell alone": [
    `=== "tool_use") {`,
    `=== "tool_use") {\n  if (said.name !== "Bash") delete hooks.PreToolUse;`,
  ],
} as const;

export type Fault = keyof typeof FAULTS;

/** Puts a fake Claude Code into a folder. */
export function fakeHost(folder: string, fault: Fault = "none", version = "1.0.0"): void {
  const [was, is] = FAULTS[fault];
  const launch = `#!/bin/sh\n[ "$1" = --version ] && { echo '${version} (fake)'; exit; }\nexec ${
    RUNTIME.join(" ")
  } '${folder}/host.mjs' "$@"\n`;
  put(folder, { "host.mjs": HOST.replace(was, is), claude: launch });
  chmodSync(join(folder, "claude"), 0o755);
}

export const GUARD =
  `export default ({ input }) => /^rm/.test(input.command) ? { action: "deny", reason: "NOT-THIS" } : undefined;`;
const STOP = `export default (e) => e.stop_hook_active ? undefined : { action: "deny", reason: "GO-ON" };`;
export const FILES = { "hooks/pre-tool-use@Bash.guard.ts": GUARD, "hooks/stop.again.ts": STOP };
export const RM = ["--set", "tool_input.command=rm -r build"];
export const CONFINED = { skip: noSandbox };

/** A project whose PATH begins with a fake Claude Code. */
export function withHost(fault: Fault = "none", files: Record<string, string> = FILES): Place {
  const here = place(files);
  const bin = join(dirname(here.cwd), "bin");
  fakeHost(bin, fault);
  here.env.PATH = `${bin}:${process.env.PATH}`;
  here.env.CROCHET_HOSTS = join(dirname(here.cwd), "hosts");
  return here;
}

export const guarded = (here: Place, ...more: string[]) =>
  here.call(hooksTest, "hooks/pre-tool-use@Bash.guard.ts", ...RM, "--in", "claude", ...more);

/** A fault of a host, the state and the exit code it gives, and the sentence. */
export type StateRow = readonly [fault: Fault, state: string, code: number, why?: RegExp];

export function testState([fault, state, code, why]: StateRow): void {
  test(`a host with the fault '${fault}' gives '${state}' and exit code ${code}`, CONFINED, async () => {
    using here = withHost(fault);
    const { out, err, code: ended } = await guarded(here, "--json", "--timeout", "3");
    const { items: [{ runs: [run] }] } = JSON.parse(out);
    assert.equal(run.state, state, `${run.why}\n${err}`);
    assert.equal(ended, code);
    if (why) assert.match(run.why, why);
    else assert.deepEqual([run.fired, run.said, run.effect, run.read], [1, "deny", "denied", "NOT-THIS"]);
  });
}
