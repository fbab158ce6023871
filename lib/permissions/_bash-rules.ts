import { homedir } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { type CommandPattern, mayMatch, mustMatch } from "./_command-pattern.ts";
import type { Command, CommandLine } from "./shell/commands.ts";
import { literal, type Word } from "./shell/reader.ts";
import { doubtOf, runsOf } from "./shell/runners.ts";

/** A file that a redirection opens; no paths = which one is not known. */
export interface OpenedFile {
  readonly kind: "read" | "write";
  readonly paths: readonly string[] | undefined;
}

/** Variables that change how a program talks, not what it runs: before a command they need no rule. */
const HARMLESS = new Set(
  ("CI COLUMNS DEBUG FORCE_COLOR GOARCH GOOS LANG LC_ALL LC_CTYPE LINES NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE " +
    "PYTHONUNBUFFERED RUST_BACKTRACE RUST_LOG TERM TZ VERBOSE").split(" "),
);

/** Variables whose text a shell runs. */
const CODE = /^(?:BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4])\+?=/;

/**
 * The first command of a line that no pattern covers, or undefined: then every command that can run is covered,
 * whatever its expansions become.
 */
export function uncovered(
  line: CommandLine,
  patterns: readonly CommandPattern[],
  mayOpen: (file: OpenedFile) => boolean,
  cwd: string,
): { readonly command?: Command; readonly why: string } | undefined {
  if (line.unreadable !== undefined) return { why: `it cannot be read safely: ${line.unreadable}` };
  if (line.doubts.length > 0) return { why: line.doubts[0]! };
  if (line.commands.length === 0) return { why: "it runs no command" };
  const places = placesOf(line, cwd);
  const covered = (command: Command, depth: number): boolean => {
    if (!command.redirects.every((r) => mayOpen(openedFile(r.kind, r.target, places)))) return false;
    if (command.words.length === 0) return command.assignments.every(isLocal);
    const matter = command.assignments.filter((word) => !HARMLESS.has(assignedName(word)));
    const whole = { ...command, words: [...matter, ...command.words] };
    const rules = patterns.filter((p) => mustMatch(p, whole));
    if (rules.some((p) => p.exact)) return true;
    if (doubtOf(command) !== undefined) return false;
    const runs = runsOf(command, depth);
    if (runs === undefined) return rules.length > 0;
    if (rules.some((p) => runs.at !== undefined && p.spelled > runs.at + matter.length)) return true;
    if (runs.unsure !== undefined || runs.doubts.length > 0 || runs.commands.length === 0) return false;
    if (!(runs.transparent && matter.length === 0) && rules.length === 0) return false;
    return runs.commands.every((inner) => covered(inner, depth + 1));
  };
  const command = line.commands.find((c) => !covered(c, 0));
  return command && { command, why: `no rule allows '${command.source}'` };
}

/** Whether a pattern covers some command that the line may run. */
export function touches(line: CommandLine, pattern: CommandPattern): boolean {
  if (line.unreadable !== undefined) return true;
  const touched = (command: Command, depth: number): boolean => {
    if (mayMatch(pattern, command)) return true;
    const { assignments } = command;
    if (setsCode(command)) return true;
    if (assignments.length > 0 && mayMatch(pattern, { ...command, words: [...assignments, ...command.words] })) {
      return true;
    }
    const runs = runsOf(command, depth);
    return runs !== undefined &&
      (runs.unsure === "anything" || runs.commands.some((inner) => touched(inner, depth + 1)));
  };
  return line.commands.some((command) => touched(command, 0));
}

function setsCode({ assignments, words }: Command): boolean {
  return [...assignments, ...words].some((word) => CODE.test(word.source));
}

/** What may be opened where it cannot be told what runs. */
const UNKNOWN: readonly OpenedFile[] = [{ kind: "read", paths: undefined }, { kind: "write", paths: undefined }];

/** Every file that redirections of the line open, also those of scripts inside it. */
export function openedFiles(line: CommandLine, cwd: string): readonly OpenedFile[] {
  if (line.unreadable !== undefined) return UNKNOWN;
  const places = placesOf(line, cwd);
  const collect = (command: Command, depth: number): OpenedFile[] => {
    const runs = runsOf(command, depth);
    return [
      ...command.redirects.map((r) => openedFile(r.kind, r.target, places)),
      ...runs?.unsure === "anything" || setsCode(command) ? UNKNOWN : [],
      ...(runs?.commands ?? []).flatMap((inner) => collect(inner, depth + 1)),
    ];
  };
  return line.commands.flatMap((command) => collect(command, 0));
}

/** The folders a command of the line may be in when it runs, or undefined: a `cd` in it leads somewhere unknown. */
function placesOf(line: CommandLine, cwd: string): string[] | undefined {
  let places = [cwd];
  let moves = 0;
  for (const command of line.commands) {
    const { words } = command;
    if (words.length === 0) continue;
    const name = literal(words[0]);
    if (runsOf(command)?.commands.some((c) => c.words.some((w) => /^(?:cd|pushd|popd)$/.test(literal(w) ?? "cd")))) {
      return undefined;
    }
    if (name === undefined || ["pushd", "popd", ".", "source"].includes(name)) return undefined;
    if (name !== "cd") continue;
    const target = words.length === 1 ? homedir() : literal(words[1]);
    if (target === undefined || target.startsWith("-") || words.length > 2 || ++moves > 3) return undefined;
    places = [...new Set([...places, ...places.map((place) => resolve(place, target))])];
  }
  return places;
}

function openedFile(kind: "read" | "write", target: Word, places: readonly string[] | undefined): OpenedFile {
  const name = literal(target);
  if (name === undefined || (places === undefined && !isAbsolute(name))) return { kind, paths: undefined };
  return { kind, paths: isAbsolute(name) ? [name] : places!.map((place) => resolve(place, name)) };
}

function assignedName(word: Word): string {
  return /^\w*/.exec(word.source)![0];
}

/** A variable of the line itself; programs look at upper-case names, and a few others. */
function isLocal(word: Word): boolean {
  const name = assignedName(word);
  return HARMLESS.has(name) || (/^[a-z_][a-z0-9_]*$/.test(name) && !/_proxy$|^npm_/.test(name));
}
