import { isAbsolute, join, resolve } from "node:path";
import type { Effect } from "../core/tool.ts";
import { type OpenedFile, openedFiles, touches, uncovered } from "./_bash-rules.ts";
import { inside, realPath } from "./_path-rule.ts";
import { EDITS, parseRule, READS, type Rule } from "./parse-rule.ts";
import { type CommandLine, readCommandLine } from "./shell/commands.ts";

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
}

/** Tools that change nothing themselves but what the agent has started: the calls of an agent below are ruled one by one. */
const OWN: ReadonlySet<string> = new Set(["KillShell", "Agent"]);
/** Commands that only print: hosts let them run without asking, and hooks count on it. */
const PRINTS = ["Bash(echo *)", "Bash(pwd)", "Bash(true)", "Bash(false)"].map(parseRule);
/** Folders whose files decide what runs here later, without the agent being asked. */
const PROTECTED = new Set([".git", ".crochet", ".claude", ".agent"]);
const MODES: readonly PermissionMode[] = ["default", "acceptEdits", "plan", "bypassPermissions", "bypass"];

/**
 * What the rules and the mode say of a call.
 *
 * @example
 * ```ts
 * import { decide } from "crochet/tools";
 *
 * const permissions = { allow: ["Bash(git *)"], deny: ["Bash(git push *)"] };
 * const call = (command: string) => ({ tool_name: "Bash", input: { command }, cwd: "/srv", effect: "write" as const });
 * decide(permissions, call("git log | head")).behavior; // "ask": no rule allows head
 * decide(permissions, call("git log; git push")).behavior; // "deny"
 * ```
 */
export function decide(permissions: Permissions, call: RuledCall): Decision {
  const mode = checkedMode(permissions.mode);
  const subject = subjectOf(call, permissions.roots ?? [call.cwd]);
  const rules = (list: readonly string[] | undefined) => (list ?? []).map(parseRule);
  const hit = (list: readonly Rule[]) => list.find((rule) => concerns(rule, subject));

  const denied = hit(rules(permissions.deny));
  if (denied) return { behavior: "deny", rule: denied.source, reason: `the rule ${denied.source} denies it` };
  const writes = call.effect === "write" && !OWN.has(call.tool_name);
  if (mode === "plan" && writes) return { behavior: "deny", reason: "plan mode only reads" };
  const asked = hit(rules(permissions.ask));
  if (asked) return { behavior: "ask", rule: asked.source, reason: `the rule ${asked.source} asks` };
  if (mode === "bypass" || mode === "bypassPermissions") {
    return { behavior: "allow", reason: "permissions are bypassed" };
  }

  const allow = rules(permissions.allow);
  const plain = allow.find((rule) => rule.names(call.tool_name) && covers(rule, subject));
  if (plain) return { behavior: "allow", rule: plain.source, reason: `the rule ${plain.source} allows it` };
  if (!writes) return { behavior: "allow", reason: "it changes nothing" };
  if (mode === "acceptEdits" && EDITS.has(call.tool_name) && subject.paths.every((p) => mayEdit(p, subject))) {
    return { behavior: "allow", reason: "edits in the workspace are accepted" };
  }
  if (subject.line === undefined) return { behavior: "ask", reason: "no rule allows it" };
  const patterns = [...allow, ...PRINTS].flatMap((rule) => rule.tool === "Bash" && rule.command ? [rule] : []);
  const missing = uncovered(
    subject.line,
    patterns.map((rule) => rule.command!),
    (file) => mayOpen(file, allow, mode === "acceptEdits", subject),
    call.cwd,
  );
  if (missing) return { behavior: "ask", reason: missing.why };
  const used = patterns.filter((rule) => touches(subject.line!, rule.command!)).map((rule) => rule.source);
  if (used.length === 0) return { behavior: "allow", reason: "it runs no program" };
  return { behavior: "allow", reason: `every command of it is allowed by ${used.join(", ")}`, rule: used[0]! };
}

/**
 * Whether the `if` of a hook holds for a call: one rule. Where the command cannot be told, it holds: a filter must
 * not keep a gate from looking.
 */
