import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, join } from "node:path";
import { ToolError } from "../../core/tool.ts";
import { hold } from "../../files/confine.ts";

let found: Promise<string | undefined> | undefined;

/** The ripgrep to run: the binary npm installed, else `rg` on PATH. */
export function findRipgrep(): Promise<string | undefined> {
  return found ??= locateRipgrep(packagedRipgrep(), process.env.PATH ?? "");
}

/** npm installs the one package of ripgrep that fits this machine. */
function packagedRipgrep(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`);
  } catch {
    return undefined;
  }
}

export async function locateRipgrep(packaged: string | undefined, path: string): Promise<string | undefined> {
  if (packaged !== undefined && await isExecutable(packaged)) return packaged;
  for (const directory of path.split(delimiter)) {
    if (isAbsolute(directory) && await isExecutable(join(directory, "rg"))) return join(directory, "rg");
  }
  return undefined;
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(() => true, () => false);
}

const INSTALL =
  "install it (apt-get install ripgrep, brew install ripgrep), or install crochet with optional dependencies";

/** The ripgrep to search with; refuses if it is not installed. */
export async function needRipgrep(located = findRipgrep()): Promise<string> {
  const binary = await located;
  if (binary !== undefined) return binary;
  throw new ToolError(`Cannot search as ripgrep is not installed: ${INSTALL}`, { code: "no_ripgrep" });
}

export interface RipgrepRun {
  /** 0 something found, 1 nothing found, 2 an error (there may be output all the same); "enough" when stopped. */
  readonly code: number | "enough";
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RipgrepOptions {
  readonly cwd: string;
  readonly signal?: AbortSignal | undefined;
  /** Ends ripgrep as soon as this is true of the output so far: what was read is kept. */
  readonly enough?: (chunk: Buffer, total: number) => boolean;
}

/** Runs ripgrep to its end, or until there is enough output or the signal aborts. */
export function runRipgrep(binary: string, args: readonly string[], options: RipgrepOptions): Promise<RipgrepRun> {
  const { signal } = options;
  signal?.throwIfAborted();
  return new Promise<RipgrepRun>((resolve, reject) => {
    const child = startIn(options.cwd, binary, ["--no-config", "--color=never", ...args]);
    const chunks: Buffer[] = [];
    let total = 0;
    let stopped = false;
    let stderr = "";
    const abort = () => child.kill("SIGKILL");
    signal?.addEventListener("abort", abort, { once: true });
    child.stdout.on("data", (chunk: Buffer) => {
      if (stopped) return;
      chunks.push(chunk);
      total += chunk.length;
      if (options.enough?.(chunk, total)) {
        stopped = true;
        child.kill("SIGKILL");
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < 10_000) stderr += text;
    });
    child.on("error", (error) => {
      signal?.removeEventListener("abort", abort);
      reject(new ToolError(`Cannot start '${binary}': ${error.message}: ${INSTALL}`, { code: "no_ripgrep" }));
    });
    child.on("close", (code, ended) => {
      signal?.removeEventListener("abort", abort);
      if (signal?.aborted) reject(signal.reason);
      else if (!stopped && code === null) {
        reject(new ToolError(`Cannot search as '${binary}' was ended by ${ended}: try again`, { code: "no_ripgrep" }));
      } else resolve({ code: stopped ? "enough" : code!, stdout: Buffer.concat(chunks), stderr });
    });
  });
}

function startIn(directory: string, binary: string, args: readonly string[]) {
  const held = hold(directory);
  try {
    return spawn(binary, args, { cwd: held.path, stdio: ["ignore", "pipe", "pipe"] });
  } finally {
    held.close();
  }
}
