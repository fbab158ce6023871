import { readFileSync } from "node:fs";
import { join } from "node:path";
import { objectOf, quietly } from "../../core/json.ts";
import { treeOf } from "../../files/tree.ts";
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
  // A hook that names a tool does not prove that there is one.
  const isMeant = (name: string, path: string) =>
    !/^\.|^(?:node_modules|hooks)$/.test(name) && path.split("/").length <= MOST_DEPTH + 1;
  let left = MOST_FILES;
  for (const [path, entry] of treeOf(project, { has: ({ name }, path) => isMeant(name, path) })) {
    if (!entry.isFile() || !SCRIPT.test(entry.name)) continue;
    if (left-- <= 0) return false;
    const text = readFileSync(join(project, path), "utf8");
    if (quoted.some((one) => text.includes(one))) return true;
  }
  return false;
}

/** Without a file that can be read there is no server to ask. */
function serversOf(project: string): string[] {
  const settings = quietly(() => JSON.parse(readFileSync(join(project, ".mcp.json"), "utf8")));
  return Object.keys(objectOf(objectOf(settings).mcpServers));
}
