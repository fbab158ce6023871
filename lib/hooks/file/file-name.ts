import { type EventName, EVENTS } from "../../core/events.ts";
import { EVENT_NAMES, kebab, type ResolvedName, resolveEvent } from "../../core/names.ts";
import { nearest } from "../../input/nearest.ts";

/** The kinds a file can be, decided by its extension alone. */
export type FileKind = "module" | "command" | "rules" | "prompt";

/** Longest first: `.rules.yaml` before anything shorter that it ends with. */
const EXTENSIONS: readonly (readonly [ext: string, kind: FileKind])[] = [
  [".rules.yaml", "rules"],
  [".prompt.md", "prompt"],
  [".rules", "rules"],
  [".mjs", "module"],
  [".ts", "module"],
  [".js", "module"],
  [".sh", "command"],
  [".py", "command"],
  [".rb", "command"],
  [".pl", "command"],
];

/** What people write for an extension that no kind has. */
const MEANT: { readonly [ext: string]: string } = {
  ".yaml": ".rules.yaml",
  ".yml": ".rules.yaml",
  ".md": ".prompt.md",
  ".txt": ".prompt.md",
  ".tsx": ".ts",
  ".mts": ".ts",
  ".cts": ".ts",
  ".jsx": ".js",
  ".cjs": ".mjs",
};

/** Files that list hooks, and where a project's are read. */
const LISTS: { readonly [name: string]: string } = {
  "settings.json": "as .claude/settings.json",
  "settings.local.json": "as .claude/settings.local.json",
  "hooks.yaml": "as hooks.yaml of the project",
  "hooks.yml": "as hooks.yaml of the project",
  "hook.toml": "as .agent/hook.toml",
  "hooks.json": "by the host it was written for",
};

/** Endings of files that are neither run nor packed: copies made by an editor, hooks switched off by hand. */
export const ASIDE = ["~", "#", ".bak", ".disabled", ".off", ".old", ".orig", ".rej", ".save", ".swp", ".tmp"] as const;

export function isPutAside(file: string): boolean {
  return ASIDE.some((end) => file.toLowerCase().endsWith(end));
}

export const DEFAULT_PRIORITY = 100;

/** One moment a hook listens to, as a name spells it: `<event>[@Tool+Tool]`. */
export interface Moment {
  /** As written: an event's name or an alias. */
  readonly event: string;
  readonly on: ResolvedName;
  /** Exact names; empty is every tool. */
  readonly tools: readonly string[];
}

export interface FileName extends Moment {
  /** Undefined if the name has no number: the hook then runs at the default priority. */
  readonly priority: number | undefined;
  readonly label: string | undefined;
  /** With its dot; empty for an executable of no known extension. */
  readonly ext: string;
  readonly kind: FileKind;
}

/** Why a name is not the name of a hook, and the nearest one that is. */
export class BadFileName extends Error {
  override name = "BadFileName";
  constructor(file: string, reason: string, fix: string) {
    super(`Cannot load hook '${file}' as ${reason}: ${fix}`);
  }
}

/** Files that live in a hooks folder and are not hooks: helpers, hidden files, tests, examples, types, the README. */
export function isSkipped(file: string): boolean {
  return /^[_.]|^README|\.examples\.yaml$/.test(file) || TESTED.test(file);
}

const TESTED = /\.(?:test|spec)\.|\.d\.ts$/;

/** Whether a name begins as that of a hook and says that it is a test or types: listed, as it may be a hook by mistake. */
export function isTestOfHook(file: string): boolean {
  return TESTED.test(file) && !/^[_.]/.test(file) && NAMES.has(headOf(file));
}

/** What stands where the event does. */
function headOf(file: string): string {
  return /^(?:\d+-)?([^.@]*)/.exec(file)![1]!;
}

/** Whether a file beside hooks is only read by them: its name neither begins much like an event nor ends like a hook. */
export function isData(file: string): boolean {
  const isNamed = extensionOf(file) !== "" || Object.hasOwn(LISTS, file);
  return !isNamed && nearest(kebab(headOf(file)), EVENT_NAMES, 2) === undefined;
}

/** Whether a name begins with an event, as those of hooks do: a `hooks/` without one is another project's folder. */
export function beginsWithEvent(file: string): boolean {
  return !isSkipped(file) && NAMES.has(headOf(file));
}

/** Only as they are written in names: `PreToolUse` names no file. */
const NAMES: ReadonlyMap<string, ResolvedName> = new Map(EVENT_NAMES.map((name) => [name, resolveEvent(name)!]));

const TOOL = /^[A-Za-z][A-Za-z0-9_-]*$/;
const LABEL = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;

