import type { Io } from "./_io.ts";
import { cut } from "./show/width.ts";
import { oneLine } from "./show/text.ts";

/** One line that is written over while work goes on, for who watches; none in a file, or on a terminal that cannot. */
export class ProgressLine {
  readonly #io: Io;
  readonly #shows: boolean;

  constructor(io: Io) {
    this.#io = io;
    this.#shows = io.tty && process.stderr.isTTY === true && io.env.TERM !== "dumb";
  }

  /** What does not fit is cut off: a row too long could not be written over. */
  show(text: string): void {
    if (this.#shows) this.#io.err(`\r\u001b[K${cut(oneLine(text), (process.stderr.columns || 80) - 1)}`);
  }

  end(): void {
    if (this.#shows) this.#io.err("\r\u001b[K");
  }
}
