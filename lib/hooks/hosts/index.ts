import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { gemini } from "./gemini.ts";
import type { Host } from "./host.ts";

/** The hosts whose hooks we can be, each by one table. */
export const HOSTS = { claude, codex, gemini } as const satisfies { readonly [name: string]: Host };

export type HostName = keyof typeof HOSTS;

export const HOST_NAMES = Object.keys(HOSTS) as readonly HostName[];

export function isHost(name: unknown): name is HostName {
  return (HOST_NAMES as readonly unknown[]).includes(name);
}

/** The settings files of all hosts, below a project or a home. */
export const SETTINGS_FILES: readonly string[] = HOST_NAMES.flatMap((name) => HOSTS[name].settings.files);

/** The host's event for hooks of one of our names, such as `stop`; undefined if it has none. */
export function hostEvent(host: HostName, ours: string): string | undefined {
  const { events }: Host = HOSTS[host];
  return Object.keys(events).find((name) => events[name]!.ours?.includes(ours));
}
