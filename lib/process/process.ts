import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { present, quietly } from "../core/json.ts";
import type { HookEnv } from "../core/hook.ts";
import { thrownWords } from "../core/shown.ts";
import { atExit } from "./at-exit.ts";
import { endStrays, type Process, STARTED_BY } from "./process-tree.ts";

export interface GroupOptions {
  /** A line for `/bin/sh -c`; with `args`, a program found on PATH and started as it is. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly cwd: string;
  readonly env: { readonly [name: string]: string | undefined };
  /** Whether it gets descriptor 3, a pipe that closes when this process ends in whatever way. */
  readonly lifeline?: boolean;
  /** Whether it starts no process of its own: then it needs no session, which a loaded machine is slow to serve. */
  readonly alone?: boolean;
}

/** Gives the command to start in place of the one that was meant, as a sandbox does. */
export type Wrap = (argv: readonly string[], cwd: string) => string[];

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

/** @throws {Error} if the runtime refuses at once; otherwise the child emits `error` */
export function startGroup({ command, args, cwd, env, lifeline, alone }: GroupOptions): Group {
  const [program, ...given] = argvOf(command, args);
  const pipes = Array<"pipe">(lifeline ? 4 : 3).fill("pipe");
  const options = { cwd, env: { ...env }, detached: !alone, stdio: pipes };
  const child = spawn(program!, given, options) as ChildProcessWithoutNullStreams;
  const { pid } = child;
  // A hook need not read what it is given.
  child.stdin.on("error", () => {});
  if (pid === undefined) return { child, end() {}, kill() {}, isLeft: () => false };

  watchExit();
  const target = alone ? pid : -pid;
  living.add(target);
  let ending = false;
  child.once("exit", () => {
    if (alone || !ending) living.delete(target);
  });
  // Its number may be another's by now.
  const kill = () => void (living.delete(target) && send(target, "SIGKILL"));
  return {
    child,
    end() {
      if (ending) return;
      ending = true;
      send(target, "SIGTERM");
      setTimeout(kill, GRACE_MS).unref();
    },
    kill,
    isLeft: () => send(target, 0),
  };
}

/** Processes, and groups as negative numbers, that must not outlive this process. */
const living = new Set<number>();
let watching = false;

function watchExit(): void {
  if (watching) return;
  watching = true;
  atExit(() => {
    for (const target of living) send(target, "SIGKILL");
  });
}

/** Whether there was anything to send it to. */
function send(target: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  return quietly(() => process.kill(target, signal)) ?? false;
}

export type Stream = "stdout" | "stderr";

export interface ProcessOptions extends GroupOptions {
  /** Written to stdin, which is then closed; of a process that is started ahead, once it is known. */
  readonly input?: string | Promise<string>;
  /** Ends the process with everything it started. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until it is ended like that. @default no limit */
  readonly timeout?: number | undefined;
  /** Called with what the process writes, while it writes it. */
  readonly onOutput?: ((stream: Stream, text: string) => void) | undefined;
  /** Takes the bytes of stdout, which are not kept then; ends the process at once when it gives true. */
  readonly takeStdout?: ((chunk: Uint8Array) => boolean) | undefined;
  /** Where output that is too much for memory goes. @default a new folder among the temporary files */
  readonly outputDir?: (() => string) | undefined;
}

/** `enough`: it has said all that was wanted. */
type EndedFor = "timeout" | "aborted" | "enough";

export interface ProcessResult {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ended?: EndedFor;
  /** The file with all of stdout, if `stdout` is only its beginning. */
  readonly stdoutFile?: string;
}

/** How it ended, in words that follow "it" or the name of the command. */
export function howEnded({ code, signal }: Pick<ProcessResult, "code" | "signal">): string {
  return code === null ? `was ended by ${signal}` : `exited with code ${code}`;
}

/** How long the pipes must have been silent once the process has ended, and how long that is waited for. */
const QUIET_MS = 40;
const DRAIN_MS = 1000;

/**
 * Runs a command to its end. It has ended when its own process has, whatever it left running; when it is asked to
 * end, it has ended soon after, whatever it does.
 *
 * @throws {Error} if it cannot be started
 */
