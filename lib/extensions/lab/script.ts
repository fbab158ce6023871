import { setTimeout as sleep } from "node:timers/promises";
import { type HostName, HOSTS } from "../../hooks/hosts/index.ts";
import { isNotebook, type ToolUse, waysOf } from "../../hooks/hosts/channel.ts";
import type { LabStep, ModelCall, ModelView } from "./lab-model.ts";
import type { JsonObject } from "../../core/json.ts";

/** What makes an event happen: what the person and the model say. */
export interface Script {
  readonly prompt: string;
  /** The call in the forms that a host may offer it in; absent if none is made. */
  readonly calls?: readonly ModelCall[];
  /** Calls that follow, each when the one before has its result. */
  readonly more?: readonly (readonly ModelCall[])[];
  /** What starts a sub-agent, which then makes the call. */
  readonly starts?: readonly ModelCall[];
  readonly text: string;
  /** What the model says once that it has used. */
  readonly tokens?: number;
  readonly allowed: readonly string[];
}

const WITH_CALL = ["pre-tool-use", "post-tool-use", "post-tool-use-failure", "post-tool-batch", "permission-request"];
const WITH_AGENT = ["subagent-start", "agent-start", "subagent-stop"];
const WITH_TEXT = ["session-start", "user-prompt-submit", "iteration", "stop", "session-end"];
const COMPACTING = ["pre-compact", "post-compact"];

/** Hosts in which an event is known to happen in a session without a terminal; absent: in all. */
const ONLY_IN: { readonly [event: string]: readonly HostName[] } = {
  "permission-request": ["claude"],
  ...Object.fromEntries([...WITH_AGENT, ...COMPACTING].map((event) => [event, ["claude", "codex"]])),
};

/** What files hold that a call reads: it is seen by that. */
export const MARK = "a file that the lab has written";

/** By this a sub-agent is known from the agent that started it. */
export const TASK = "Report that you are the sub-agent";

const AGENT = { description: "report", prompt: TASK, subagent_type: "general-purpose" };

/** The tools whose effect is seen from outside. */
export const WATCHED = ["Bash", "Write", "Edit", "Read"];

/** Why an event cannot be made to happen in a host, or be seen there; undefined if it can. */
export function unmade(host: HostName, event: string, tool: string): string | undefined {
  const known = [...WITH_CALL, ...WITH_AGENT, ...WITH_TEXT, ...COMPACTING].includes(event);
  if (!known || !(ONLY_IN[event] ?? [host]).includes(host)) {
    return `nothing is known to make ${event} happen in ${host} without a person`;
  }
  return WITH_CALL.includes(event) && !WATCHED.includes(tool) ? `nothing shows whether ${tool} ran` : undefined;
}