export function matchesIf(rule: string, call: Omit<RuledCall, "effect">): boolean {
  // A rule for a tool we do not know may have a pattern we do not know.
  if (!parseRule(rule.replace(/\(.*$/s, "")).names(call.tool_name)) return false;
  const parsed = parseRule(rule);
  const subject = subjectOf({ ...call, effect: "write" }, [call.cwd]);
  const { command } = parsed;
  return (command !== undefined && command.spelled > 1 && expands(subject.line)) || matches(parsed, subject);
}

/** @throws {TypeError} that names those there are */
export function checkedMode(mode: PermissionMode = "default"): PermissionMode {
  if (MODES.includes(mode)) return mode;
  throw new TypeError(`Cannot use permission mode '${mode}' as it is unknown: expected ${MODES.join(", ")}`);
}

/** Where a tool searches: the folder, or the one file. */
export interface SearchedPlace {
  readonly tool: string;
  readonly cwd: string;
  readonly directory: string;
  readonly file?: string | undefined;
}

/**
 * The files that a search must not tell of: those that rules deny, or would ask about first, where they are read one by
 * one. Rules about the place itself were heard before the search began. Undefined where there are no others.
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
  /** Bash only: what the command would run. */
  readonly line?: CommandLine;
  /** File tools only: the paths it names, as written but absolute. */
  readonly paths: readonly string[];
}

function subjectOf({ tool_name: tool, input: given, cwd }: RuledCall, roots: readonly string[]): Subject {
  const input = (typeof given === "object" && given !== null ? given : {}) as Record<string, unknown>;
  const subject = { tool, input, cwd, roots, paths: [] };
  if (tool === "Bash") return { ...subject, line: readCommandLine(String(input.command ?? "")) };
  if (!EDITS.has(tool) && !READS.has(tool)) return subject;
  const named = input.file_path ?? input.notebook_path ?? input.path;
  const path = resolve(cwd, typeof named === "string" ? named : ".");
  if (tool === "Read" || EDITS.has(tool)) return { ...subject, paths: [path] };
  // A search looks into a folder, and a glob may leave it.
  const pattern = tool === "Glob" && typeof input.pattern === "string"
    ? input.pattern.replace(/[^/]*[*?[{].*$/s, "")
    : "";
  return { ...subject, paths: [join(isAbsolute(pattern) ? pattern : resolve(path, pattern), "_")] };
}

/** Whether a deny or ask rule is about this call; a doubt counts as yes. */
function concerns(rule: Rule, subject: Subject): boolean {
  if (rule.names(subject.tool)) return matches(rule, subject);
  if (subject.line === undefined || (rule.tool !== "Edit" && rule.tool !== "Read")) return false;
  const kind = rule.tool === "Edit" ? "write" : "read";
  return openedFiles(subject.line, subject.cwd).some((file) => {
    if (file.kind !== kind || isDevice(file)) return false;
    return file.paths === undefined || file.paths.some((path) => matchesPath(rule, path, subject));
  });
}

function matches(rule: Rule, subject: Subject): boolean {
  if (rule.command) return subject.line !== undefined && touches(subject.line, rule.command);
  if (rule.path) return subject.paths.some((path) => matchesPath(rule, path, subject));
  return covers(rule, subject);
}

/** As written or as it really is: a link cannot hide a file from a deny rule. */
function matchesPath(rule: Rule, path: string, { roots }: Subject): boolean {
  const root = roots[0]!;
  return !rule.path || rule.path(path, root) || rule.path(realPath(path), realPath(root));
}

/** Whether an allow rule covers the whole call; the patterns of Bash are for `uncovered`. */
function covers(rule: Rule, subject: Subject): boolean {
  if (rule.command) return false;
  if (rule.path) {
    return subject.paths.length > 0 && subject.paths.every((p) => rule.path!(realPath(p), realPath(subject.roots[0]!)));
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

function mayEdit(path: string, { roots }: Subject): boolean {
  const real = realPath(path);
  const root = roots.map(realPath).find((r) => inside(real, r));
  return root !== undefined && !real.slice(root.length).split("/").some((part) => PROTECTED.has(part));
}

/** Whether a redirection may open its file: reading is free, writing needs what an edit would need. */
function mayOpen(file: OpenedFile, allow: readonly Rule[], editsAccepted: boolean, subject: Subject): boolean {
  if (isDevice(file)) return true;
  if (file.paths === undefined) return false;
  if (file.kind === "read") return !file.paths.some((path) => /^\/dev\/(?:tcp|udp)\//.test(path));
  return file.paths.every((path) => {
    if (editsAccepted && mayEdit(path, subject)) return true;
    const about = { ...subject, paths: [path] };
    return allow.some((rule) =>
      rule.tool === "Edit" && covers(rule, about) && (rule.path !== undefined || mayEdit(path, subject))
    );
  });
}

function isDevice({ paths }: OpenedFile): boolean {
  return paths !== undefined && paths.every((path) => /^\/dev\/(?:null|stdin|stdout|stderr|fd\/\d+)$/.test(path));
}

function expands(line: CommandLine | undefined): boolean {
  return line !== undefined &&
    line.commands.some((c) =>
      [...c.words, ...c.assignments].some((word) =>
        /[$`]/.test(word.source) && word.parts.some((p) => typeof p !== "string")
      )
    );
}
