import type { Dirent } from "node:fs";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { EVENTS } from "../core/events.ts";
import { hookOn, type HookRecord } from "../core/hook.ts";
import { kebab } from "../core/names.ts";
import { thrownWords } from "../core/shown.ts";
import { NO_OPINION } from "../core/verdict.ts";
import { isExecutable, programOf } from "../process/programs.ts";
import {
  BadFileName,
  beginsWithEvent,
  DEFAULT_PRIORITY,
  extensionOf,
  type FileName,
  formatFileName,
  isSkipped,
  parseFileName,
  parseMoment,
} from "./file/file-name.ts";
import { readHeader, recordBase } from "./file/hook-record.ts";
import type { ModuleFolder } from "./module-hook.ts";
import type { HookHost } from "./process/hook-host.ts";
import type { PromptModel } from "./prompt-hook.ts";

/** A hook file as it was found: named and read, nothing of it run. */
export interface HookFile extends FileName {
  /** The file's name: the hook's stable id. */
  readonly name: string;
  /** The real path: two names of one file are one hook. */
  readonly path: string;
  /** The path under its own name, which differs from the real path if it is a link. */
  readonly at: string;
  readonly text: string;
  /** Whether the file is a program: it may be run, and its first line says by what. */
  readonly executable: boolean;
}

/** A file that should be a hook and is not. */
export interface Problem {
  readonly file: string;
  /** The whole sentence: what, why, how to fix it. */
  readonly message: string;
  /** The hook that its name promises, where only its bytes cannot be read. */
  readonly hook?: HookFile;
}

export interface Discovery {
  /** In the order they run: priority, then name. */
  readonly files: readonly HookFile[];
  readonly problems: readonly Problem[];
}

/** Reads a hooks folder: every file is a hook, is passed over, or is a problem. Nothing is imported or run. */
export function discover(folder: string, isLeftOut: (name: string) => boolean = () => false): Discovery {
  const root = realpathSync(folder);
  const problems: Problem[] = [];
  // Names first, then bytes: going back and forth between the two takes twice as long.
  const named = entriesOf(root).filter(({ name }) => !isSkipped(name) && !isLeftOut(name)).map((entry) => ({
    entry,
    name: parsed(entry.name),
  }));
  const files: HookFile[] = [];
  const byPath = new Map<string, string>();
  for (const { entry, name } of named) {
    try {
      const path = pathOf(root, entry);
      const first = byPath.get(path);
      if (first !== undefined) {
        throw new BadFileName(entry.name, `it is the same file as '${first}'`, "keep one of them");
      }
      files.push({ ...fileAt(entry.name, path, name), at: `${root}/${entry.name}` });
      byPath.set(path, entry.name);
    } catch (error) {
      const bad = error instanceof BadFileName || name instanceof BadFileName;
      const at = `${root}/${entry.name}`;
      const hook = bad ? undefined : { ...name, name: entry.name, path: at, at, text: "", executable: false };
      problems.push({ file: entry.name, message: loadMessage(entry.name, error), ...(hook && { hook }) });
    }
  }
  return { files: files.sort(inOrder), problems };
}

/** Whether a folder that was only found holds hooks. One that cannot be read, or a link to nowhere, may hold a gate. */
export function holdsHooks(folder: string): boolean {
  try {
    return readdirSync(folder).some(beginsWithEvent);
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes((error as { code?: string }).code ?? "") ||
      lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  }
}

/** As `entriesOf` of files/tree.ts, which a run does without: by name, in code units, the same on every machine. */
export function entriesOf(root: string): Dirent[] {
  return readdirSync(root, { withFileTypes: true }).sort((a, b) => a.name < b.name ? -1 : 1);
}

function inOrder(a: HookFile, b: HookFile): number {
  return (a.priority ?? DEFAULT_PRIORITY) - (b.priority ?? DEFAULT_PRIORITY) || (a.name < b.name ? -1 : 1);
}

/** The real path of what must be a file. */
function pathOf(root: string, entry: Dirent): string {
  const given = `${root}/${entry.name}`;
  const link = entry.isSymbolicLink();
  if (link && !existsSync(given)) {
    throw new Error(`it is a link that leads nowhere: put a file at '${readlinkSync(given)}'`);
  }
  const path = link ? realpathSync(given) : given;
  if (link ? statSync(path).isFile() : entry.isFile()) return path;
  throw new BadFileName(entry.name, "it is not a file", `put what hooks share into '_${entry.name}'`);
}

/** A name, or why it is not one: a program may have a name that no other file may. */
function parsed(file: string): FileName | BadFileName {
  try {
    return parseFileName(file);
  } catch (error) {
    if (error instanceof BadFileName) return error;
    throw error;
  }
}

