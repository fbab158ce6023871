import { decodeChunks, type Group, type GroupOptions, startGroup } from "../../process/process.ts";

const STDERR_BYTES = 64 * 1024;
/** How long the pipes of one that has ended may still speak. */
const QUIET_MS = 100;

interface LineQuestion {
  readonly line: string;
  /** What to start if nothing runs. */
  readonly start: () => GroupOptions;
  readonly signal: AbortSignal;
}

/** The line it answered with, without its token; that it was ended by the signal; or how it has ended instead. */
type LineAnswer =
  | { readonly line: string }
  | { readonly late: true }
  | { readonly code: number | null; readonly signal: string | null; readonly stderr: string };

/** The question a process is at, and what it has said so far. */
interface PendingLine extends Pick<PromiseWithResolvers<LineAnswer>, "resolve" | "reject"> {
  readonly group: Group;
  readonly stdout: Uint8Array[];
  readonly stderr: Uint8Array[];
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
    if (signal.aborted) return Promise.resolve({ late: true });
    const group = this.#group ??= this.#start(start());
    const abort = () => {
      if (this.#group === group) this.end();
      this.#over(group)?.resolve({ late: true });
    };
    signal.addEventListener("abort", abort);
    const answer = new Promise<LineAnswer>((resolve, reject) => {
      this.#asked = { group, stdout: [], stderr: [], resolve, reject };
    });
    // The process is waited for while it owes an answer, and at no other time.
    group.child.ref();
    group.child.stdin.write(line);
    return answer.finally(() => {
      signal.removeEventListener("abort", abort);
      group.child.unref();
    });
  }

  #start(options: GroupOptions): Group {
    const group = startGroup(options);
    const { child } = group;
    child.stdout.on("data", (chunk: Uint8Array) => this.#hear(group, chunk));
    child.stderr.on("data", (chunk: Uint8Array) => {
      const stderr: Uint8Array[] = this.#asked?.group === group ? this.#asked.stderr : [];
      const kept = stderr.reduce((sum, { length }) => sum + length, 0);
      if (kept < STDERR_BYTES) stderr.push(chunk.subarray(0, STDERR_BYTES - kept));
    });
    const forget = () => {
      if (this.#group === group) this.#group = undefined;
    };
    child.once("error", (error) => {
      forget();
      this.#over(group)?.reject(new Error(`Cannot start '${options.command}' as ${error.message}`));
    });
    child.once("exit", (code, signal) => {
      forget();
      const give = () => {
        const asked = this.#over(group);
        asked?.resolve({ code, signal, stderr: decodeChunks(asked.stderr) });
      };
      // The rest of what it wrote comes before its pipes close, which another process may hold open.
      child.once("close", give);
      setTimeout(() => setImmediate(() => setImmediate(give)), QUIET_MS);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr] as { unref?: () => void }[]) stream.unref?.();
    return group;
  }

  #hear(group: Group, chunk: Uint8Array): void {
    if (this.#asked?.group !== group) return;
    const { stdout } = this.#asked;
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      stdout.push(chunk.subarray(from, end));
      from = end + 1;
      const line = decodeChunks(stdout.splice(0));
      if (line.startsWith(this.#token)) return this.#over(group)!.resolve({ line: line.slice(this.#token.length) });
    }
    stdout.push(chunk.subarray(from));
  }

  /** What was asked of a process; it is answered now. */
  #over(group: Group): PendingLine | undefined {
    const asked = this.#asked?.group === group ? this.#asked : undefined;
    if (asked) this.#asked = undefined;
    return asked;
  }
}
