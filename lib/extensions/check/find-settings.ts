import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathFrom } from "../../cli/show/call-subject.ts";
import type { HookRecord } from "../../core/hook.ts";
import { isObject, type JsonObject, objectOf } from "../../core/json.ts";
import { resolveEvent } from "../../core/names.ts";
import { shellWord } from "../../core/shown.ts";
import { splitFrontMatter } from "../../hooks/front-matter.ts";
import { readDefinitions } from "../../hooks/definitions.ts";
import { homeOf } from "../../hooks/file/user-places.ts";
import { entriesIn, type Entry } from "../../hooks/handler.ts";
import { HOST_NAMES, type HostName, HOSTS } from "../../hooks/hosts/index.ts";
import { readSettings } from "../../hooks/hook-settings.ts";
import { pathsIn } from "../../hooks/line-paths.ts";
import { readToml, tomlHooks } from "../../hooks/toml.ts";
import { readYaml } from "../../hooks/yaml.ts";
import { matchesIf } from "../../permissions/rules.ts";
import type { FindOptions } from "./find-subjects.ts";
import { violationsOf } from "./laws/judged.ts";
import type { Violation } from "./check-report.ts";
import { matcherMistake } from "./static-faults.ts";
import { type Copy, isSmall } from "./scratch-project.ts";
import { type FoundSubjects, loadedOf, type Subject } from "./subject.ts";

interface Owner {
  readonly shown: string;
  readonly host: HostName;
  readonly project: string;
  readonly home: string;
  readonly plugin?: string | undefined;
  readonly skill?: string;
}

const TYPES = ["command", "http", "prompt", "agent", "mcp_tool"];

