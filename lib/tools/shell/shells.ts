import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { quietly } from "../../core/json.ts";
import { type GroupOptions, startGroup, type Stream, type Wrap } from "../../process/process.ts";
import { endTree } from "../../process/process-tree.ts";

export interface ShellOptions extends Pick<GroupOptions, "cwd" | "env"> {
  /** Puts the shell into a sandbox. */
  readonly wrap?: Wrap;
}

export type OnOutput = (stream: Stream, data: Buffer) => void;

/** How a command ended. `alive`: the shell is still there; otherwise it ended with the command. */
export interface CommandEnd {
  readonly status: number;
  readonly how: "done" | "timeout" | "aborted";
  readonly alive: boolean;
}

/** A running bash that takes one command after another. */
export interface Shell {
  readonly pid: number;
  readonly cwd: () => string;
  readonly alive: () => boolean;
  readonly run: (command: string, options: ShellRunOptions) => Promise<CommandEnd>;
  /** Ends it with all it started. */
  readonly close: () => Promise<void>;
}

export interface ShellRunOptions {
  readonly onOutput: OnOutput;
  readonly timeout?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether the program waits for the command; if not, the command ends with the program. @default true */
  readonly hold?: boolean;
}

const BASH = ["bash", "--noprofile", "--norc"] as const;

/**
 * Runs before the shell. Descriptor 3 is a lifeline: when we end, in whatever way, it closes and the group goes too.
 * A socket for output cannot be opened as /dev/stdout, so a real pipe is put in front of it.
 */
const LAUNCH = `{ trap '' TERM HUP INT; read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & exec 3<&-
if [[ -S /dev/fd/1 ]]; then exec "$@" > >(exec cat) 2> >(exec cat >&2); fi
exec "$@"`;

/**
 * The shell's own output is nowhere, so that traces of these lines show nowhere. Commands get 21 and 22: above what
 * scripts number, below any limit of open files that a machine or a command sets; if the limit is lower still, the shell ends.
 */
const OPEN = `exec 21>&1 22>&2 >/dev/null 2>&1 || exit 1
trap 'builtin printf "%s!%s %s\\0" "$__crochet_mark" "$?" "$PWD" >&21; builtin printf "%s\\0" "$__crochet_mark" >&22' EXIT
`;

/**
 * Takes a mark and a command as data, never as part of this text, and evaluates the command at the top level of the
 * shell. What ends it is printed behind everything the command printed, as pipes keep their order. So does the shell as
 * it ends itself, which the sign ! says.
 */
const NEXT = `IFS= builtin read -r -d '' __crochet_mark; IFS= builtin read -r -d '' __crochet_command; ` +
  `builtin eval "$__crochet_command" </dev/null >&21 2>&22; ` +
  `builtin printf '%s%s %s\\0' "$__crochet_mark" "$?" "$PWD" >&21; builtin printf '%s\\0' "$__crochet_mark" >&22\n`;

const NOTHING = Buffer.alloc(0);
/** Of what is printed between two commands, this much is kept for the next one to show. */
const LATE_BYTES = 30_000;

/** What stays in a pipe is read for at most this long after the shell is gone, as a daemon may hold it open. */
const DRAIN_MS = 2000;
/** Less if so long nothing comes. A busy machine lets what a shell printed as it ended wait in front of the pipe. */
const [IDLE_MS, IDLE_AS_ENDED_MS] = [1000, 60];

