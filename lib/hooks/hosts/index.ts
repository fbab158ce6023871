import { isObject } from "../../core/json.ts";
import { waysOf } from "./channel.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { cursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { type EventSetting, type Host, HOST_NAMES, type HostName, type WireEvent } from "./host.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { qwen } from "./qwen.ts";
import { vscode } from "./vscode.ts";

export { HOST_NAMES, type HostName, isHost } from "./host.ts";

/** The tables of all hosts. */
export const HOSTS: { readonly [H in HostName]: Host } = {
  ...{ claude, codex, gemini, copilot, cursor, qwen },
  ...{ opencode, pi, vscode },
};

/** The host in whose form a script of ours is asked: what is not like Claude Code is translated. */
export function scriptHost(host: HostName): HostName {
  return HOSTS[host].likeClaude ? host : "claude";
}

/** The settings files of all hosts, below a project or a home, whose lists hold groups of hooks. */
export const SETTINGS_FILES: readonly string[] = HOST_NAMES.map((name) => HOSTS[name].settings)
  .flatMap(({ files, lists }) => lists && !lists.entry ? files : []);

/** Whether a run of the host has fired one of its events; else its row is by the host's documents. */
export function isTried(host: HostName, event: string): boolean {
  return HOSTS[host].tried?.unseen.includes(event) === false;
}

/** The host's event for hooks of one of our names, such as `stop`; undefined without one. */
export function hostEvent(host: HostName, ours: string): string | undefined {
  const { events } = HOSTS[host];
  return Object.keys(events).find((name) => events[name]!.ours?.includes(ours));
}

/** A line for each way of a host that no hook sees. */
export function unseenIn(host: HostName): string[] {
  return Object.entries(HOSTS[host].unseen ?? {}).map(([way, what]) => `no hook of ${host} sees ${way}: ${what}`);
}

/** An event of Claude Code as a host writes it to the commands of its own settings. */
export function asWritten(host: HostName, event: WireEvent, setting: EventSetting): WireEvent {
  const { channels, commands } = HOSTS[host];
  const { tool_name, tool_input } = event;
  const [way] = typeof tool_name === "string" && isObject(tool_input)
    ? waysOf({ tool: tool_name, input: tool_input }, channels, event.cwd)
    : [];
  return commands!.written(way ? { ...event, tool_name: way.tool, tool_input: way.input } : event, setting);
}
