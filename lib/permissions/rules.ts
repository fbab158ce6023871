import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { getOrMake } from "../core/maps.ts";
import type { Effect } from "../core/tool.ts";
import { checkedMode } from "./gate.ts";
import { isEdit, isRead, toolRow } from "../input/tool-table.ts";
import { hasNameIn, hold, inside, isOfProcess, isProtected, realPath } from "./_path-rule.ts";
import { concernsCommand, matchesCommand, namesCommand, parseRule, type Rule } from "./parse-rule.ts";
import { type BashCommand, type BashLine, readBash } from "./read-only.ts";
import { programOf } from "./shell-lines.ts";

/** `default` asks before anything that changes something; `bypass` is short for `bypassPermissions`. */
export type PermissionMode = "default" | "acceptEdits" | "plan" | "bypassPermissions" | "bypass";

/** What an agent may do. Deny rules beat ask rules, which beat allow rules. */
export interface Permissions {
  /** @default "default" */
  readonly mode?: PermissionMode;
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
  /** The folders of the workspace; paths in rules are relative to the first. @default [call.cwd] */
  readonly roots?: readonly string[];
}

/** A call as the rules see it. */
export interface RuledCall {
  readonly tool_name: string;
  readonly input: unknown;
  readonly cwd: string;
  readonly effect: Effect;
}

export interface Decision {
  readonly behavior: "allow" | "ask" | "deny";
  readonly reason: string;
  /** The rule that decided, as it was written. */
  readonly rule?: string;
  /** Whether that rule only may be about the call. */
  readonly isDoubt?: true;
}

/** Tools that change nothing themselves but what the agent has started: the calls of an agent below are ruled one by one. */
const OWN: ReadonlySet<string> = new Set(["KillShell", "Agent"]);

/**
 * What the rules and the mode say of a call.
 *
 * @example
 * ```ts
 * import { decide } from "crochet/tools";
 *
 * const permissions = { allow: ["Bash(git *)"], deny: ["Bash(git push *)"] };
 * const call = (command: string) => ({ tool_name: "Bash", input: { command }, cwd: "/srv", effect: "write" as const });
 * decide(permissions, call("git log | less")).behavior; // "ask": no rule allows less
 * decide(permissions, call("git log; git push")).behavior; // "deny"
 * ```
 */
export function decide(permissions: Permissions, call: RuledCall): Decision {
  const mode = checkedMode(permissions.mode);
  const subject = subjectOf(call, permissions.roots ?? [call.cwd]);
  const rules = (list: readonly string[] | undefined) => (list ?? []).map(parseRule);
  const hit = (list: readonly Rule[]) => list.find((rule) => concerns(rule, subject));

  const deny = rules(permissions.deny);
  const ask = rules(permissions.ask);
  const denied = hit(deny);
  if (denied) return { behavior: "deny", rule: denied.source, reason: `the rule ${denied.source} denies it` };
  const onlyReads = readsOnly(subject, [...deny, ...ask]);
  const writes = call.effect === "write" && !OWN.has(call.tool_name) && !onlyReads;
  if (mode === "plan" && writes) return { behavior: "deny", reason: "plan mode only reads" };
  const asked = hit(ask);
  if (asked) return { behavior: "ask", rule: asked.source, reason: `the rule ${asked.source} asks` };
  const doubt = doubtOf([...deny, ...ask], subject);
  if (doubt) return doubt;
  if (mode === "bypass" || mode === "bypassPermissions") {
    return { behavior: "allow", reason: "permissions are bypassed" };
  }

  const allow = rules(permissions.allow);
  const plain = allow.find((rule) => rule.names(call.tool_name) && covers(rule, subject) && mayChange(rule, subject));
  if (plain) return { behavior: "allow", rule: plain.source, reason: `the rule ${plain.source} allows it` };
  if (!writes) return { behavior: "allow", reason: onlyReads ? "it only reads" : "it changes nothing" };
  const edits = mode === "acceptEdits";
  if (edits && isEdit(call.tool_name) && subject.paths.every((p) => mayEdit(p, subject))) {
    return { behavior: "allow", reason: "edits in the workspace are accepted" };
  }
  if (subject.line === undefined) return { behavior: "ask", reason: "no rule allows it" };
  if (subject.line.unread !== undefined) return { behavior: "ask", reason: cannotRead(subject.line.unread) };
  return decideCommands(subject.line.commands, { allow, edits, rules: [...deny, ...ask], subject });
}

