import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { HookRecord } from "../core/hook.ts";
import type { Permissions } from "../permissions/rules.ts";
import { holdsHooks } from "./discover.ts";
import { parseFileName } from "./file/file-name.ts";
import { type Environment, homeOf, realOr, shortPath, userState } from "./file/places.ts";
import { readBrought } from "./file/tree.ts";
import { HookFolder, type Runner } from "./folder.ts";
import type { TomlOptions } from "./toml.ts";
import { switched, Switches } from "./switches.ts";
import { changedGuards, distrust, hooksKeeper, type Trustable } from "./trust.ts";

export interface SourcesOptions extends Runner {
  /** The working directory: what it brings along counts when it is trusted. */
  readonly cwd: string;
  readonly env: Environment;
  /** `--settings`: files, or settings as they are. */
  readonly settings?: readonly string[];
  /** `--hooks`: folders. A path that was typed is trusted. */
  readonly hooks?: readonly string[];
  /** `--trust`: what lies in the working directory is trusted for this call. */
  readonly trust?: boolean;
  /** For the commands of hook.toml. */
  readonly toml?: Omit<TomlOptions, "host">;
  /**
   * The hook folders of the agent script, if there is one: it loads them itself, so none of their files is loaded again,
   * and `./hooks` of the working directory is not looked for.
   */
  readonly scriptFolders?: readonly string[];
  /** Whether the script's folders are loaded for a list of all hooks. @default false */
  readonly listsScript?: boolean;
}

/** A hook that is loaded, and where it is from. */
export interface Listed {
  readonly record: HookRecord;
  readonly scope: SourceScope;
  /** The folder or file as a person reads it. */
  readonly source: string;
  readonly path?: string;
  /** Whether it could not be loaded, and fails whenever it is asked. */
  readonly broken?: boolean;
}

interface Unloaded {
  readonly name: string;
  readonly source: string;
  readonly why: string;
  /** Whether it could refuse something in the host it is for. */
  readonly refuses?: boolean;
  /** What its name alone tells. */
  readonly event?: string;
  readonly matcher?: string;
  readonly kind?: string;
}

/** All hooks of a working directory, joined in the order of U4. */
export interface Found {
  /** The same list as long as nothing has changed. */
  readonly records: readonly HookRecord[];
  readonly listed: readonly Listed[];
  readonly unloaded: readonly Unloaded[];
  readonly problems: readonly string[];
  /** Names in hooks that were most likely meant to be others. */
  readonly warnings: readonly string[];
  readonly permissions: Permissions;
  /** Why no run may start: trusted guards that are not as they were trusted. */
  readonly changedGuards: readonly string[];
}

interface FolderSource {
  readonly folder: HookFolder;
  readonly scope: SourceScope;
}

/** The hooks that are found without being named; those of a run are the ones that were there when it began. */
export class HookSources {
  readonly #options: SourcesOptions;
  readonly #trusts: (thing: Trustable) => boolean;
  readonly #folders: readonly FolderSource[];
  readonly #settings: readonly TextSource[];
  readonly #given: readonly string[];
  readonly #definitions: readonly TextSource[];
  readonly #toml: TextSource;
  readonly #switches: Switches;
  readonly #switched = new WeakMap<HookRecord, HookRecord>();
  #seen: readonly unknown[] = [];
  #found: Found | undefined;

