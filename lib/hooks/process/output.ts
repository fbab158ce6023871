import { closeSync, openSync, writeSync } from "node:fs";

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
  /** The file that holds the whole, where memory holds only its head. */
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

  /** The head as text; bytes that are no UTF-8 become U+FFFD, and a byte order mark goes. */
  end(): string {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    const whole = new Uint8Array(Math.min(this.#size, KEPT_BYTES));
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return new TextDecoder().decode(whole);
  }
}
