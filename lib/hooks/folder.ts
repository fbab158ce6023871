import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import { thrownWords } from "../core/shown.ts";
import {
  brokenHook,
  discover,
  type Discovery,
  type HookFile,
  loadHook,
  loadMessage,
  type Problem,
  problemHook,
} from "./discover.ts";
import { builtProgram } from "../runtime/importing.ts";
import { isSkipped } from "./file/file-name.ts";
import { sharedFiles, treeHash } from "./file/hook-tree.ts";
import type { ModuleFolder } from "./module-hook.ts";
import type { HookHost } from "./process/hook-host.ts";
import type { PromptModel } from "./prompt-hook.ts";

/** Why a file of a folder may not be run; undefined if it may. */
export type Gatekeeper = (file: string) => string | undefined;

/** What hooks of a folder need of the program that runs them. */
export interface Runner {
  /** For commands. @default the process's directory as the project's */
  readonly host?: HookHost | undefined;
  /** The model for prompt hooks. Off if absent */
  readonly prompt?: PromptModel | undefined;
  /** Gets what is odd but works. */
  readonly warn?: ((message: string) => void) | undefined;
}

interface FolderOptions extends Runner {
  /** How listings name the folder. @default its path */
  readonly source?: string;
  /** Made again at each load, for the files as they are then. */
  readonly keeper?: (() => Gatekeeper) | undefined;
  /** Whether modules are imported, which runs them. @default true */
  readonly imports?: boolean | undefined;
}

interface Loaded {
  readonly file: HookFile;
  readonly record: HookRecord;
  readonly problem: Problem | undefined;
}

/**
 * A folder of hooks, loaded when a run begins. A file that is edited, added or removed counts from the next `load`;
 * a hook that cannot be loaded stays in its place and fails.
 */
export class HookFolder {
  readonly path: string;
  readonly source: string;
  readonly #options: FolderOptions;
  #hash: string | undefined;
  /** In the order they run. The same list as long as nothing has changed. */
  records: readonly HookRecord[] = [];
  files: readonly HookFile[] = [];
  problems: readonly Problem[] = [];
  /** The files that may not be run, and why. */
  refused: ReadonlyMap<string, string> = new Map();

  constructor(path: string, options: FolderOptions = {}) {
    this.path = path;
    this.source = options.source ?? path;
    this.#options = options;
  }

  async load(): Promise<readonly HookRecord[]> {
    try {
      const keeper = this.#options.keeper?.();
      const built = builtProgram()?.folders[this.path];
      const root = built ? (await import("./built-folder.ts")).extracted(built) : realpathSync(this.path);
      const names = readdirSync(root).filter((name) => !isSkipped(name));
      this.refused = new Map(names.flatMap((name) => {
        const why = keeper?.(name);
        return why === undefined ? [] : [[name, why]];
      }));
      // Nothing that is not trusted is read, not even to be hashed.
      const hash = this.refused.size === names.length ? "" : [treeHash(root), ...this.refused.keys()].join();
      if (hash === this.#hash) return this.records;
      await this.#loadAll(root, discover(root, (name) => this.refused.has(name)));
      this.#hash = hash;
    } catch (error) {
      this.#hash = undefined;
      const message = `Cannot read hooks folder '${this.path}': ${thrownWords(error)}`;
      this.#set([], [{ file: this.path, message }]);
    }
    return this.records;
  }

  async #loadAll(root: string, { files, problems: found }: Discovery): Promise<void> {
    const { hash: shared, paths } = sharedFiles(root);
    const now: Loaded[] = [];
    const built = builtProgram()?.folders[this.path];
    const folder = { root, shared, sharedFiles: paths, modules: built?.modules };
    // Where temporary files may not be started, the program of a `#!` line still reads them.
    for (const file of files) now.push(await this.#loadFile(built ? { ...file, executable: false } : file, folder));
    // A gate whose file cannot be read is still a gate.
    for (const problem of found) {
      const { hook: file, message } = problem;
      if (file) now.push({ file, record: brokenHook(file, message, this.source), problem });
    }
    this.#set(now, found.filter(({ hook }) => !hook));
  }

  async #loadFile(file: HookFile, folder: ModuleFolder): Promise<Loaded> {
    try {
      const { host = { projectDir: process.cwd() }, prompt, warn, imports = true } = this.#options;
      if (!imports && file.kind === "module") {
        return { file, record: brokenHook(file, "it is only listed", this.source), problem: undefined };
      }
      const record = await loadHook(file, { folder, source: this.source, host, prompt, warn, isolates: true });
      const isProgram = file.kind === "command" || (file.kind === "module" && record.dialect !== "native");
      return { file, record: isProgram ? unchanged(record, file, folder) : record, problem: undefined };
    } catch (error) {
      const message = loadMessage(file.name, error);
      return { file, record: brokenHook(file, message, this.source), problem: { file: file.name, message } };
    }
  }

