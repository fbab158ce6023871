import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { pathFrom } from "../../cli/show/call-subject.ts";
import { kebab, pascal, resolveEvent } from "../../core/names.ts";
import { shellWord } from "../../core/shown.ts";
import { splitFrontMatter } from "../../hooks/front-matter.ts";
import { discover, type HookFile, loadMessage, readHookFile } from "../../hooks/discover.ts";
import { formatFileName, isData, isSkipped, parseFileName, parseMoment } from "../../hooks/file/file-name.ts";
import { homeOf } from "../../hooks/file/user-places.ts";
import { readHeader, recordBase } from "../../hooks/file/hook-record.ts";
import { pathsIn } from "../../hooks/line-paths.ts";
import { HOST_NAMES, HOSTS, scriptHost, SETTINGS_FILES } from "../../hooks/hosts/index.ts";
import { type CommandLine, isExecutable, programOf } from "../../process/programs.ts";
import type { CheckOptions } from "./check.ts";
import { type FoundSubjects, loadedOf, type Subject } from "./subject.ts";
import { quietly } from "../../core/json.ts";

export type FindOptions = Pick<CheckOptions, "host" | "event"> & Required<Pick<CheckOptions, "cwd" | "env">>;

const HOST_FOLDER = /^\.(?:claude|codex|gemini|cursor)$/;
const SCRIPT = /\.(?:sh|bash|py|rb|pl|[cm]?[jt]s)$/;

/** The hooks at a path: a file, a folder, settings of a host, a plugin, a skill or a project. Nothing is run. */
export async function findSubjects(path: string, options: FindOptions): Promise<FoundSubjects> {
  const full = resolve(options.cwd, path);
  if (!existsSync(full)) return { subjects: [], problems: [`Cannot check '${path}': there is no such file`] };
  try {
    return statSync(full).isDirectory() ? await fromFolder(full, options) : await fromFile(full, options);
  } catch (error) {
    return { subjects: [], problems: [(error as Error).message] };
  }
}

async function fromFile(path: string, options: FindOptions): Promise<FoundSubjects> {
  const name = basename(path);
  if (/\.jsonc?$|^config\.toml$/.test(name) || hasOwnHooks(path)) {
    return await (await import("./find-settings.ts")).settingsSubjects(path, options);
  }
  if (/^hooks\.ya?ml$|^hook\.toml$/.test(name)) {
    return await (await import("./find-settings.ts")).definedSubjects(path, options);
  }
  // With --event a module is a hook of ours, and any other script one of the host.
  const ours = options.event === undefined ? isOurs(name) : /\.[cm]?[jt]s$/.test(name);
  if (SCRIPT.test(name) && (!ours || isForeign(dirname(path)))) {
    const subjects = await scriptSubjects(path, options);
    return { subjects, problems: subjects.length > 0 ? [] : [`Cannot check '${name}': ${UNKNOWN_EVENT}`] };
  }
  try {
    return { subjects: [fileSubject(readHookFile(path, options.event), options)], problems: [] };
  } catch (error) {
    return { subjects: [], problems: [loadMessage(name, error)] };
  }
}

async function fromFolder(folder: string, options: FindOptions): Promise<FoundSubjects> {
  const inside = (path: string) => join(folder, path);
  const own = basename(folder) === "hooks" ? [] : withOwnHooks(folder);
  const plugin = [inside("hooks/hooks.json"), ...basename(folder) === "hooks" ? [inside("hooks.json")] : []]
    .find((path) => existsSync(path));
  if (plugin !== undefined) return await together([plugin, ...own], options);
  const dot = HOST_FOLDER.test(basename(folder));
  if (isForeign(folder)) return await fromScripts(folder, options);
  if (!dot && (basename(folder) === "hooks" || readdirSync(folder).some(isOurs))) return fromHooks(folder, options);
  const settings = dot ? ["settings.json", "settings.local.json", "hooks.json", "config.toml"] : [
    ...["hooks", ...SETTINGS_FILES, "hooks.yaml", ".agent/hook.toml"],
  ];
  const found = await together([...settings.map(inside).filter((path) => existsSync(path)), ...own], options);
  // Scripts that no settings here name may be named by the user's own settings.
  const scripts = inside(dot ? "hooks" : ".claude/hooks");
  const nothing = found.subjects.length + found.problems.length === 0;
  return nothing && existsSync(scripts) ? await fromScripts(scripts, options) : found;
}

async function together(paths: readonly string[], options: FindOptions): Promise<FoundSubjects> {
  const found = await Promise.all(paths.map((path) => findSubjects(path, options)));
  return {
    subjects: found.flatMap(({ subjects }) => subjects),
    problems: found.flatMap(({ problems }) => problems),
  };
}

/** Whether scripts in a folder are those of another host, or of a plugin. */
function isForeign(folder: string): boolean {
  return HOST_FOLDER.test(basename(dirname(folder))) || existsSync(join(folder, "hooks.json"));
}

function isOurs(name: string): boolean {
  return quietly(() => !isSkipped(name) && parseFileName(name) !== undefined) ?? false;
}

function fromHooks(folder: string, options: FindOptions): FoundSubjects {
  const { files, problems } = discover(folder);
  const subjects: Subject[] = [];
  const said = problems.filter(({ file }) => !isData(file)).map(({ message }) => message);
  for (const file of files) {
    try {
      subjects.push(fileSubject(file, options));
    } catch (error) {
      said.push(loadMessage(file.name, error));
    }
  }
  return { subjects, problems: said };
}

