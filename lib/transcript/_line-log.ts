import {
  closeSync,
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
 * An append-only file of JSON lines. A write is on the disk when `append` returns; a line that a crash tore in two
 * is cut off before the next one is written, so that the tear never grows into the file.
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
      // A disk that is full takes a part of a line: opened anew, the log is cut there before it goes on.
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
    const { size } = fstatSync(fd);
    if (size > 0) ftruncateSync(fd, endOfLastLine(fd, size));
    else syncDirectory(dirname(this.#path));
    return fd;
  }
}

/** Where the last whole line ends. */
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

/** A new file survives a power cut only once its name is on the disk too. */
function syncDirectory(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export interface ReadLines<T> {
  readonly values: T[];
  /** Bytes of a last line that was torn, and passed over. */
  readonly torn: number;
}

/**
 * Reads a log whole. A torn last line is passed over; a line before it that does not parse is an error, because
 * then somebody else wrote there.
 */
export function readLines<T>(path: string): ReadLines<T> | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
  const end = text.lastIndexOf("\n") + 1;
  const torn = Buffer.byteLength(text.slice(end));
  const whole = text.slice(0, end);
  if (whole === "") return { values: [], torn };
  try {
    // Lines of JSON joined by commas are one JSON list: parsed in one go.
    return { values: JSON.parse(`[${whole.slice(0, -1).replaceAll("\n", ",")}]`) as T[], torn };
  } catch {
    return { values: whole.slice(0, -1).split("\n").map((line, i) => parseLine<T>(line, path, i + 1)), torn };
  }
}

function parseLine<T>(line: string, path: string, number: number): T {
  try {
    return JSON.parse(line) as T;
  } catch (error) {
    throw new Error(`Cannot read ${path} as line ${number} is not JSON: ${(error as Error).message}`);
  }
}
