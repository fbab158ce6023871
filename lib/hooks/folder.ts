import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import { thrownWords } from "../core/shown.ts";
import type { Discovery, HookFile, Problem } from "./discover.ts";
import { brokenHook, discover, entriesOf, loadHook, loadMessage, problemHook } from "./discover.ts";
import { isSkipped, isTestOfHook } from "./file/file-name.ts";
import type { ReadBytes } from "./file/imports.ts";
import type { ModuleFolder } from "./module-hook.ts";
import type { HookHost } from "./process/hook-host.ts";
import type { PromptModel } from "./prompt-hook.ts";
import { atExit } from "../process/at-exit.ts";
import { type BuiltFolder, builtProgram } from "../runtime/importing.ts";
import { sha256 } from "../runtime/sha256.ts";

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
  /** Whether those who load it report its problems: then a hook that is one does not repeat why. @default false */
  readonly isReported?: boolean;
  /** Whether modules are imported, which runs them. @default true */
  readonly imports?: boolean | undefined;
}

interface Loaded {
  readonly file: HookFile;
  readonly record: HookRecord;
  readonly problem: Problem | undefined;
}

/** A folder of hooks, read anew by each `load`. A hook that cannot be loaded stays in its place and fails. */
export class HookFolder {
  readonly path: string;
  readonly source: string;
  readonly #options: FolderOptions;
  #hash: string | undefined;
  /** In the order they run. The same list as long as nothing has changed. */
  records: readonly HookRecord[] = [];
  files: readonly HookFile[] = [];
  problems: readonly Problem[] = [];
  /** Named as hooks, but for the part that says that they are tests or types. */
  tests: readonly string[] = [];
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
      const root = built ? extracted(built) : realpathSync(this.path);
      const all = readdirSync(root);
      const names = all.filter((name) => !isSkipped(name));
      this.tests = all.filter(isTestOfHook).sort();
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
      if (file) now.push({ file, record: brokenHook(file, this.#words(message), this.source), problem });
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
      const problem = { file: file.name, message: loadMessage(file.name, error) };
      return { file, record: brokenHook(file, this.#words(problem.message), this.source), problem };
    }
  }

  #set(now: readonly Loaded[], unnamed: readonly Problem[]): void {
    this.files = now.map((one) => one.file);
    this.problems = [...now.flatMap((one) => one.problem ?? []), ...unnamed];
    const named = unnamed.map((problem) => problemHook(problem, this.source, this.#options.isReported));
    this.records = [...now.map((one) => one.record), ...named];
  }

  #words(message: string): string {
    return this.#options.isReported ? "it cannot be loaded" : message;
  }
}

const CHANGED = Symbol("changed");

/** A program is read each time it runs. If its bytes or those of `_` files have changed, it refuses: no change opens a gate. */
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

/** Hook folders as an agent has them, a list for each. A file that cannot be loaded keeps the agent from starting; later it fails alone. */
export function hookFolders(
  paths: readonly string[],
  runner: Runner = {},
): () => Promise<readonly (readonly HookRecord[])[]> {
  const folders = paths.map((path) => new HookFolder(path, runner));
  let last: readonly (readonly HookRecord[])[] | undefined;
  let each: readonly (readonly HookRecord[])[] = [];
  return async () => {
    const lists: (readonly HookRecord[])[] = [];
    for (const folder of folders) lists.push(await folder.load());
    const problems = last ? [] : folders.flatMap((folder) => folder.problems);
    if (problems.length > 0) throw new TypeError(problems.map((p) => p.message).join("\n"));
    if (lists.some((list, i) => list !== last?.[i])) each = onceEach(folders);
    last = lists;
    return each;
  };
}

/** The records of all folders; a file that is in two of them counts in the first. */
function onceEach(folders: readonly HookFolder[]): HookRecord[][] {
  const seen = new Set<string>();
  return folders.map(({ records, files }) =>
    records.filter((_, i) => {
      const path = files[i]?.path;
      return path === undefined || (!seen.has(path) && seen.add(path));
    })
  );
}

/** More than any hooks folder has, and less than a link to a whole disk. */
const MOST_FILES = 10_000;

interface Leaf {
  readonly name: string;
  readonly path: string;
  readonly link: string | undefined;
}

/** Every file in a folder, links followed, in an order that is the same everywhere. */
function* leaves(root: string, prefix = "", above: readonly string[] = []): Generator<Leaf> {
  const real = realpathSync(root);
  if (above.includes(real)) return; // a link back up: what it leads to is counted already
  for (const entry of entriesOf(root)) {
    const path = join(root, entry.name);
    const name = prefix + entry.name;
    const link = entry.isSymbolicLink() ? readlinkSync(path) : undefined;
    const folder = link === undefined ? entry.isDirectory() : statSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (folder) yield* leaves(path, `${name}/`, [...above, real]);
    else yield { name, path, link };
  }
}

function counted(root: string, which: (name: string) => boolean): Leaf[] {
  const found: Leaf[] = [];
  for (const leaf of leaves(root)) {
    if (found.length === MOST_FILES) {
      throw new Error(`Cannot read folder '${root}': it holds more than ${MOST_FILES} files, keep only hooks in it`);
    }
    if (which(leaf.name)) found.push(leaf);
  }
  return found;
}

const readAny: ReadBytes = (path) =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path) : undefined;

/** The hash of each file of a folder by its name: its bytes, where it leads as a link, and whether it may be run. */
export function fileHashes(root: string, read: ReadBytes): { [name: string]: string } {
  return Object.fromEntries(counted(root, () => true).map((leaf) => [leaf.name, hashOf(leaf, read)]));
}

function treeHash(root: string): string {
  return joined(counted(root, () => true));
}

function joined(leaves: readonly Leaf[]): string {
  const hash = sha256();
  for (const leaf of leaves) hash.update(`${leaf.name}\0${hashOf(leaf, readAny)}\n`);
  return hash.digest("hex");
}

function hashOf({ path, link }: Leaf, read: ReadBytes): string {
  const bytes = read(path);
  const isProgram = ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o111) !== 0;
  const kind = bytes === undefined ? "other" : isProgram ? "program" : "file";
  return sha256().update(`${JSON.stringify([kind, link ?? null])}\n`).update(bytes ?? "").digest("hex");
}

/** The files that the hooks of a folder share: a change in one of them is a change in all. */
export function sharedFiles(root: string): { readonly hash: string; readonly paths: readonly string[] } {
  const shared = counted(root, (name) => name.startsWith("_"));
  return { hash: shared.length === 0 ? "" : joined(shared).slice(0, 16), paths: shared.map(({ path }) => path) };
}

/** Where the files of a folder inside this program are put when they are first needed; they go when the process ends. */
function extracted(folder: BuiltFolder): string {
  if (folder.at !== undefined && existsSync(folder.at) && treeHash(folder.at) === folder.hash) return folder.at;
  const at = folder.at = mkdtempSync(join(privateFolder(), "hooks-"));
  for (const [name, [bytes, executable]] of Object.entries(folder.files)) {
    mkdirSync(dirname(join(at, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(at, name), Buffer.from(bytes, "base64"), { mode: executable ? 0o500 : 0o400 });
  }
  folder.hash = treeHash(at);
  return at;
}

function privateFolder(): string {
  const program = builtProgram()!;
  if (program.extracted !== undefined && existsSync(program.extracted)) return program.extracted;
  const made = program.extracted = mkdtempSync(join(realpathSync(tmpdir()), "crochet-built-"));
  atExit(() => rmSync(made, { recursive: true, force: true }));
  return made;
}
