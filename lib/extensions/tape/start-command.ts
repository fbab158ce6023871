import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { fstatSync, futimesSync } from "node:fs";
import { quietly } from "../../core/json.ts";
import { GRACE_MS } from "../../process/process.ts";
import { hashOf } from "../../runtime/sha256.ts";

export interface ProgramOptions {
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
  readonly signal?: AbortSignal | undefined;
  /** Ends it when there is nothing more for it to do. */
  readonly over?: AbortSignal | undefined;
  /** Seconds until it is ended. @default no limit */
  readonly timeout?: number | undefined;
  /** Keeps what it prints in place of showing it. @default false */
  readonly quiet?: boolean;
}

/** How a command ended. */
export interface ProgramEnd {
  /** As a tape's end has it: `exit 0`, `SIGTERM`, `timeout`, `aborted`. */
  readonly end: string;
  /** Empty if it went to a terminal, as what it printed there. */
  readonly stdout: string;
  readonly stderr: string;
  /** Whether stdout went to a terminal. */
  readonly wasShown: boolean;
  /** Whether it read what was typed on the terminal. */
  readonly wasTold: boolean;
}

/** What a person needs to know of a command that did not come to ask anything. */
export function endedEarly({ end, stderr }: Pick<ProgramEnd, "end" | "stderr">, cwd: string): string {
  const said = stderr.split("\n").filter((line) => line.trim() !== "").slice(-SHOWN_LINES);
  const where = NO_MODULE.test(stderr) ? `\n  it ran in ${cwd}` : "";
  return `its program ended before its first request: ${end}${said.map((line) => `\n    ${line}`).join("")}${where}`;
}

const SHOWN_LINES = 12;

/** What runtimes say of a file that a program needs and that is not there. */
const NO_MODULE =
  /(?:cannot|could not|can't) (?:find|resolve|locate|load|open)|module ?not ?found|no module named|no such file/i;

/**
 * Runs a command to its end, and ends what it leaves running: some programs start themselves again as a child.
 *
 * @throws {Error} with the code ENOENT or EACCES, if there is no such command
 */
export function runCommand([program = "", ...args]: readonly string[], options: ProgramOptions): Promise<ProgramEnd> {
  const { cwd, signal, over: done, timeout, quiet = false } = options;
  // A program may believe this variable, and work in the directory it was typed in.
  const env = { ...options.env, PWD: cwd };
  // A program that draws on a terminal must stay in the terminal's own group.
  const isShared = !quiet && process.stdin.isTTY === true;
  const wasTold = isShared ? watchTerminal() : () => false;
  const shown = (stream: NodeJS.WriteStream) => stream.isTTY ? "inherit" : "pipe";
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...{ cwd, env, detached: !isShared },
      stdio: quiet ? ["ignore", "pipe", "pipe"] : ["inherit", shown(process.stdout), shown(process.stderr)],
    });
    const target = isShared || child.pid === undefined ? child.pid : -child.pid;
    const watched = target === undefined ? undefined : endWithUs(target);
    const printed: { [name in "stdout" | "stderr"]: Uint8Array[] } = { stdout: [], stderr: [] };
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.on("data", (bytes: Uint8Array) => {
        printed[name].push(bytes);
        if (!quiet) process[name].write(bytes);
      });
    }
    let why: string | undefined;
    // It may have ended by then.
    const send = (name: "SIGTERM" | "SIGKILL") =>
      void quietly(() => target !== undefined && process.kill(target, name));
    const end = (reason: string) => {
      why ??= reason;
      send("SIGTERM");
      setTimeout(() => send("SIGKILL"), GRACE_MS).unref();
    };
    const abort = () => end("aborted");
    // In a shared group a program gets the keys of the terminal by itself.
    if (!isShared) signal?.addEventListener("abort", abort, { once: true });
    done?.addEventListener("abort", abort, { once: true });
    const timer = timeout === undefined ? undefined : setTimeout(() => end("timeout"), timeout * 1000);
    const over = () => {
      clearTimeout(timer);
      for (const one of [signal, done]) one?.removeEventListener("abort", abort);
    };
    child.once("error", over).once("error", reject).once("exit", () => {
      over();
      if (!isShared) send("SIGKILL"); // what it left
      watched?.();
    }).once("close", (code, killed) => {
      const [stdout, stderr] = [printed.stdout, printed.stderr].map((chunks) => textOf(Buffer.concat(chunks)));
      const end = why ?? killed ?? `exit ${code}`;
      resolve({ end, stdout: stdout!, stderr: stderr!, wasShown: !child.stdout, wasTold: wasTold() });
    });
  });
}

/** What it printed; of bytes that are no text, a hash tells those that look alike apart. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString();
  return bytes.equals(Buffer.from(text)) ? text : `${text}\n(not UTF-8: ${hashOf(bytes, 16)})`;
}

/** Has a process, or a group as a negative number, ended should we be killed; until the returned function is called. */
function endWithUs(target: number): () => void {
  const line = 'read over || kill -9 "$0"';
  const watcher = spawn("/bin/sh", ["-c", line, String(target)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.on("error", () => {}).unref();
  watcher.stdin.on("error", () => {});
  return () => void watcher.stdin.end("over\n");
}

/** Says whether something was read from the terminal since: its time of access, which is set back, is that of the last reading. */
function watchTerminal(): () => boolean {
  const LONG_AGO = 1;
  try {
    futimesSync(0, LONG_AGO, fstatSync(0).mtime);
    return () => fstatSync(0).atimeMs !== LONG_AGO * 1000;
  } catch {
    return () => true; // the terminal is another user's
  }
}
