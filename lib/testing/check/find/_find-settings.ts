import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { compileMatcher } from "../../../core/match.ts";
import { kebab, resolveEvent } from "../../../core/names.ts";
import { homeOf } from "../../../hooks/file/places.ts";
import { readToml } from "../../../hooks/file/read-toml.ts";
import { shellWord } from "../../../hooks/process/shell-word.ts";
import type { Host } from "../../../hooks/serving/from-host.ts";
import { type Handler, isObject, readHandler } from "../../../hooks/setting/handler.ts";
import { readSettings } from "../../../hooks/setting/settings-file.ts";
import { CLAUDE_ONLY } from "../../arbitraries/host-events.ts";
import { copiesFor, copiesNamed, scriptsIn } from "./_copies.ts";
import { ownerOf, readFrontmatter } from "./_frontmatter.ts";
import { type FindOptions, shortened } from "./find.ts";
import { matcherMistake } from "./matcher.ts";
import { oddTimeout } from "./_odd-timeout.ts";
import { unknownFields } from "./_unknown-fields.ts";
import { unsetNames } from "./_unset-names.ts";
import { SHAPES } from "../laws/shapes.ts";
import type { FoundSubjects, Subject } from "../subject.ts";

/** The hooks of a host's settings, or of a plugin's hooks.json: run as the host would run them. */
export async function settingsSubjects(path: string, options: FindOptions): Promise<FoundSubjects> {
  const shown = shortened(path, options.cwd);
  const settings = await readAny(path, shown);
  const hooks = settings?.hooks;
  if (hooks === undefined) return { subjects: [], problems: unwrapped(settings, shown, path, options) };
  if (!isObject(hooks)) return { subjects: [], problems: [`${shown}: Cannot read the hooks as they are no object`] };
  const from = placeOf(path, options);
  const subjects: Subject[] = [];
  const problems: string[] = [];
  let n = 0;
  for (const [event, groups] of Object.entries(hooks)) {
    if (!isEvent(event, from.host)) {
      problems.push(`${shown}: Cannot check hooks of '${event}' as ${from.host} has no such event: they never run`);
      continue;
    }
    if (!Array.isArray(groups)) {
      problems.push(`${shown}: Cannot use hooks.${event} as it is no list: write [{ "hooks": [ … ] }]`);
      continue;
    }
    for (const [i, group] of groups.entries()) {
      const at = `hooks.${event}[${i}]`;
      if (!isObject(group) || !Array.isArray(group.hooks)) {
        problems.push(`${shown}: Cannot use ${at} as it has no list of hooks: the host drops the whole file for it`);
        continue;
      }
      for (const [k, entry] of group.hooks.entries()) {
        const handler = readHandler(entry, `${at}.hooks[${k}]`);
        if ("mend" in handler) {
          problems.push(`${shown}: Cannot use ${handler.at} as ${handler.why}: ${handler.mend}`);
          continue;
        }
        if ("unsupported" in handler && !TYPES.includes(handler.unsupported)) {
          problems.push(
            `${shown}: Cannot use ${at}.hooks[${k}] as ${from.host} has no hooks of type '${handler.unsupported}'${
              from.host === "claude" ? ", and drops the whole file for it" : ""
            }: write "type": "command"`,
          );
          continue;
        }
        subjects.push(subjectOf(`${shown}#${n++}`, event, group.matcher, handler, from));
      }
    }
  }
  return { subjects, problems };
}

/** Events that stand where the host looks for none. */
function unwrapped(settings: unknown, shown: string, path: string, options: FindOptions): string[] {
  const { host } = placeOf(path, options);
  const [event] = Object.entries(isObject(settings) ? settings : {})
    .filter(([name, groups]) => Array.isArray(groups) && isEvent(name, host)).map(([name]) => name);
  if (event === undefined) return [];
  return [
    `${shown}: Cannot use '${event}' as ${host} reads no hooks outside of "hooks": write {"hooks": {"${event}": …}}`,
  ];
}

/** @throws {Error} that names the file, as it is `shown`, and the place in it */
async function readAny(path: string, shown: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (path.endsWith(".toml")) return await readCodexConfig(path, shown);
  if (path.endsWith(".md")) return await readFrontmatter(path, shown);
  return await readSettings({ path, scope: "command line", required: true }).catch((error: Error) => {
    throw new Error(`${shown}: ${error.message}`);
  });
}