/** The hooks of a host's settings, a plugin's hooks.json, or a skill: run as the host would run them. */
export async function settingsSubjects(path: string, options: FindOptions): Promise<FoundSubjects> {
  const owner = ownerOf(path, options);
  const { shown, host } = owner;
  const settings = await readAny(path, shown);
  const { hooks } = settings;
  if (hooks === undefined) return { subjects: [], problems: unwrapped(settings, owner) };
  const subjects: Subject[] = [];
  const problems: string[] = [];
  const drops = HOSTS[host].commands?.dropsFile ? " and drops the whole file" : "";
  const unknown = isObject(hooks) ? Object.keys(hooks).filter((event) => !isEvent(event, host)) : [];
  for (const event of unknown) {
    problems.push(`${shown}: Cannot check hooks of '${event}': ${host} has no such event, so they never run`);
  }
  for (const found of entriesIn(hooks)) {
    const wrong = (why: string) => void problems.push(`${shown}: Cannot use ${found.at}: ${why}`);
    if (unknown.includes(found.at.split(/[.[]/)[1] ?? "")) continue;
    if ("why" in found) wrong(found.why);
    else if ("unsupported" in found.handler && !TYPES.includes(found.handler.unsupported)) {
      wrong(`${host} has no hooks of type '${found.handler.unsupported}'${drops}: write "type": "command"`);
    } else subjects.push(settingsSubject(`${shown}#${subjects.length}`, found, owner));
  }
  return { subjects, problems };
}

/** Events that are not under "hooks", where the host does not look. */
function unwrapped(settings: JsonObject, { shown, host }: Owner): string[] {
  const event = Object.keys(settings).find((name) => Array.isArray(settings[name]) && isEvent(name, host));
  return event === undefined
    ? []
    : [`${shown}: Cannot use '${event}': ${host} reads hooks only under "hooks": write {"hooks": {"${event}": …}}`];
}

/** @throws {Error} that names the file and the place in it */
async function readAny(path: string, shown: string): Promise<JsonObject> {
  if (path.endsWith(".toml")) {
    const settings = await readToml(readFileSync(path, "utf8"), shown);
    if (!isObject(settings.hooks)) return settings;
    // What Codex trusts is beside its hooks.
    const { state: _, ...hooks } = settings.hooks;
    return { ...settings, hooks };
  }
  if (path.endsWith(".md")) return await readFrontMatter(path, shown);
  const settings = await readSettings({ path, required: true }).catch((error: Error) => {
    throw new Error(`${shown}: ${error.message}`);
  });
  return settings ?? {};
}

/** The head of a skill or an agent. The Stop of an agent is SubagentStop, as in its host. */
async function readFrontMatter(path: string, shown: string): Promise<JsonObject> {
  const { head = "" } = splitFrontMatter(readFileSync(path, "utf8"));
  // The empty first line replaces the mark, so that lines are those of the file.
  const { value } = await readYaml(`\n${head}`, shown);
  const fields = objectOf(value);
  if (!isObject(fields.hooks) || basename(dirname(path)) !== "agents") return fields;
  const hooks = Object.entries(fields.hooks).map(([event, one]) => [event === "Stop" ? "SubagentStop" : event, one]);
  return { ...fields, hooks: Object.fromEntries(hooks) };
}

function ownerOf(path: string, { cwd, host, env }: FindOptions): Owner {
  const folder = dirname(path);
  const common = { shown: pathFrom(cwd, path), home: homeOf(env) };
  if (path.endsWith(".md")) {
    const [, project] = /^(.*)\/\.claude\//.exec(path) ?? [];
    const [, plugin = folder] = /^(.*)\/(?:skills|agents|commands)\//.exec(path) ?? [];
    const belongs = project === undefined ? { project: cwd, plugin } : { project };
    return { ...common, host: host ?? "claude", skill: folder, ...belongs };
  }
  const dot = HOST_NAMES.find((name) => basename(folder) === `.${name}`);
  const plugin = basename(path) === "hooks.json" && basename(folder) === "hooks" ? dirname(folder) : undefined;
  const isGemini = plugin !== undefined && existsSync(join(plugin, "gemini-extension.json"));
  return {
    ...common,
    host: host ?? dot ?? (path.endsWith(".toml") ? "codex" : isGemini ? "gemini" : "claude"),
    project: dot ? dirname(folder) : plugin === undefined ? folder : cwd,
    plugin,
  };
}

function isEvent(event: string, host: HostName): boolean {
  // Settings of Claude Code may name events of ours, too.
  return Object.hasOwn(HOSTS[host].events, event) ||
    (HOSTS[host].settings.isOurs === true && resolveEvent(event) !== undefined);
}

function settingsSubject(name: string, { event, matcher, handler }: Entry, owner: Owner): Subject {
  const { shown, host, project, plugin, skill } = owner;
  const { settings, commands } = HOSTS[host];
  const type = "unsupported" in handler ? handler.unsupported : handler.type;
  const pattern = matcher !== "" && matcher !== "*" ? matcher : undefined;
  const seen = [...matcherMistake(event, pattern, { host, project }), ...neverRuns(event, type, handler)];
  const common = {
    ...{ name, path: shown, host, project, copies: [], seen },
    kind: type === "http" || type === "prompt" ? type : "command",
    env: {
      ...(plugin !== undefined && { CLAUDE_PLUGIN_ROOT: plugin, PLUGIN_ROOT: plugin, CLAUDE_PLUGIN_DATA: "" }),
      ...(skill !== undefined && { CLAUDE_SKILL_DIR: skill }),
    },
    visible: [plugin ?? project, ...(skill === undefined ? [] : [skill])],
  } as const;
  if ("unsupported" in handler || handler.type !== "command") {
    return {
      ...common,
      target: { type: "command", command: "true" },
      skip: NOT_RUN[type] ?? `only its host runs hooks of type '${type}'`,
    };
  }
  // Gemini puts the path of an extension into the line itself.
  const settle = (text: string) => plugin === undefined ? text : text.replaceAll("${extensionPath}", plugin);
  const { command, args, if: rule, timeout } = handler;
  const line = args ? [command, ...args].map(shellWord).join(" ") : command;
  const paths = { CLAUDE_PLUGIN_ROOT: plugin, CLAUDE_SKILL_DIR: skill, CLAUDE_PROJECT_DIR: "." };
  const typed = Object.entries(paths).reduce(
    (text, [variable, path]) =>
      path === undefined ? text : text.replaceAll(new RegExp(`\\$\\{?${variable}\\}?`, "g"), path),
    settle(line),
  );
  const never = seen.some(({ code }) => code === "protocol.never-runs");
  const unmatched = /^session-?start$/i.test(event) && seen.some(({ severity }) => severity === "fault");
  return {
    ...common,
    name: `${name} ${label(line)}`,
    target: { type: "command", command: settle(command), ...(args && { args: args.map(settle) }) },
    loaded: {
      moments: [{ event, ...(pattern !== undefined && { matcher: pattern }) }],
      timeout: timeout === undefined ? commands!.timeout(event) : timeout / settings.second,
      mode: handler.async ? "async" : "gate",
      nondeterministic: false,
      ...(handler.onFailure === "block" && { onError: "deny" as const }),
    },
    ...(rule !== undefined && { rule: { text: rule, isAbout: (call) => matchesIf(rule, call) } }),
    ...((never || unmatched) && { skip: never ? "it never runs" : "its matcher never matches" }),
    // A line that ends its shell or is several commands gets a shell of its own.
    runs: args || /^[^;&|<>()`$\n]*$/.test(typed) ? typed : `sh -c ${shellWord(typed)}`,
    copies: plugin === undefined ? copiesFor(line, owner) : [],
  };
}

/** The files of the project or the home that a command line names, with the folder they are in, and the packages. */
function copiesFor(line: string, owner: Pick<Owner, "project" | "home">): Copy[] {
  const { project, home } = owner;
  const packages = join(project, "node_modules");
  const found = new Map<string, Copy>(
    existsSync(packages) ? [[packages, { from: packages, to: "project/node_modules" }]] : [],
  );
  for (const path of pathsIn(line, owner)) {
    const [root, into] = path.startsWith(`${project}/`) ? [project, "project"] : [home, "home"];
    if (root === "" || !path.startsWith(`${root}/`) || !existsSync(path)) continue;
    const from = dirname(path) !== root && isSmall(dirname(path)) ? dirname(path) : path;
    found.set(from, { from, to: `${into}${from.slice(root.length)}` });
  }
  return [...found.values()];
}

function label(line: string): string {
  const words = line.split(/\s+/).map((word) => word.replaceAll(/["']/g, ""));
  // A runner of scripts comes before what it runs.
  const script = words.findLast((word) => /^[^*]+\.(?:sh|py|js|mjs|cjs|ts|rb|pl|php)$/.test(word));
  const shown = script ? basename(script) : line;
  return `(${shown.length > 40 ? `${shown.slice(0, 37)}...` : shown})`;
}

const { fault } = violationsOf("protocol", "protocol");

/** Events at which a host asks no model. */
const NO_PROMPT = /^(?:SessionStart|SessionEnd|Setup|Notification|PreCompact|PostCompact|SubagentStart)$/;

function neverRuns(event: string, type: string, handler: object): readonly Violation[] {
  if ("if" in handler && handler.if !== undefined && !/^(?:Pre|Post)ToolUse|^Permission/.test(event)) {
    return [fault("never-runs", `Its 'if' is for tool calls: at ${event} it never runs`, "remove the 'if'")];
  }
  return /^(?:prompt|agent)$/.test(type) && NO_PROMPT.test(event)
    ? [fault("never-runs", `The host runs no ${type} hooks at ${event}`, "make it a command")]
    : [];
}

const NOT_RUN: { readonly [type: string]: string } = {
  http: "a check has no network: check the program behind the URL as a command",
  prompt: "its host's model decides: as a .prompt.md in a folder of hooks it can be checked",
};

/** The hooks of a hooks.yaml, or of `.agent/hook.toml`. */
export async function definedSubjects(
  path: string,
  { cwd, host = "claude", env }: FindOptions,
): Promise<FoundSubjects> {
  const problems: string[] = [];
  const project = path.endsWith(".toml") ? dirname(dirname(path)) : dirname(path);
  const text = readFileSync(path, "utf8");
  const shown = pathFrom(cwd, path);
  const model = () => {
    throw new Error("Cannot ask a model while hooks are only read");
  };
  const records = await recordsIn(path, project, { by: { model }, onProblem: (why) => problems.push(why) });
  const subjects = records.map((record): Subject => ({
    name: `${shown}: ${record.name.replace(/^.*#/, "")}`,
    kind: record.kind,
    target: { type: "definition", path, name: record.name },
    loaded: loadedOf(record),
    ...{ path: shown, host, servedTo: host, project, env: {}, visible: [project], seen: [] },
    copies: copiesFor(text, { project, home: homeOf(env) }),
  }));
  return { subjects, problems };
}

export async function recordsIn(
  path: string,
  workspace: string,
  options: Omit<Parameters<typeof readDefinitions>[2], "workspace">,
): Promise<readonly HookRecord[]> {
  const text = readFileSync(path, "utf8");
  if (!path.endsWith(".toml")) return await readDefinitions(text, path, { workspace, ...options });
  const { host, onProblem } = options;
  const { records, problems } = await tomlHooks(workspace, text, { ...(host && { host }), file: path });
  for (const problem of problems) onProblem?.(problem);
  return records;
}