  #set(now: readonly Loaded[], unnamed: readonly Problem[]): void {
    this.files = now.map((one) => one.file);
    this.problems = [...now.flatMap((one) => one.problem ?? []), ...unnamed];
    this.records = [...now.map((one) => one.record), ...unnamed.map((problem) => problemHook(problem, this.source))];
  }
}

const CHANGED = Symbol("changed");

/**
 * A program, as an isolated module is one, is read from disk each time it runs, so its bytes, and those of the `_` files,
 * are compared each time. If they differ, what it would have judged is refused: changing a hook must not open the gate.
 */
function unchanged(record: HookRecord, { name, path }: HookFile, { root, shared }: ModuleFolder): HookRecord {
  const bytes = readFileSync(path);
  const why = `${name} has changed since the run began: its new bytes count from the next run`;
  const isSame = () =>
    statSync(path, { throwIfNoEntry: false })?.isFile() && bytes.equals(readFileSync(path)) &&
    sharedFiles(root).hash === shared;
  return {
    ...record,
    run: (event, ctx) => isSame() ? record.run(event, ctx) : CHANGED,
    read: (raw, event) => {
      if (raw !== CHANGED) return record.read(raw, event);
      if (EVENTS[event.event].deny !== "prevents") throw new Error(why);
      return { decision: "deny", reason: why };
    },
  };
}

/** The hooks of a folder, or one file of it, as a run is given them. */
export function hooksAt(path: string): (runner: Runner) => () => Promise<readonly HookRecord[]> {
  const file = statSync(path).isDirectory() ? undefined : basename(path);
  const keeper = () => (name: string) => file === undefined || name === file ? undefined : "it is not asked for";
  return (runner) => {
    const hooks = new HookFolder(file === undefined ? path : dirname(path), { ...runner, keeper });
    return () => hooks.load();
  };
}

/** Hook folders as an agent has them. A file that cannot be loaded keeps the agent from starting; later it fails alone. */
export function hookFolders(paths: readonly string[], runner: Runner = {}): () => Promise<readonly HookRecord[]> {
  const folders = paths.map((path) => new HookFolder(path, runner));
  let last: readonly (readonly HookRecord[])[] | undefined;
  let records: readonly HookRecord[] = [];
  return async () => {
    const lists: (readonly HookRecord[])[] = [];
    for (const folder of folders) lists.push(await folder.load());
    const problems = last ? [] : folders.flatMap((folder) => folder.problems);
    if (problems.length > 0) throw new TypeError(problems.map((p) => p.message).join("\n"));
    if (lists.some((list, i) => list !== last?.[i])) records = onceEach(folders);
    last = lists;
    return records;
  };
}

/** The records of all folders; a file that is in two of them counts in the first. */
function onceEach(folders: readonly HookFolder[]): HookRecord[] {
  const seen = new Set<string>();
  return folders.flatMap(({ records, files }) =>
    records.filter((_, i) => {
      const path = files[i]?.path;
      return path === undefined || (!seen.has(path) && seen.add(path));
    })
  );
}