/** What allow rules and the mode say of a line that was read: each command and each redirection needs a reason to run. */
function decideCommands(
  commands: readonly BashCommand[],
  { allow, edits, rules, subject }: {
    allow: readonly Rule[];
    edits: boolean;
    rules: readonly Rule[];
    subject: Subject;
  },
): Decision {
  const used = new Set<string>();
  const writers = commands.filter(({ reading }) => !reading);
  for (const command of commands) {
    const rule = allow.find((r) => r.tool === "Bash" && r.command && matchesCommand(r.command, command.words));
    if (rule) used.add(rule.source);
    else if (!isReading(command, rules, subject)) {
      return { behavior: "ask", reason: `no rule allows '${command.source}'` };
    }
    for (const { kind, path } of command.opens) {
      const open = kind === "read" ? isWithin(path, subject) : mayWrite(path, allow, edits, subject);
      if (!open) return { behavior: "ask", reason: `no rule allows '${command.source}' to ${kind} '${path}'` };
      if (kind === "write" && writers.length > (command.reading ? 0 : 1)) {
        return { behavior: "ask", reason: `another command of the line could change where '${path}' leads` };
      }
    }
  }
  const [first] = used;
  if (first === undefined) return { behavior: "allow", reason: "it only reads, and writes where edits are allowed" };
  return { behavior: "allow", rule: first, reason: `its commands only read or are allowed by ${[...used].join(", ")}` };
}

/** Commands that take names of folders, and of what is in them at most the names. */
const LISTS = /^(?:cd|du|ls|mkdir|stat|test|tree)$/;

/** Why a deny or ask rule could be about a line, though it does not match it: no allow, mode or hook outweighs that. */
function doubtOf(rules: readonly Rule[], subject: Subject): Decision | undefined {
  const { line } = subject;
  if (line === undefined) return undefined;
  const inDoubt = (rule: Rule | undefined, why: string): Decision | undefined =>
    rule && {
      behavior: "ask",
      rule: rule.source,
      isDoubt: true,
      reason: `${why}, and the rule ${rule.source} might be about it`,
    };
  const { commands = [] } = line;
  // A line that cannot be read may or may not match a rule that names some commands or some files.
  const pattern = rules.find(({ command, path }) => command !== undefined || path !== undefined);
  const unread = line.unread ?? (pattern && commands.map((command) => command.hides()).find((why) => why));
  if (unread !== undefined) return inDoubt(pattern, cannotRead(unread));
  const named = rules.find(({ command }) => command && namesCommand(command, String(subject.input.command)));
  if (named) return inDoubt(named, "the line has the words it names");
  const files = rules.filter((rule) => rule.path);
  if (files.length === 0) return undefined;
  for (const command of commands) {
    const shown = showing(command, rules, subject);
    if (shown) return inDoubt(shown, `'${command.source}' searches folders`);
    const named = command.reading ? [] : command.named();
    if (!named) return inDoubt(files[0], `which files '${command.source}' names is not known`);
    for (const rule of files) {
      const matches = (path: string) => matchesPath(rule, path, subject);
      const path = named.find((p) => matches(p) || matches(join(p, "_")));
      if (path !== undefined) return inDoubt(rule, `'${command.source}' names '${path}'`);
      if (!LISTS.test(programOf(command.words[0]!)) && isBelow(rule, named, subject)) {
        return inDoubt(rule, `'${command.source}' names a folder`);
      }
    }
  }
  return undefined;
}

function cannotRead(why: string): string {
  return `the line is more than literal commands: ${why}`;
}

/** Whether each command of a line only reads, and no redirection writes. */
function readsOnly(subject: Subject, rules: readonly Rule[]): boolean {
  return subject.line?.commands?.every((command) =>
    isReading(command, rules, subject) &&
    command.opens.every(({ kind, path }) => kind === "read" && isWithin(path, subject))
  ) ?? false;
}

function isReading(command: BashCommand, rules: readonly Rule[], subject: Subject): boolean {
  return command.reading !== undefined && !showing(command, rules, subject);
}

