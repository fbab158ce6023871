import {
  closeSync,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * An append-only file of JSON lines. A write is on the disk when `append` returns. Before the first write, an incomplete
 * last line that a crash left behind is cut off, so that it never ends up inside the file.
 */
export class LineLog {
  readonly #path: string;
  #fd: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  append(values: readonly unknown[], sync = true): void {
    const bytes = Buffer.from(values.map((v) => `${JSON.stringify(v)}\n`).join(""));
    const fd = this.#fd ??= this.#open();
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
      if (sync) fdatasyncSync(fd);
    } catch (error) {
      // A full disk takes part of a line: reopening the log cuts that part off.
      this.close();
      throw error;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #open(): number {
    const fd = openSync(this.#path, "a+", 0o600);
    fchmodSync(fd, 0o600);
    const { size } = fstatSync(fd);
    if (size > 0) ftruncateSync(fd, endOfLastLine(fd, size));
    else syncDirectory(dirname(this.#path));
    return fd;
  }
}

/** Where the last complete line ends. */
function endOfLastLine(fd: number, size: number): number {
  const chunk = Buffer.alloc(Math.min(size, 65_536));
  for (let end = size; end > 0; end -= chunk.length) {
    const start = Math.max(0, end - chunk.length);
    const length = readSync(fd, chunk, 0, end - start, start);
    const newline = chunk.subarray(0, length).lastIndexOf(10);
    if (newline >= 0) return start + newline + 1;
  }
  return 0;
}

/** A new file survives a power cut only once its directory entry is on the disk too. */
function syncDirectory(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
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
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
  const end = text.lastIndexOf("\n") + 1;
  const { values, bad } = jsonLines<T>(text.slice(0, end));
  if (bad.length > 0) throw new Error(`Cannot read ${path} as line ${bad[0]} is not JSON: it was changed from outside`);
  return { values, torn: Buffer.byteLength(text.slice(end)) };
}
