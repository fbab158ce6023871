import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import { ToolError } from "../../core/tool.ts";
import { quietly } from "../../core/json.ts";
import { once } from "../../core/maps.ts";
import { hold } from "../../files/confine.ts";
import { howEnded, runProcess } from "../../process/process.ts";
import { isProgram, onPath } from "../../process/programs.ts";

/** The ripgrep to run: the binary npm installed, else `rg` on PATH. */
export const findRipgrep: () => string | undefined = once(() => locateRipgrep(packagedRipgrep(), process.env));

/** npm installs the one package of ripgrep that fits this machine. */
function packagedRipgrep(): string | undefined {
  const file = `@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`;
  return quietly(() => createRequire(import.meta.url).resolve(file));
}

export function locateRipgrep(packaged: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  return packaged !== undefined && isProgram(packaged) ? packaged : onPath("rg", env);
}

const INSTALL =
  "install it (apt-get install ripgrep, brew install ripgrep), or install crochet with optional dependencies";

/** The ripgrep to search with; refuses if it is not installed. */
export function needRipgrep(find = findRipgrep): string {
  const binary = find();
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
