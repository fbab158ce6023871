import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Agent } from "../../agent/options.ts";
import { nearest } from "../../input/nearest.ts";
import { fileUrl, loadingScript } from "../../runtime/importing.ts";
import { type Io, UsageError } from "./io.ts";

/**
 * Splits the words of a command: a first word that ends in .ts, .js or .mjs is a script, unless `--` comes before it in
 * `args`; without them `--` means something else.
 *
 * @throws {UsageError} if there is no such script
 */
export function scriptAndWords(
  words: readonly string[],
  args: readonly string[] | undefined,
  io: Pick<Io, "cwd">,
): { script: string | undefined; words: readonly string[] } {
  const [first = ""] = words;
  const isAfterDashes = args?.includes("--") && words.length === args.length - args.indexOf("--") - 1;
  if (isAfterDashes || !SCRIPT.test(first)) return { script: undefined, words };
  const path = resolve(io.cwd, first);
  if (existsSync(path)) return { script: path, words: words.slice(1) };
  // A sentence that ends with the name of a file.
  if (/\s/.test(first)) return { script: undefined, words };
  const near = nearScript(path);
  const hint = near === undefined ? "" : `, did you mean '${relative(io.cwd, near)}'?`;
  const fix = args ? "put -- before a prompt that begins with such a name" : "let a prompt begin with another word";
  throw new UsageError(`Cannot find script '${first}'${hint}: ${fix}`);
}

const SCRIPT = /\.(ts|js|mjs)$/;

/** The script with the most similar name in the same folder. */
function nearScript(path: string): string | undefined {
  const folder = dirname(path);
  if (!existsSync(folder)) return undefined;
  const name = nearest(basename(path), readdirSync(folder).filter((file) => SCRIPT.test(file)).sort());
  return name === undefined ? undefined : join(folder, name);
}

/** How long to wait for a script, whose top level may never finish. */
interface Patience {
  readonly signal: AbortSignal;
  /** @default as long as it takes */
  readonly seconds?: number;
}

/** Whether a path stands for an agent that nothing guards but the hooks of a folder. */
export function isHooks(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The agent that a script exports; of a folder of hooks, one that they guard. */
export async function loadAgent(path: string, patience?: Patience): Promise<Agent> {
  if (isHooks(path)) return (await import("./coding-agent.ts")).guardedAgent(path);
  const { default: found } = await imported(path, patience);
  if (typeof found?.run === "function" && typeof found?.open === "function") return found;
  throw new UsageError(`Cannot run '${path}' as its default export is not an agent: export default agent({ ... })`);
}

async function imported(path: string, patience: Patience | undefined): Promise<{ default?: Agent }> {
  try {
    (await import("../../runtime/own-copy.ts")).offerOwnCopy(path);
    const until = patience && ((loaded: Promise<unknown>) => outOfPatience(path, patience, loaded));
    return await loadingScript(path, () => import(fileUrl(path)), until);
  } catch (error) {
    const { importProblem } = await import("../../runtime/importing.ts");
    const { words, place } = importProblem(error);
    // The runtime knows the place of a mistake that keeps a script from being read; a stack has that of one it threw.
    const at = place ?? placeIn((error as Partial<Error>)?.stack ?? "", path);
    throw new Error(`Cannot load '${path}' as ${words}${at === undefined || words.includes(at) ? "" : `: ${at}`}`, {
      cause: error,
    });
  }
}

/** When each script was first waited for: the fixtures of one agent do not wait for it one after the other. */
const since = new Map<string, number>();

function outOfPatience(path: string, { signal, seconds }: Patience, loaded: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => {
    const interrupted = () => reject(new Error("it was interrupted before it had loaded"));
    const began = since.get(path) ?? performance.now();
    since.set(path, began);
    const timer = seconds === undefined ? undefined : setTimeout(
      () => reject(new Error(`it has not loaded after ${seconds} s: wait for things only if (import.meta.main)`)),
      Math.max(0, began + seconds * 1000 - performance.now()),
    );
    signal.addEventListener("abort", interrupted, { once: true });
    if (signal.aborted) interrupted();
    loaded.catch(() => {}).finally(() => {
      clearTimeout(timer);
      since.delete(path);
      signal.removeEventListener("abort", interrupted);
    });
  });
}

function placeIn(stack: string, path: string): string | undefined {
  const at = stack.indexOf(`${path}:`);
  return at < 0 ? undefined : path + /^[^\s)]+/.exec(stack.slice(at + path.length))![0];
}

/** The agent of a command that names no script. */
export async function builtIn(): Promise<Agent> {
  return (await import("./coding-agent.ts")).codingAgent();
}
