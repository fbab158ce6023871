import { realpathSync } from "node:fs";
import type { HookRecord } from "../core/hook.ts";
import { thrownWords } from "../core/thrown.ts";
import { guarded } from "./file/guarded.ts";
import type { HookHost } from "./process/host.ts";
import type { ModuleFolder } from "./file/import.ts";
import { sharedFiles, treeSign } from "./file/tree.ts";
import { discover, type HookFile, loadMessage, type Problem } from "./discover.ts";
import { brokenHook, loadHook, problemHook } from "./load.ts";
import type { PromptModel } from "./prompt.ts";

/** Why a folder's present bytes may not be run; undefined where they may. */
export type Gatekeeper = (folder: string) => string | undefined;

/** What hooks of a folder need of the program that runs them. */
export interface Runner {
  /** For commands. @default the process's directory as the project's */
  readonly host?: HookHost | undefined;
  /** Whom prompt hooks ask. @default nobody: they are then off */
  readonly prompt?: PromptModel | undefined;
  /** Is told what is odd but works. */
  readonly warn?: ((message: string) => void) | undefined;
}

export interface FolderOptions extends Runner {
  /** How listings name the folder. @default its path */
  readonly source?: string;
  readonly keeper?: Gatekeeper | undefined;
}

type Sign = ReturnType<typeof treeSign>;

interface Loaded {
  readonly file: HookFile;
  readonly record: HookRecord;
  readonly problem: Problem | undefined;
}

/**
 * A folder of hooks that is kept up to date: a file that is edited, added or removed counts from the next
 * `refresh`. A hook broken by an edit stays and fails; nothing here throws after the first load.
 */
export class HookFolder {
  readonly path: string;
  readonly source: string;
  readonly #options: FolderOptions;
  /** What the folder looked like when it was last found to be in order. */
  #sign: Sign | undefined;
  #shared = "";
  #loaded = new Map<string, Loaded>();
  /** In the order they run. The same list as long as nothing has changed. */
  records: readonly HookRecord[] = [];
  files: readonly HookFile[] = [];
  problems: readonly Problem[] = [];
  /** Why the folder is not what it is on disk. */
  refused: string | undefined;

  constructor(path: string, options: FolderOptions = {}) {
    this.path = path;
    this.source = options.source ?? path;
    this.#options = options;
  }

  /** Loads what has changed since the last time. */
  async refresh(): Promise<readonly HookRecord[]> {
    try {
      const sign = treeSign(this.path);
      if (isSame(sign, this.#sign)) return this.records;
      this.refused = this.#options.keeper?.(this.path);
      if (this.refused !== undefined) return this.records;
      await this.#load();
      this.#sign = sign;
    } catch (error) {
      this.#sign = undefined;
      const message = `Cannot read hooks folder '${this.path}' as ${thrownWords(error)}`;
      this.#set([], [{ file: this.path, message }]);
    }
    return this.records;
  }

  async #load(): Promise<void> {
    const root = realpathSync(this.path);
    const found = discover(root);
    const { hash: shared, paths } = sharedFiles(root);
    const now: Loaded[] = [];
    for (const file of found.files) {
      const old = this.#loaded.get(file.path);
      const same = old !== undefined && old.file.text === file.text && old.file.executable === file.executable &&
        old.file.name === file.name && (file.kind !== "module" || shared === this.#shared);
      now.push(same ? old : await this.#loadFile(file, { root, shared, sharedFiles: paths }));
    }
    // A gate whose file cannot be read is no less a gate.
    for (const problem of found.problems) {
      const { hook: file, message } = problem;
      if (file) now.push({ file, record: brokenHook(file, message, this.source), problem });
    }
    this.#shared = shared;
    this.#set(now, found.problems.filter(({ hook }) => !hook));
  }

  async #loadFile(file: HookFile, folder: ModuleFolder): Promise<Loaded> {
    try {
      const { host = { projectDir: process.cwd() }, prompt, warn } = this.#options;
      const record = await loadHook(file, { folder, source: this.source, host, prompt, warn, isolates: true });
      // A program is read from disk each time it is run: its bytes are looked at each time too.
      return { file, record: file.kind === "command" ? this.#guard(record) : record, problem: undefined };
    } catch (error) {
      const message = loadMessage(file.name, error);
      return { file, record: brokenHook(file, message, this.source), problem: { file: file.name, message } };
    }
  }

  #guard(record: HookRecord): HookRecord {
    const { keeper } = this.#options;
    if (!keeper) return record;
    return guarded(record, () => {
      const sign = treeSign(this.path);
      if (isSame(sign, this.#sign)) return undefined;
      return keeper(this.path);
    });
  }

  #set(now: readonly Loaded[], unnamed: readonly Problem[]): void {
    this.#loaded = new Map(now.map((one) => [one.file.path, one]));
    this.files = now.map((one) => one.file);
    this.problems = [...now.flatMap((one) => one.problem ?? []), ...unnamed];
    const records = [...now.map((one) => one.record), ...unnamed.map((problem) => this.#told(problem))];
    const same = records.length === this.records.length && records.every((r, i) => r === this.records[i]);
    if (!same) this.records = records;
  }

  readonly #tellers = new Map<string, HookRecord>();

  #told(problem: Problem): HookRecord {
    let record = this.#tellers.get(problem.message);
    if (!record) this.#tellers.set(problem.message, record = problemHook(problem, this.source));
    return record;
  }
}

function isSame(now: Sign, before: Sign | undefined): boolean {
  return before !== undefined && before.settled && before.sign === now.sign;
}

/**
 * The hooks of folders, as an agent asks for them. Until everything could be loaded once, a file
 * that cannot be loaded is thrown; after that nothing is.
 */
export function hotFolders(
  folders: readonly string[],
  runner: Runner = {},
): () => Promise<readonly HookRecord[]> {
  const all = folders.map((path) => new HookFolder(path, runner));
  let joined: { readonly of: readonly (readonly HookRecord[])[]; readonly records: readonly HookRecord[] } | undefined;
  return async () => {
    const lists: (readonly HookRecord[])[] = [];
    for (const folder of all) lists.push(await folder.refresh());
    if (!joined) {
      const problems = all.flatMap((folder) => folder.problems);
      if (problems.length > 0) throw new TypeError(problems.map((p) => p.message).join("\n"));
    }
    if (!joined || lists.some((list, i) => list !== joined!.of[i])) {
      joined = { of: lists, records: onceEach(all) };
    }
    return joined.records;
  };
}

/** The records of all folders; a file that lies in two of them counts in the first. */
function onceEach(folders: readonly HookFolder[]): HookRecord[] {
  const seen = new Set<string>();
  return folders.flatMap(({ records, files }) => {
    const again = new Set(records.filter((_, i) => files[i] !== undefined && seen.has(files[i].path)));
    for (const { path } of files) seen.add(path);
    return records.filter((record) => !again.has(record));
  });
}
