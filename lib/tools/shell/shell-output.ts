import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeState, StateFile, stateFolder } from "../../files/state.ts";

/** How many characters of a stream the model and hooks see. */
const SHOWN_CHARS = 30_000;
const TAIL_CHARS = 10_000;
/** With this many bytes a stream has more than SHOWN_CHARS characters, however they are encoded. */
const HEAD_BYTES = 4 * SHOWN_CHARS;
const TAIL_BYTES = 4 * TAIL_CHARS;
/** A command that never stops printing must not fill the disk. */
const FILE_BYTES = 256 * 1024 * 1024;

type Stream = "stdout" | "stderr";

/** What a command printed: all of it if it is short, else its start and its end, with the rest in a file. */
export interface Captured {
  readonly stdout: string;
  readonly stderr: string;
  /** The file with the bytes of both streams as they came, and its size. */
  readonly persistedOutputPath?: string;
  readonly persistedOutputSize?: number;
}

export interface Capture {
  readonly hear: (stream: Stream, data: Buffer) => void;
  /** `more`: the command still runs; a character that is not complete yet is left for `next`. */
  readonly end: (options?: { more?: boolean }) => Captured;
  /** A capture of what follows. */
  readonly next: () => Capture;
}

/** Where full outputs go: the project's own state folder, where Read may look; else the machine's. */
function outputFolder(cwd: string): string {
  try {
    return stateFolder(cwd, process.env, "tool-results");
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return stateFolder(tmpdir(), { CROCHET_HOME: "crochet-tool-results" });
  }
}

/** Collects output, shows it as it comes, and spills to a file named `name` once it is long. */
export function capture(
  options: { cwd: string; name: string; show?: (text: string) => void },
  start?: Record<Stream, StreamParts>,
): Capture {
  const streams = start ?? { stdout: new StreamParts(), stderr: new StreamParts() };
  const early: Buffer[] = [];
  let bytes = 0;
  let file: ReturnType<typeof newFile> | undefined;
  let shown = 0;
  let failure: Error | undefined;

  /** Takes the last of the bytes. */
  const spill = (data: Buffer): void => {
    if (failure !== undefined) return;
    try {
      file ??= newFile(outputFolder(options.cwd), options.name.replace(/[^\w-]/g, "_").slice(0, 100));
      const room = Math.max(0, FILE_BYTES - (bytes - data.length));
      for (const chunk of [...early.splice(0), data.subarray(0, room)]) file.to.write(chunk);
    } catch (error) {
      // Reported at the end of the call: thrown here it could not be caught.
      failure = error as Error;
    }
  };

  return {
    hear: (stream, data) => {
      streams[stream].add(data);
      bytes += data.length;
      if (bytes > SHOWN_CHARS) spill(data);
      else early.push(Buffer.from(data));
      if (options.show && shown < SHOWN_CHARS) {
        const text = streams[stream].live.decode(data, { stream: true }).slice(0, SHOWN_CHARS - shown);
        shown += text.length;
        if (text !== "") options.show(shown < SHOWN_CHARS ? text : `${text}\n… (the rest is not shown live)\n`);
      }
    },
    end: ({ more = false } = {}) => {
      if (failure !== undefined) {
        if (file !== undefined) file.to.close();
        const why = `${failure.message}: free some space, or have the command print less; it has run`;
        throw new Error(`Cannot keep the ${bytes} bytes that the command printed: ${why}`, { cause: failure });
      }
      const long = streams.stdout.isLong() || streams.stderr.isLong();
      const text = (stream: Stream) => streams[stream].text(more, file?.path);
      const captured = { stdout: text("stdout"), stderr: text("stderr") };
      if (file === undefined) return captured;
      file.to.close();
      if (long) {
        return { ...captured, persistedOutputPath: file.path, persistedOutputSize: Math.min(bytes, FILE_BYTES) };
      }
      removeState(file.path);
      return captured;
    },
    next: () => capture(options, { stdout: streams.stdout.rest(), stderr: streams.stderr.rest() }),
  };
}

/** The model reads the path, so it must be the same in every run: otherwise a replay would send other requests. */
function newFile(folder: string, name: string): { readonly to: StateFile; readonly path: string } {
  for (let n = 1;; n++) {
    const path = join(folder, n === 1 ? `${name}.txt` : `${name}-${n}.txt`);
    try {
      return { to: new StateFile(path, "new"), path };
    } catch (error) {
      if ((error as { code?: string }).code !== "EEXIST") throw error;
    }
  }
}

/** One stream: its first bytes, and its last ones once it is long. */
class StreamParts {
  readonly live = new TextDecoder();
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  #bytes = 0;

  add(data: Buffer): void {
    this.#bytes += data.length;
    if (this.#headBytes < HEAD_BYTES) {
      const part = Buffer.from(data.subarray(0, HEAD_BYTES - this.#headBytes));
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    this.#tail = Buffer.concat([this.#tail, data.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
  }

  isLong(): boolean {
    return this.#bytes > HEAD_BYTES || decode(Buffer.concat(this.#head)).length > SHOWN_CHARS;
  }

  text(more: boolean, path: string | undefined): string {
    const head = Buffer.concat(this.#head);
    const whole = decode(more && this.#bytes <= HEAD_BYTES ? head.subarray(0, head.length - unfinished(head)) : head);
    if (!this.isLong()) return whole;
    const note = `\n\n… output of ${this.#bytes} bytes is too long to show; all of it is in ${path} …\n\n`;
    const room = SHOWN_CHARS - TAIL_CHARS - note.length;
    return whole.slice(0, room).replace(/[\uD800-\uDBFF]$/, " ") + note +
      decode(this.#tail).slice(-TAIL_CHARS).replace(/^[\uDC00-\uDFFF]/, " ");
  }

  rest(): StreamParts {
    const rest = new StreamParts();
    const n = unfinished(this.#tail);
    if (n > 0) rest.add(this.#tail.subarray(-n));
    return rest;
  }
}

function decode(data: Buffer): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(data);
}

/** How many bytes at the end start a character that is not complete. */
function unfinished(data: Buffer): number {
  for (let n = 1; n <= Math.min(3, data.length); n++) {
    const byte = data[data.length - n]!;
    if ((byte & 0xc0) === 0x80) continue;
    return byte >= 0xc0 && n < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? n : 0;
  }
  return 0;
}
