import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { quietly } from "../core/json.ts";
import { EVENTS } from "../core/events.ts";
import { kebab, resolveEvent } from "../core/names.ts";
import { shellWord } from "../core/shown.ts";
import { isInside } from "../files/confine.ts";
import { formatFileName, isSkipped, parseMoment } from "./file/file-name.ts";
import { listedNames } from "./file/hook-record.ts";
import { entriesIn, type Entry } from "./handler.ts";
import { readSettings, unknownEvent } from "./hook-settings.ts";
import { installedFile } from "./install-line.ts";
import { pathsIn } from "./line-paths.ts";
import { defaultTimeout } from "./settings-records.ts";

/** One hook of a settings file: as a script that answers as it does, or why no script would. */
export type ImportedEntry = { readonly at: string } & Script;

type Script =
  | { readonly event: string; readonly tools: readonly string[]; readonly label: string; readonly text: string }
  /** `never`: nothing of it is a command. */
  | { readonly why: string; readonly never?: true };

interface ImportPlace {
  readonly project: string;
  readonly home: string;
  /** The settings, as a person names them. */
  readonly shown: string;
  /** What is done with them, in a word. */
  readonly verb: string;
}

/** The hooks of a settings file. @throws {Error} by file, if an entry is broken: its host would drop more than that */
export async function importedEntries(path: string, place: ImportPlace): Promise<ImportedEntry[]> {
  const broken = (why: string) => new Error(`Cannot ${place.verb} ${place.shown} as ${why}`);
  if (!existsSync(path)) throw broken("there is no such file: name the settings that have the hooks");
  const settings = await readSettings({ path, required: true }).catch((error: Error) => {
    throw broken(error.message.replace(/^Cannot read the settings as /, ""));
  });
  const { hooks, disableAllHooks } = settings!;
  if (hooks === undefined) throw broken('it has no hooks: write { "hooks": { "Stop": [ … ] } }');
  if (disableAllHooks === true) throw broken("it switches its hooks off: remove disableAllHooks");
  return [...entriesIn(hooks)].map((found) => {
    if ("why" in found) throw broken(`${found.at} cannot be used: ${found.why}`);
    return { at: found.at, ...scriptOf(found, place) };
  });
}

function scriptOf({ event, matcher = "", handler }: Entry, place: ImportPlace): Script {
  const type = "unsupported" in handler ? handler.unsupported : handler.type;
  if ("unsupported" in handler || handler.type !== "command") {
    return { why: `hooks of type '${type}' are not scripts`, never: true };
  }
  const on = resolveEvent(event);
  if (!on || !EVENTS[on.event].fires) return { why: unknownEvent(event) };
  const { command, args, onFailure, async, asyncRewake } = handler;
  const served = installedFile(command, place.project);
  if (served !== undefined) return { why: `it serves ${relative(place.project, served)}, which is a hook file` };
  if (handler.if !== undefined) return { why: "a hook file has no 'if': ask for it in the script" };
  if (asyncRewake) return { why: "a hook file that is async is not heard when it exits with 2" };
  if (/\n/.test(matcher)) return { why: "its matcher has several lines" };
  const listed = listedNames(matcher);
  const name = kebab(event);
  const tools = listed.length > 0 && quietly(() => parseMoment(`${name}@${listed.join("+")}`)) ? listed : [];
  const line = args ? `exec ${[command, ...args].map(quoted).join(" ")}` : command;
  const timeout = handler.timeout ?? defaultTimeout({ handler, on });
  const isMatched = matcher !== "" && matcher !== "*" && tools.length === 0;
  const state = [...new Set(pathsIn(line, place).flatMap((path) => neededWith(path, place.project)))];
  const words = [
    ...(isMatched ? [`matcher="${matcher.replaceAll('"', '\\"')}"`] : []),
    ...(timeout === USUAL_SECONDS ? [] : [`timeout=${timeout}`]),
    ...(async ? ["mode=async"] : []),
    ...(onFailure === "block" && on.event !== "stop" ? ["onError=deny"] : []),
    ...(state.length > 0 ? [`state=${/\s/.test(state.join()) ? `"${state}"` : state}`] : []),
  ];
  const head = ["#!/bin/sh", ...(words.length > 0 ? [`# crochet: ${words.join(" ")}`] : [])];
  const root = 'cd "${CLAUDE_PROJECT_DIR:-.}" || exit';
  const text = `${[...head, `# From ${place.shown}`, root, line].join("\n")}\n`;
  return { event: name, tools, label: labelOf(line), text };
}

/** What a script has that sets no limit. */
const USUAL_SECONDS = 600;

/** A word of a command without a shell, in which the host expands one thing. */
function quoted(word: string): string {
  return shellWord(word).replaceAll("${CLAUDE_PROJECT_DIR}", `'"$CLAUDE_PROJECT_DIR"'`);
}

/** What of the project a line needs that names a path: a script, with what lies beside it in a folder of its own. */
function neededWith(path: string, project: string): string[] {
  if (!isInside(path, project) || path === project || !existsSync(path)) return [];
  const below = relative(project, path);
  if (/(?:^|\/)node_modules\/|[",\n]/.test(below)) return [];
  return [dirname(below).includes("/") ? dirname(below) : below];
}

/** Programs that only start another one, and their options. */
const STARTERS = /^(?:-.*|\w+=.*|python[\d.]*|node|bunx?|deno|ruby|perl|php|bash|sh|zsh|uvx?|npx|tsx|env|exec|run)$/;

/** The first program of a command, without what only starts it. */
function labelOf(line: string): string {
  const words = line.replace(/^exec |^\s*cd\s+\S+\s*(?:&&|;)/g, "").replaceAll(/["']/g, "").split(/[\s;&|()]+/)
    .filter((word) => word !== "");
  const isInline = words.some((word) => /^-[ce]$/.test(word));
  const program = (isInline ? undefined : words.find((word) => !STARTERS.test(word))) ?? words[0] ?? "";
  const label = basename(program).replace(/\.\w+$/, "").replace(/[^\w-]+/g, "-").replace(/^-+|-+$/g, "");
  return label === "" || isSkipped(`stop.${label}.sh`) ? `hook${label && `-${label}`}` : label;
}

/** Writes scripts into a folder, each under a name that is free; one that is there already stays as it is. */
export function writeImported(entries: readonly ImportedEntry[], folder: string) {
  return entries.flatMap((entry) => {
    if ("why" in entry) return [];
    const { at, event, tools, label, text } = entry;
    for (let n = 1;; n++) {
      const file = formatFileName({ event, tools, label: n === 1 ? label : `${label}-${n}`, ext: ".sh" });
      const path = join(folder, file);
      const isNew = !existsSync(path);
      if (isNew) writeFileSync(path, text, { mode: 0o755, flag: "wx" });
      else if (readFileSync(path, "utf8") !== text) continue;
      return [{ at, file, path, isNew }];
    }
  });
}
