import { Buffer } from "node:buffer";
import { access, constants } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, join } from "node:path";
import { ToolError } from "../../core/tool.ts";
import { hold } from "../../files/confine.ts";
import { howEnded, runProcess } from "../../process/process.ts";

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
  readonly enough?: (chunk: Uint8Array, total: number) => boolean;
}

/** Runs ripgrep to its end, or until there is enough output or the signal aborts. */
export async function runRipgrep(
  binary: string,
  args: readonly string[],
  { cwd, signal, enough }: RipgrepOptions,
): Promise<RipgrepRun> {
  signal?.throwIfAborted();
  const chunks: Uint8Array[] = [];
  let total = 0;
  const takeStdout = (chunk: Uint8Array) => {
    chunks.push(chunk);
    total += chunk.length;
    return enough?.(chunk, total) ?? false;
  };
  const held = hold(cwd);
  const running = runProcess({
    command: binary,
    args: ["--no-config", "--color=never", ...args],
    cwd: held.path,
    env: process.env,
    alone: true,
    signal,
    takeStdout,
  });
  held.close();
  const ran = await running.catch((error: Error) => {
    throw new ToolError(`${error.message}: ${INSTALL}`, { code: "no_ripgrep" });
  });
  signal?.throwIfAborted();
  const isEnough = ran.ended === "enough";
  if (!isEnough && ran.code === null) {
    throw new ToolError(`Cannot search as '${binary}' ${howEnded(ran)}: try again`, { code: "no_ripgrep" });
  }
  return { code: isEnough ? "enough" : ran.code!, stdout: Buffer.concat(chunks), stderr: ran.stderr };
}
