import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { writeWhole } from "../files/drafts.ts";
import { isObject, parsed } from "../core/json.ts";
import { hashOf } from "../runtime/sha256.ts";
import { HOSTS } from "./hosts/index.ts";
import type { Installable, Installation, InstallPlace } from "./install.ts";
import { momentsOf, planEntries, removeEmpty, writable } from "./install.ts";
import { withEntries } from "./install-text.ts";

/** By this `description` of its hooks.json, and by this line of its README, we know a plugin that we wrote. */
const MARK = "Written by 'crochet hooks install': change the hooks and install them again";

/** Not beside hooks.json: a folder of hooks holds nothing else. */
export const COPIES = "crochet";

const LIST = "hooks/hooks.json";
const MANIFEST = ".claude-plugin/plugin.json";
const README = "README.md";
const LICENCE = "LICENSE";

/** All that a plugin of ours can hold beside its licence, `LIST` last. */
const WRITTEN = [COPIES, MANIFEST, README, "hooks/crochet.js", "hooks/register.js", LIST];

/** The first version of Claude Code that loads mods. */
export const FIRST_WITH_MODS = "2.1.287";

/** What Claude Code would read of a plugin with these hooks. */
export interface PluginPlan extends Pick<Installation, "settings" | "entries" | "left"> {
  /** What a person should know of it. */
  readonly notes: readonly string[];
  /** Texts by their places in the plugin. */
  readonly files: ReadonlyMap<string, string>;
  /** Which files of the hooks' folder are copied into it. */
  readonly isCopied: (name: string) => boolean;
}

/** Works out the plugin. Nothing is written. @throws {Error} if the folder holds a plugin that is not ours */
export async function planPlugin(hooks: readonly Installable[], to: string, place: InstallPlace): Promise<PluginPlan> {
  const plugin = { root: "$CLAUDE_PLUGIN_ROOT", folder: COPIES };
  const { entries, left } = planEntries(hooks, { ...place, scope: "project", plugin });
  const how = "which Claude Code starts by crochet: npm install crochet";
  return await pluginOf(hooks, to, place, { how, entries, left, listed: entries, isCopied: () => true });
}

interface PluginParts extends Pick<PluginPlan, "entries" | "left" | "isCopied"> {
  /** How its hooks run, in words. */
  readonly how: string;
  /** What its hooks.json lists, beside the fields `list`. */
  readonly listed: PluginPlan["entries"];
  readonly list?: object;
  readonly notes?: readonly string[];
  readonly files?: readonly (readonly [name: string, text: string])[];
}