/** Reads one hook file from anywhere; `event` (`stop`, `pre-tool-use@Bash`) replaces what its name does not say. */
export function readHookFile(given: string, event?: string): HookFile {
  if (!existsSync(given)) throw new BadFileName(basename(given), "there is no such file", given);
  const path = realpathSync(given);
  const name = basename(given);
  if (statSync(path).isDirectory()) {
    throw new BadFileName(name, "it is a folder", "name one file of it; 'crochet hooks check' tries each hook in it");
  }
  const at = join(realpathSync(dirname(given)), name);
  if (event === undefined) {
    try {
      return { ...fileAt(name, path, parsed(name)), at };
    } catch (error) {
      if (path === at) throw error;
      // A link may have any name if the file it leads to is named as a hook.
      return readHookFile(path);
    }
  }
  const moment = parseMoment(event.replace(/^[^@]+/, kebab));
  const named = `${formatFileName(moment)}${extensionOf(name)}`;
  // What is wrong with an extension is said of the file's own name.
  return { ...fileAt(named, path, parsed(extensionOf(name) === "" ? name : named)), name, at };
}

function fileAt(file: string, path: string, named: FileName | BadFileName): Omit<HookFile, "at"> {
  const whole = readFileSync(path, "utf8");
  // A byte order mark is not part of the first line, although the system does not start a script that has one.
  const text = whole.startsWith("\uFEFF") ? whole.slice(1) : whole;
  const bad = named instanceof BadFileName;
  const program = (bad || named.kind === "command") && whole.startsWith("#!") && isExecutable(path);
  if (bad && !program) throw named;
  const { event, on, tools, priority, label, ext, kind } = bad ? parseFileName(file, { executable: true }) : named;
  return { event, on, tools, priority, label, ext, kind, name: file, path, text, executable: program };
}

/** The sentence for a file that cannot be loaded; an error that is such a sentence already is kept as it is. */
export function loadMessage(file: string, error: unknown): string {
  const said = thrownWords(error);
  if (said.startsWith("Cannot load ")) return said;
  return `Cannot load hook '${file}' as ${said.startsWith("Cannot ") ? `it has a mistake: ${said}` : said}`;
}

interface LoadOptions {
  readonly folder: ModuleFolder;
  /** How listings name where the hook is from. */
  readonly source: string;
  readonly host: HookHost;
  /** The model for prompt hooks. They are off if absent. */
  readonly prompt?: PromptModel | undefined;
  /** Called with a warning about what is odd but works. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Whether `config.isolate` counts: the process of an isolated module loads it too. @default false */
  readonly isolates?: boolean;
}

const NO_MODEL: PromptModel = { model: undefined };

/** Makes a hook of a file. What a kind needs is loaded only when a file of that kind is there. */
export async function loadHook(file: HookFile, options: LoadOptions): Promise<HookRecord> {
  const { folder, source, host, prompt, warn, isolates } = options;
  switch (file.kind) {
    case "module": {
      const { loadModule } = await import("./module-hook.ts");
      return await loadModule(file, folder, source, isolates ? host : undefined);
    }
    case "command":
      return await loadCommand(file, source, host);
    case "rules": {
      const { loadRules } = await import("./hook-rules.ts");
      return await loadRules(file, source);
    }
    case "prompt": {
      const { loadPrompt } = await import("./prompt-hook.ts");
      return await loadPrompt(file, source, prompt ?? NO_MODEL, warn);
    }
  }
}

async function loadCommand(file: HookFile, source: string, host: HookHost): Promise<HookRecord> {
  const { commandHook } = await import("./command-hook.ts");
  const base = recordBase(file, readHeader(file.text), source);
  const { name, event: registered } = file;
  const call = { name, ...programOf(file), label: name, registered, async: base.mode === "async" };
  return { ...base, ...commandHook({ ...call, timeout: base.timeout }, host) };
}

/** A hook that cannot be loaded: it stays in its place and fails, so that a broken gate does not open. */
export function brokenHook(file: HookFile, message: string, source: string): HookRecord {
  const { kind, on } = file;
  // Refuses what the hook was there to judge, and ends no run.
  const denies = (kind === "module" || kind === "rules") && EVENTS[on.event].ask || on.event === "user-prompt-submit";
  return {
    ...recordBase(file, {}, source),
    kind,
    dialect: "native",
    onError: denies ? "deny" : "continue",
    run: () => {
      throw new Error(message);
    },
    read: () => NO_OPINION,
  };
}

/** A file that is not a hook: reported at each turn while it is there, unless it is already. */
export function problemHook({ file, message }: Problem, source: string, isReported = false): HookRecord {
  const report = () => {
    if (!isReported) throw new Error(message);
  };
  const on = [{ event: "turn-start", scope: "root" } as const];
  return hookOn(on, report, { name: file, priority: 0, mode: "observe", source, read: () => NO_OPINION });
}
