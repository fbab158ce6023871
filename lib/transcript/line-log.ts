import { makeFolder, readStateFile, StateFile, syncFolder } from "../files/state.ts";
import { dirname } from "node:path";

/**
 * An append-only file of JSON lines. A write is on the disk when `append` returns. Before the first write, an incomplete
 * last line that a crash left behind is cut off, so that it never ends up inside the file.
 */
export class LineLog {
  readonly #path: string;
  #file: StateFile | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  append(values: readonly unknown[], sync = true): void {
    const bytes = Buffer.from(values.map((v) => `${JSON.stringify(v)}\n`).join(""));
    const file = this.#file ??= this.#open();
    try {
      file.write(bytes);
      if (sync) file.sync();
    } catch (error) {
      // A full disk takes part of a line: reopening the log cuts that part off.
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): StateFile {
    makeFolder(dirname(this.#path));
    const file = new StateFile(this.#path, "append");
    if (file.size > 0) file.cut(endOfLastLine(file));
    else syncFolder(dirname(this.#path));
    return file;
  }
}

/** Where the last complete line ends. */
function endOfLastLine(file: StateFile): number {
  const chunk = Buffer.alloc(Math.min(file.size, 65_536));
  for (let end = file.size; end > 0; end -= chunk.length) {
    const start = Math.max(0, end - chunk.length);
    const length = file.read(chunk.subarray(0, end - start), start);
    const newline = chunk.subarray(0, length).lastIndexOf(10);
    if (newline >= 0) return start + newline + 1;
  }
  return 0;
}

/** The values of all lines that are JSON, and the numbers of the lines that are not. Empty lines are ignored. */
export function jsonLines<T>(text: string): { readonly values: T[]; readonly bad: number[] } {
  const values: T[] = [];
  const bad: number[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    if (line === "") continue;
    try {
      values.push(JSON.parse(line) as T);
    } catch {
      bad.push(i + 1);
    }
  }
  return { values, bad };
}

/**
 * Reads a log that a `LineLog` wrote; undefined if there is none. `torn` is the size of an incomplete last line, which
 * is left out.
 *
 * @throws {Error} if a line before it is not JSON: then something else wrote to the file
 */
export function readLineLog<T>(path: string): { readonly values: T[]; readonly torn: number } | undefined {
  const text = readStateFile(path);
  if (text === undefined) return undefined;
  const end = text.lastIndexOf("\n") + 1;
  const { values, bad } = jsonLines<T>(text.slice(0, end));
  if (bad.length > 0) throw new Error(`Cannot read ${path} as line ${bad[0]} is not JSON: it was changed from outside`);
  return { values, torn: Buffer.byteLength(text.slice(end)) };
}