/** Reads `[N-]<event>[@Tool+Tool][.<label>].<ext>`. @throws {BadFileName} with the nearest name that is valid */
export function parseFileName(file: string, options: { executable?: boolean } = {}): FileName {
  const bad = (reason: string, fix = `did you mean '${nearestName(file)}'?`) => new BadFileName(file, reason, fix);
  const known = knownExtension(file);
  const read = Object.hasOwn(LISTS, file) ? LISTS[file] : undefined;
  if (read) {
    throw bad("it is a list of hooks", `it is read ${read}; 'crochet hooks check' tries each hook that it lists`);
  }
  if (!known && isData(file) && (!options.executable || file.includes("."))) {
    throw bad("it is not a hook", "begin its name with '_', or keep it elsewhere");
  }
  const last = /\.[^.]*$/.exec(file)?.[0] ?? "";
  const isAside = isPutAside(file);
  // A program needs no extension; copies that editors made (`stop.sh.orig`) and hooks that were put aside may be programs.
  if (!known && (!options.executable || isAside || file.split(".").length > 2)) {
    throw bad(
      last === ""
        ? "it has no extension and is not an executable with a #! line"
        : `hooks do not have the extension '${last}'`,
      isAside ? "to keep it and not run it, begin its name with '_'" : undefined,
    );
  }
  const [ext, kind] = known ?? ["", "command"];
  const stem = file.slice(0, file.length - ext.length);
  const dot = stem.indexOf(".");
  const head = dot < 0 ? stem : stem.slice(0, dot);
  const label = dot < 0 ? undefined : stem.slice(dot + 1);
  if (label !== undefined && !LABEL.test(label)) {
    throw bad(`its label '${label}' is not made of letters, digits, '_' and '-'`);
  }
  const dash = head.indexOf("-");
  const number = dash > 0 && /^\d+$/.test(head.slice(0, dash)) ? head.slice(0, dash) : undefined;
  if (number !== undefined && number.length > 4) throw bad(`its priority ${number} has more than four digits`);
  const { event, on, tools } = readMoment(number === undefined ? head : head.slice(dash + 1), bad);
  return { event, on, tools, priority: number === undefined ? undefined : Number(number), label, ext, kind };
}

function knownExtension(file: string): (typeof EXTENSIONS)[number] | undefined {
  return EXTENSIONS.find(([ext]) => file.endsWith(ext));
}

/** What decides a file's kind; empty if it is not an extension of a hook. */
export function extensionOf(file: string): string {
  return knownExtension(file)?.[0] ?? "";
}

/** Reads `<event>[@Tool+Tool]`, the part of a name that says when. */
export function parseMoment(text: string): Moment {
  return readMoment(text, (reason, fix = `did you mean '${nearestMoment(text)}'?`) => {
    return new TypeError(`Cannot listen to '${text}' as ${reason}: ${fix}`);
  });
}

function readMoment(text: string, bad: (reason: string, fix?: string) => Error): Moment {
  const at = text.indexOf("@");
  const event = at < 0 ? text : text.slice(0, at);
  const on = NAMES.get(event);
  if (!on) throw bad(event === "" ? "it names no event" : `'${event}' is not an event`);
  if (at < 0) return { event, on, tools: [] };
  const tools = text.slice(at + 1).split("+");
  if (!isAboutTool(on.event)) {
    throw bad(`'${event}' has no tools to match`, `leave out '${text.slice(at)}', or set a matcher in the file`);
  }
  const wrong = tools.find((tool) => !TOOL.test(tool));
  if (wrong !== undefined) throw bad(`'${wrong}' is not the name of a tool`);
  return { event, on, tools };
}

/** Whether an event is matched with the name of a tool. */
export function isAboutTool(event: EventName): boolean {
  const { match } = EVENTS[event];
  return match === "tool_name" || match === "tool";
}

/** Writes a name from its parts: the reverse of `parseFileName`. */
export function formatFileName(parts: {
  readonly priority?: number | undefined;
  readonly event: string;
  readonly tools?: readonly string[];
  readonly label?: string | undefined;
  readonly ext?: string;
}): string {
  const { priority, event, tools = [], label, ext = "" } = parts;
  const number = priority === undefined ? "" : `${priority}-`;
  const named = tools.length > 0 ? `@${tools.join("+")}` : "";
  const labelled = label === undefined ? "" : `.${label}`;
  return number + event + named + labelled + ext;
}

/** A valid name that is as close to the given one as possible. */
export function nearestName(file: string): string {
  const known = knownExtension(file)?.[0];
  const last = known ?? /(?:\.rules|\.prompt)?\.[^.]*$/i.exec(file)?.[0] ?? "";
  const small = last.toLowerCase();
  const ext = known ?? knownExtension(small)?.[0] ?? MEANT[small.slice(small.lastIndexOf("."))] ?? ".sh";
  const stem = file.slice(0, file.length - last.length);
  const [, number, head, rest] = /^(?:(\d+)-)?([^.]*)\.?(.*)$/s.exec(stem)!;
  const moment = nearestMoment(head!);
  const label = rest!.split(".").map((part) => part.replace(/[^A-Za-z0-9_-]/g, "")).filter((part) => part !== "").join(
    ".",
  );
  const name = formatFileName({
    priority: number === undefined ? undefined : Number(number.replace(/^0+/, "").slice(0, 4)),
    event: moment,
    label: label === "" ? undefined : label,
    ext,
  });
  return isSkipped(name) ? formatFileName({ event: moment, ext }) : name;
}

function nearestMoment(text: string): string {
  const [event = "", ...tools] = text.split(/[@+|,;&]/);
  const found = nearest(kebab(event), EVENT_NAMES)!;
  const clean = tools.map((tool) => tool.replace(/^[^A-Za-z]+|[^A-Za-z0-9_-]/g, "")).filter((tool) => TOOL.test(tool));
  return isAboutTool(resolveEvent(found)!.event) && clean.length > 0 ? `${found}@${clean.join("+")}` : found;
}