/** Codex keeps hooks in its `config.toml` too, under the names of its hooks.json; what it trusts stands beside them. */
async function readCodexConfig(path: string, shown: string): Promise<Readonly<Record<string, unknown>>> {
  const settings = await readToml(readFileSync(path, "utf8"), shown);
  if (!isObject(settings.hooks)) return settings;
  const { state: _, ...hooks } = settings.hooks;
  return { ...settings, hooks };
}

interface From {
  readonly shown: string;
  readonly host: Host;
  readonly project: string;
  readonly home: string;
  readonly plugin: string | undefined;
  /** The folder of the skill that brings the hook. */
  readonly skill?: string;
}

/** What a settings file belongs to, by where it lies. */
function placeOf(path: string, { cwd, host, env }: FindOptions): From {
  const folder = dirname(path);
  if (path.endsWith(".md")) {
    return { shown: shortened(path, cwd), host: host ?? "claude", home: homeOf(env), skill: folder, ...ownerOf(path) };
  }
  const dot = /^\.(claude|codex|gemini)$/.exec(basename(folder))?.[1] as Host | undefined;
  const plugin = basename(path) === "hooks.json" && basename(folder) === "hooks" ? dirname(folder) : undefined;
  return {
    shown: shortened(path, cwd),
    host: host ?? dot ?? (path.endsWith(".toml") ? "codex" : undefined) ??
      (plugin !== undefined && existsSync(join(plugin, "gemini-extension.json")) ? "gemini" : "claude"),
    project: dot || plugin ? dirname(folder) : folder,
    home: homeOf(env),
    plugin,
  };
}

const GEMINI =
  /^(Before|After)(Agent|Tool|Model)$|^BeforeToolSelection$|^PreCompress$|^Session(Start|End)$|^Notification$/;

function isEvent(event: string, host: Host): boolean {
  if (host === "gemini") return GEMINI.test(event);
  if (host === "codex") return Object.hasOwn(SHAPES.codex.specific, event) || event === "Interrupt";
  return resolveEvent(event) !== undefined || Object.hasOwn(CLAUDE_ONLY, kebab(event));
}

function subjectOf(
  name: string,
  event: string,
  matcher: unknown,
  handler: Handler | { readonly unsupported: string },
  from: From,
): Subject {
  const { shown, host, project, home, plugin, skill } = from;
  const type = "unsupported" in handler ? handler.unsupported : handler.type;
  const pattern = typeof matcher === "string" && matcher !== "" && matcher !== "*" ? matcher : undefined;
  const common = {
    name,
    path: shown,
    host,
    text: "",
    env: {
      ...(plugin !== undefined && { CLAUDE_PLUGIN_ROOT: plugin, PLUGIN_ROOT: plugin, CLAUDE_PLUGIN_DATA: "" }),
      ...(skill !== undefined && { CLAUDE_SKILL_DIR: skill }),
    },
    visible: [plugin ?? project, ...(skill === undefined ? [] : [skill])],
    seen: [...seenIn(event, pattern, host), ...neverRuns(event, type, handler)],
  };
  const kind = type === "http" || type === "prompt" ? type : "command";
  if ("unsupported" in handler || handler.type !== "command") {
    const target = { type: "command", command: "true" } as const;
    return { ...common, kind, target, copies: [], skip: whyNot(type) };
  }
  const { command, args, async } = handler;
  const timeout = handler.timeout === undefined
    ? undefined
    : host === "gemini"
    ? handler.timeout / 1000
    : handler.timeout;
  const called = args ? [command, ...args].map(shellWord).join(" ") : command;
  const words = args ? [command, ...args].join(" ") : command;
  const inPlace = (text: string) => plugin === undefined ? text : text.replaceAll("${extensionPath}", plugin);
  const rooted = plugin === undefined ? called : inPlace(called).replaceAll(/\$\{?CLAUDE_PLUGIN_ROOT\}?/g, plugin);
  const settled = skill === undefined ? rooted : rooted.replaceAll(/\$\{?CLAUDE_SKILL_DIR\}?/g, skill);
  const text = `${called}\n${scriptsIn(settled, { project, home })}`;
  return {
    ...common,
    name: `${name} ${label(called)}`,
    kind,
    text,
    seen: [
      ...common.seen,
      ...unsetNames(text, host),
      ...unknownFields(text, host),
      ...oddTimeout(handler.timeout, host),
    ],
    // Gemini puts the path of an extension into the line itself.
    target: { type: "command", command: inPlace(command), ...(args && { args: args.map(inPlace) }) },
    loaded: {
      moments: [{ event, ...(pattern !== undefined && { matcher: pattern }) }],
      timeout: timeout ?? defaultTimeout(event, host),
      mode: async ? "async" : "gate",
      nondeterministic: false,
      ...(handler.onFailure === "block" && { onError: "deny" as const }),
    },
    ...(handler.if !== undefined && { rule: handler.if }),
    ...skipped(event, common.seen),
    runs: asTyped(settled.replaceAll(/\$\{?CLAUDE_PROJECT_DIR\}?/g, "."), args !== undefined),
    copies: [
      ...copiesFor(words, { project, home }),
      ...(plugin === undefined ? copiesNamed(text, project) : []),
      ...(existsSync(join(project, "node_modules")) && !plugin
        ? [{ from: join(project, "node_modules"), to: "project/node_modules" }]
        : []),
    ],
  };
}

