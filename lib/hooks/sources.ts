import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { present } from "../core/json.ts";
import { makeOnce } from "../core/maps.ts";
import type { HookRecord } from "../core/hook.ts";
import { readBrought } from "../files/confine.ts";
import { refusalOf } from "../files/drafts.ts";
import type { Permissions } from "../permissions/rules.ts";
import { holdsHooks } from "./discover.ts";
import { parseFileName } from "./file/file-name.ts";
import { userState } from "../files/state.ts";
import { type Environment, homeOf, realOr, shortPath } from "./file/user-places.ts";
import { HookFolder, type Runner } from "./folder.ts";
import type { HookHost } from "./process/hook-host.ts";
import type { TomlOptions } from "./toml.ts";
import { switched, Switches } from "./switches.ts";
import { changedGuards, distrust, hooksKeeper, isTrustedGuard, type Trustable } from "./hook-trust.ts";

export interface SourcesOptions extends Runner {
  /** The working directory: what it brings along counts when it is trusted. */
  readonly cwd: string;
  readonly env: Environment;
  /** `--settings`: files. */
  readonly settings?: readonly string[];
  /** `--hooks`: folders. A path that was typed is trusted. */
  readonly hooks?: readonly string[];
  /** `--trust`: what lies in the working directory is trusted for this call. */
  readonly trust?: boolean;
  readonly toml?: Omit<TomlOptions, "host">;
  /** The folders that the agent script loads itself: their files are not loaded again, and `./hooks` is not looked for. */
  readonly scriptFolders?: readonly string[];
  /** Whether the script's folders are loaded for a list of all hooks. @default false */
  readonly listsScript?: boolean;
  /** Whether modules of the working directory are imported, which runs them. @default true */
  readonly imports?: boolean;
}

export interface Listed {
  readonly record: HookRecord;
  readonly scope: SourceScope;
  /** The folder or file as a person reads it. */
  readonly source: string;
  readonly path?: string;
  /** Whether it could not be loaded, and fails whenever it is asked. */
  readonly broken?: boolean;
}

export interface Unloaded {
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
export interface FoundHooks {
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

/** A file that lists hooks, and what was read of it. */
interface TextSource {
  readonly kind: "settings" | "definitions" | "toml";
  readonly path: string;
  readonly scope: SourceScope;
  /** What the project brought along: only a regular file inside it is read, and only a trusted one counts. */
  readonly thing?: Trustable;
  /** Named by a person: it must be there. */
  readonly required?: boolean;
  /** Undefined if there is no text, or it is not trusted. */
  readonly text?: string;
  readonly refused?: string;
  readonly problem?: string;
}

type ReadText = TextSource & { readonly text: string };

interface Finding {
  readonly listed: Listed[];
  readonly unloaded: Unloaded[];
  readonly problems: string[];
}

/** The hooks that are found without being named; those of a run are the ones that were there when it began. */
export class HookSources {
  readonly #options: SourcesOptions & { readonly host: HookHost };
  readonly #trusts: (thing: Trustable) => boolean;
  readonly #folders: readonly FolderSource[];
  readonly #texts: readonly TextSource[];
  readonly #switches: Switches;
  readonly #switched = makeOnce((record: HookRecord) => switched(record, this.#switches));
  #seen: readonly unknown[] = [];
  #found: FoundHooks | undefined;

  constructor(options: SourcesOptions) {
    const { cwd, env, settings = [], hooks = [], scriptFolders, listsScript = false } = options;
    this.#options = { ...options, host: options.host ?? { projectDir: cwd } };
    this.#switches = new Switches(cwd, env);
    const typedFiles = settings.map((given) => resolve(cwd, given));
    // What is named on the command line is trusted, though it would have been found as well.
    const typed = new Set([...hooks.map((path) => resolve(cwd, path)), ...typedFiles].map(realOr));
    const trusts = this.#trusts = (thing: Trustable) => options.trust === true || typed.has(realOr(join(cwd, thing)));
    const folder = (path: string, scope: SourceScope, thing?: Trustable): FolderSource => {
      const keeper = thing && !trusts(thing) ? () => hooksKeeper(cwd, env) : undefined;
      const imports = options.imports !== false || thing === undefined;
      const own = { imports, source: shortPath(path, cwd, env), keeper, isReported: true };
      return { scope, folder: new HookFolder(path, { ...options, ...own }) };
    };
    const [users, projects] = [join(userState(env), "hooks"), join(cwd, "hooks")];
    this.#folders = [
      ...(listsScript ? scriptFolders?.map((path) => folder(path, "script")) ?? [] : []),
      ...(existsSync(users) ? [folder(users, "user")] : []),
      ...(!scriptFolders && holdsHooks(projects) ? [folder(projects, "project", "hooks")] : []),
      ...hooks.map((path) => folder(resolve(cwd, path), "command line")),
    ];
    const brought = (kind: TextSource["kind"], thing: Trustable, scope: SourceScope): TextSource => {
      return { kind, path: join(cwd, thing), scope, thing };
    };
    this.#texts = [
      { kind: "settings", path: join(homeOf(env), ".claude", "settings.json"), scope: "user" },
      brought("settings", ".claude/settings.json", "project"),
      brought("settings", ".claude/settings.local.json", "local"),
      ...typedFiles.map((path) => ({ kind: "settings", path, scope: "command line", required: true } as const)),
      { kind: "definitions", path: join(userState(env), "hooks.yaml"), scope: "user" },
      brought("definitions", "hooks.yaml", "project"),
      brought("toml", ".agent/hook.toml", "project"),
    ];
  }