/** A hook file of ours; with a program, a script of another host. */
function fileSubject(file: HookFile, { cwd, event, host = "claude" }: FindOptions, foreign?: CommandLine): Subject {
  const program = foreign ?? (file.kind === "command" ? programOf(file) : undefined);
  const shown = pathFrom(cwd, file.at);
  const common = {
    ...{ name: file.name, path: shown, kind: file.kind, project: cwd, file: file.at },
    ...(foreign && HOSTS[host].commands ? { host } : { host: scriptHost(host), servedTo: host }),
    ...(event !== undefined && { event }),
    ...{ env: {}, copies: [], seen: [] },
    // Its own folder too: a stray package.json further up does not make that a project.
    visible: [...new Set([projectAround(dirname(file.path)), dirname(file.path), dirname(file.at)])],
  };
  const target = { type: "file", path: file.at, ...(event !== undefined && { event }) } as const;
  if (!program) return { ...common, target };
  const config = readHeader(file.text);
  const loaded = loadedOf(recordBase(file, config, cwd), config);
  const { command, args } = program;
  const runs = [command, ...args].map((word) => shellWord(word === file.path ? shown : word)).join(" ");
  return {
    ...common,
    kind: "command",
    target: { type: "command", command, args },
    loaded,
    // A program of the present folder is called by its path.
    runs: /^[^/ ]+$/.test(runs) ? `./${runs}` : runs,
  };
}

/** The nearest folder above that has packages or is a repository. */
function projectAround(folder: string): string {
  const marks = ["node_modules", "package.json", "deno.json", ".git"];
  return upwards(folder).find((at) => marks.some((name) => existsSync(join(at, name)))) ?? folder;
}

/** A folder and those above it, but for the root. */
export function upwards(folder: string): string[] {
  return folder === dirname(folder) ? [] : [folder, ...upwards(dirname(folder))];
}

/** A script of another host; none if neither `--event`, settings around that name it nor its own name say its event. */
async function scriptSubjects(path: string, options: FindOptions): Promise<readonly Subject[]> {
  const name = basename(path);
  const registered = options.event === undefined ? await registeredSubjects(path, options) : [];
  if (registered.length > 0) return registered;
  const stem = name.replace(/\..*$/, "");
  const event = options.event ?? (resolveEvent(stem) && stem);
  if (event === undefined) return [];
  const text = readFileSync(path, "utf8");
  const moment = parseMoment(event.replace(/^[^@]+/, kebab));
  const executable = text.startsWith("#!") && isExecutable(path);
  const file: HookFile = { ...parseFileName(`${formatFileName(moment)}.sh`), name, path, at: path, text, executable };
  const folder = HOST_NAMES.find((name) => path.includes(`/.${name}/`));
  const project = folder === undefined ? options.cwd : path.slice(0, path.lastIndexOf(`/.${folder}/`));
  const host = options.host ?? folder ?? "claude";
  const subject = fileSubject(file, { ...options, event, host }, runnerOf(file));
  const shown = options.event === undefined ? `${name} (${pascal(moment.event)})` : name;
  return [{ ...subject, name: shown, project }];
}

const UNKNOWN_EVENT = "neither its name nor settings say its event: add --event, such as --event stop";

function runnerOf(file: HookFile): CommandLine {
  const program = programOf(file);
  if (file.executable || program.command !== file.path) return program;
  return { command: "/usr/bin/env", args: [/ts$/.test(extname(file.path)) ? "bun" : "node", file.path] };
}

/** The scripts of another host's folder. Those without an event are listed and not run. */
async function fromScripts(folder: string, options: FindOptions): Promise<FoundSubjects> {
  const names = readdirSync(folder).filter((name) => SCRIPT.test(name) && !/^[_.]|\.test\.|\.d\.ts$/.test(name)).sort();
  const subjects = new Map<string, Subject>();
  for (const path of names.map((name) => join(folder, name))) {
    const found = await scriptSubjects(path, options);
    for (const subject of found) subjects.set(subject.name, subject);
    if (found.length > 0 || !isExecutable(path)) continue;
    const [any] = await scriptSubjects(path, { ...options, event: "stop" });
    subjects.set(basename(path), { ...any!, name: basename(path), skip: UNKNOWN_EVENT });
  }
  return { subjects: [...subjects.values()], problems: [] };
}

/** A script as the settings of its project or plugin run it. */
async function registeredSubjects(path: string, options: FindOptions): Promise<Subject[]> {
  const { settingsSubjects } = await import("./find-settings.ts");
  const home = homeOf(options.env);
  const places = upwards(dirname(path)).slice(0, 4)
    .flatMap((at) => [...SETTINGS_FILES, "hooks/hooks.json"].map((one) => join(at, one)));
  const found: Subject[] = [];
  for (const place of places.filter((one) => existsSync(one))) {
    const { subjects } = await settingsSubjects(place, options).catch(() => ({ subjects: [] }));
    found.push(...subjects.filter(({ runs = "", project }) => pathsIn(runs, { project, home }).includes(path)));
  }
  return found;
}

/** Whether a file is a skill, an agent or a command with hooks of its own. */
function hasOwnHooks(path: string): boolean {
  return /(?<!\.prompt)\.md$/.test(path) && /^hooks:/m.test(splitFrontMatter(readFileSync(path, "utf8")).head ?? "");
}

/** The skills, agents and commands of a project, a plugin or a skill that have hooks. */
function withOwnHooks(folder: string): string[] {
  const inside = (path: string) => existsSync(path) ? readdirSync(path).sort().map((name) => join(path, name)) : [];
  const found = [folder, join(folder, ".claude")].flatMap((root) => [
    join(root, "SKILL.md"),
    ...["agents", "commands"].flatMap((name) => inside(join(root, name))),
    ...inside(join(root, "skills")).map((path) => join(path, "SKILL.md")),
  ]);
  return found.filter((path) => existsSync(path) && hasOwnHooks(path));
}