/** The program a command line is about, for listings. */
function label(command: string): string {
  const words = command.split(/\s+/).map((word) => word.replaceAll(/["']/g, ""));
  // A runner of scripts is named before what it runs.
  const script = words.findLast((word) => /^[^*]+\.(?:sh|py|js|mjs|cjs|ts|rb|pl|php)$/.test(word));
  const shown = script ? basename(script) : command;
  return `(${shown.length > 40 ? `${shown.slice(0, 37)}...` : shown})`;
}

/** What the matcher itself tells. */
function seenIn(event: string, matcher: string | undefined, host: Host): Subject["seen"] {
  if (matcher === undefined) return [];
  try {
    compileMatcher(matcher);
  } catch (error) {
    return [{
      law: "lawful",
      code: "lawful.matcher",
      severity: "fault",
      message: `Its matcher '${matcher}' matches nothing: ${(error as Error).message}`,
      mend: "write names with | between them, or a regular expression",
    }];
  }
  return matcherMistake(event, matcher, host);
}

/** A line as a person can paste it after a pipe: one that ends its shell or is several commands gets a shell of its own. */
function asTyped(line: string, isProgram: boolean): string {
  return isProgram || /^[^;&|<>()`$\n]*$/.test(line) ? line : `sh -c ${shellWord(line)}`;
}

function skipped(event: string, seen: Subject["seen"]): Pick<Subject, "skip"> {
  if (seen.some(({ code }) => code === NEVER)) return { skip: "it never runs" };
  return /^session-?start$/i.test(event) && seen.some(({ severity }) => severity === "fault")
    ? { skip: "its matcher never matches" }
    : {};
}

/** What hooks of hosts can be. */
const TYPES = ["command", "http", "prompt", "agent", "mcp_tool"];

const NEVER = "lawful.never-runs";
/** Events at which a host asks no model. */
const NO_PROMPT = /^(?:SessionStart|SessionEnd|Setup|Notification|PreCompact|PostCompact|SubagentStart)$/;

/** What the host drops without a word. */
function neverRuns(event: string, type: string, handler: object): Subject["seen"] {
  const never = (message: string, mend: string) =>
    [{ law: "lawful", code: NEVER, severity: "fault", message, mend }] as const;
  if ("if" in handler && handler.if !== undefined && !/^(?:Pre|Post)ToolUse|^Permission/.test(event)) {
    return never(`It has an 'if', which is for calls of tools: at ${event} it never runs`, "take the 'if' out");
  }
  return /^(?:prompt|agent)$/.test(type) && NO_PROMPT.test(event)
    ? never(`It is a ${type}, and the host runs none at ${event}`, "make it a command")
    : [];
}

function whyNot(type: string): string {
  switch (type) {
    case "http":
      return "its server is not asked, as a check reaches nothing outside its workspace: check the program behind it as a command";
    case "prompt":
      return "its verdicts are the model's of its host: as a .prompt.md in a folder of hooks it can be checked";
    default:
      return `hooks of type '${type}' are run by their host alone`;
  }
}

/** Seconds a hook has where it says nothing, as in its host. */
function defaultTimeout(event: string, host: Host): number {
  if (host === "gemini") return 60;
  if (event === "SessionEnd") return host === "codex" ? 1 : 1.5;
  return event === "UserPromptSubmit" ? 30 : 600;
}
