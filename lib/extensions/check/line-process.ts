import { type Group, type GroupOptions, startGroup } from "../../process/process.ts";

/** How much is kept of what it says on stderr while it is asked. */
const MOST_SAID = 64 * 1024;
/** How long the pipes of one that has ended may still speak. */
const QUIET_MS = 100;

/** The line it answered with, without its token; or how it has ended instead, `late` if it took too long. */
type LineAnswer = { readonly line: string } | { readonly ended: string };

/** The question a process is at. */
interface PendingLine extends Pick<PromiseWithResolvers<LineAnswer>, "resolve" | "reject"> {
  readonly group: Group;
  said: string;
}

/** A process that is kept alive: a line in, a line out. Only lines that begin with its token are answers. */
export class LineProcess {
  readonly #token: string;
  #group: Group | undefined;
  #asked: PendingLine | undefined;

  constructor(token: string) {
    this.#token = token;
  }

  get isUp(): boolean {
    return this.#group !== undefined;
  }

  start(options: GroupOptions): void {
    const group = this.#group = startGroup(options);
    const { child } = group;
    let heard: string[] = [];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      heard.push(text);
      if (!text.includes("\n")) return;
      const lines = heard.join("").split("\n");
      heard = [lines.pop()!];
      const line = lines.find((one) => one.startsWith(this.#token));
      if (line !== undefined) this.#over(group)?.resolve({ line: line.slice(this.#token.length) });
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (this.#asked?.group === group) this.#asked.said = (this.#asked.said + text).slice(-MOST_SAID);
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
      const how = `it ended its own process ${signal === null ? `with code ${code}` : `by ${signal}`}`;
      const give = () => {
        const asked = this.#over(group);
        const last = asked?.said.trim().split("\n").at(-1);
        asked?.resolve({ ended: last ? `${how}: ${last}` : how });
      };
      // The rest of what it wrote comes before its pipes close, which another process may hold open.
      child.once("close", give);
      setTimeout(() => setImmediate(() => setImmediate(give)), QUIET_MS);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr] as { unref?: () => void }[]) stream.unref?.();
  }

  /** What it answers to a line, if it does in so many milliseconds. */
  ask(line: string, ms: number): Promise<LineAnswer> {
    const group = this.#group!;
    const timer = setTimeout(() => {
      if (this.#group === group) this.end();
      this.#over(group)?.resolve({ ended: "late" });
    }, ms);
    // The process is waited for while it owes an answer, and at no other time.
    group.child.ref();
    group.child.stdin.write(line);
    return new Promise<LineAnswer>((resolve, reject) => {
      this.#asked = { group, said: "", resolve, reject };
    }).finally(() => {
      clearTimeout(timer);
      group.child.unref();
    });
  }

  /** At once: it may be a sandbox that passes no signals on while it starts. */
  end(): void {
    const group = this.#group;
    this.#group = undefined;
    group?.kill();
    group?.child.stdin.destroy();
  }

  /** What was asked of a process; it is answered now. */
  #over(group: Group): PendingLine | undefined {
    const asked = this.#asked?.group === group ? this.#asked : undefined;
    if (asked) this.#asked = undefined;
    return asked;
  }
}