/** The rule about reading that a search may break: it opens files without naming them. */
function showing({ reading }: BashCommand, rules: readonly Rule[], subject: Subject): Rule | undefined {
  return rules.find((rule) => isRead(rule.tool) && isBelow(rule, reading?.searched ?? [], subject));
}

/** Whether what a rule is about lies below folders: by its plain words, or as it is on the disk. */
function isBelow({ path }: Rule, folders: readonly string[], { roots: [root = ""], real }: Subject): boolean {
  if (!path) return false;
  const isAbove = (folder: string, start: string) => inside(start, folder) && start !== folder;
  return folders.some((at) => isAbove(at, path.start(root)) || isAbove(real(at), path.start(real(root)))) ||
    hold(folders.map(real), (found) => path(found, real(root)));
}

/** Whether the `if` of a hook holds for a call. It holds for a line in doubt: a filter must not keep a gate from looking. */
export function matchesIf(rule: string, call: Omit<RuledCall, "effect">): boolean {
  // A rule for a tool we do not know may have a pattern we do not know.
  if (!parseRule(rule.replace(/\(.*$/s, "")).names(call.tool_name)) return false;
  const parsed = parseRule(rule);
  const subject = subjectOf({ ...call, effect: "write" }, [call.cwd]);
  // `Bash(ls)` is not about `ls -la`: in doubt is a name behind another program.
  const command = subject.line?.commands?.map(({ source }) => source.replace(/^\S+/, "")).join("\n");
  return matches(parsed, subject) || doubtOf([parsed], { ...subject, input: { command } }) !== undefined;
}

/** Where a tool searches: the folder, or the one file. */
export interface SearchedPlace {
  readonly tool: string;
  readonly cwd: string;
  readonly directory: string;
  readonly file?: string | undefined;
}

/**
 * The files that a search must not show: those that rules deny, or would ask about if they were read one by one. Rules
 * about the place itself were applied before the search began. Undefined if there are no others.
 */
export function hiddenFrom(
  { tool, cwd, directory, file = "_" }: SearchedPlace,
  { deny = [], ask = [], roots }: Permissions,
): ((path: string) => boolean) | undefined {
  const root = roots?.[0] ?? cwd;
  const real = realPath(root);
  const tests = [...deny, ...ask].map(parseRule).flatMap(({ path: matches, names }) =>
    matches && names(tool) ? [(path: string) => matches(path, root) || matches(path, real)] : []
  ).filter((matches) => !matches(join(directory, file)));
  return tests.length === 0 ? undefined : (path) => tests.some((matches) => matches(path));
}

/** A call in the terms rules are written in. */
interface Subject {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly cwd: string;
  readonly roots: readonly string[];
  /** Where a path leads, looked up once for all rules. */
  readonly real: (path: string) => string;
  /** Bash only: what it would run. */
  readonly line?: BashLine;
  /** The paths it names, as written but absolute. */
  readonly paths: readonly string[];
  /** The tools whose deny and ask rules are also about it; their allow rules never are. */
  readonly countsAs: readonly string[];
}

/** Fields that name a file or a folder, of whatever tool. */
const PATH_FIELDS = ["file_path", "notebook_path", "path"];

/** What a call of a project's or a server's tool counts as where it names a path. */
const COUNTS_AS: Readonly<Record<Effect, readonly string[]>> = { none: [], read: ["Read"], write: ["Read", "Edit"] };

function subjectOf({ tool_name: tool, input: given, cwd, effect }: RuledCall, roots: readonly string[]): Subject {
  const input = (typeof given === "object" && given !== null ? given : {}) as Record<string, unknown>;
  const subject = { tool, input, cwd, roots, paths: [], countsAs: [], real: remembered(realPath) };
  if (tool === "Bash") return { ...subject, line: readBash(String(input.command ?? ""), cwd, roots) };
  const named = PATH_FIELDS.map((field) => input[field]).filter((value) => typeof value === "string");
  const paths = (named.length > 0 ? named : ["."]).map((path) => resolve(cwd, path));
  const withHeld = (list: readonly string[]) => list.flatMap((path) => [path, join(path, "_")]);
  switch (toolRow(tool)?.path) {
    case "reads":
    case "writes":
      return { ...subject, paths };
    case "edits": // One that misses quotes the file.
      return { ...subject, paths, countsAs: ["Read"] };
    case "searches": {
      // A search looks into a folder, and a glob may leave it.
      const pattern = tool === "Glob" ? String(input.pattern ?? "").replace(/[^/]*[*?[{].*$/s, "") : "";
      return { ...subject, paths: withHeld(paths.map((path) => resolve(path, pattern))) };
    }
    case undefined: {
      if (named.length === 0) return subject;
      // Whether it is a folder, and whether `~` is the home folder, is for the tool to say.
      const homes = named.filter((path) => /^~(?:\/|$)/.test(path)).map((path) => join(homedir(), path.slice(1)));
      return { ...subject, paths: withHeld([...paths, ...homes]), countsAs: COUNTS_AS[effect] };
    }
  }
}

/** Whether a deny or ask rule is about this call. */
function concerns(rule: Rule, subject: Subject): boolean {
  if ([subject.tool, ...subject.countsAs].some((name) => rule.names(name))) return matches(rule, subject);
  const kind = isEdit(rule.tool) ? "write" : isRead(rule.tool) ? "read" : undefined;
  return kind !== undefined &&
    (subject.line?.commands ?? []).some(({ opens, reading }) =>
      opens.some((file) => file.kind === kind && matchesPath(rule, file.path, subject)) ||
      (kind === "read" && rule.path && reading?.paths.some((path) => matchesPath(rule, path, subject)))
    );
}

function matches(rule: Rule, subject: Subject): boolean {
  const { command } = rule;
  if (command) return subject.line?.commands?.some(({ words }) => concernsCommand(command, words)) ?? false;
  if (rule.path) return subject.paths.some((path) => matchesPath(rule, path, subject));
  return covers(rule, subject);
}

/** As written or as it really is: no link can hide a file from a deny rule, and what is of a process may be any file. */
function matchesPath({ path: matches }: Rule, path: string, { roots, real }: Subject): boolean {
  if (!matches || matches(path, roots[0]!)) return true;
  const [root, file] = [real(roots[0]!), real(path)];
  return matches(file, root) || isOfProcess(file) || hasNameIn(file, root, (other) => matches(other, root));
}

/** Whether an allow rule covers the whole call; the patterns of Bash are for `decideCommands`. */
function covers(rule: Rule, subject: Subject): boolean {
  if (rule.command) return false;
  if (rule.path) {
    return subject.paths.length > 0 &&
      subject.paths.every((p) => rule.path!(subject.real(p), subject.real(subject.roots[0]!)));
  }
  if (!rule.field) return true;
  const value = fieldOf(rule.field.name, subject.input);
  return value !== undefined && rule.field.matches(value);
}

function fieldOf(name: string, input: Readonly<Record<string, unknown>>): string | undefined {
  if (name === "domain" && input.domain === undefined) {
    return URL.canParse(String(input.url)) ? new URL(String(input.url)).hostname : undefined;
  }
  const value = input[name];
  return value === undefined || value === null || typeof value === "object" ? undefined : String(value);
}

/** A rule for all edits is not one for protected files: those need a pattern that names them. */
function mayChange(rule: Rule, subject: Subject): boolean {
  if (rule.path || !isEdit(subject.tool)) return true;
  return !subject.paths.some((path) =>
    subject.roots.some((root) => isProtected(subject.real(path), subject.real(root)))
  );
}

function isWithin(path: string, { roots, real }: Subject): boolean {
  return roots.some((root) => inside(real(path), real(root)));
}

function mayEdit(path: string, { roots, real }: Subject): boolean {
  const file = real(path);
  const root = roots.map(real).find((r) => inside(file, r));
  return root !== undefined && !isProtected(file, root);
}

/** Whether a redirection may write a file: it needs what an edit would need. */
function mayWrite(path: string, allow: readonly Rule[], edits: boolean, subject: Subject): boolean {
  const about = { ...subject, paths: [path] };
  return (edits && mayEdit(path, subject)) ||
    allow.some((rule) =>
      rule.tool === "Edit" && covers(rule, about) && (rule.path !== undefined || mayEdit(path, subject))
    );
}

function remembered(look: (path: string) => string): (path: string) => string {
  const known = new Map<string, string>();
  return (path) => getOrMake(known, path, () => look(path));
}
