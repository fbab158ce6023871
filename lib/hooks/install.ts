import { existsSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { failurePolicy } from "../core/dispatch.ts";
import { type EventName, EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import { sha256 } from "../files/sha256.ts";
import type { HookFile } from "./discover.ts";
import { type Environment, homeOf, realOr, stateFile, writeWhole } from "./file/places.ts";
import type { Listened } from "./file/record.ts";
import { HOST_NAMES, hostEvent, type HostName, HOSTS } from "./hosts/index.ts";
import { OWN_TYPE } from "./settings.ts";
import { ownCommand } from "./installing/own-command.ts";
import { type HostEntry, withEntries, withoutEntries } from "./installing/settings-edit.ts";

/** A hook file with the record it compiled to, which knows its config. */
export interface Installable {
  readonly file: HookFile;
  readonly record: HookRecord;
}

export interface Place {
  readonly host: HostName;
  readonly scope: "project" | "user";
  readonly cwd: string;
  readonly env: Environment;
}

/** What installing would do, or did. */
export interface Installation {
  readonly settings: string;
  readonly entries: readonly HostEntry[];
  /** Hooks, and moments of hooks, that this host has no event for. */
  readonly left: readonly { readonly name: string; readonly why: string }[];
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The hook's own limit comes first, so that its own rule for failures counts and not the host's. */
const MARGIN_SECONDS = 5;

/** Works out what the host's settings would be with these hooks in them. Nothing is written. */
export async function planInstall(hooks: readonly Installable[], place: Place): Promise<Installation> {
  const settings = settingsPath(place);
  const before = readOr(settings);
  const entries = hooks.flatMap((hook) => entriesOf(hook, place.host));
  const left = hooks.flatMap((hook) =>
    momentsOf(hook).filter(({ event }) => hostEvent(place.host, event) === undefined)
      .map(({ event }) => ({ name: hook.file.name, why: `${place.host} has no event like ${event}` }))
  );
  // Replaced: what was installed of these files before, perhaps with another config, and of files that are gone.
  const mine = new Set(entries.map(whatIsOurs));
  const files = new Set(hooks.flatMap(({ file }) => [file.at, file.path]));
  const isOld = (entry: HostEntry) => {
    const file = installedFile(entry.hook.command);
    if (file === undefined) return false;
    return files.has(file) ? !mine.has(whatIsOurs(entry)) : file.startsWith("/") && !existsSync(file);
  };
  const cleared = await withoutEntries(before ?? "", isOld);
  const after = await withEntries(cleared, entries);
  return { settings, entries, left, before, after: entries.length === 0 && before === undefined ? undefined : after };
}

/** Works out the settings without the hooks of a folder. Nothing is written. */
export async function planUninstall(folder: string, place: Place): Promise<Installation> {
  const settings = settingsPath(place);
  const before = readOr(settings);
  const plan = { settings, entries: [], left: [], before };
  if (before === undefined) return { ...plan, after: undefined };
  const root = realOr(folder);
  const bare = await withoutEntries(
    before,
    ({ hook: { command } }) => installedFile(command)?.startsWith(`${root}/`) ?? false,
  );
  const kept = readKept(settings, place.env);
  // The file has not changed since: it becomes what it was, to the byte, or is removed if it was not there.
  if (kept && kept.after === hashOf(before) && bare !== before) return { ...plan, after: kept.before };
  return { ...plan, after: bare };
}

/** Carries a plan out: the file is written whole or not at all, and its old text is kept for uninstalling. */
export function carryOut({ settings, before, after }: Installation, env: Environment): void {
  if (before === after) return;
  const target = realOr(settings);
  const kept = readKept(settings, env);
  if (after === undefined) {
    rmSync(target, { force: true });
    if (kept?.folder) removeIfEmpty(dirname(target));
    forget(settings, env);
    return;
  }
  const untouched = kept !== undefined && before !== undefined && kept.after === hashOf(before);
  const original = untouched ? kept.before : before;
  const folder = untouched ? kept.folder : !existsSync(dirname(target));
  writeWhole(target, after, (statSync(target, { throwIfNoEntry: false })?.mode ?? 0o644) & 0o777);
  if (after === original) forget(settings, env);
  else keep(settings, { before: original, after: hashOf(after), folder }, env);
}

/** When a hook runs: first by its name, then by what it says itself. */
function momentsOf({ file, record }: Installable): { readonly on: Listened; readonly event: string }[] {
  return (record.on as readonly Listened[]).map((on, i) => ({ on, event: i === 0 ? file.event : nameOf(on) }));
}

function entriesOf(hook: Installable, host: HostName): HostEntry[] {
  const { file, record } = hook;
  const { toolMatcher, patternMatcher, second, named, async, onFailure } = HOSTS[host].settings;
  // By its own name, which says when it runs: the target of a link may have any name.
  const command = hookCommand(file.at, host);
  return momentsOf(hook).flatMap(({ on, event }) => {
    const name = hostEvent(host, event);
    if (name === undefined) return [];
    // If the host would read a matcher differently, the hook itself matches.
    const matcher = on.tools
      ? toolMatcher(on.tools)
      : on.pattern === undefined
      ? undefined
      : patternMatcher(on.pattern);
    return [{
      event: name,
      ...(matcher !== undefined && { matcher }),
      hook: {
        type: "command" as const,
        command,
        ...(named && { name: file.name }),
        // Codex ignores the whole file if a limit is not a whole number.
        ...(record.timeout !== undefined && { timeout: Math.ceil((record.timeout + MARGIN_SECONDS) * second) }),
        ...(record.mode === "async" && async && { async: true }),
        ...(onFailure && refusesWhereItFails(record, on.event) && { onFailure: "block" }),
      },
    }];
  });
}

/** All that is written of a hook; a host, or its owner, may have added to that. */
function whatIsOurs({ event, matcher, hook: { command, timeout, async, onFailure } }: HostEntry): string {
  return JSON.stringify([event, matcher, command, timeout, async, onFailure]);
}

/** Whether what a hook guards is refused if its process dies, hangs or cannot be started. */
function refusesWhereItFails(record: HookRecord, event: EventName): boolean {
  if (record.mode !== "gate" || EVENTS[event].deny !== "prevents") return false;
  // Rules fail as modules do.
  const kind = record.kind === "rules" ? "module" : record.kind;
  return (record.onError ?? failurePolicy({ ...record, kind }, event)) === "deny";
}

/** The hosts' name for a moment that is narrower than its event. */
function nameOf({ event, outcome, scope }: Listened): string {
  if (event === "post-tool-use" && outcome === "failure") return "post-tool-use-failure";
  return event === "stop" && scope === "sub" ? "subagent-stop" : event;
}

/** The line that serves a hook file. */
export function hookCommand(file: string, host: HostName): string {
  return ownCommand("cli/hook", file, "--dialect", host);
}

const OWN_LINE = new RegExp(
  `(?:\\bcli/hook\\.[jt]s'?| npm:crochet@\\S+ hook) ('(?:[^']|'\\\\'')+'|\\S+) --dialect (?:${HOST_NAMES.join("|")})$`,
);

/** The file that a line of ours serves; undefined for a line that is not ours. */
export function installedFile(command: string): string | undefined {
  const found = OWN_LINE.exec(command)?.[1];
  return found?.startsWith("'") ? found.slice(1, -1).replaceAll("'\\''", "'") : found;
}

function settingsPath({ host, scope, cwd, env }: Place): string {
  return join(scope === "user" ? homeOf(env) : realOr(cwd), HOSTS[host].settings.files[0]!);
}

interface Kept {
  /** The text before we came; absent if there was no file. */
  readonly before: string | undefined;
  /** The hash of the text we left. */
  readonly after: string;
  /** Whether the folder of the file is ours too. */
  readonly folder: boolean;
}

function keep(settings: string, kept: Kept, env: Environment): void {
  writeWhole(stateFile("installed", settings, env), `${JSON.stringify({ settings, ...kept })}\n`);
}

function forget(settings: string, env: Environment): void {
  rmSync(stateFile("installed", settings, env), { force: true });
}

function readKept(settings: string, env: Environment): Kept | undefined {
  try {
    return JSON.parse(readFileSync(stateFile("installed", settings, env), "utf8")) as Kept;
  } catch {
    return undefined;
  }
}

function hashOf(text: string): string {
  return sha256().update(text).digest("hex");
}

/** The text to the byte: a file that could not be written back unchanged is refused. */
function readOr(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch {
    throw new Error(`Cannot change '${path}' as it is not UTF-8 text: fix that first`);
  }
}

/** The folder we made for the file goes with it; one that holds anything else stays. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It holds other files.
  }
}

/**
 * The settings with those hooks marked that serve a file which is loaded already: installed for the host, found by
 * us too. A hook is one hook, whichever way it was found.
 */
export async function markOwn(text: string, isLoaded: (path: string) => boolean): Promise<string> {
  const { parse } = await import("jsonc-parser");
  const errors: [] = [];
  const settings = parse(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true }) as Settings | undefined;
  if (errors.length > 0 || typeof settings?.hooks !== "object" || settings.hooks === null) return text;
  let marked = false;
  for (const groups of Object.values(settings.hooks)) {
    for (const group of Array.isArray(groups) ? groups as (Group | null)[] : []) {
      for (const hook of Array.isArray(group?.hooks) ? group.hooks : []) {
        const file = typeof hook?.command === "string" ? installedFile(hook.command) : undefined;
        if (file === undefined || !isLoaded(file)) continue;
        hook!.type = OWN_TYPE;
        marked = true;
      }
    }
  }
  return marked ? JSON.stringify(settings) : text;
}

interface Settings {
  hooks?: { [event: string]: unknown } | null;
}

interface Group {
  hooks?: ({ type?: string; command?: unknown } | null)[];
}