  constructor(options: SourcesOptions) {
    const { cwd, env, settings = [], hooks = [], scriptFolders, listsScript = false } = options;
    this.#options = options;
    this.#switches = new Switches(cwd, env);
    // What is named on the command line is trusted, though it would have been found as well.
    const typed = new Set(
      [...hooks, ...settings.filter((s) => !isInline(s))].map((path) => realOr(resolve(cwd, path))),
    );
    const trusts = this.#trusts = (thing: Trustable) => options.trust === true || typed.has(realOr(join(cwd, thing)));
    const folder = (path: string, scope: SourceScope, thing?: Trustable): FolderSource => {
      const keeper = thing && !trusts(thing) ? () => hooksKeeper(cwd, env) : undefined;
      return { scope, folder: new HookFolder(path, { ...options, source: shortPath(path, cwd, env), keeper }) };
    };
    const brought = (thing: Trustable, scope: SourceScope) =>
      new TextSource(join(cwd, thing), scope, {
        project: cwd,
        distrust: trusts(thing) ? undefined : (text) => distrust(cwd, thing, env, text),
      });
    const [users, projects] = [join(userState(env), "hooks"), join(cwd, "hooks")];
    const found = [
      ...(existsSync(users) ? [folder(users, "user")] : []),
      ...(!scriptFolders && holdsHooks(projects) ? [folder(projects, "project", "hooks")] : []),
    ];
    const scripts = listsScript ? scriptFolders?.map((path) => folder(path, "script")) ?? [] : [];
    this.#folders = [...scripts, ...found, ...hooks.map((path) => folder(resolve(cwd, path), "command line"))];
    this.#settings = [
      new TextSource(join(homeOf(env), ".claude", "settings.json"), "user"),
      brought(".claude/settings.json", "project"),
      brought(".claude/settings.local.json", "local"),
      ...settings.filter((given) => !isInline(given))
        .map((given) => new TextSource(resolve(cwd, given), "command line", { required: true })),
    ];
    this.#given = settings.filter(isInline);
    this.#definitions = [
      new TextSource(join(userState(env), "hooks.yaml"), "user"),
      brought("hooks.yaml", "project"),
    ];
    this.#toml = brought(".agent/hook.toml", "project");
  }

  /** Loads what is there now; for an agent, when a run begins. */
  async load(): Promise<Found> {
    for (const { folder } of this.#folders) await folder.load();
    const texts = [...this.#settings, ...this.#definitions, this.#toml];
    for (const text of texts) text.load();
    const changed = this.#changedGuards();
    const seen = [
      ...this.#folders.flatMap(({ folder }) => [folder.records, [...folder.refused.values()].join()]),
      ...texts.flatMap(({ text, refused, problem }) => [text, refused, problem]),
      changed.join(),
    ];
    if (this.#found && seen.every((value, i) => value === this.#seen[i])) return this.#found;
    this.#seen = seen;
    return this.#found = { ...await this.#join(), changedGuards: changed };
  }

  #changedGuards(): string[] {
    const { cwd, env, scriptFolders } = this.#options;
    return changedGuards(cwd, env)
      .filter(({ thing }) => !this.#trusts(thing) && !(thing === "hooks" && scriptFolders))
      .map(({ why }) => why);
  }

  async #join(): Promise<Omit<Found, "changedGuards">> {
    const problems: string[] = [];
    const unloaded: Unloaded[] = [];
    this.#leftAlone(unloaded);
    const { paths, listed: files } = this.#files(problems, unloaded);
    const settings = await this.#fromSettings(paths, problems, unloaded);
    const definitions = await this.#fromDefinitions(problems, unloaded);
    const turns = await this.#fromToml(problems, unloaded);
    const scopes: readonly SourceScope[] = ["script", "user", "project", "local", "command line"];
    const listed = scopes.flatMap((scope) =>
      [...files, ...settings.listed, ...definitions, ...turns].filter((one) => one.scope === scope)
    );
    // Switches and settings are for what is found: a script has its hooks without us too.
    const shown = listed.map((one) =>
      one.scope === "script" ? one : { ...one, record: this.#withSwitch(one.record, settings.off) }
    );
    return {
      records: shown.map((one) => one.record),
      listed: shown,
      unloaded,
      problems,
      warnings: await nameWarnings(shown.map(({ record }) => record)),
      permissions: settings.permissions,
    };
  }

  #withSwitch(record: HookRecord, off: boolean): HookRecord {
    let made = this.#switched.get(record);
    if (!made) this.#switched.set(record, made = switched(record, this.#switches));
    made.enabled = record.enabled && !off;
    return made;
  }

  /** Says of the working directory's `./hooks` why it is not loaded, if that is not for want of trust. */
  #leftAlone(unloaded: Unloaded[]): void {
    const { cwd, scriptFolders } = this.#options;
    const path = join(cwd, "hooks");
    if (!existsSync(path) || scriptFolders?.some((folder) => realOr(folder) === realOr(path))) return;
    const why = holdsHooks(path)
      ? scriptFolders && "the script has hooks of its own; --hooks hooks adds these"
      : "it is left alone as no file name in it begins with an event (stop, pre-tool-use …)";
    if (why) unloaded.push({ name: "hooks", source: "hooks", why });
  }

  /** The files of all folders; one that lies in two of them counts in the first. */
  #files(problems: string[], unloaded: Unloaded[]): { paths: Set<string>; listed: Listed[] } {
    const { cwd, env, scriptFolders = [], listsScript } = this.#options;
    const paths = new Map<string, string>();
    for (const folder of listsScript ? [] : scriptFolders.filter((folder) => existsSync(folder))) {
      const source = shortPath(folder, cwd, env);
      for (const name of readdirSync(folder)) paths.set(realOr(join(folder, name)), join(source, name));
    }
    const listed: Listed[] = [];
    for (const { folder, scope } of this.#folders) {
      const { records, files, source } = folder;
      problems.push(...folder.problems.map((problem) => problem.message));
      unloaded.push(...unloadedFiles(source, folder.refused));
      for (const [i, record] of records.entries()) {
        const path = files[i]?.path;
        const first = path === undefined ? undefined : paths.get(path);
        if (first !== undefined) unloaded.push({ name: record.name, source, why: `it is the same file as ${first}` });
        else {
          const broken = folder.problems.some(({ file }) => file === record.name);
          listed.push({ record, scope, source, ...(path !== undefined && { path }), ...(broken && { broken }) });
        }
        if (path !== undefined) paths.set(path, first ?? join(source, record.name));
      }
    }
    return { paths: new Set(paths.keys()), listed };
  }

  async #fromSettings(
    paths: ReadonlySet<string>,
    problems: string[],
    unloaded: Unloaded[],
  ): Promise<{ listed: Listed[]; permissions: Permissions; off: boolean }> {
    this.#reportRefused(this.#settings, problems, unloaded);
    const texts = this.#settings.filter((one) => one.text !== undefined);
    if (texts.length === 0 && this.#given.length === 0) return { listed: [], permissions: {}, off: false };
    const { loadSettings } = await import("./settings.ts");
    const { cwd, env, host = { projectDir: cwd }, prompt, warn } = this.#options;
    const given = this.#given.map((text) => ({ path: "--settings", scope: "command line" as const, text }));
    const all = [...texts.map(({ path, scope, text }) => ({ path, scope, text: text! })), ...given];
    const { installedFile } = all.some(({ text }) => text.includes(" --dialect "))
      ? await import("./install-line.ts")
      : { installedFile: () => undefined };
    const isLoaded = (command: string) => {
      const file = installedFile(command, host.projectDir);
      return file !== undefined && paths.has(realOr(file));
    };
    const loaded = await loadSettings(all, host, prompt, warn, isLoaded);
    problems.push(...loaded.problems.filter(({ level }) => level === "error").map(({ message }) => message));
    unloaded.push(...loaded.never.map((never) => ({
      name: never.name,
      event: never.event,
      source: shortPath(never.source, cwd, env),
      why: never.why,
      refuses: never.refuses,
    })));
    const scopeOf = new Map(all.map(({ path, scope }) => [path, scope]));
    const listed = loaded.records.map((record) => ({
      record,
      scope: scopeOf.get(record.source) ?? "command line",
      source: shortPath(record.source, cwd, env),
    }));
    return { listed, permissions: loaded.permissions, off: loaded.disableAllHooks };
  }

  async #fromDefinitions(problems: string[], unloaded: Unloaded[]): Promise<Listed[]> {
    this.#reportRefused(this.#definitions, problems, unloaded);
    const listed: Listed[] = [];
    for (const { path, scope, text } of this.#definitions) {
      if (text === undefined) continue;
      const { readDefinitions } = await import("./definitions.ts");
      const { cwd, env, host = { projectDir: cwd }, prompt, warn } = this.#options;
      const records = await readDefinitions(text, path, {
        workspace: cwd,
        host,
        onProblem: (message) => problems.push(message),
        ...(prompt && { by: prompt }),
        ...(warn && { warn }),
      });
      listed.push(...records.map((record) => ({ record, scope, source: shortPath(path, cwd, env) })));
    }
    return listed;
  }

  async #fromToml(problems: string[], unloaded: Unloaded[]): Promise<Listed[]> {
    this.#reportRefused([this.#toml], problems, unloaded);
    if (this.#toml.text === undefined) return [];
    const { cwd, env, host = { projectDir: cwd }, toml } = this.#options;
    const { readTurnCommand, TOML_FILE, tomlHooks } = await import("./toml.ts");
    const listed: Listed[] = [];
    const found = new Set<string>();
    for (const record of tomlHooks(cwd, this.#toml.text, { ...toml, host })) {
      const table = record.name.endsWith("#turn_start") ? "turn_start" : "turn_end";
      try {
        if (await readTurnCommand(this.#toml.text, TOML_FILE, table) === undefined) continue;
      } catch (error) {
        found.add((error as Error).message);
      }
      listed.push({ record, scope: "project", source: shortPath(this.#toml.path, cwd, env) });
    }
    problems.push(...found);
    return listed;
  }

  #reportRefused(texts: readonly TextSource[], problems: string[], unloaded: Unloaded[]): void {
    const { cwd, env } = this.#options;
    for (const { path, problem, refused } of texts) {
      if (problem !== undefined) problems.push(problem);
      const source = shortPath(path, cwd, env);
      if (refused !== undefined) unloaded.push({ name: source, source, why: refused });
    }
  }
}

function isInline(given: string): boolean {
  return given.trimStart().startsWith("{");
}

/** What the names of the files tell: nothing that is not trusted is read. */
function unloadedFiles(source: string, refused: ReadonlyMap<string, string>): Unloaded[] {
  return [...refused].sort(([a], [b]) => a < b ? -1 : 1).map(([name, why]) => {
    try {
      const { event, tools, kind } = parseFileName(name, { executable: true });
      return { name, source, why, event, kind, ...(tools.length > 0 && { matcher: tools.join("|") }) };
    } catch (error) {
      return { name, source, why: (error as Error).message };
    }
  });
}

/** Where hooks are from, in the order in which they are asked. */
type SourceScope = "script" | "user" | "project" | "local" | "command line";

async function nameWarnings(records: readonly HookRecord[]): Promise<string[]> {
  if (records.length === 0) return [];
  const known = await import("./known-names.ts");
  return records.flatMap((record) => known.nameWarnings(record));
}

/** A settings or definitions file, of which only a trusted text counts. */
class TextSource {
  readonly path: string;
  readonly scope: SourceScope;
  readonly #options: TextSourceOptions;
  /** Undefined if there is no trusted text. */
  text: string | undefined;
  /** Why the file does not count. */
  refused: string | undefined;
  problem: string | undefined;

  constructor(path: string, scope: SourceScope, options: TextSourceOptions = {}) {
    this.path = path;
    this.scope = scope;
    this.#options = options;
  }

  load(): void {
    this.text = this.refused = this.problem = undefined;
    const { project, distrust, required } = this.#options;
    try {
      const bytes = project === undefined ? readFileSync(this.path) : readBrought(project, this.path);
      if (bytes === undefined) return;
      const text = new TextDecoder().decode(bytes);
      this.refused = distrust?.(text);
      if (this.refused === undefined) this.text = text;
    } catch (error) {
      const missing = (error as { code?: string }).code === "ENOENT";
      if (missing && !required) return;
      this.problem = `Cannot read '${this.path}': ${missing ? "there is no such file" : (error as Error).message}`;
    }
  }
}

interface TextSourceOptions {
  /** The project that brought the file along: only a regular file inside it is read. */
  readonly project?: string;
  /** Why a text is not to be used. @default all are */
  readonly distrust?: ((text: string) => string | undefined) | undefined;
  /** Named by a person: it must be there. */
  readonly required?: boolean;
}
