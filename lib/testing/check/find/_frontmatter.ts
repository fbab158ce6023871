import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { splitFrontMatter } from "../../../files/front-matter.ts";
import { readYaml } from "../../../hooks/rule/yaml.ts";
import { isObject } from "../../../core/json.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Whether a file is a skill, an agent or a command that brings hooks of its own. */
export function hasOwnHooks(path: string): boolean {
  return /(?<!\.prompt)\.md$/.test(path) && /^hooks:/m.test(splitFrontMatter(readFileSync(path, "utf8")).head ?? "");
}

/** The fields at the head of a skill or an agent. What an agent calls Stop is SubagentStop: its host takes it so too. */
export async function readFrontmatter(path: string, shown: string): Promise<Fields> {
  const { head = "" } = splitFrontMatter(readFileSync(path, "utf8"));
  // In the place of the first line, so that places in it are places in the file.
  const { value: fields } = await readYaml(`\n${head}`, shown);
  if (!isObject(fields) || !isObject(fields.hooks) || basename(dirname(path)) !== "agents") {
    return isObject(fields) ? fields : {};
  }
  const hooks = Object.entries(fields.hooks).map((
    [event, groups],
  ) => [event === "Stop" ? "SubagentStop" : event, groups]);
  return { ...fields, hooks: Object.fromEntries(hooks) };
}

/** The skills, agents and commands of a project or a plugin that bring hooks. */
export function withOwnHooks(folder: string): string[] {
  const found = [folder, join(folder, ".claude")].flatMap((root) => [
    ...["agents", "commands"].flatMap((name) => inside(join(root, name)).filter((path) => path.endsWith(".md"))),
    ...inside(join(root, "skills")).map((path) => join(path, "SKILL.md")).filter((path) => existsSync(path)),
  ]);
  return found.filter(hasOwnHooks);
}

function inside(folder: string): string[] {
  try {
    return readdirSync(folder).sort().map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** What such a file belongs to: the project around its host's folder, or the plugin it lies in. */
export function ownerOf(path: string): { readonly project: string; readonly plugin: string | undefined } {
  const folder = dirname(path);
  const [, project] = /^(.*)\/\.claude\//.exec(path) ?? [];
  if (project !== undefined) return { project, plugin: undefined };
  const [, plugin] = /^(.*)\/(?:skills|agents|commands)\//.exec(path) ?? [];
  return { project: plugin ?? folder, plugin: plugin ?? folder };
}
