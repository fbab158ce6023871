import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { discover, type HookFile, loadMessage, readHookFile } from "../../../hooks/discover.ts";
import { readHeader } from "../../../hooks/file/config.ts";
import { isSkipped, parseFileName } from "../../../hooks/file/file-name.ts";
import { recordBase } from "../../../hooks/file/record.ts";
import { programOf } from "../../../hooks/process/program.ts";
import { shellWord } from "../../../core/shown.ts";
import type { Host } from "../../../hooks/serving/from-host.ts";
import { hasOwnHooks, withOwnHooks } from "./_frontmatter.ts";
import { momentsOf } from "./moments.ts";
import type { FoundSubjects, Subject } from "../subject.ts";

export interface FindOptions {
  /** Where relative paths begin, and how they are shortened. */
  readonly cwd: string;
  /** @default what the path tells, else claude */
  readonly host?: Host | undefined;
  /** For a file whose name does not say it: `stop`, `pre-tool-use@Bash`. */
  readonly event?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const NOTHING: FoundSubjects = { subjects: [], problems: [] };

/**
 * The hooks at a path: a hook file, a folder of them, settings of a host, a plugin or its hooks.json, hooks.yaml,
 * hook.toml, or a project that has some of these. Nothing is run.
 */
export async function findSubjects(path: string, options: FindOptions): Promise<FoundSubjects> {
  const full = resolve(options.cwd, path);
  if (!existsSync(full)) return { subjects: [], problems: [`Cannot check '${path}' as there is no such file`] };
  try {
    return statSync(full).isDirectory() ? await fromFolder(full, options) : await fromFile(full, options);
  } catch (error) {
    return { subjects: [], problems: [(error as Error).message] };
  }
}

async function fromFile(path: string, options: FindOptions): Promise<FoundSubjects> {
  const name = basename(path);
  if (/\.jsonc?$|^config\.toml$/.test(name)) {
    return await (await import("./_find-settings.ts")).settingsSubjects(path, options);
  }
  if (hasOwnHooks(path)) return await (await import("./_find-settings.ts")).settingsSubjects(path, options);
  if (name === "hook.toml") return await (await import("./_find-definitions.ts")).tomlSubjects(path, options);
  if (/^hooks\.ya?ml$/.test(name)) {
    return await (await import("./_find-definitions.ts")).definitionSubjects(path, options);
  }
  const foreign = await import("./_find-foreign.ts");
  const theirs = HOST_FOLDER.test(basename(dirname(dirname(path))));
  const named = options.event !== undefined || (isOurs(name) && !theirs);
  if ((!named && foreign.isScript(path)) || foreign.isProgram(path)) {
    return await foreign.foreignSubjects(path, options);
  }
  try {
    return { subjects: [fileSubject(readHookFile(path, options.event), options)], problems: [] };
  } catch (error) {
    return { subjects: [], problems: [loadMessage(name, error)] };
  }
}

async function fromFolder(folder: string, options: FindOptions): Promise<FoundSubjects> {
  const inside = (...parts: string[]) => join(folder, ...parts);
  const own = basename(folder) === "hooks" ? [] : withOwnHooks(folder);
  if (existsSync(inside("hooks", "hooks.json"))) {
    return await together([inside("hooks", "hooks.json"), ...own], options);
  }
  if (existsSync(inside("SKILL.md")) && hasOwnHooks(inside("SKILL.md"))) {
    return await fromFile(inside("SKILL.md"), options);
  }
  if (existsSync(inside("hooks.json")) && basename(folder) === "hooks") {
    return await fromFile(inside("hooks.json"), options);
  }
  if (await isForeign(folder)) return await (await import("./_find-foreign.ts")).foreignFolder(folder, options);
  if (holdsHooks(folder)) return fromHooks(folder, options);
  const dot = HOST_FOLDER.test(basename(folder));
  const settings = dot ? ["settings.json", "settings.local.json", "hooks.json", "config.toml"] : [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
  ];
  const found: FoundSubjects[] = [];
  for (const place of ["hooks", ...settings, "hooks.yaml", ".agent/hook.toml"].map((place) => inside(place))) {
    if (existsSync(place) && !(dot && place === inside("hooks"))) found.push(await findSubjects(place, options));
  }
  found.push(await together(own, options));
  // Scripts that no settings here name may be named by the person's own.
  const scripts = inside(dot ? "hooks" : ".claude/hooks");
  if (existsSync(scripts) && found.every(({ subjects, problems }) => subjects.length + problems.length === 0)) {
    found.push(await fromFolder(scripts, options));
  }
  return joined(found);
}

async function together(paths: readonly string[], options: FindOptions): Promise<FoundSubjects> {
  const found: FoundSubjects[] = [];
  for (const path of paths) found.push(await findSubjects(path, options));
  return joined(found);
}

function joined(found: readonly FoundSubjects[]): FoundSubjects {
  return found.reduce((all, one) => ({
    subjects: [...all.subjects, ...one.subjects],
    problems: [...all.problems, ...one.problems],
  }), NOTHING);
}

/** Where hosts keep what is theirs. */
const HOST_FOLDER = /^\.(?:claude|codex|gemini|cursor)$/;

/** Whether the scripts of a folder are those of another host: by where it lies, or by their names. */
async function isForeign(folder: string): Promise<boolean> {
  const { scriptsIn } = await import("./_find-foreign.ts");
  const scripts = scriptsIn(folder);
  if (scripts.length === 0 || HOST_FOLDER.test(basename(folder))) return false;
  if (HOST_FOLDER.test(basename(dirname(folder)))) return true;
  // One of ours that is misnamed is to be told so; a name or two that both would give tell nothing.
  const ours = readdirSync(folder).filter(isOurs).length;
  return ours * 3 < scripts.length && /hooks?\b[^/]*(?:\/[^/]*)?$/i.test(folder);
}

/** Whether the names of a folder's files are names of hooks. */
function holdsHooks(folder: string): boolean {
  return basename(folder) === "hooks" || readdirSync(folder).some(isOurs);
}

function isOurs(name: string): boolean {
  try {
    return !isSkipped(name) && parseFileName(name) !== undefined;
  } catch {
    return false;
  }
}

function fromHooks(folder: string, options: FindOptions): FoundSubjects {
  const { files, problems } = discover(folder);
  const subjects: Subject[] = [];
  const said = problems.map(({ message }) => message);
  for (const file of files) {
    try {
      subjects.push(fileSubject(file, options));
    } catch (error) {
      said.push(loadMessage(file.name, error));
    }
  }
  return { subjects, problems: said };
}

export function fileSubject(
  file: HookFile,
  { cwd, event, host = "claude" }: FindOptions,
  program = file.kind === "command" ? programOf(file) : undefined,
): Subject {
  const shown = shortened(file.at, cwd);
  const common = {
    name: file.name,
    path: shown,
    kind: file.kind,
    host,
    file: file.at,
    ...(event !== undefined && { event }),
    text: file.text,
    env: {},
    copies: [],
    // Its own folder too: a stray package.json above all scratch folders makes none of them a project.
    visible: [...new Set([projectAround(dirname(file.path)), dirname(file.path), dirname(file.at)])],
    seen: [],
  };
  const target = { type: "file", path: file.at, ...(event !== undefined && { event }) } as const;
  if (!program) return { ...common, target, named: momentsOf(recordBase(file, {}, cwd).on) };
  const config = readHeader(file.text);
  const base = recordBase(file, config, cwd);
  const loaded = {
    moments: momentsOf(base.on),
    mode: base.mode,
    nondeterministic: config.nondeterministic === true,
    ...(base.timeout !== undefined && { timeout: base.timeout }),
    ...(base.onError !== undefined && { onError: base.onError }),
  };
  if (config.warm) return { ...common, target, loaded };
  const { command, args } = program;
  const runs = [command, ...args].map((word) => shellWord(word === file.path ? shown : word)).join(" ");
  return { ...common, target: { type: "command", command, args }, loaded, runs: withSlash(runs) };
}

/** The folder in which a hook finds its packages: the nearest that has any, or is a repository. */
function projectAround(folder: string): string {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    if (["node_modules", "package.json", "deno.json", ".git"].some((name) => existsSync(join(at, name)))) return at;
  }
  return folder;
}

/** A program of the present folder is called by its path. */
function withSlash(line: string): string {
  return /^[^/ ]+$/.test(line) ? `./${line}` : line;
}

/** A path as a person would type it there. */
export function shortened(path: string, cwd: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}
