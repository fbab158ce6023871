import { readFileSync } from "node:fs";
import { EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import { isObject } from "../core/json.ts";
import { EVENT_NAMES, kebab, pascal, resolveEvent } from "../core/names.ts";
import { refusalOf } from "../files/drafts.ts";
import { nearest } from "../input/nearest.ts";
import { decide, matchesIf, type Permissions } from "../permissions/rules.ts";
import { type Environment, shortPath } from "./file/user-places.ts";
import { asInHost, matcherOf } from "./file/hook-record.ts";
import { entriesIn, type Entry } from "./handler.ts";
import { claude } from "./hosts/claude.ts";
import { parseJsonc } from "./jsonc.ts";
import type { HookHost } from "./process/hook-host.ts";
import type { PromptModel } from "./prompt-hook.ts";
import type { Unloaded } from "./sources.ts";
import { type Draft, hasCall, recordsOf } from "./settings-records.ts";

/** Something in a settings file that does not count, or does not mean what it seems to. */
interface SettingsProblem {
  readonly level: "error" | "warning";
  readonly file: string;
  /** Where in the file, such as `hooks.PreToolUse[0].hooks[1].timeout`. */
  readonly path: string;
  /** The whole sentence: where, what, why, how to fix it. */
  readonly message: string;
}

/** A hook that was read and never fires here, and why. */
type NeverFires = Required<Pick<Unloaded, "name" | "event" | "source" | "why" | "refuses">>;

export interface LoadedSettings {
  /** In the order of the files and of what is in them; `source` is the path of the file. */
  readonly records: readonly HookRecord[];
  readonly never: readonly NeverFires[];
  readonly permissions: Permissions;
  readonly problems: readonly SettingsProblem[];
  /** Whether a file switches hooks off: hooks of settings files are disabled here, all other hooks by the caller. */
  readonly disableAllHooks: boolean;
}

/** Reads settings as hooks and permissions. Of a file with a bad entry nothing counts that it allows, and the rest does. */
export async function loadSettings(
  files: readonly SettingsFile[],
  host: HookHost,
  prompt: PromptModel = { model: undefined },
  warn: (message: string) => void = () => {},
  /** Whether a command serves a hook file that is loaded already: a hook is one hook, however it was found. */
  isLoaded: (command: string) => boolean = () => false,
): Promise<LoadedSettings> {
  const reading = new Reading(host, isLoaded);
  for (const file of files) {
    try {
      const settings = await readSettings(file);
      if (settings) reading.take(settings, file);
    } catch (error) {
      reading.problem(file, "error", "", (error as Error).message);
    }
  }
  const { drafts, never, problems, disabled, permissions } = reading;
  const records = recordsOf(drafts, { host, prompt, warn, enabled: !disabled });
  return { records, never, permissions: permissions(), problems, disableAllHooks: disabled };
}

class Reading {
  readonly drafts: Draft[] = [];
  readonly never: NeverFires[] = [];
  readonly problems: SettingsProblem[] = [];
  disabled = false;
  readonly #projectDir: string;
  readonly #env: Environment;
  readonly #isLoaded: (command: string) => boolean;
  readonly #rules: { allow: string[]; ask: string[]; deny: string[] } = { allow: [], ask: [], deny: [] };
  readonly #folders: string[] = [];
  #mode: Permissions["mode"];

  constructor({ projectDir, env = process.env }: HookHost, isLoaded: (command: string) => boolean) {
    this.#projectDir = projectDir;
    this.#env = env;
    this.#isLoaded = isLoaded;
  }

  /** How a file is called in names and messages. */
  #shown({ path }: SettingsFile): string {
    return shortPath(path, this.#projectDir, this.#env);
  }

  problem(file: SettingsFile, level: SettingsProblem["level"], path: string, message: string): undefined {
    this.problems.push({
      level,
      file: file.path,
      path,
      message: `${this.#shown(file)}${path && ` ${path}`}: ${message}`,
    });
  }

  take(settings: Readonly<Record<string, unknown>>, file: SettingsFile): void {
    if (settings.disableAllHooks === true) this.disabled = true;
    const before = this.problems.length;
    this.#takeHooks(settings.hooks, file);
    const broken = this.problems.slice(before).find(({ level }) => level === "error");
    this.#takePermissions(settings.permissions, file, broken?.path);
  }

  #takeHooks(hooks: unknown, file: SettingsFile): void {
    if (hooks === undefined) return;
    let n = 0;
    for (const found of entriesIn(hooks)) {
      if ("why" in found) {
        const what = found.at.includes(".hooks[") ? "the hook" : "it";
        this.problem(file, "error", found.at, `Cannot use ${what} as ${found.why}`);
      } else this.#takeHandler(found, file, `${this.#shown(file)}#${n++}`);
    }
  }

  #takeHandler({ event, at, matcher, handler }: Entry, file: SettingsFile, name: string): void {
    let test: Draft["test"];
    try {
      test = matcherOf(matcher);
    } catch (error) {
      const path = `${at.replace(/\.hooks\[\d+\]$/, "")}.matcher`;
      const isReported = this.problems.some((one) => one.path === path && one.file === file.path);
      return isReported ? undefined : this.problem(file, "error", path, (error as Error).message);
    }
    const type = "unsupported" in handler ? handler.unsupported : handler.type;
    const never = (why: string) => {
      const known = resolveEvent(event);
      const refuses = known !== undefined && !EVENTS[known.event].fires && EVENTS[known.event].deny === "prevents";
      this.never.push({ name, event, source: file.path, why, refuses });
      this.problem(file, "warning", at, `The hook never fires here as ${why}`);
    };
    if ("command" in handler && this.#isLoaded(handler.command)) return never("the file it serves is loaded already");
    if ("unsupported" in handler) return never(`hooks of type '${type}' are not run here`);
    const on = resolveEvent(event);
    if (!on || !EVENTS[on.event].fires) return never(unknownEvent(event));
    if (handler.if !== undefined) {
      if (!hasCall(on.event)) return never(`'if' is about a tool call, and ${event} has no call`);
      try {
        matchesIf(handler.if, { tool_name: handler.if.replace(/\(.*$/s, ""), input: {}, cwd: this.#projectDir });
      } catch (error) {
        return this.problem(file, "error", `${at}.if`, (error as Error).message);
      }
    }
    this.drafts.push({ name, event, on: asInHost(on), matcher, test, handler, source: file.path });
  }

  /** `broken`: a hook of the file that cannot be used. Then the host ignores the file, so what it allows does not hold. */
  #takePermissions(given: unknown, file: SettingsFile, broken: string | undefined): void {
    if (given === undefined) return;
    const wrong = (path: string, message: string) => this.problem(file, "error", path, message);
    if (!isObject(given)) return wrong("permissions", "Cannot read the permissions as they are not an object");
    const loosens = ["allow", "defaultMode", "additionalDirectories"].filter((key) => given[key] !== undefined);
    if (broken !== undefined && loosens.length > 0) {
      const which = loosens.join(", ");
      wrong(
        "permissions",
        `Cannot use ${which} as a hook of this file is broken, only its deny and ask rules hold: fix ${broken}`,
      );
    }
    const lists = broken === undefined ? ["allow", "ask", "deny"] as const : ["ask", "deny"] as const;
    for (const list of lists) {
      const rules = given[list] ?? [];
      if (!Array.isArray(rules)) {
        wrong(`permissions.${list}`, "Cannot read the rules as they are not a list");
        continue;
      }
      for (const [i, rule] of rules.entries()) {
        const why = refused({ [list]: [rule] });
        if (why === undefined) this.#rules[list].push(rule as string);
        else wrong(`permissions.${list}[${i}]`, why);
      }
    }
    if (broken !== undefined) return;
    const { defaultMode, additionalDirectories } = given;
    if (defaultMode !== undefined) {
      const mode = defaultMode as NonNullable<Permissions["mode"]>;
      const why = refused({ mode });
      if (why === undefined) this.#mode = mode;
      else wrong("permissions.defaultMode", why);
    }
    if (Array.isArray(additionalDirectories)) {
      this.#folders.push(...additionalDirectories.filter((folder) => typeof folder === "string"));
    }
  }

  readonly permissions = (): Permissions => ({
    ...this.#rules,
    ...(this.#mode && { mode: this.#mode }),
    ...(this.#folders.length > 0 && { roots: [this.#projectDir, ...this.#folders] }),
  });
}

/** Why permissions cannot be used; undefined if they can. */
function refused(permissions: Permissions): string | undefined {
  try {
    decide(permissions, { tool_name: "", input: {}, cwd: "/", effect: "none" });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Why a name is that of no event here. */
export function unknownEvent(name: string): string {
  if (Object.hasOwn(claude.events, name)) return `nothing here fires ${name}`;
  return `there is not an event ${name}: did you mean ${pascal(nearest(kebab(name), EVENT_NAMES)!)}?`;
}

/** One settings file, or settings given on the command line as they are. */
export interface SettingsFile {
  readonly path: string;
  /** Named by a person: it must be there. */
  readonly required?: boolean;
  /** The settings themselves, if they are not in a file. */
  readonly text?: string;
}

/** The object in a settings file; undefined if there is none. @throws {Error} that says where it cannot be read */
export async function readSettings(file: SettingsFile): Promise<Readonly<Record<string, unknown>> | undefined> {
  let text = file.text;
  if (text === undefined) {
    try {
      text = readFileSync(file.path, "utf8");
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === "ENOENT" && !file.required) return undefined;
      const fix = code === "EISDIR" ? ": name its settings.json" : "";
      throw new Error(`Cannot read the settings as ${refusalOf(error)}${fix}`);
    }
  }
  if (text.trim() === "") return {};
  const value = parseJsonc(text.replace(/^\uFEFF/, " "), await import("jsonc-parser"), "Cannot read the settings as");
  if (!isObject(value)) throw new Error('Cannot read the settings as they are not an object: write { "hooks": { … } }');
  return value;
}
