import { decodeChunks, type Group, type GroupOptions, type ProcessResult, startGroup, type Stream } from "./process.ts";

const LINE_BYTES = 8 * 1024 * 1024;
const STDERR_BYTES = 64 * 1024;
/** How long the pipes of one that has ended may still speak. */
const QUIET_MS = 100;

export interface Question {
  readonly line: string;
  /** What to start if nothing runs. */
  readonly start: () => GroupOptions;
  readonly signal: AbortSignal;
  readonly onOutput?: ((stream: Stream, text: string) => void) | undefined;
}

/** `stdout` is the line it answered with; or the process has ended instead. */
type LineAnswer = ProcessResult & { readonly isLine: boolean };

/** The question a process is at, and what it has said so far. */
interface PendingLine {
  readonly group: Group;
  readonly onOutput: Question["onOutput"];
  readonly stdout: Uint8Array[];
  readonly stderr: Uint8Array[];
  size: number;
  readonly give: (end: Pick<LineAnswer, "code" | "signal" | "ended" | "isLine">) => void;
  readonly fail: (why: string) => void;
}

/**
 * A command that is kept alive: a line in, a line out, one question at a time. One that ends is read like any other
 * command, by its exit code and output, and is started again by the next question. One that says more than a line
 * is ended, as the rest could be taken for the next answer.
 *
 * With a token only lines that begin with it are answers, of any length, and all else that it prints is ignored.
 */
export class LineProcess {
  readonly #token: string | undefined;
  #group: Group | undefined;
  #asked: PendingLine | undefined;
  #queue: Promise<unknown> | undefined;

  constructor(token?: string) {
    this.#token = token;
  }

  get isUp(): boolean {
    return this.#group !== undefined;
  }

  ask(question: Question): Promise<LineAnswer> {
    const answer = this.#queue ? this.#queue.then(() => this.#ask(question)) : this.#ask(question);
    const done = answer.then(() => {}, () => {}).then(() => {
      if (this.#queue === done) this.#queue = undefined;
    });
    this.#queue = done;
    return answer;
  }

  end(): void {
    if (this.#group) this.#drop(this.#group);
  }

  #ask({ line, start, signal, onOutput }: Question): Promise<LineAnswer> {
    const aborted = { code: null, signal: null, ended: "aborted", isLine: false } as const;
    if (signal.aborted) return Promise.resolve({ ...aborted, stdout: "", stderr: "" });
    const group = this.#group ??= this.#start(start());
    return new Promise<LineAnswer>((resolve, reject) => {
      const abort = () => {
        this.#drop(group);
        asked.give(aborted);
      };
      const settle = (work: () => void) => {
        if (this.#asked !== asked) return;
        this.#asked = undefined;
        signal.removeEventListener("abort", abort);
        group.child.unref();
        work();
      };
      const asked: PendingLine = this.#asked = {
        group,
        onOutput,
        stdout: [],
        stderr: [],
        size: 0,
        give: (end) =>
          settle(() => resolve({ ...end, stdout: decodeChunks(asked.stdout), stderr: decodeChunks(asked.stderr) })),
        fail: (why) => settle(() => reject(new Error(why))),
      };
      signal.addEventListener("abort", abort);
      // The process is waited for while it owes an answer, and at no other time.
      group.child.ref();
      group.child.stdin.write(line);
    });
  }

  #start(options: GroupOptions): Group {
    const group = startGroup(options);
    const { child } = group;
    child.stdout.on("data", (chunk: Uint8Array) => this.#hear(group, chunk));
    child.stderr.on("data", (chunk: Uint8Array) => {
      const asked = this.#askedOf(group);
      if (!asked) return;
      asked.onOutput?.("stderr", decodeChunks([chunk]));
      const kept = asked.stderr.reduce((sum, { length }) => sum + length, 0);
      if (kept < STDERR_BYTES) asked.stderr.push(chunk.subarray(0, STDERR_BYTES - kept));
    });
    child.once("error", (error) => {
      this.#forget(group);
      this.#askedOf(group)?.fail(`Cannot start '${options.command}' as ${error.message}`);
    });
    child.once("exit", (code, signal) => {
      this.#forget(group);
      const asked = this.#askedOf(group);
      if (!asked) return;
      // The rest of what it wrote comes before its pipes close, which another process may hold open.
      const give = () => asked.give({ code, signal, isLine: false });
      child.once("close", give);
      setTimeout(() => setImmediate(() => setImmediate(give)), QUIET_MS);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr] as { unref?: () => void }[]) stream.unref?.();
    return group;
  }

  #hear(group: Group, chunk: Uint8Array): void {
    const asked = this.#askedOf(group);
    if (!asked) {
      if (this.#token === undefined) this.#drop(group);
      return;
    }
    asked.onOutput?.("stdout", decodeChunks([chunk]));
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      asked.stdout.push(chunk.subarray(from, end));
      from = end + 1;
      if (this.#token === undefined && from < chunk.length) this.#drop(group);
      if (this.#isAnswer(asked)) return asked.give({ code: 0, signal: null, isLine: true });
      asked.stdout.length = 0;
    }
    asked.stdout.push(chunk.subarray(from));
    asked.size += chunk.length;
    if (this.#token !== undefined || asked.size <= LINE_BYTES) return;
    this.#drop(group);
    asked.fail(`Cannot use the hook's answer as its line is longer than ${LINE_BYTES} bytes`);
  }

  #isAnswer({ stdout }: PendingLine): boolean {
    return this.#token === undefined || decodeChunks(stdout).startsWith(this.#token);
  }

  #askedOf(group: Group): PendingLine | undefined {
    return this.#asked?.group === group ? this.#asked : undefined;
  }

  #forget(group: Group): void {
    if (this.#group === group) this.#group = undefined;
  }

  #drop(group: Group): void {
    this.#forget(group);
    // What has a token works for us alone, and may be a sandbox that does not pass signals on while it starts.
    if (this.#token === undefined) group.end();
    else group.kill();
    // After the signal, or it would end by the end of its input and never by what it does on SIGTERM.
    group.child.stdin.destroy();
  }
}
