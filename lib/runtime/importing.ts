import { refuseExits } from "./judging.ts";

/** How the agent that needs no script is named, in place of the path of one. */
export const BUILT_IN = "crochet";

/** For the process, whichever copy of this package asks: a script may bring its own. */
const LOADING = Symbol.for("crochet.loading-scripts");
const loading: Set<string> = (globalThis as { [LOADING]?: Set<string> })[LOADING] ??= new Set();

/** Whether a command loads a script for what it exports, which then is not the program itself. */
export function isLoadingScript(): boolean {
  return loading.size > 0;
}

/**
 * Loads a script for what it exports. Meanwhile its `agent.main()` does nothing: a replay would ask the real model. One
 * that would end the process does not load: it would look as if all had gone well. `until` rejects once it is no longer
 * waited for; it may go on loading.
 */
export async function loadingScript<T>(
  path: string,
  load: () => Promise<T>,
  until?: (loaded: Promise<unknown>) => Promise<never>,
): Promise<T> {
  const guard = refuseExits(({ words }) => `it ends the process, ${words}: do that only if (import.meta.main)`);
  loading.add(path);
  const done = () => loading.delete(path);
  try {
    const loaded = load();
    loaded.then(done, done);
    const script = await (until ? Promise.race([loaded, until(loaded)]) : loaded);
    guard.expectNone();
    return script;
  } finally {
    guard.end();
  }
}

/** A folder of hooks inside a program that `crochet build` made. */
export interface BuiltFolder {
  /** By name: the bytes in base64, and whether it may be run. */
  readonly files: { readonly [name: string]: readonly [bytes: string, executable: boolean] };
  readonly modules: { readonly [name: string]: () => Promise<unknown> };
  /** Where its files were put, for those that read them, and what they were then. */
  at?: string;
  hash?: string;
}

/** What is inside such a program. */
export interface BuiltProgram {
  /** By the path at which the agent looks for them. */
  readonly folders: { readonly [path: string]: BuiltFolder };
  /** Definitions of agents, by the folder in which the tool that starts them looks, and by name. */
  readonly agents?: { readonly [folder: string]: { readonly [name: string]: any } };
  /** The private folder in which all of them are put. */
  extracted?: string;
}

const BUILT = Symbol.for("crochet.built");

export function builtProgram(): BuiltProgram | undefined {
  return (globalThis as { [BUILT]?: BuiltProgram })[BUILT];
}

/** Characters that an address does not write in another way. */
const PLAIN = /^[\w./@+-]+$/;

/** The address of a file, given by its whole path. `node:url` takes longer to load than most scripts: few need it. */
export function fileUrl(path: string): string {
  return PLAIN.test(path) ? `file://${path}` : process.getBuiltinModule("node:url").pathToFileURL(path).href;
}

export function scriptOf(from: string): string {
  return from.startsWith("file:") ? process.getBuiltinModule("node:url").fileURLToPath(from) : from;
}

/** Why a module could not be imported, in one line. */
export interface ImportProblem {
  readonly words: string;
  /** `file:line:column`, if the runtime knows it. */
  readonly place?: string;
}

/** What Bun adds to an error of a module that it cannot read. */
interface Unread {
  readonly message?: string;
  readonly code?: string;
  readonly position?: { readonly file: string; readonly line: number; readonly column: number } | null;
}

/** Says what the error of an `import()` means for the author of the module. */
export function importProblem(error: unknown): ImportProblem {
  // Of several mistakes Bun only counts: the first is where to begin.
  if (error instanceof AggregateError && error.errors.length > 0) return importProblem(error.errors[0]);
  const { message = String(error), code, position } = (error ?? {}) as Unread;
  if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?ts\b/.test(message)) {
    return { words: "this Node reads no TypeScript: run it with Bun, Deno, or Node 22.18 or newer" };
  }
  const first = message.split("\n", 1)[0]!;
  const wrong = /^SyntaxError: (.*)/.exec(first)?.[1] ??
    ((error as Error | undefined)?.name === "BuildMessage" ? first : undefined);
  const words = wrong === undefined ? first : `it has a syntax error: ${wrong}`;
  if (
    error instanceof SyntaxError &&
    /^(Cannot use import statement outside a module|Unexpected token 'export')$/.test(words)
  ) {
    return { words: `Node takes it for CommonJS: put "type": "module" into package.json, or name it .mts or .mjs` };
  }
  const place = position
    ? `${position.file}:${position.line}:${position.column}`
    : /\n\s+at file:\/\/(\S+:\d+:\d+)$/.exec(message)?.[1]; // as Deno says it
  return place === undefined ? { words } : { words, place };
}