/** Starts a shell in its own session; it does not keep the program alive while it waits. */
export async function openShell({ cwd, env, wrap }: ShellOptions): Promise<Shell> {
  const inner = wrap ? wrap([...BASH, "-s"], cwd) : [...BASH, "-s"];
  const [command, ...options] = BASH;
  const args = [...options, "-c", LAUNCH, "bash", ...inner];
  const { child } = startGroup({ command, args, cwd, env, lifeline: true });
  const failed = new Promise<never>((_, reject) => {
    child.once(
      "error",
      (error) => reject(new Error(`Cannot start bash as ${error.message}: install bash, or put it on PATH`)),
    );
  });
  failed.catch(() => {}); // an error of a shell that runs shows in its pipes
  // Not the event `spawn`: Bun does not always emit it if there is a fourth pipe.
  if (child.pid === undefined) await failed;
  const pid = child.pid!;
  let place = cwd;
  let ended: number | undefined;
  let current: Running | undefined;
  const exited = new Promise<void>((resolve) => {
    child.once("exit", (code, signal) => {
      // The status a shell reports for a signal.
      ended = code ?? 128 + (signal ? constants.signals[signal] : 0);
      resolve();
    });
  });
  // Not the event `close`: it comes only once the lifeline is closed too.
  const closed = Promise.all(
    [child.stdout, child.stderr].map((stream) => new Promise((done) => stream.once("end", done))),
  );
  let heard = 0;
  let late: [Stream, Buffer][] = [];
  const keepLate = (stream: Stream, data: Buffer): void => {
    const kept = late.reduce((sum, [, { length }]) => sum + length, 0);
    if (data.length > 0 && kept < LATE_BYTES) late.push([stream, Buffer.from(data.subarray(0, LATE_BYTES - kept))]);
  };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]!.on("data", (data: Buffer) => {
      heard = performance.now();
      if (current) current.hear(stream, data);
      else keepLate(stream, data);
    });
  }
  for (const stream of child.stdio) stream?.on("error", () => {});
  child.stdin!.write(OPEN);
  hold(child, false);

  /** After the shell is gone: read what it left until all of it is there, then let go of its group. */
  const settle = async (idle: number, all: Promise<unknown> = closed): Promise<void> => {
    const over = Promise.race([closed, all]).then(() => false);
    const until = performance.now() + DRAIN_MS;
    heard = performance.now();
    let open = true;
    while (open && performance.now() < until && performance.now() - heard < idle) {
      open = await Promise.race([over, sleep(10, true)]);
      // A loop that was busy runs its timers before it reads.
      for (let turn = 0; open && turn < 2; turn++) await nextTurn();
    }
    (child.stdio[3] as { destroy(): void } | null)?.destroy();
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  };

  // What cannot be read of a shell that ends between two commands is missed by no command.
  exited.then(() => current === undefined ? settle(IDLE_AS_ENDED_MS) : undefined).catch(() => {});

  const finish = async (): Promise<void> => {
    await endTree(pid);
    await Promise.race([exited, sleep(200)]);
    ended ??= 137;
    await settle(IDLE_AS_ENDED_MS);
  };

  return {
    pid,
    cwd: () => place,
    alive: () => ended === undefined,
    close: async () => {
      // Once it is gone, its number may be another's.
      if (ended !== undefined) return;
      hold(child, true);
      await finish();
    },
    run: async (command, { onOutput, timeout, signal, hold: held = true }) => {
      if (command.includes("\0")) throw new Error("Cannot run the command as it holds a NUL character: leave it out");
      if (signal?.aborted) return { status: 130, how: "aborted", alive: ended === undefined };
      const running = current = listen(onOutput, keepLate);
      hold(child, held);
      for (const [stream, data] of late) onOutput(stream, data);
      late = [];
      const stop = new AbortController();
      let timer: ReturnType<typeof setTimeout> | undefined;
      const cut = new Promise<"timeout" | "aborted">((resolve) => {
        if (timeout !== undefined) timer = setTimeout(() => resolve("timeout"), timeout);
        signal?.addEventListener("abort", () => resolve("aborted"), { once: true, signal: stop.signal });
      });
      try {
        child.stdin!.write(NEXT);
        child.stdin!.write(`${running.mark}\0${command}\0`);
        const how = await Promise.race([
          running.done.then((ends) => ends ? exited.then(() => "exited" as const) : "done" as const),
          exited.then(() => "exited" as const),
          cut,
        ]);
        if (how === "exited") await settle(IDLE_MS, running.done);
        else if (how !== "done") await finish();
        const said = running.end();
        if (said.cwd?.startsWith("/")) place = said.cwd;
        const status = how === "done" ? said.status! : ended!;
        return { status, how: how === "exited" ? "done" : how, alive: ended === undefined };
      } finally {
        clearTimeout(timer);
        stop.abort();
        current = undefined;
        hold(child, false);
      }
    },
  };
}

/** What one command prints, up to its marks. */
interface Running {
  readonly mark: string;
  /** Once all of it is there: whether the shell ends too. */
  readonly done: Promise<boolean>;
  readonly hear: (stream: Stream, data: Buffer) => void;
  /** Gives out what was held back, and says what the shell reported. */
  readonly end: () => { status?: number; cwd?: string };
}

/** `late` takes what comes behind the marks. */
function listen(onOutput: OnOutput, late: OnOutput): Running {
  const mark = randomBytes(16).toString("hex");
  const bytes = Buffer.from(mark);
  const held: Record<Stream, Buffer> = { stdout: NOTHING, stderr: NOTHING };
  const marked = { stdout: false, stderr: false };
  let report = "";
  let resolve: (ends: boolean) => void;
  const done = new Promise<boolean>((r) => resolve = r);
  const give = (stream: Stream, data: Buffer) => {
    if (data.length > 0) onOutput(stream, data);
  };
  return {
    mark,
    done,
    hear: (stream, data) => {
      const all = held[stream].length > 0 ? Buffer.concat([held[stream], data]) : data;
      if (!marked[stream]) {
        const at = all.indexOf(bytes);
        if (at < 0) {
          const keep = overlap(all, bytes);
          held[stream] = all.subarray(all.length - keep);
          return give(stream, all.subarray(0, all.length - keep));
        }
        const end = all.indexOf(0, at);
        if (end < 0) {
          held[stream] = all;
          return;
        }
        marked[stream] = true;
        if (stream === "stdout") report = all.toString("utf8", at + bytes.length, end);
        give(stream, all.subarray(0, at));
        held[stream] = NOTHING;
        late(stream, all.subarray(end + 1));
      } else late(stream, data);
      if (marked.stdout && marked.stderr) resolve(report.startsWith("!"));
    },
    end: () => {
      give("stdout", held.stdout);
      give("stderr", held.stderr);
      const [, status, cwd] = /^!?(\d+) (.*)$/s.exec(report) ?? [];
      return status === undefined ? {} : { status: Number(status), cwd: cwd! };
    },
  };
}

/** How many bytes at the end may be the start of the mark. */
function overlap(data: Buffer, mark: Buffer): number {
  for (let n = Math.min(mark.length - 1, data.length); n > 0; n--) {
    if (data.subarray(data.length - n).equals(mark.subarray(0, n))) return n;
  }
  return 0;
}

/** Whether the program waits for the shell. */
function hold(child: ChildProcess, on: boolean): void {
  for (const part of [child, ...child.stdio] as ({ ref?(): void; unref?(): void } | null)[]) {
    // Deno refuses for a process that has ended, also before it reports so.
    quietly(() => on ? part?.ref?.() : part?.unref?.());
  }
}