  /** Loads what is there now; for an agent, when a run begins. */
  async load(): Promise<FoundHooks> {
    for (const { folder } of this.#folders) await folder.load();
    const texts = this.#texts.map((source) => this.#read(source));
    const changed = this.#changedGuards();
    const seen = [
      ...this.#folders.flatMap(({ folder }) => [folder.records, [...folder.refused.values(), ...folder.tests].join()]),
      ...texts.flatMap(({ text, refused, problem }) => [text, refused, problem]),
      changed.join(),
    ];
    if (this.#found && seen.every((value, i) => value === this.#seen[i])) return this.#found;
    this.#seen = seen;
    return this.#found = { ...await this.#join(texts), changedGuards: changed };
  }

  /** @throws {TypeError} if settings that count cannot be read: what they deny would run, and their guards be missing */
  async expectSettings(): Promise<void> {
    for (const source of this.#texts.filter(({ kind }) => kind === "settings")) {
      const { path, text, problem } = this.#read(source);
      try {
        if (problem !== undefined) throw new Error(problem);
        if (text !== undefined) await (await import("./hook-settings.ts")).readSettings({ path, text });
      } catch (error) {
        const why = (error as Error).message.replace(/^Cannot read the settings as /, "");
        const fix = "correct it, as its rules and guards would be lost";
        throw new TypeError(`Cannot use the settings ${this.#shown(path)} as ${why}: ${fix}`);
      }
    }
  }

  #read(source: TextSource): TextSource {
    const { path, thing, required } = source;
    const { cwd, env } = this.#options;
    try {
      const bytes = thing === undefined ? readFileSync(path) : readBrought(cwd, path);
      if (bytes === undefined) return source;
      const text = new TextDecoder().decode(bytes);
      const refused = thing && !this.#trusts(thing) ? distrust(cwd, thing, env, text) : undefined;
      return refused === undefined ? { ...source, text } : { ...source, refused };
    } catch (error) {
      const missing = (error as { code?: string }).code === "ENOENT";
      if (missing && !required) return source;
      const problem = `Cannot read '${path}': ${refusalOf(error)}`;
      return { ...source, problem };
    }
  }

  #changedGuards(): string[] {
    const { cwd, env, scriptFolders } = this.#options;
    return changedGuards(cwd, env)
      .filter(({ thing }) => !this.#trusts(thing) && !(thing === "hooks" && scriptFolders))
      .map(({ why }) => why);
  }

  async #join(texts: readonly TextSource[]): Promise<Omit<FoundHooks, "changedGuards">> {
    const finding: Finding = { listed: [], unloaded: [], problems: [] };
    this.#leftAlone(finding);
    const paths = this.#files(finding);
    for (const { path, problem, refused } of texts) {
      const source = this.#shown(path);
      if (problem !== undefined) finding.problems.push(problem);
      if (refused !== undefined) finding.unloaded.push({ name: source, source, why: refused });
    }
    const of = (kind: TextSource["kind"]) => texts.filter((source) => source.kind === kind).filter(hasText);
    const { permissions, off } = await this.#fromSettings(of("settings"), paths, finding);
    for (const source of of("definitions")) await this.#fromDefinitions(source, finding);
    for (const source of of("toml")) await this.#fromToml(source, finding);
    const scopes: readonly SourceScope[] = ["script", "user", "project", "local", "command line"];
    const listed = scopes.flatMap((scope) => finding.listed.filter((one) => one.scope === scope)).map((one) =>
      // Switches and settings are for what is found: a script has its hooks without us too.
      one.scope === "script" ? one : { ...one, record: this.#withSwitch(one.record, off) }
    );
    const records = listed.map(({ record }) => record);
    return { ...finding, listed, records, warnings: await nameWarnings(records), permissions };
  }

  #shown(path: string): string {
    return shortPath(path, this.#options.cwd, this.#options.env);
  }

  #withSwitch(record: HookRecord, off: boolean): HookRecord {
    const made = this.#switched(record);
    made.enabled = record.enabled && !off;
    return made;
  }

