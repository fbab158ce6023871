import { join } from "node:path";

/** Where Claude Code's settings of a person and a project lie, in the order in which they count. */
export function settingsFiles(projectDir: string, home: string): { path: string }[] {
  return [
    join(home, ".claude", "settings.json"),
    join(projectDir, ".claude", "settings.json"),
    join(projectDir, ".claude", "settings.local.json"),
  ].map((path) => ({ path }));
}
