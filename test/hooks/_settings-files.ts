import { join } from "node:path";
import type { HookRecord } from "../../lib/core/hook.ts";
import type { HookHost } from "../../lib/hooks/process/hook-host.ts";
import { loadSettings, type SettingsFile } from "../../lib/hooks/hook-settings.ts";

/** Where Claude Code's settings of a person and a project lie, in the order in which they count. */
export function settingsFiles(projectDir: string, home: string): { path: string }[] {
  return [
    join(home, ".claude", "settings.json"),
    join(projectDir, ".claude", "settings.json"),
    join(projectDir, ".claude", "settings.local.json"),
  ].map((path) => ({ path }));
}

/** The hooks of settings as a session takes them, which knows the host they run in. */
export function settingsHooks(
  files: readonly SettingsFile[],
  within: (host: HookHost) => HookHost = (host) => host,
): (session: { readonly host: HookHost }) => () => Promise<readonly HookRecord[]> {
  return ({ host }) => {
    const records = loadSettings(files, within(host)).then((loaded) => loaded.records);
    return () => records;
  };
}
