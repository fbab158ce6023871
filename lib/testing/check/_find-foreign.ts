import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { kebab, pascal } from "../../core/names.ts";
import type { HookFile } from "../../hooks/discover.ts";
import { formatFileName, parseFileName, parseMoment } from "../../hooks/file/file-name.ts";
import { isExecutable, type Program, programOf } from "../../hooks/process/program.ts";
import { fileSubject, type FindOptions } from "./find.ts";
import { TOOLS } from "./_matcher.ts";
import type { FoundSubjects, Subject } from "./subject.ts";

const SCRIPT = /\.(?:sh|bash|py|rb|pl|[cm]?[jt]s)$/;
const STDIN =
  /process\.stdin|readFileSync\(\s*(?:0|process\.stdin\.fd|["']\/dev\/stdin)|Bun\.stdin|Deno\.stdin|sys\.stdin|STDIN|\$\(cat\s*[)2-]|\$\(<\s*\/dev\/stdin/;

export function isScript(path: string): boolean {
  return SCRIPT.test(path);
}

/** Whether a script speaks the protocol of another host, though its name is one that a module of ours could have. */
export function isProgram(path: string): boolean {
  if (!/\.[cm]?[jt]s$/.test(path)) return false;
  const text = readFileSync(path, "utf8");
  return !/^export default/m.test(text) && (STDIN.test(text) || /^#!.*\b(?:node|bun|deno)\b/.test(text));
}

/**
 * A script that was written for another host. When it runs is told by the option, by settings around it that name it, by
 * its own name (`pre_tool_use.py`, `stop-hook.sh`), or by its text.
 */
export async function foreignSubjects(path: string, options: FindOptions): Promise<FoundSubjects> {
  if (options.event === undefined) {
    const registered = await registeredSubjects(path, options);
    if (registered.length > 0) return { subjects: registered, problems: [] };
  }
  const text = readFileSync(path, "utf8");
  const told = byName(basename(path)) ?? byText(text);
  const event = options.event ?? (told && `${told}${toolsIn(text, told)}`);
  if (event === undefined) {
    return {
      subjects: [],
      problems: [
        `Cannot check '${
          basename(path)
        }' as neither its name nor its text says its event: add --event pre-tool-use@Bash`,
      ],
    };
  }
  return { subjects: [scriptSubject(path, text, event, options)], problems: [] };
}

/** The scripts of a folder none of whose files is named as ours are; those that only help others are passed over. */
export async function foreignFolder(folder: string, options: FindOptions): Promise<FoundSubjects> {
  const subjects: Subject[] = [];
  const problems: string[] = [];
  for (const path of scriptsIn(folder)) {
    const found = await foreignSubjects(path, options);
    subjects.push(...found.subjects);
    if (STDIN.test(readFileSync(path, "utf8"))) problems.push(...found.problems);
  }
  const known = new Set<string>();
  return { subjects: subjects.filter(({ name }) => !known.has(name) && known.add(name)), problems };
}

export function scriptsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && isScript(entry.name) && !/^[_.]|\.test\.|\.d\.ts$/.test(entry.name))
    .map(({ name }) => join(folder, name)).sort();
}

function scriptSubject(path: string, text: string, event: string, options: FindOptions): Subject {
  const moment = parseMoment(event.replace(/^[^@]+/, kebab));
  const name = basename(path);
  const executable = text.startsWith("#!") && isExecutable(path);
  const file: HookFile = { ...parseFileName(`${formatFileName(moment)}.sh`), name, path, text, executable };
  const subject = fileSubject(file, { ...options, event }, runnerOf(file));
  return options.event === undefined ? { ...subject, name: `${name} (${pascal(moment.event)})` } : subject;
}

function runnerOf(file: HookFile): Program {
  const program = programOf(file);
  if (file.executable || program.command !== file.path) return program;
  return { command: "/usr/bin/env", args: [/ts$/.test(extname(file.path)) ? "bun" : "node", file.path] };
}

/** As the settings around a script run it: those of its project, or of its plugin. */
async function registeredSubjects(path: string, options: FindOptions): Promise<Subject[]> {
  const { settingsSubjects } = await import("./_find-settings.ts");
  const found: Subject[] = [];
  for (let at = dirname(path), i = 0; i < 4 && at !== dirname(at); at = dirname(at), i++) {
    const places = [".claude/settings.json", ".claude/settings.local.json", "hooks/hooks.json", ".codex/hooks.json"];
    for (const place of places.map((one) => join(at, one)).filter((one) => existsSync(one))) {
      const { subjects } = await settingsSubjects(place, options).catch(() => ({ subjects: [] }));
      found.push(...subjects.filter(({ runs }) => runs?.includes(`/${basename(path)}`)));
    }
  }
  return found;
}

/** Names of moments as others write them, longest first: `subagent-stop` ends like `stop`. */
const EVENTS = [
  ...["PermissionRequest", "UserPromptSubmit", "PostToolUseFailure", "SubagentStart", "SubagentStop", "SessionStart"],
  ...["PostToolUse", "PreToolUse", "PreCompact", "SessionEnd", "Notification"],
];

function byName(name: string): string | undefined {
  const words = name.replace(/\.\w+$/, "").replaceAll(/([a-z])([A-Z])/g, "$1-$2").toLowerCase().split(/[^a-z]+/);
  const whole = words.join("");
  const found = EVENTS.find((event) => whole.includes(event.toLowerCase()));
  return found ?? (words.includes("stop") ? "Stop" : undefined);
}

function byText(text: string): string | undefined {
  const named = /hookEventName["']?\s*[:=]\s*["'](\w+)["']/.exec(text)?.[1];
  if (named !== undefined && EVENTS.includes(named)) return named;
  if (/stop_hook_active/.test(text)) return "Stop";
  const counts = EVENTS.map((event) => [event, text.split(new RegExp(`\\b${event}\\b`)).length - 1] as const)
    .filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
  return counts.length > 0 && counts[0]![1] !== counts[1]?.[1] ? counts[0]![0] : undefined;
}

/** The tools a script asks for by name, where it is asked about tools: settings would name them too. */
function toolsIn(text: string, event: string): string {
  if (!/ToolUse|PermissionRequest/.test(event)) return "";
  const named = TOOLS.filter((tool) => new RegExp(`["'\`|(]${tool}["'\`|)]`).test(text));
  return named.length > 0 ? `@${named.join("+")}` : "";
}
