import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { objectOf, quietly } from "../../core/json.ts";
import { HOSTS } from "../../hooks/hosts/index.ts";

/** A project of more scripts is not searched to its end. */
const MOST_FILES = 2000;
const MOST_DEPTH = 5;
const SCRIPT = /\.(?:[cm]?[jt]sx?|py)$/;

export function isHostTool(name: string): boolean {
  return Object.values(HOSTS).some(({ channels }) => Object.hasOwn(channels, name));
}

/** Whether a server of the project or one of its scripts has a tool of that name. */
export function isProjectTool(name: string, project: string): boolean {
  if (serversOf(project).some((server) => name.startsWith(server))) return true;
  const quoted = ['"', "'", "`"].map((quote) => `${quote}${name}${quote}`);
  let left = MOST_FILES;
  const isIn = (folder: string, depth: number): boolean =>
    readdirSync(folder, { withFileTypes: true }).some((entry) => {
      // A hook that names a tool does not prove that there is one.
      if (/^\.|^(?:node_modules|hooks)$/.test(entry.name)) return false;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return depth < MOST_DEPTH && isIn(path, depth + 1);
      if (!entry.isFile() || !SCRIPT.test(entry.name) || left-- <= 0) return false;
      const text = readFileSync(path, "utf8");
      return quoted.some((one) => text.includes(one));
    });
  return isIn(project, 0);
}

/** Without a file that can be read there is no server to ask. */
function serversOf(project: string): string[] {
  const settings = quietly(() => JSON.parse(readFileSync(join(project, ".mcp.json"), "utf8")));
  return Object.keys(objectOf(objectOf(settings).mcpServers));
}
