import { type Group, type GroupOptions, startGroup } from "./_group.ts";
import type { Ran, Stream } from "./_process.ts";

/** The longest answer, in bytes. */
const LINE_BYTES = 8 * 1024 * 1024;
/** What is kept of stderr between two answers. */
const STDERR_BYTES = 64 * 1024;

/** How long the pipes of one that has ended may still speak. */
const QUIET_MS = 100;

interface Question {
  readonly line: string;
  readonly start: () => GroupOptions;
  readonly signal: AbortSignal;
  readonly onOutput?: ((stream: Stream, text: string) => void) | undefined;
}

/**
 * A command that is kept alive: a line in, a line out, one question at a time. One that ends is read like any other
 * command, by its exit code and output, and is started again by the next question.
 */
export class WarmProcess {
  #group: Group | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  ask(question: Question): Promise<Ran> {
    const answer = this.#queue.then(() => this.#ask(question));
    this.#queue = answer.catch(() => {});
    return answer;
  }

  end(): void {
    this.#group?.end();
    this.#group = undefined;
  }

  async #ask({ line, start, signal, onOutput }: Question): Promise<Ran> {
    if (signal.aborted) return { code: null, signal: null, stdout: "", stderr: "", ended: "aborted" };
    const group = this.#group ??= this.#start(start());
    const { child } = group;
    const stdout: Uint8Array[] = [];
    const stderr: Uint8Array[] = [];
    let size = 0;
    keepAlive(group, true);
    try {
      return await new Promise<Ran>((resolve, reject) => {
        const give = (code: number | null, sig: string | null, ended?: "aborted") => {
          stop.abort();
          const out = { stdout: text(stdout), stderr: text(stderr) };
          resolve({ code, signal: sig, ...out, ...(ended && { ended }) });
        };
        const stop = new AbortController();
        const on = <E extends { on: CallableFunction; off: CallableFunction }>(of: E, name: string, heard: unknown) => {
          of.on(name, heard);
          stop.signal.addEventListener("abort", () => of.off(name, heard), { once: true });
        };
        on(child.stdout, "data", (chunk: Uint8Array) => {
          onOutput?.("stdout", text([chunk]));
          const end = chunk.indexOf(10);
          stdout.push(end < 0 ? chunk : chunk.subarray(0, end));
          size += chunk.length;
          // More than one line: the next answer could not be told from the rest of this one.
          if ((end >= 0 && end < chunk.length - 1) || size > LINE_BYTES) this.#drop(group);
          if (end >= 0) give(0, null);
          else if (size > LINE_BYTES) {
            stop.abort();
            reject(new Error(`Cannot use the hook's answer as its line is longer than ${LINE_BYTES} bytes`));
          }
        });
        on(child.stderr, "data", (chunk: Uint8Array) => {
          onOutput?.("stderr", text([chunk]));
          if (stderr.length < STDERR_BYTES / 1024) stderr.push(chunk.subarray(0, STDERR_BYTES));
        });
        on(child, "error", (error: Error) => {
          stop.abort();
          reject(new Error(`Cannot start the hook as ${error.message}`));
        });
        // It has ended: the rest of what it wrote comes before its pipes close, which somebody else may hold open.
        on(child, "exit", (code: number | null, sig: string | null) => {
          on(child, "close", () => give(code, sig));
          const timer = setTimeout(() => setImmediate(() => setImmediate(() => give(code, sig))), QUIET_MS);
          stop.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
        });
        const abort = () => {
          this.#drop(group);
          give(null, null, "aborted");
        };
        signal.addEventListener("abort", abort, { once: true, signal: stop.signal });
        child.stdin.write(line);
      });
    } finally {
      keepAlive(group, false);
    }
  }

  #start(options: GroupOptions): Group {
    const group = startGroup(options);
    const { child } = group;
    const forget = () => {
      if (this.#group === group) this.#group = undefined;
    };
    child.on("error", forget);
    child.on("exit", forget);
    // Words nobody asked for would be taken for the next answer.
    child.stdout.on("data", () => {
      if (child.stdout.listenerCount("data") === 1) this.#drop(group);
    });
    child.stderr.on("data", () => {});
    return group;
  }

  #drop(group: Group): void {
    if (this.#group === group) this.#group = undefined;
    group.end();
  }
}

function text(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}

/** Between two questions a warm process keeps no other process alive. */
function keepAlive({ child }: Group, alive: boolean): void {
  const how = alive ? "ref" : "unref";
  child[how]();
  for (const stream of [child.stdin, child.stdout, child.stderr] as { ref?: () => void; unref?: () => void }[]) {
    stream[how]?.();
  }
}