/** The plan of a plugin that passes Claude Code's checks for its directory, as far as the project says who made it. */
export async function pluginOf(
  hooks: readonly Installable[],
  to: string,
  place: InstallPlace,
  { how, entries, left, isCopied, listed, list = {}, notes = [], files = [] }: PluginParts,
): Promise<PluginPlan> {
  checkPlace(to, place.cwd);
  const isTheirs = (name: string) => existsSync(join(to, name)) && (name === README ? !isOurReadme(to) : !isOurs(to));
  const taken = WRITTEN.find(isTheirs);
  if (taken !== undefined) {
    throw new Error(`Cannot write '${join(to, taken)}' as crochet did not write it: name another folder with --to`);
  }
  const text = await withEntries(`${JSON.stringify({ description: MARK, ...list }, null, 2)}\n`, listed);
  const about = readProject(place.cwd);
  const name = pluginName(to);
  const code = [...files, [LIST, text] as const];
  const hash = hashOf(JSON.stringify([code, hooks.map(({ file }) => file.text)]), 12);
  const { version = `0.0.0-${hash}`, author, license } = about;
  const description = `Hooks of ${about.name}, ${how}`;
  const manifest = { name, version, description, ...(author && { author }), ...(license && { license }) };
  const lacks = [...author ? [] : ["author"], ...license ? [] : ["license"]];
  const missing = lacks.map((field) => `package.json has no "${field}", which the plugin directory asks for`);
  const licence = existsSync(join(to, LICENCE)) ? undefined : about.licence;
  return {
    ...{ entries, left, isCopied, settings: join(to, LIST), notes: [...notes, ...missing] },
    files: new Map([
      ...code.slice(0, -1),
      [MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`],
      [README, readmeOf(hooks, name, description, about.repository)],
      ...licence === undefined ? [] : [[LICENCE, licence] as const],
      ...code.slice(-1),
    ]),
  };
}

/** The name by which Claude Code knows a plugin in a folder. */
export function pluginName(to: string): string {
  return basename(to).toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 64);
}

/** Who made the project and under which licence, as it says itself. */
function readProject(cwd: string) {
  const path = join(cwd, "package.json");
  const given = existsSync(path) ? parsed(readFileSync(path, "utf8")) : undefined;
  const { name, version, author, license, repository } = isObject(given) ? given : {};
  const text = (value: unknown) => typeof value === "string" ? value : undefined;
  const [, person, email] = /^([^<(]+?)\s*(?:<(.+?)>)?\s*(?:\(.*\))?$/.exec(text(author) ?? "") ?? [];
  const at = text(isObject(repository) ? repository.url : repository) ?? "";
  const licence = readdirSync(cwd).find((file) => /^(?:licen[cs]e|copying)(?:\.\w+)?$/i.test(file));
  return {
    ...{ name: text(name) ?? basename(cwd), version: text(version), license: text(license) },
    author: isObject(author) ? author : person && { name: person, ...(email && { email }) },
    /** `owner/name` on GitHub. */
    repository: /^(?:github:|.*github\.com[/:])?([\w.-]+\/[\w.-]+?)(?:\.git)?$/.exec(at)?.[1],
    licence: licence === undefined ? undefined : readFileSync(join(cwd, licence), "utf8"),
  };
}

/** What the plugin does, hook by hook, for those who install it. */
function readmeOf(hooks: readonly Installable[], name: string, words: string, repository: string | undefined): string {
  const rows = hooks.flatMap(momentsOf).map(({ file, record, on, event }) => {
    const row = Object.values(HOSTS.claude.events).find(({ ours }) => ours?.includes(on.event));
    const may = record.mode === "gate" && row?.can?.join(", ") || "watch";
    return `| \`${file.name}\` | ${[event, ...on.tools ?? []].join(" ")} | ${may} |`;
  });
  const marketplace = repository === undefined ? undefined : `/plugin install ${name} --marketplace ${repository}`;
  return `# ${name}

${words}. Each of them is asked at its moment, and may do there what its row says.

| hook | when | what it may do |
|---|---|---|
${rows.join("\n")}

## Install

\`\`\`
${marketplace ?? `claude --plugin-dir ${name}`}
\`\`\`

## Change

${MARK}. What is changed here by hand is lost when they are installed again; \`crochet hooks uninstall\` removes it all.
`;
}

/** Writes the plugin, with copies from the folder of its hooks. */
export function writePlugin({ files, isCopied }: PluginPlan, folder: string, to: string): void {
  const copies = join(to, COPIES);
  rmSync(copies, { recursive: true, force: true });
  for (const name of readdirSync(folder).filter((name) => name !== "node_modules" && isCopied(name))) {
    const filter = (path: string) => basename(path) !== "node_modules";
    cpSync(join(folder, name), join(copies, name), { recursive: true, dereference: true, filter });
  }
  // The list is the last of them: Claude Code reads the rest only if that is there.
  for (const [name, text] of files) writeWhole(join(to, name), text);
  for (const name of WRITTEN) if (name !== COPIES && !files.has(name)) rmSync(join(to, name), { force: true });
}

/** Removes a plugin of ours, and the folders it leaves empty, up to the project. Gives whether there was one. */
export function removePlugin(to: string, project: string, dry: boolean): boolean {
  if (!isOurs(to)) return false;
  checkPlace(to, project);
  if (dry) return true;
  const licence = join(to, LICENCE);
  const isCopy = existsSync(licence) && readFileSync(licence, "utf8") === readProject(project).licence;
  const kept = isOurReadme(to) ? [] : [README];
  for (const name of [...WRITTEN, ...isCopy ? [LICENCE] : []].filter((name) => !kept.includes(name))) {
    rmSync(join(to, name), { recursive: true, force: true });
  }
  for (const name of [LIST, MANIFEST]) removeEmpty(dirname(join(to, name)), to);
  removeEmpty(to, to.startsWith(`${project}/`) ? project : dirname(to));
  return true;
}

/** What is written into the project stays there; a folder elsewhere was named by a person. */
function checkPlace(to: string, project: string): void {
  if (to.startsWith(`${project}/`)) {
    for (const name of WRITTEN) writable(join(to, name === COPIES ? `${COPIES}/any` : name), project);
  }
}

function isOurs(to: string): boolean {
  return listOf(to)?.description === MARK;
}

function listOf(to: string): { readonly [field: string]: unknown } | undefined {
  const path = join(to, LIST);
  const list = existsSync(path) ? parsed(readFileSync(path, "utf8")) : undefined;
  return isObject(list) ? list : undefined;
}

/** The mods of ours that Claude Code finds in a project or a home. */
export function modsIn(root: string): string[] {
  const skills = join(root, HOSTS.claude.settings.plugins!);
  const folders = existsSync(skills) ? readdirSync(skills).map((name) => join(skills, name)) : [];
  return folders.filter((to) => isOurs(to) && listOf(to)!.modules !== undefined);
}

function isOurReadme(to: string): boolean {
  return existsSync(join(to, README)) && readFileSync(join(to, README), "utf8").includes(MARK);
}