/** The call that an event is about; undefined for an event without one. */
export function callAt(event: string, wire: JsonObject, isSet: boolean, host: HostName): ToolUse | undefined {
  if (WITH_AGENT.includes(event)) {
    return { tool: "Agent", input: AGENT };
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

/** One way to make a call in a host: by a tool of its own, or in a sub-agent. */
export interface Play extends Pick<Script, "calls" | "more" | "starts" | "allowed"> {
  readonly channel: string;
}

/** The ways in which a host makes a call; before a tool runs each of them is tried, elsewhere the first that is offered. */
export function playsOf(host: HostName, event: string, call: ToolUse, cwd: string): Play[] {
  const { channels } = HOSTS[host];
  const ways = (one: ToolUse) =>
    waysOf(one, channels, cwd).map(({ tool, input }): Play => ({
      channel: tool,
      calls: host === "codex" ? codexCalls(tool, input) : [{ name: tool, input }],
      allowed: [...new Set([channels[tool]!.ours[0], tool])],
    }));
  const { file_path } = call.input;
  const isCells = isNotebook(file_path) && call.tool !== "Read";
  // A host lets its model change a notebook once it has read it, and edit it by no tool but the one for cells.
  const [read] = isCells ? ways({ tool: "Read", input: { file_path } }) : [];
  const own = ways(call);
  const cells = own.filter(({ calls }) => isCells && calls![0]!.input.notebook_path !== undefined);
  const all = (cells.length > 0 ? cells : own).map((play): Play =>
    read ? { ...play, calls: read.calls!, more: [play.calls!], allowed: [...play.allowed, ...read.allowed] } : play
  );
  if (all.length === 0) {
    all.push({ channel: call.tool, calls: [{ name: call.tool, input: call.input }], allowed: [call.tool] });
  }
  if (event !== "pre-tool-use") {
    return read ? all.slice(0, 1) : [{ ...all[0]!, calls: all.flatMap(({ calls }) => calls!) }];
  }
  // The last way needs least of a host: Codex has sub-agents only where it has no tool for patches.
  const last = all.at(-1)!;
  const subs = ways({ tool: "Agent", input: AGENT }).slice(0, 1).map((sub): Play => ({
    ...{ ...last, channel: "sub-agent", starts: sub.calls! },
    allowed: [...last.allowed, ...sub.allowed],
  }));
  return [...all, ...subs];
}

export function scriptOf(event: string, wire: JsonObject, play: Play | undefined): Script {
  const { channel: _, ...made } = play ?? { allowed: [] };
  return {
    ...{ prompt: event === "user-prompt-submit" ? String(wire.prompt) : "go", ...made },
    text: event === "stop" ? String(wire.last_assistant_message) : "done",
    ...(COMPACTING.includes(event) && { tokens: 900_000 }),
    ...(event === "permission-request" && { allowed: [] }),
  };
}

/** It tells hooks of its tools in another form than that in which models call them. */
function codexCalls(name: string, input: JsonObject): ModelCall[] {
  const { command, message } = input;
  switch (name) {
    case "Bash":
      return [{ name: "exec_command", input: { cmd: command } }, { name: "shell_command", input: { command } }];
    case "spawn_agent":
      return [{ name, namespace: "multi_agent_v1", input: { message } }];
    default:
      return [{ name, input: { input: command }, freeform: String(command) }];
  }
}

/** In an input: the shell that a call before has started. */
const SHELL = "{SHELL}";

/** What is typed into a shell that runs already, where a host has that and tells no hook of it. */
export function typedInto(host: HostName, { tool, input }: ToolUse): Play[] {
  // The one way of Codex that it tells no hook of.
  const [channel] = Object.keys(HOSTS[host].unseen ?? {});
  if (host !== "codex" || tool !== "Bash" || channel === undefined) return [];
  const calls = [{ name: "exec_command", input: { cmd: "sh", tty: true } }];
  const typed = { name: channel, input: { session_id: SHELL, chars: `${input.command}\n` } };
  return [{ channel, allowed: ["Bash"], calls, more: [[typed]] }];
}

function asked(call: ModelCall | undefined, conversation: string): ModelCall | undefined {
  if (call?.input.session_id !== SHELL) return call;
  return { ...call, input: { ...call.input, session_id: Number(/session ID (\d+)/.exec(conversation)?.[1] ?? 0) } };
}

/** By this a model gets the tools that a host does not offer at once. */
const SEARCH = "ToolSearch";

/** How long an agent may wait for its sub-agent, and how long that may take to end. */
const WAIT_MS = 20_000;
const END_MS = 2500;

/** The model of a session: it makes its call once, as far as it has seen, and then says its text. */
export function modelOf({ calls, more = [], starts, text, tokens }: Script) {
  let lacks = false;
  let spent = false;
  const said = Promise.withResolvers<void>();
  const next = async ({ results: all, conversation, tools }: ModelView): Promise<LabStep> => {
    if (tools.length === 0) return { text: "ok" };
    const results = all - (conversation.split(`"name":"${SEARCH}"`).length - 1);
    const hasTask = conversation.includes(TASK);
    // An agent that started another has the call that did it.
    const isSub = hasTask &&
      (starts ? !starts.some(({ name }) => conversation.includes(`"name":"${name}"`)) : results === 0);
    const own = isSub ? starts && calls : hasTask ? undefined : starts ?? calls;
    const follows = isSub || !starts ? more[results - 1] : undefined;
    const now = results === 0 ? own : follows;
    if (now && !spent) {
      const call = asked(now.find(({ name }) => tools.includes(name)), conversation);
      const query = `select:${now[0]!.name}`;
      if (!call && tools.includes(SEARCH) && !conversation.includes(query)) {
        return { tools: [{ name: SEARCH, input: { query } }] };
      }
      lacks ||= !call;
      // Once: a host that read this in every reply would compact forever.
      spent = tokens !== undefined;
      if (call || spent) return { ...(call ? { tools: [call] } : { text }), ...(spent && { tokens: tokens! }) };
    }
    if (isSub) said.resolve();
    // Codex does not wait for the agents that it started.
    else if (hasTask) await Promise.race([said.promise.then(() => sleep(END_MS)), sleep(WAIT_MS)]);
    return { text };
  };
  return { next, lacks: () => lacks };
}
