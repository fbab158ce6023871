import { ownLog } from "./runtime.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { wordsOf } from "../../files/drafts.ts";
import { harmless } from "../show/text.ts";

/**
 * The process as a command sees it; the first Ctrl-C interrupts, the second kills. With `careful`, output that does not
 * reach the file it goes to is a failure: the disk is full.
 */
export function processIo({ careful = false } = {}): Io {
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort(new Error("Interrupted")));
  process.once("SIGTERM", () => interrupt.abort(new Error("Terminated")));
  process.once("SIGHUP", () => interrupt.abort(new Error("The terminal went away")));
  readerGone = () => interrupt.abort(new Error("The reader of the output went away"));
  const draw = (text: string) => {
    if (careful && outputKind() === "file") writeSynchronously(text);
    else if (written.stdout || !text.endsWith("\n")) write("stdout", text);
    else ownLog(text.slice(0, -1));
  };
  const warn = (text: string) =>
    written.stderr || !text.endsWith("\n") ? write("stderr", text) : console.error(text.slice(0, -1));
  return {
    out: (text) => draw(forStream(1, text)),
    err: (text) => warn(forStream(2, text)),
    draw,
    stdin: {
      get isPiped() {
        return isPiped();
      },
      get stream() {
        return process.stdin;
      },
    },
    get tty() {
      return outputKind() === "terminal";
    },
    env: process.env,
    cwd: process.cwd(),
    whenWritten: (work) => afterwards.push(work),
    signal: interrupt.signal,
  };
}

/** What is done once all is written. */
const afterwards: (() => void)[] = [];

/** A terminal gets the names of files, hooks and models made harmless; files and pipes get them as they are. */
function forStream(fd: 1 | 2, text: string): string {
  const plain = harmless(text);
  return plain !== text && process.getBuiltinModule("node:fs").fstatSync(fd).isCharacterDevice() ? plain : text;
}

let kind: "file" | "pipe" | "terminal" | undefined;

/** Where stdout goes; any device but a terminal is a file. Node's streams are loaded only to ask what may be a terminal. */
function outputKind(): "file" | "pipe" | "terminal" {
  if (kind) return kind;
  const { fstatSync, statSync } = process.getBuiltinModule("node:fs");
  const output = fstatSync(1);
  if (!output.isCharacterDevice()) return kind = output.isFile() ? "file" : "pipe";
  const isTerminal = output.rdev !== statSync("/dev/null").rdev && process.stdout.isTTY === true;
  return kind = isTerminal ? "terminal" : "file";
}

/** Whether stdin is a pipe or a file; a terminal, /dev/null and a closed stdin are not. */
function isPiped(): boolean {
  try {
    const input = process.getBuiltinModule("node:fs").fstatSync(0);
    return input.isFIFO() || input.isFile() || input.isSocket();
  } catch {
    return false;
  }
}

/** @throws {Error} if the disk is full */
function writeSynchronously(text: string): void {
  const { writeSync } = process.getBuiltinModule("node:fs");
  for (let bytes = new TextEncoder().encode(text); bytes.length > 0;) bytes = bytes.subarray(writeSync(1, bytes));
}

/**
 * The last write to each of node's streams. They take longer to load than most hooks take to run, so a whole line does
 * without; but once a stream has something, the rest goes the same way, in order.
 */
const written: { stdout?: Promise<void>; stderr?: Promise<void> } = {};

/** What to do once a terminal or a pipe has gone away: what is written then is lost, and no reason to crash. */
let readerGone = () => {};

function write(name: "stdout" | "stderr", text: string): void {
  if (written[name] === undefined) process[name].on("error", () => readerGone());
  written[name] = new Promise((done) => process[name].write(text, () => done()));
}

/** Waits until everything is written and all spans are sent: what is still held is lost when the process exits. */
export async function drained(): Promise<void> {
  await (globalThis as { [flush: symbol]: (() => Promise<void>) | undefined })[Symbol.for("crochet.flush-spans")]?.();
  await Promise.all([written.stdout, written.stderr]);
  for (const work of afterwards.splice(0)) work();
}

/** Runs a command; what it throws becomes one line (what, where, the fix) and an exit code. */
export async function guarded(args: readonly string[], io: Io, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    const usage = error instanceof UsageError || error instanceof TypeError;
    io.err(`crochet: ${errorText(error, args)}\n`);
    return io.signal.aborted ? EXIT.interrupted : usage ? EXIT.usage : EXIT.failed;
  }
}

/** An error as it is shown: in one line, or with `--debug` where it came from. */
export function errorText(error: unknown, args: readonly string[]): string {
  const stack = args.includes("--debug") && error instanceof Error ? error.stack : undefined;
  return stack ?? wordsOf(error);
}

/**
 * Ends this process at the second Ctrl-C, whatever it does: while a module hook loops, no handler of ours can run. The
 * terminal sends Ctrl-C to all processes in front, so a small shell counts along; it ends when our end of its pipe does.
 */
export function endAtSecondInterrupt(): () => void {
  const { isatty } = process.getBuiltinModule("node:tty");
  if (!isatty(0) && !isatty(2)) return () => {};
  const { spawn } = process.getBuiltinModule("node:child_process");
  const shell = spawn("/bin/sh", ["-c", COUNTS], { stdio: ["pipe", "ignore", "ignore"] });
  shell.on("error", () => {}); // then Ctrl-C works as far as handlers do
  shell.unref();
  (shell.stdin as { unref?: () => void }).unref?.();
  return () => shell.stdin.end();
}

/**
 * `cat` ends when the pipe does; `wait` is what a trap interrupts in every shell. A second is enough for a process whose
 * handlers run. The parent is looked up again: its number may belong to another process by then.
 */
const COUNTS = `n=0
trap 'n=$((n + 1))' INT
exec 3<&0
cat <&3 > /dev/null &
while [ $n -lt 2 ]; do wait $!; [ $? -gt 128 ] || exit; done
sleep 1
[ "$(ps -o ppid= -p $$ | tr -d ' ')" = "$PPID" ] && kill -KILL "$PPID"
kill $!`;
