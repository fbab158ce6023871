import { decodeChunks, type Group, type GroupOptions, type ProcessResult, startGroup } from "../../process/process.ts";

const STDERR_BYTES = 64 * 1024;
/** How long the pipes of one that has ended may still speak. */
const QUIET_MS = 100;

interface LineQuestion {
  readonly line: string;
  /** What to start if nothing runs. */
  readonly start: () => GroupOptions;
  readonly signal: AbortSignal;
}

/** `stdout` is the line it answered with; or the process has ended instead. */
type LineAnswer = ProcessResult & { readonly isLine: boolean };

/** The question a process is at, and what it has said so far. */
interface PendingLine {
  readonly group: Group;
  readonly stdout: Uint8Array[];
  readonly stderr: Uint8Array[];
  readonly give: (end: Pick<LineAnswer, "code" | "signal" | "ended" | "isLine">) => void;
  readonly fail: (why: string) => void;
}

/**
 * A process that is kept alive: a line in, a line out, one question at a time. Only lines that begin with its token are
 * answers, and all else that it prints is ignored. One that has ended is started again by the next question.
 */
export class LineProcess {
  readonly #token: string;
  #group: Group | undefined;
  #asked: PendingLine | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(token: string) {
    this.#token = token;
  }

  get isUp(): boolean {
    return this.#group !== undefined;
  }

  ask(question: LineQuestion): Promise<LineAnswer> {
    const answer = this.#queue.then(() => this.#ask(question));
    this.#queue = answer.catch(() => {});
    return answer;
  }

  /** At once: it may be a sandbox that passes no signals on while it starts. */
  end(): void {
    const group = this.#group;
    this.#group = undefined;
    group?.kill();
    group?.child.stdin.destroy();
  }

  #ask({ line, start, signal }: LineQuestion): Promise<LineAnswer> {
    const aborted = { code: null, signal: null, ended: "aborted", isLine: false } as const;
    if (signal.aborted) return Promise.resolve({ ...aborted, stdout: "", stderr: "" });
    const group = this.#group ??= this.#start(start());
    return new Promise<LineAnswer>((resolve, reject) => {
      const abort = () => {
        if (this.#group === group) this.end();
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
        stdout: [],
        stderr: [],
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
      const { stderr = [] } = this.#askedOf(group) ?? {};
      const kept = stderr.reduce((sum, { length }) => sum + length, 0);
      if (kept < STDERR_BYTES) stderr.push(chunk.subarray(0, STDERR_BYTES - kept));
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
    if (!asked) return;
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      asked.stdout.push(chunk.subarray(from, end));
      from = end + 1;
      if (decodeChunks(asked.stdout).startsWith(this.#token)) {
        return asked.give({ code: 0, signal: null, isLine: true });
      }
      asked.stdout.length = 0;
    }
    asked.stdout.push(chunk.subarray(from));
  }

  #askedOf(group: Group): PendingLine | undefined {
    return this.#asked?.group === group ? this.#asked : undefined;
  }

  #forget(group: Group): void {
    if (this.#group === group) this.#group = undefined;
  }
}
