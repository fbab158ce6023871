import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { cursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { type Host, HOST_NAMES, type HostName } from "./host.ts";
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
  .filter(({ flat, adapter }) => !flat && !adapter).flatMap(({ files }) => files);

/** Whether a run of the host has fired one of its events; else its row is by the host's documents. */
export function isTried(host: HostName, event: string): boolean {
  return HOSTS[host].tried?.unseen.includes(event) === false;
}

/** The host's event for hooks of one of our names, such as `stop`; undefined without one. */
export function hostEvent(host: HostName, ours: string): string | undefined {
  const { events } = HOSTS[host];
  return Object.keys(events).find((name) => events[name]!.ours?.includes(ours));
}
