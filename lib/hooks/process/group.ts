import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Wrap } from "../../permissions/sandbox.ts";

export interface GroupOptions {
  /** A line for `/bin/sh -c`; with `args`, a program found on PATH and started as it is. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly cwd: string;
  readonly env: { readonly [name: string]: string | undefined };
}

/** The same process, started by way of another command. */
export function startedBy(wrap: Wrap, { command, args, cwd, env }: GroupOptions): GroupOptions {
  const [program, ...given] = wrap(argvOf(command, args), cwd);
  return { command: program!, args: given, cwd, env };
}

function argvOf(command: string, args: readonly string[] | undefined): readonly string[] {
  return args ? [command, ...args] : ["/bin/sh", "-c", command];
}

/** A process at the head of a session and group of its own: everything it starts can be ended with it. */
export interface Group {
  readonly child: ChildProcessWithoutNullStreams;
  /** Asks the whole group to end, and ends it a moment later. */
  end(): void;
  /** Ends the whole group at once, unless it has ended. */
  kill(): void;
  /** Whether anything of it still runs, though its first process has ended. */
  isLeft(): boolean;
}

/** How long a group has between being asked to end and being ended. */
export const GRACE_MS = 1500;

/** @throws {Error} where the runtime refuses at once; otherwise the child emits `error` */
export function startGroup({ command, args, cwd, env }: GroupOptions): Group {
  const [program, ...given] = argvOf(command, args);
  const child = spawn(program!, given, { cwd, env: { ...env }, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const { pid } = child;
  // A hook need not read what it is given.
  child.stdin.on("error", () => {});
  if (pid === undefined) return { child, end() {}, kill() {}, isLeft: () => false };

  watchExit();
  living.add(pid);
  let ending = false;
  child.once("exit", () => {
    if (!ending) living.delete(pid);
  });
  return {
    child,
    end() {
      if (ending) return;
      ending = true;
      kill(pid, "SIGTERM");
      const timer = setTimeout(() => {
        kill(pid, "SIGKILL");
        living.delete(pid);
      }, GRACE_MS);
      timer.unref();
    },
    kill() {
      // Its number may be another's by now.
      if (living.delete(pid)) kill(pid, "SIGKILL");
    },
    isLeft: () => kill(pid, 0),
  };
}

/** Groups that must not outlive this process. */
const living = new Set<number>();
let watching = false;

function watchExit(): void {
  if (watching) return;
  watching = true;
  process.once("exit", () => {
    for (const pid of living) kill(pid, "SIGKILL");
  });
}

/** Whether there was a group to send it to. */
function kill(pid: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
