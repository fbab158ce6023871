import type { Io } from "./io.ts";
import { cut, oneLine } from "../show/text.ts";

/** Does the same for each item, a few at a time, until an abort; between items signals are let in, also by work that never waits. */
export async function eachOf<I, O>(
  items: readonly I[],
  { atOnce, signal }: { readonly atOnce: number; readonly signal: AbortSignal },
  work: (item: I) => Promise<O>,
): Promise<O[]> {
  const results: O[] = [];
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < items.length && !signal.aborted; i = next++) {
      results[i] = await work(items[i]!);
      await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return Object.values(results); // without the holes
}

/** Reports how many items an abort left out. */
export function reportLeft(left: number, all: number, done: string, { err }: Pick<Io, "err">): void {
  if (left > 0) err(`crochet: interrupted: ${left} of ${all} were not ${done}\n`);
}

/** A line of progress on stderr that is overwritten; shown only on a terminal that can do that. */
export class ProgressLine {
  readonly #write: ((text: string) => void) | undefined;

  constructor(io: Io) {
    const isShown = io.tty && process.stderr.isTTY === true && io.env.TERM !== "dumb";
    this.#write = isShown ? (text) => io.err(`\r\u001b[K${text}`) : undefined;
  }

  /** What does not fit is cut off: a row too long could not be written over. A line that is not shown asks for no width, as node's streams take longer to load than a replay. */
  show(text: string): void {
    this.#write?.(cut(oneLine(text), (process.stderr.columns || 80) - 1));
  }

  end(): void {
    this.#write?.("");
  }
}
