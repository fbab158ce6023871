import { existsSync, lstatSync, readFileSync, realpathSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { writeWhole } from "../files/drafts.ts";
import { readStateFile, removeState, stateFile, writeStateFile } from "../files/state.ts";
import { type AnyEvent, type EventName, EVENTS } from "../core/events.ts";
import { failurePolicy, type Folded, NOTHING } from "../core/fold.ts";
import type { HookRecord } from "../core/hook.ts";
import { quietly } from "../core/json.ts";
import { thrownWords } from "../core/shown.ts";
import { isInside, readBrought } from "../files/confine.ts";
import { hashOf } from "../runtime/sha256.ts";
import type { HookFile } from "./discover.ts";
import { type Environment, homeOf, realOr } from "./file/user-places.ts";
import { HookFolder } from "./folder.ts";
import { isGuard, type Listened } from "./file/hook-record.ts";
import { compileMatcher } from "./hook-matcher.ts";
import { reaching } from "./hosts/channel.ts";
import { hostEvent, type HostName, HOSTS } from "./hosts/index.ts";
import { writeAnswer } from "./hosts/write-answer.ts";
import { adapterEntries, adapterText } from "./install-adapter.ts";
import { type Absent, absoluteLine, type HostEntry, installedFile, portableLine } from "./install-line.ts";
import { withEntries, withoutEntries } from "./install-text.ts";
import { sampleEvent } from "./samples.ts";

/** A hook file with the record it compiled to, which knows its config. */
export interface Installable {
  readonly file: HookFile;
  readonly record: HookRecord;
}

export interface InstallPlace {
  readonly host: HostName;
  /** `project` is shared, so its lines hold on every machine; the other two name this one's paths. */
  readonly scope: "project" | "local" | "user";
  readonly cwd: string;
  readonly env: Environment;
  /** How lines find the files of a plugin, if they are copied into one. */
  readonly plugin?: { readonly root: string; readonly folder: string };
}

export interface Installation {
  /** The project, or the home. */
  readonly root: string;
  readonly settings: string;
  readonly entries: readonly HostEntry[];
  /** Hooks, and moments of hooks, that this host cannot ask. */
  readonly left: readonly { readonly name: string; readonly why: string }[];
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The hook's own limit comes first, so that its own rule for failures counts and not the host's. */
const MARGIN_SECONDS = 5;

/** The hooks of a folder. @throws {Error} that names each that cannot be loaded */
export async function installableIn(path: string, { cwd, env }: InstallPlace): Promise<Installable[]> {
  const folder = new HookFolder(path, { host: { projectDir: cwd, env } });
  const records = await folder.load();
  if (folder.problems.length > 0) throw new Error(folder.problems.map((problem) => problem.message).join("\n"));
  return folder.files.map((file, i) => ({ file, record: records[i]! }));
}

/** Works out what the host's settings would be with these hooks in them. Nothing is written. */
export async function planInstall(hooks: readonly Installable[], place: InstallPlace): Promise<Installation> {
  const settings = settingsPath(place);
  const before = readOr(settings);
  const { entries, left } = planEntries(hooks, place);
  // Replaced: what was installed of these files before, perhaps with another config or in another place, and of files
  // that are gone.
  const mine = new Set(entries.map(whatIsOurs));
  const project = realOr(place.cwd);
  const below = hooks.flatMap(({ file }) => belowProject(file.at, place.cwd) ?? []);
  const files = new Set([...hooks.flatMap(({ file }) => [file.at, file.path]), ...below.map((f) => join(project, f))]);
  const moved = (file: string) => place.scope !== "user" && below.some((path) => file.endsWith(`/${path}`));
  const isOld = (entry: HostEntry) => {
    const file = installedFile(entry.hook.command, project);
    if (file === undefined) return false;
    return files.has(file) ? !mine.has(whatIsOurs(entry)) : file.startsWith("/") && !existsSync(file) || moved(file);
  };
  const after = await changedText(before, isOld, entries, place);
  const isNothing = entries.length === 0 && before === undefined;
  return { root: rootOf(place), settings, entries, left, before, after: isNothing ? undefined : after };
}

/** The text of the host's settings, or of its plugin, without some hooks and with others. */
async function changedText(
  before: string | undefined,
  isGone: (entry: HostEntry) => boolean,
  entries: readonly HostEntry[],
  place: InstallPlace,
): Promise<string | undefined> {
  const { lists } = HOSTS[place.host].settings;
  if (lists) return await withEntries(await withoutEntries(before ?? "", isGone, lists), entries, lists);
  const mine = new Set(entries.map(whatIsOurs));
  const old = adapterEntries(settingsPath(place), before, place.host);
  const all = [...old.filter((entry) => !isGone(entry) && !mine.has(whatIsOurs(entry))), ...entries];
  return all.length > 0 ? adapterText(place.host, all) : undefined;
}

/** The entries of these hooks, and the moments that the host cannot ask at. @throws {Error} if a guard is among those */
export function planEntries(
  hooks: readonly Installable[],
  place: InstallPlace,
): Pick<Installation, "entries" | "left"> {
  const { host } = place;
  const moments = hooks.flatMap(momentsOf).map((moment) => ({ ...moment, why: unmappable(moment, host) }));
  const lost = moments.filter(({ why }) => why !== undefined);
  const entries = moments.filter(({ why }) => why === undefined).map((moment) => entryOf(moment, place));
  const left = lost.map(({ file, why }) => ({ name: file.name, why: why! }));
  // A project must not look guarded if it is not.
  const guarded = lost.some(({ record, on }) => isGuard(record, on.event));
  if (guarded || left.length > 0 && entries.length === 0) {
    const named = left.map(({ name, why }) => `  ${name}: ${why}\n`).join("");
    const why = guarded ? "a guard would be left out" : "nothing would be left";
    throw new Error(`Cannot install for ${host} as ${why}: move these to another folder\n${named.trimEnd()}`);
  }
  return { entries, left };
}

/** Why a host cannot ask a hook at a moment; undefined if it can. */
function unmappable({ event, on: { tools = [] } }: Moment, host: HostName): string | undefined {
  if (hostEvent(host, event) === undefined) return `${host} has no event like ${event}`;
  const foreign = !HOSTS[host].settings.lists && tools.find((tool) => tool.startsWith("mcp__"));
  return foreign ? `${host} does not say which server a tool such as ${foreign} is of` : undefined;
}

/** Works out the settings without the hooks of a folder. Nothing is written. */
export async function planUninstall(folder: string, place: InstallPlace): Promise<Installation> {
  const settings = settingsPath(place);
  const before = readOr(settings);
  const plan = { root: rootOf(place), settings, entries: [], left: [], before };
  if (before === undefined) return { ...plan, after: undefined };
  const project = realOr(place.cwd);
  const below = place.scope === "user" ? undefined : belowProject(folder, place.cwd);
  let others = false;
  const isMeant = ({ hook: { command } }: HostEntry) => {
    const file = installedFile(command, project);
    if (file === undefined) return false;
    // The checkout may have been somewhere else when its hooks were installed.
    const meant = file.startsWith(`${realOr(folder)}/`) || below !== undefined && dirname(file).endsWith(`/${below}`);
    others ||= !meant;
    return meant;
  };
  const after = await changedText(before, isMeant, [], place);
  const kept = readKept(settings, place.env);
  // None is left, and no one else changed the file: it becomes what it was, to the byte, or goes if it was not there.
  return { ...plan, after: kept && kept.after === hashOf(before) && !others ? kept.before : after };
}

/** Carries a plan out: the file is written whole or not at all, and its old text is kept for uninstalling. */
export function carryOut({ root, settings, before, after }: Installation, env: Environment): void {
  if (before === after) return;
  const target = realOr(settings);
  const state = stateFile("installed", settings, env);
  if (after === undefined) {
    rmSync(target, { force: true });
    removeEmpty(dirname(target), root);
    return removeState(state);
  }
  const kept = readKept(settings, env);
  const original = kept !== undefined && before !== undefined && kept.after === hashOf(before) ? kept.before : before;
  writeWhole(target, after, { mode: (statSync(target, { throwIfNoEntry: false })?.mode ?? 0o644) & 0o777 });
  if (after === original) return removeState(state);
  writeStateFile(state, `${JSON.stringify({ settings, before: original, after: hashOf(after) })}\n`);
}

/** Removes a folder and those above it, up to the root, that hold nothing. */
export function removeEmpty(folder: string, root: string): void {
  if (!folder.startsWith(`${root}/`)) return;
  // One that holds something else stays.
  if (quietly(() => rmdirSync(folder) ?? true)) removeEmpty(dirname(folder), root);
}

export interface Moment extends Installable {
  readonly on: Listened;
  readonly event: string;
}

/** When a hook runs: first by its name, then by what it says itself. */
export function momentsOf({ file, record }: Installable): Moment[] {
  return (record.on as readonly Listened[]).map((on, i) => {
    return { file, record, on, event: i === 0 ? file.event : nameOf(on) };
  });
}

function entryOf({ file, record, on, event }: Moment, { host, scope, cwd, plugin }: InstallPlace): HostEntry {
  const { toolMatcher, second, named, async, onFailure, lists } = HOSTS[host].settings;
  // By its own name, which says when it runs: the target of a link may have any name.
  const below = plugin ? `${plugin.folder}/${file.name}` : scope === "project" ? belowProject(file.at, cwd) : undefined;
  if (scope === "project" && below === undefined) {
    throw new Error(
      `Cannot install ${file.at} into settings that are shared: it is outside the project; use --scope user`,
    );
  }
  const name = hostEvent(host, event)!;
  // If the host would read a matcher differently, the hook itself matches.
  const matcher = on.tools
    ? toolMatcher(on.tools)
    : on.pattern === undefined
    ? undefined
    : matcherOfPattern(on.pattern, host);
  return {
    event: name,
    ...(matcher !== undefined && { matcher }),
    hook: {
      type: "command",
      command: below === undefined
        ? absoluteLine(file.at, host)
        : portableLine(below, host, withoutCrochet(below, record, on.event, host, name), plugin?.root),
      ...(!lists && { guard: isGuard(record, on.event) }),
      ...(named && { name: file.name }),
      // Codex ignores the whole file if a limit is not a whole number.
      ...(record.timeout !== undefined && { timeout: Math.ceil((record.timeout + MARGIN_SECONDS) * second) }),
      ...(record.mode === "async" && async && { async: true }),
      ...(onFailure && refusesWhereItFails(record, on.event) && { onFailure: "block" }),
    },
  };
}

/** An expression as a host's matcher, which takes the host's own names of the tools, too. */
export function matcherOfPattern(pattern: string, host: HostName): string | undefined {
  const { channels, settings: { patternMatcher } } = HOSTS[host];
  const takes = compileMatcher(pattern);
  return patternMatcher?.([pattern, ...reaching(channels, takes).filter((theirs) => !takes(theirs))].join("|"));
}

/** The answer to the host if crochet is missing: a guard refuses, any other hook passes with a warning. */
function withoutCrochet(file: string, record: HookRecord, event: EventName, host: HostName, name: string): Absent {
  const { events, settings: { lists } } = HOSTS[host];
  if (!lists || events[name]!.prints) return "";
  if (!isGuard(record, event)) return lists.absent(`crochet is not installed, so ${file} did not run: npm install`);
  const reason = `crochet is not installed, so ${file} cannot check this: npm install`;
  return JSON.parse(refusalTo(event, reason, host, name));
}

/** What a host reads as a refusal. */
export function refusalTo(event: EventName, reason: string, host: HostName, name: string): string {
  const denied: Folded = { ...NOTHING, decision: "deny", reason };
  return writeAnswer(denied, sampleEvent(event, { cwd: "/" }) as AnyEvent, HOSTS[host], name).stdout;
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
  return failurePolicy({ ...record, kind }, event) === "deny";
}

/** The hosts' name for a moment that is narrower than its event. */
function nameOf({ event, outcome, scope }: Listened): string {
  if (event === "post-tool-use" && outcome === "failure") return "post-tool-use-failure";
  return event === "stop" && scope === "sub" ? "subagent-stop" : event;
}

/** @throws {TypeError} if the host has no settings of that scope */
function settingsPath(place: InstallPlace): string {
  const { host, scope } = place;
  const { files, local, lists } = HOSTS[host].settings;
  if (scope === "user" && !lists) {
    throw new TypeError(`Cannot install with --scope user: ${host} loads what we write from a project alone`);
  }
  if (scope === "local" && local === undefined) {
    throw new TypeError(`Cannot install with --scope local: ${host} has no local settings; use project or user`);
  }
  const path = join(rootOf(place), scope === "local" ? local! : files[0]!);
  return scope === "user" ? path : writable(path, place.cwd);
}

/** A path that may be written: it lies really in the project, and is a regular file, if any. @throws {Error} with the reason */
export function writable(path: string, cwd: string): string {
  const root = realOr(cwd);
  try {
    let folder = dirname(path);
    while (lstatSync(folder, { throwIfNoEntry: false }) === undefined) folder = dirname(folder);
    if (!isInside(realpathSync(folder), root)) throw new Error("its folder is a link that leads out of the project");
    readBrought(root, path);
    return path;
  } catch (error) {
    throw new Error(`Cannot write '${path}' as ${thrownWords(error)}: put a file of the project in its place`);
  }
}

function rootOf({ scope, cwd, env }: InstallPlace): string {
  return scope === "user" ? homeOf(env) : realOr(cwd);
}

/** The path of a hook file below its project; undefined if it is elsewhere. */
function belowProject(file: string, cwd: string): string | undefined {
  return [cwd, realOr(cwd)].map((root) => relative(root, file)).find((path) => !/^\.\.(\/|$)/.test(path));
}

/** The text before we came, absent if there was no file, and the hash of the text we left. */
function readKept(settings: string, env: Environment): { before?: string; after: string } | undefined {
  return quietly(() => JSON.parse(readStateFile(stateFile("installed", settings, env))!));
}

/** The text to the byte: a file that could not be written back unchanged is refused. */
function readOr(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const text = quietly(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path)));
  if (text === undefined) throw new Error(`Cannot change '${path}' as it is not UTF-8 text: fix that first`);
  return text;
}
