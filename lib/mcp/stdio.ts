import type { JSONRPCMessage, ReadBuffer, Transport } from "@modelcontextprotocol/client";
import { type Group, type GroupOptions, startGroup } from "../process/process.ts";
import { endTree } from "../process/process-tree.ts";

export interface StdioOptions extends Pick<GroupOptions, "command" | "args" | "cwd" | "env"> {
  /** The SDK's reader of lines. */
  readonly reader: ReadBuffer;
}

/** How long a server may take to end once its input is closed. */
const GRACE_MS = 400;
/** What is kept of what a server writes to stderr. */
const STDERR_CHARS = 2000;

/** A server as a group of processes: the SDK's own transport would leave what a wrapper such as npx has started. */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: StdioOptions;
  #group: Group | undefined;
  #stderr = "";
  #isClosed = false;

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  /** The last error on stderr, else the last words: runtimes name their version after an error. */
  get lastWords(): string {
    const lines = this.#stderr.trimEnd().split("\n").map((line) => line.trim());
    return lines.findLast((line) => /^(?:error|\w*Error)\b[^:]*: /.test(line)) ?? lines.at(-1)!;
  }

  start(): Promise<void> {
    const { command, args, cwd, env, reader } = this.#options;
    return new Promise((resolve, reject) => {
      const { child } = this.#group = startGroup({ command, args, cwd, env });
      child.once("spawn", resolve);
      child.once("error", (error) => {
        reject(error);
        this.#over();
      });
      child.once("close", () => this.#over());
      // Another process may hold the pipes of a server that has ended.
      child.once("exit", () => setTimeout(() => this.#over(), GRACE_MS).unref());
      child.stderr.on("data", (chunk) => {
        this.#stderr = (this.#stderr + new TextDecoder().decode(chunk)).slice(-STDERR_CHARS);
      });
      child.stdout.on("data", (chunk) => {
        try {
          reader.append(chunk);
        } catch (error) {
          this.onerror?.(error as Error);
          return void this.close();
        }
        this.#read(reader);
      });
    });
  }

  #read(reader: ReadBuffer): void {
    for (;;) {
      try {
        const message = reader.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error as Error); // a line that is not a message: servers print banners
      }
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#group?.child.stdin;
    if (!stdin?.writable || this.#isClosed) throw new Error("The server has ended");
    if (stdin.write(`${JSON.stringify(message)}\n`)) return;
    await new Promise<void>((resolve) => {
      stdin.once("drain", resolve);
      stdin.once("close", resolve);
    });
  }

  /** Closes its input, waits a moment, then ends it with everything it started. */
  async close(): Promise<void> {
    const { child } = this.#group ?? {};
    const { pid } = child ?? {};
    if (!child || pid === undefined) return this.#over();
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, GRACE_MS);
        child.once("exit", () => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    await endTree(pid);
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
    this.#over();
  }

  #over(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }
}
