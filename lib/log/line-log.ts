import { parsed } from "../core/json.ts";
import { makeFolder, readStateBytes, StateFile, syncFolder } from "../files/state.ts";
import { dirname } from "node:path";
import { sha256 } from "../runtime/sha256.ts";

const BEFORE = '\n{"seal":"';
const SEAL_BYTES = Buffer.byteLength(`${BEFORE.slice(1)}${"0".repeat(32)}"}\n`);

/**
 * What makes a log its user's own: each append ends with a line that holds a code, made by the user's key, of the code
 * before it and the bytes since. What is added, taken out or changed by others does not fit it.
 */
export class Seal {
  readonly #key: Uint8Array;
  #last = "log";
  /** Where the log ends; what follows was appended and not sealed. */
  end = 0;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** The code of what follows. */
  codeOf(lines: string | Uint8Array): string {
    const code = sha256(this.#key).update(`${this.#last}\n`).update(lines).digest();
    return Buffer.from(code.buffer, code.byteOffset, 24).toString("base64url");
  }

  /** What was appended is in the log, with its seal. */
  sealed(code: string, bytes: number): void {
    this.#last = code;
    this.end += bytes;
  }

  /** Follows the seals of a log, or only its first; undefined if there is none, or one does not hold. */
  static of(bytes: Buffer, key: Uint8Array, most = Infinity): Seal | undefined {
    const seal = new Seal(key);
    for (let n = 0; n < most; n++) {
      const at = bytes.indexOf(BEFORE, seal.end) + 1;
      const end = at + SEAL_BYTES;
      if (at === 0 || end > bytes.length) break;
      const code = seal.codeOf(bytes.subarray(seal.end, at));
      if (bytes.toString("latin1", at, end) !== lineOf(code)) return undefined;
      seal.sealed(code, end - seal.end);
    }
    return seal.end > 0 ? seal : undefined;
  }
}

function lineOf(code: string): string {
  return `{"seal":"${code}"}\n`;
}

/**
 * An append-only file of JSON lines. A write is on the disk when `append` returns. Before the first write, what a crash
 * left behind is cut off, so that it never ends up inside the file: half a line, or all that no seal follows.
 */
export class LineLog {
  readonly #path: string;
  readonly #seal: Seal | undefined;
  #file: StateFile | undefined;

  constructor(path: string, seal?: Seal) {
    this.#path = path;
    this.#seal = seal;
  }

  append(values: readonly unknown[], sync = true): void {
    const file = this.#file ??= this.#open(sync);
    if (this.#seal?.end === 0 && values.length > 1) {
      this.append(values.slice(0, 1), false); // sealed by itself: whose a log is, its beginning tells
      return this.append(values.slice(1), sync);
    }
    const lines = values.map((v) => `${JSON.stringify(v)}\n`).join("");
    const code = this.#seal?.codeOf(lines);
    const bytes = Buffer.from(code === undefined ? lines : lines + lineOf(code));
    try {
      file.write(bytes);
      if (sync) file.sync();
      if (code !== undefined) this.#seal!.sealed(code, bytes.length);
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

  #open(sync: boolean): StateFile {
    makeFolder(dirname(this.#path));
    const file = new StateFile(this.#path, "append");
    if (file.size > 0) file.cut(this.#seal?.end ?? endOfLastLine(file));
    else if (sync) syncFolder(dirname(this.#path));
    return file;
  }
}

/** Appends one line to such a file, which is not kept open. */
export function appendLine(path: string, value: unknown): void {
  const log = new LineLog(path);
  log.append([value]);
  log.close();
}

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

/** The values of all lines that are JSON, and the numbers of the lines that are not. Empty lines and seals are ignored. */
export function jsonLines<T>(text: string): { readonly values: T[]; readonly bad: number[] } {
  const values: T[] = [];
  const bad: number[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    if (line === "" || line.startsWith(BEFORE.slice(1))) continue;
    const value = parsed(line);
    if (value === undefined) bad.push(i + 1);
    else values.push(value as T);
  }
  return { values, bad };
}

interface Lines<T> {
  readonly values: T[];
  /** The size of what is left out at the end: an incomplete line, or what no seal follows. */
  readonly torn: number;
  /** The seal to go on with, if a key is given and the log is its own. */
  readonly seal: Seal | undefined;
}

/** Reads a log that a `LineLog` wrote; undefined if there is none. @throws {Error} if a line before what is left out is not JSON */
export function readLineLog<T>(path: string, key?: Uint8Array): Lines<T> | undefined {
  const bytes = readStateBytes(path);
  if (bytes === undefined) return undefined;
  const seal = key && Seal.of(bytes, key);
  const end = seal?.end ?? bytes.lastIndexOf(10) + 1;
  const { values, bad } = jsonLines<T>(bytes.toString("utf8", 0, end));
  if (bad.length > 0) throw new Error(`Cannot read ${path} as line ${bad[0]} is not JSON: it was changed from outside`);
  return { values, torn: bytes.length - end, seal };
}
