import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { quietly } from "../core/json.ts";
import { isGone, thisOwner } from "../process/owner.ts";

const MARK = ".draft-";

/** A run takes hours at most: what another machine has begun before this was left behind. */
const LONGEST_RUN = 24 * 60 * 60 * 1000;

/** Where a file or a folder is made that is whole only under its own name. It says whose it is: a killed process leaves it. */
export function draftIn(folder: string): string {
  return join(folder, `${MARK}${thisOwner()}-${crypto.randomUUID().slice(0, 8)}`);
}

/** Removes what ended processes left in a folder, as far as it may be: what is written next is worth more. */
export function sweep(folder: string): void {
  for (const name of readdirSync(folder).filter((name) => name.startsWith(MARK))) {
    const path = join(folder, name);
    quietly(() => {
      const tooOld = Date.now() - lstatSync(path).mtimeMs - LONGEST_RUN;
      if (isGone(name.slice(MARK.length), tooOld)) rmSync(path, { recursive: true, force: true });
    });
  }
}

/**
 * Writes a file that others see whole or not at all; its folder is made if it is missing.
 *
 * @throws {Error} if it cannot be written; with the code `EEXIST` if it exists and must not be replaced
 */
export function writeWhole(path: string, text: string | Uint8Array, { replace = true, mode = 0o666 } = {}): void {
  const draft = draftIn(dirname(path));
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(draft, text, { mode });
    if (replace) renameSync(draft, path);
    else name(draft, path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && existsSync(path)) throw error;
    const words = wordsOf(error, path);
    throw new Error(words === message ? `Cannot write ${path} as ${message}` : words);
  } finally {
    // A file may stand where its folder should.
    if (existsSync(draft)) rmSync(draft);
  }
}

/** Lets an error of a write say which file it was about: that of a full disk does not. */
export function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path });
  }
}

/** What went wrong with a file; for a refusal of the system which file, and the fix. */
export function wordsOf(error: unknown, file?: string): string {
  const { code = "", path, dest, message = String(error) } = (error ?? {}) as { [about: string]: string | undefined };
  const verb = Object.hasOwn(REFUSALS, code) ? REFUSALS[code]![1] : undefined;
  return verb === undefined ? message : `Cannot ${verb} ${file ?? dest ?? path ?? "the output"} as ${refusalOf(error)}`;
}

/** Why the system refused a file, in words that follow "as". */
export function refusalOf(error: unknown): string {
  const { code = "", message = String(error) } = (error ?? {}) as { [about: string]: string | undefined };
  return Object.hasOwn(REFUSALS, code) ? REFUSALS[code]![0] : message;
}

const FULL = ["the disk is full: make room, then try again", "write"] as const;
const FORBIDDEN = ["that is not permitted: look at its owner and mode", "open"] as const;
/** By code: the words, and what could not be done, if that needs to be said. */
const REFUSALS: { readonly [code: string]: readonly [words: string, verb?: "write" | "open"] } = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EROFS: ["that file system is read-only: work somewhere else", "write"],
  EACCES: FORBIDDEN,
  EPERM: FORBIDDEN,
  ENOENT: ["there is no such file"],
  EISDIR: ["that is a folder"],
  EEXIST: ["a file stands in its way"],
  ENOTDIR: ["a file stands in its way"],
};

/** Gives a file its name, unless another process took the name meanwhile. */
function name(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    closeSync(openSync(path, "wx"));
    renameSync(draft, path);
  }
}

/** What file systems say that have no second names, as those of memory sticks and virtual machines. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);
