import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../core/json.ts";
import { HOSTS } from "../hooks/hosts/index.ts";

/** A project of more scripts is not searched to its end. */
const MOST_FILES = 2000;
const MOST_DEPTH = 5;
const SCRIPT = /\.(?:[cm]?[jt]sx?|py)$/;

/** Whether some host calls a tool so. */
export function isHostTool(name: string): boolean {
  return Object.values(HOSTS).some(({ tools, toolAliases }) =>
    Object.hasOwn(tools, name) || Object.hasOwn(toolAliases, name)
  );
}

/** Whether a server of the project or one of its scripts has a tool of that name. */
export function isProjectTool(name: string, project: string): boolean {
  if (serversOf(project).some((server) => name.startsWith(server))) return true;
  let left = MOST_FILES;
  const isIn = (folder: string, depth: number): boolean => {
    const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name: entry }) => !isApart(entry));
    return entries.some((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return depth < MOST_DEPTH && isIn(path, depth + 1);
      return entry.isFile() && SCRIPT.test(entry.name) && left-- > 0 && names(readFileSync(path, "utf8"), name);
    });
  };
  return isIn(project, 0);
}

/** A hook that names a tool is no proof that there is one. */
function isApart(entry: string): boolean {
  return entry.startsWith(".") || entry === "node_modules" || entry === "hooks";
}

function names(text: string, name: string): boolean {
  return ['"', "'", "`"].some((quote) => text.includes(`${quote}${name}${quote}`));
}

function serversOf(project: string): string[] {
  try {
    const { mcpServers } = JSON.parse(readFileSync(join(project, ".mcp.json"), "utf8"));
    return isObject(mcpServers) ? Object.keys(mcpServers) : [];
  } catch {
    // Without a file that can be read there is no server to ask.
    return [];
  }
}