export function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    let group: ReturnType<typeof startGroup>;
    const mark = crypto.randomUUID();
    try {
      group = startGroup({ ...options, env: { ...options.env, [STARTED_BY]: mark } });
    } catch (error) {
      return reject(cannotStart(options.command, error));
    }
    const { child } = group;
    const { signal, timeout } = options;
    const path = (stream: Stream) => () =>
      join(options.outputDir?.() ?? mkdtempSync(join(tmpdir(), "crochet-hook-")), `${child.pid}-${stream}.txt`);
    const outputs = { stdout: new Output(path("stdout")), stderr: new Output(path("stderr")) };
    let ended: EndedFor | undefined;
    let exit: { code: number | null; signal: string | null } | undefined;
    let heard = 0;
    let over = false;
    const timers: ReturnType<typeof setTimeout>[] = [];

    const finish = (settle: () => void) => {
      if (over) return;
      over = true;
      for (const timer of timers) clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      // What it left running in the background ends with the run that the signal belongs to.
      if (signal && group.isLeft()) signal.addEventListener("abort", () => group.end(), { once: true });
      child.stdin.destroy();
      for (const stream of [child.stdout, child.stderr]) letGo(stream);
      settle();
    };
    const done = () =>
      finish(() =>
        resolve({
          code: exit?.code ?? null,
          signal: exit?.signal ?? null,
          stdout: outputs.stdout.end(),
          stderr: outputs.stderr.end(),
          ...present({ ended, stdoutFile: outputs.stdout.file }),
        })
      );
    const fail = (error: Error) => {
      group.kill();
      finish(() => reject(error));
    };
    const end = (why: "timeout" | "aborted") => {
      ended ??= why;
      endLeft("SIGTERM");
      group.end();
      setTimeout(() => endLeft("SIGKILL"), GRACE_MS).unref();
      timers.push(setTimeout(done, GRACE_MS + DRAIN_MS));
    };
    const abort = () => end("aborted");
    // What has left the group too; a process that is alone starts none.
    const known = new Map<number, Process>();
    const endLeft = (signal: "SIGTERM" | "SIGKILL") => {
      const left = child.pid === undefined || options.alone ? [] : endStrays(child.pid, mark, known, signal);
      if (left.length > 0) options.onOutput?.("stderr", `Left behind, as they cannot be ended: ${left.join(", ")}\n`);
    };

    // Other processes may hold the pipes after this one has ended: only what it wrote itself is waited for.
    const drain = (until: number) => {
      const before = heard;
      timers.push(setTimeout(() => {
        // A loop that was busy runs its timers before it reads: two turns of it, and the pipes were looked at.
        setImmediate(() => setImmediate(() => heard === before || Date.now() > until ? done() : drain(until)));
      }, QUIET_MS));
    };

    for (const name of ["stdout", "stderr"] as const) {
      const live = options.onOutput && new TextDecoder();
      child[name].on("data", (chunk: Uint8Array) => {
        heard++;
        if (over || ended === "enough") return;
        if (name === "stdout" && options.takeStdout) {
          if (!options.takeStdout(chunk)) return;
          ended = "enough";
          return group.kill();
        }
        try {
          outputs[name].add(chunk);
        } catch (error) {
          return fail(new Error(`Cannot keep the output of '${options.command}': ${thrownWords(error)}`));
        }
        const text = live?.decode(chunk, { stream: true });
        if (text) options.onOutput!(name, text);
      });
    }
    child.once("error", (error) => finish(() => reject(cannotStart(options.command, error))));
    child.once("exit", (code, signal) => {
      exit = { code, signal };
      drain(Date.now() + DRAIN_MS);
    });
    child.once("close", done);

    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
    if (timeout !== undefined && timeout !== Infinity) {
      timers.push(setTimeout(() => end("timeout"), Math.min(timeout, 2 ** 31 - 1)));
    }
    const { input = "" } = options;
    if (typeof input === "string") child.stdin.end(input);
    else input.then((text) => child.stdin.end(text), fail);
  });
}

/** Goes on reading, so that who still writes is not ended by it, but keeps no process alive for it. */
function letGo(stream: Readable & { unref?: () => void }): void {
  stream.removeAllListeners("data");
  stream.on("error", () => {});
  stream.resume();
  stream.unref?.();
}

function cannotStart(command: string, error: unknown): Error {
  const interpreter = (error as { code?: string }).code === "ENOENT" ? interpreterOf(command) : undefined;
  // The system reports the script as missing if its interpreter is, perhaps only because of a CR at the end of the line.
  if (interpreter !== undefined && !existsSync(interpreter)) {
    const shown = JSON.stringify(interpreter);
    return new Error(`Cannot start '${command}' as its first line names ${shown}, which is not a program`);
  }
  return new Error(`Cannot start '${command}' as ${thrownWords(error)}`);
}

function interpreterOf(script: string): string | undefined {
  if (!existsSync(script)) return undefined;
  return /^#![ \t]*([^ \t\n]+)/.exec(readFileSync(script, "utf8"))?.[1];
}

/** What is kept in memory of one stream. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** What is kept of it at all: a process that never stops talking must not fill the disk. */
const FILED_BYTES = 64 * 1024 * 1024;

/** What a process wrote to one stream: its head in memory, and the whole in a file once it is more than that. */
export class Output {
  readonly #chunks: Uint8Array[] = [];
  readonly #path: () => string;
  #size = 0;
  #fd: number | undefined;
  /** The file that holds everything, if memory holds only the beginning. */
  file: string | undefined;

  constructor(path: () => string) {
    this.#path = path;
  }

  add(chunk: Uint8Array): void {
    const before = this.#size;
    this.#size += chunk.length;
    if (before < KEPT_BYTES) this.#chunks.push(chunk.subarray(0, KEPT_BYTES - before));
    if (this.#size <= KEPT_BYTES) return;
    if (this.#fd === undefined) {
      this.file = this.#path();
      this.#fd = openSync(this.file, "w", 0o600);
      for (const kept of this.#chunks) writeSync(this.#fd, kept);
      chunk = chunk.subarray(Math.max(0, KEPT_BYTES - before));
    }
    if (before < FILED_BYTES) writeSync(this.#fd, chunk);
  }

  /** The head as text; bytes that are not UTF-8 become U+FFFD, and a byte order mark goes. */
  end(): string {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    return decodeChunks(this.#chunks);
  }
}

/** What bytes say that came in chunks, which may end within a character. */
export function decodeChunks(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}

/** Runs a program for a hook (`ctx.$`): no shell, the whole environment, ended with everything it started. */
export const exec: NonNullable<HookEnv["exec"]> = async (command, args, { cwd, signal }) => {
  const { code, stdout, stderr, ended } = await runProcess({ command, args, cwd, env: process.env, signal });
  if (ended) throw new Error(`Cannot finish '${command}' as the hook was ended`);
  return { code, stdout, stderr };
};
