import type { Host } from "./host.ts";

/** The hosts, each with its table, which is loaded when it is asked for: a served hook needs one of them. */
const TABLES = {
  claude: async (): Promise<Host> => (await import("./claude.ts")).claude,
  codex: async (): Promise<Host> => (await import("./codex.ts")).codex,
  gemini: async (): Promise<Host> => (await import("./gemini.ts")).gemini,
};

export type HostName = keyof typeof TABLES;

export const HOST_NAMES = Object.keys(TABLES) as readonly HostName[];

export function isHost(name: unknown): name is HostName {
  return (HOST_NAMES as readonly unknown[]).includes(name);
}

export function loadHost(name: HostName): Promise<Host> {
  return TABLES[name]();
}