  /** Says of the working directory's `./hooks` why it is not loaded, if that is not for want of trust. */
  #leftAlone({ unloaded }: Finding): void {
    const { cwd, scriptFolders } = this.#options;
    const path = join(cwd, "hooks");
    if (!existsSync(path) || scriptFolders?.some((folder) => realOr(folder) === realOr(path))) return;
    const why = holdsHooks(path)
      ? scriptFolders && "the script has hooks of its own; --hooks hooks adds these"
      : "it is left alone as no file name in it begins with an event (stop, pre-tool-use …)";
    if (why) unloaded.push({ name: "hooks", source: "hooks", why });
  }

  /** Lists the files of all folders; one that lies in two of them counts in the first. Gives their paths. */
  #files({ listed, unloaded, problems }: Finding): ReadonlyMap<string, string> {
    const { scriptFolders = [], listsScript } = this.#options;
    const paths = new Map<string, string>();
    for (const folder of listsScript ? [] : scriptFolders.filter((folder) => existsSync(folder))) {
      for (const name of readdirSync(folder)) paths.set(realOr(join(folder, name)), join(this.#shown(folder), name));
    }
    for (const { folder, scope } of this.#folders) {
      const { records, files, source } = folder;
      problems.push(...folder.problems.map((problem) => problem.message));
      unloaded.push(...unloadedFiles(source, folder.refused), ...this.#tests(folder, scope));
      for (const [i, record] of records.entries()) {
        const path = files[i]?.path;
        const first = path === undefined ? undefined : paths.get(path);
        if (first !== undefined) {
          unloaded.push({ name: record.name, source, why: `it is the same file as ${first}` });
          continue;
        }
        const broken = folder.problems.some(({ file }) => file === record.name);
        listed.push({ record, scope, source, ...present({ path }), ...(broken && { broken }) });
        if (path !== undefined) paths.set(path, join(source, record.name));
      }
    }
    return paths;
  }

  /** Why files that begin as hooks are none: a guard that a person trusts among them is reported at every run. */
  #tests({ tests, source }: HookFolder, scope: SourceScope): Unloaded[] {
    const { cwd, env } = this.#options;
    const words = "its name is that of a test or of types";
    return tests.map((name) => {
      const trusted =
        `${source}/${name} is trusted as a guard and does not run, as ${words}: rename it, or run 'crochet trust'`;
      return { name, source, why: scope === "project" && isTrustedGuard(cwd, env, name) ? trusted : words };
    });
  }

  async #fromSettings(
    texts: readonly ReadText[],
    paths: ReadonlyMap<string, string>,
    { listed, unloaded, problems }: Finding,
  ): Promise<{ permissions: Permissions; off: boolean }> {
    if (texts.length === 0) return { permissions: {}, off: false };
    const { loadSettings } = await import("./hook-settings.ts");
    const { host, prompt, warn } = this.#options;
    const { installedFile } = texts.some(({ text }) => text.includes(" --dialect "))
      ? await import("./install-line.ts")
      : { installedFile: () => undefined };
    const isLoaded = (command: string) => {
      const file = installedFile(command, host.projectDir);
      return file !== undefined && paths.has(realOr(file));
    };
    const loaded = await loadSettings(texts, host, prompt, warn, isLoaded);
    problems.push(...loaded.problems.filter(({ level }) => level === "error").map(({ message }) => message));
    unloaded.push(...loaded.never.map(({ source, ...never }) => ({ ...never, source: this.#shown(source) })));
    listed.push(...loaded.records.map((record) => {
      const scope = texts.findLast(({ path }) => path === record.source)!.scope;
      return { record, scope, source: this.#shown(record.source) };
    }));
    return { permissions: loaded.permissions, off: loaded.disableAllHooks };
  }

  async #fromDefinitions({ path, scope, text }: ReadText, { listed, problems }: Finding): Promise<void> {
    const { readDefinitions } = await import("./definitions.ts");
    const { cwd, host, prompt, warn } = this.#options;
    const given = { workspace: cwd, host, onProblem: (message: string) => problems.push(message) };
    const records = await readDefinitions(text, path, { ...given, ...present({ by: prompt, warn }) });
    listed.push(...records.map((record) => ({ record, scope, source: this.#shown(path) })));
  }

  async #fromToml({ path, scope, text }: ReadText, { listed, problems }: Finding): Promise<void> {
    const { cwd, host, toml } = this.#options;
    const { tomlHooks } = await import("./toml.ts");
    const found = await tomlHooks(cwd, text, { ...toml, host });
    problems.push(...found.problems);
    listed.push(...found.records.map((record) => ({ record, scope, source: this.#shown(path) })));
  }
}

function hasText(source: TextSource): source is ReadText {
  return source.text !== undefined;
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
