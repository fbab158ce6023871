import { readFileSync } from "node:fs";
import { PACKAGE } from "../runtime/own-copy.ts";
import { type HostName, HOSTS } from "./hosts/index.ts";
import { type HostEntry, installedFile, portableLine } from "./install-line.ts";

/** The sources of the adapters, which are part of the package whatever runs it. */
const SOURCES = `${PACKAGE}/lib/hooks/adapters`;

const HEAD = "// Written by 'crochet hooks install': change the hooks and install them again.\n";
const LIST = /^const INSTALLED: Installed = (\{[^]*?^\});$/m;

/** The plugin for a host that asks these hooks: one file that needs nothing beside it. */
export function adapterText(host: HostName, entries: readonly HostEntry[]): string {
  const tools = Object.entries(HOSTS[host].channels).map(([theirs, { ours }]) => [theirs, ours]);
  const hooks = entries.map(({ event, matcher, hook: { command, type: _, ...more } }) => ({
    event,
    ...(matcher !== undefined && { matcher }),
    file: installedFile(command, "/")!.slice(1),
    ...more,
  }));
  const list = { dialect: host, hooks, tools: Object.fromEntries(tools) };
  // What opencode finds exported it takes for a plugin.
  const asking = source("asking").replaceAll(/^export /gm, "")
    .replace(LIST, () => `const INSTALLED: Installed = ${JSON.stringify(list, null, 2)};`);
  return `${HEAD}${asking}\n${source(host).replace(/^import .* from "\.\/asking\.ts";\n\n/m, "")}`;
}

function source(name: string): string {
  return readFileSync(`${SOURCES}/${name}.ts`, "utf8");
}

/** Whether a plugin is ours, as far as its text says. */
export function isAdapter(text: string): boolean {
  return text.startsWith(HEAD) && LIST.test(text);
}

/** The hooks of a plugin that we wrote before. @throws {Error} if the file is not ours */
export function adapterEntries(path: string, text: string | undefined, host: HostName): HostEntry[] {
  if (text === undefined) return [];
  if (!isAdapter(text)) {
    throw new Error(`Cannot write '${path}' as crochet did not write it: rename it, and ${host} loads both`);
  }
  const { hooks } = JSON.parse(LIST.exec(text)![1]!) as {
    readonly hooks: readonly (Omit<HostEntry, "hook"> & { file: string })[];
  };
  return hooks.map(({ event, matcher, file, ...more }) => ({
    event,
    matcher,
    hook: { type: "command", command: portableLine(file, host, {}), ...more },
  }));
}
