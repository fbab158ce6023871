import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { kebab, pascal } from "../../../core/names.ts";
import type { HookFile } from "../../../hooks/discover.ts";
import { formatFileName, parseFileName, parseMoment } from "../../../hooks/file/file-name.ts";
import { isExecutable, type Program, programOf } from "../../../hooks/process/program.ts";
import { copiesFor, copiesNamed } from "./_copies.ts";
import { fileSubject, type FindOptions } from "./find.ts";
import { toldEvent, toldHost } from "./_told-event.ts";
import { unknownFields } from "./_unknown-fields.ts";
import { unsetNames } from "./_unset-names.ts";
import type { FoundSubjects, Subject } from "../subject.ts";

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
  const event = options.event ?? toldEvent(basename(path), text);
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

/** The scripts of a folder that is another host's; those that only help others are passed over. */
export async function foreignFolder(folder: string, options: FindOptions): Promise<FoundSubjects> {
  const subjects: Subject[] = [];
  const problems: string[] = [];
  for (const path of scriptsIn(folder)) {
    const found = await foreignSubjects(path, options);
    const text = readFileSync(path, "utf8");
    subjects.push(...found.subjects);
    if (STDIN.test(text)) problems.push(...found.problems);
    else if (found.problems.length > 0 && text.startsWith("#!") && isExecutable(path)) {
      subjects.push({ ...scriptSubject(path, text, "stop", options), name: basename(path), skip: UNTOLD });
    }
  }
  const known = new Set<string>();
  return { subjects: subjects.filter(({ name }) => !known.has(name) && known.add(name)), problems };
}

const UNTOLD = "nothing tells when it runs: name it with --event, such as --event stop";

export function scriptsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && isScript(entry.name) && !/^[_.]|\.test\.|\.d\.ts$/.test(entry.name))
    .map(({ name }) => join(folder, name)).sort();
}

function scriptSubject(path: string, text: string, event: string, options: FindOptions): Subject {
  const moment = parseMoment(event.replace(/^[^@]+/, kebab));
  const name = basename(path);
  const executable = text.startsWith("#!") && isExecutable(path);
  const file: HookFile = { ...parseFileName(`${formatFileName(moment)}.sh`), name, path, at: path, text, executable };
  const host = options.host ?? toldHost(path, text) ?? "claude";
  const subject = {
    ...fileSubject(file, { ...options, event, host }, runnerOf(file)),
    copies: copiesBeside(path, text),
    seen: [...unsetNames(text, host), ...unknownFields(text, host)],
  };
  return options.event === undefined ? { ...subject, name: `${name} (${pascal(moment.event)})` } : subject;
}

/** What it finds through the folder of its project, where its host has it run in one. */
function copiesBeside(path: string, text: string): Subject["copies"] {
  const [, project] = /^(.*)\/\.(?:claude|codex|gemini)\//.exec(path) ?? [];
  if (project === undefined) return [];
  const own = /_PROJECT_DIR|show-toplevel/.test(text) ? copiesFor(path, { project, home: "" }) : [];
  return [...own, ...copiesNamed(text, project)];
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
    const places = [
      ...[".claude/settings.json", ".claude/settings.local.json", "hooks/hooks.json", ".codex/hooks.json"],
      ".gemini/settings.json",
    ];
    for (const place of places.map((one) => join(at, one)).filter((one) => existsSync(one))) {
      const { subjects } = await settingsSubjects(place, options).catch(() => ({ subjects: [] }));
      found.push(...subjects.filter(({ runs }) => runs?.includes(`/${basename(path)}`)));
    }
  }
  return found;
}
