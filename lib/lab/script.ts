import { setTimeout as sleep } from "node:timers/promises";
import { type HostName, HOSTS } from "../hooks/hosts/index.ts";
import { inverse, keysFor, renamed } from "../hooks/hosts/read-event.ts";
import type { LabStep, ModelCall, Seen } from "./lab-model.ts";
import type { JsonObject } from "../core/json.ts";

/** A call of a tool, by our names. */
export interface ScriptedCall {
  readonly tool: string;
  readonly input: JsonObject;
}

/** What makes an event happen: what the person and the model say. */
export interface Script {
  readonly prompt: string;
  /** The call in the ways that a host may offer it; absent if none is made. */
  readonly calls?: readonly ModelCall[];
  readonly text: string;
  /** What the model says once that it has used. */
  readonly tokens?: number;
  /** Tools that need no permission. */
  readonly allowed: readonly string[];
}

const WITH_CALL = ["pre-tool-use", "post-tool-use", "post-tool-use-failure", "post-tool-batch", "permission-request"];
const WITH_AGENT = ["subagent-start", "agent-start", "subagent-stop"];
const WITH_TEXT = ["session-start", "user-prompt-submit", "iteration", "stop", "session-end"];
const COMPACTING = ["pre-compact", "post-compact"];

/** Hosts in which an event is known to happen in a session that nobody watches; absent: in all. */
const ONLY_IN: { readonly [event: string]: readonly HostName[] } = {
  "permission-request": ["claude"],
  ...Object.fromEntries([...WITH_AGENT, ...COMPACTING].map((event) => [event, ["claude", "codex"]])),
};

/** What files hold that a call reads: it is seen by that. */
export const MARK = "a file that the lab has written";

/** By this a sub-agent is known from the agent that started it. */
const TASK = "Report that you are the sub-agent";

/** The tools whose effect is seen from outside. */
const WATCHED = ["Bash", "Write", "Edit", "Read"];

/** Why an event cannot be made to happen in a host, or be seen there; undefined if it can. */
export function unmade(host: HostName, event: string, tool: string): string | undefined {
  const known = [...WITH_CALL, ...WITH_AGENT, ...WITH_TEXT, ...COMPACTING].includes(event);
  if (!known || !(ONLY_IN[event] ?? [host]).includes(host)) {
    return `nothing is known to make ${event} happen in ${host} without a person`;
  }
  return WITH_CALL.includes(event) && !WATCHED.includes(tool) ? `nothing shows whether ${tool} ran` : undefined;
}

/** The call that an event is about; undefined for an event without one. */
export function callAt(event: string, wire: JsonObject, isSet: boolean, host: HostName): ScriptedCall | undefined {
  if (WITH_AGENT.includes(event)) {
    return { tool: "Agent", input: { description: "report", prompt: TASK, subagent_type: "general-purpose" } };
  }
  // It compacts between two requests of one turn.
  if (COMPACTING.includes(event) && host === "codex") return { tool: "Bash", input: { command: "true" } };
  if (!WITH_CALL.includes(event)) return undefined;
  const [batched] = (wire.tool_calls ?? []) as readonly JsonObject[];
  const { tool_name, tool_input } = batched ?? wire;
  const call = { tool: String(tool_name), input: (tool_input ?? {}) as JsonObject };
  if (event !== "post-tool-use-failure" || isSet) return call;
  // Gemini takes a command that ends with an error for one that worked.
  return host === "gemini" || call.tool === "Read"
    ? { tool: "Read", input: { file_path: `${wire.cwd}/missing.txt` } }
    : { tool: "Bash", input: { command: "exit 3", description: "a command" } };
}

export function scriptOf(host: HostName, event: string, wire: JsonObject, call: ScriptedCall | undefined): Script {
  return {
    prompt: event === "user-prompt-submit" ? String(wire.prompt) : "go",
    ...(call && { calls: callsOf(host, call) }),
    text: event === "stop" ? String(wire.last_assistant_message) : "done",
    ...(COMPACTING.includes(event) && { tokens: 900_000 }),
    allowed: call && event !== "permission-request" ? [call.tool] : [],
  };
}

function callsOf(host: HostName, { tool, input }: ScriptedCall): ModelCall[] {
  if (host === "codex") return codexCalls(tool, input);
  const { tools } = HOSTS[host];
  const theirs = renamed(input, inverse(keysFor(tool, HOSTS[host]))) as JsonObject;
  return [...Object.keys(tools).filter((name) => tools[name] === tool), tool].map((name) => ({ name, input: theirs }));
}

/** Its tools have neither our names nor our fields. */
function codexCalls(tool: string, input: JsonObject): ModelCall[] {
  const { command, file_path, content, old_string, new_string, prompt } = input;
  if (tool === "Agent") return [{ name: "spawn_agent", namespace: "multi_agent_v1", input: { message: prompt } }];
  if (tool === "Bash") {
    return [{ name: "exec_command", input: { cmd: command } }, { name: "shell_command", input: { command } }];
  }
  const lines = (mark: string, text: unknown) => String(text).replace(/\n$/, "").replace(/^/gm, mark);
  const change = tool === "Write"
    ? `*** Add File: ${file_path}\n${lines("+", content)}\n`
    : `*** Update File: ${file_path}\n@@\n${lines("-", old_string)}\n${lines("+", new_string)}\n`;
  const freeform = `*** Begin Patch\n${change}*** End Patch\n`;
  return tool === "Read" ? [] : [{ name: "apply_patch", input: { input: freeform }, freeform }];
}

/** How long an agent may wait for its sub-agent, and how long that may take to end. */
const WAIT_MS = 20_000;
const END_MS = 2500;

/** The model of a session: it makes its call once, as far as it has seen, and then says its text. */
export function modelOf({ calls, text, tokens }: Script) {
  let lacks = false;
  let spent = false;
  const said = Promise.withResolvers<void>();
  const next = async ({ results, conversation, tools }: Seen): Promise<LabStep> => {
    if (tools.length === 0) return { text: "ok" };
    const isTask = conversation.includes(TASK);
    if (calls && results === 0 && !isTask && !spent) {
      const call = calls.find(({ name }) => tools.includes(name));
      lacks ||= !call;
      // Once: a host that read this in every reply would compact forever.
      spent = tokens !== undefined;
      return { ...(call ? { tools: [call] } : { text }), ...(spent && { tokens: tokens! }) };
    }
    if (isTask && results === 0) said.resolve();
    // Codex does not wait for the agents that it started.
    if (isTask && results > 0) await Promise.race([said.promise.then(() => sleep(END_MS)), sleep(WAIT_MS)]);
    return { text };
  };
  return { next, lacks: () => lacks };
}
