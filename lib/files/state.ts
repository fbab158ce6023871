import {
  closeSync,
  constants,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { quietly } from "../core/json.ts";
import { hashOf } from "../runtime/sha256.ts";
import { writeWhole, writing } from "./drafts.ts";

/**
 * The one way to what lies under `.crochet` of a project, a folder that `CROCHET_HOME` or `CROCHET_LOG` names, and the
 * user's `~/.crochet`: a checkout may bring links, pipes and other people's files along.
 */
type Environment = { readonly [name: string]: string | undefined };

/** No file of state is larger. */
const MOST_BYTES = 2 ** 30;

/** @throws {TypeError} if a path is a link: it may lead anywhere */
export function expectNoLink(path: string): void {
  if (lookAt(path)?.isSymbolicLink()) throw isLink(path);
}

const MISSING = ["ENOENT", "ENOTDIR"];

/** What a path is, not what a link leads to; undefined if there is nothing. */
function lookAt(path: string): Stats | undefined {
  return quietly(() => lstatSync(path), MISSING);
}

function isLink(path: string): TypeError {
  return new TypeError(`Cannot use ${path} as it is a link: remove it`);
}

/**
 * A path in a project's state: in `.crochet`, or where `CROCHET_HOME` says. What a person names may be a link, and so may
 * their own `~/.crochet`.
 *
 * @throws {TypeError} if a part of it is a link
 */
export function statePath(cwd: string, env: Environment, ...names: readonly string[]): string {
  const { CROCHET_HOME: named } = env;
  const path = named ? resolve(cwd, named) : join(cwd, ".crochet");
  if (!named && path !== userState(env)) expectNoLink(path);
  return pathBelow(path, names);
}

/** A path in a folder of state, part by part. @throws {TypeError} if one is a link, or leads out of it */
export function pathBelow(folder: string, names: readonly string[]): string {
  return names.reduce((above, name) => {
    const path = join(above, name);
    if (!path.startsWith(join(above, "/"))) {
      throw new TypeError(`Cannot use '${name}' in ${above} as it leads elsewhere`);
    }
    expectNoLink(path);
    return path;
  }, folder);
}

/** A folder of a project's state, which is made: only its user reads it, and git ignores it. */
export function stateFolder(cwd: string, env: Environment, ...names: readonly string[]): string {
  const path = statePath(cwd, env, ...names);
  const ignored = join(path, ".gitignore");
  try {
    makeFolder(path);
    writing(ignored, () => writeFileSync(ignored, "*\n", { flag: "wx" }));
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (["ENOSPC", "EDQUOT"].includes(code)) removeState(ignored); // it would be there, and empty
    if (["EACCES", "EPERM", "EROFS"].includes(code)) {
      throw new Error(`Cannot write to ${path}: set CROCHET_HOME to a folder of yours`);
    }
    if (code !== "EEXIST" || !lstatSync(path).isDirectory()) throw error;
  }
  return path;
}

/** Where the runs of a project are logged: a folder that `CROCHET_LOG` names, or one with its state, which can be made. */
export function logsDir(cwd: string, env: Environment = process.env, make = false): string {
  const { CROCHET_LOG: named = "" } = env;
  if (named !== "" && named !== "off") return resolve(cwd, named);
  return (make ? stateFolder : statePath)(cwd, env, "runs");
}

/**
 * Where what a person decided is kept: which bytes they trust, which hooks they switched off. Never inside a
 * checkout, which could bring such decisions along: a relative `CROCHET_HOME` does not count here.
 */
export function userState({ CROCHET_HOME: named, HOME: home }: Environment): string {
  return named && isAbsolute(named) ? named : join(home || homedir(), ".crochet");
}

/** The file in which a person's decisions of one kind about one path are kept: by its hash, as a path is not a file name. */
export function stateFile(
  kind: "trust" | "switches" | "installed" | "permissions",
  path: string,
  env: Environment,
): string {
  return join(pathBelow(userState(env), [kind]), `${hashOf(path, 32)}.json`);
}

type OpenMode = "read" | "append" | "new";

export class StateFile {
  readonly #path: string;
  readonly #fd: number;
  /** How large it was when it was opened. */
  readonly size: number;

  /**
   * Opens a regular file that is not a link and not too large. One to append to is made if it is missing; only its user may read it.
   *
   * @throws {Error} if it is something else; with the code `ENOENT` if it is not there, `EEXIST` if it should be new
   */
  constructor(path: string, how: OpenMode) {
    this.#path = path;
    try {
      this.#fd = openSync(path, FLAGS[how] | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
    } catch (error) {
      const { code } = error as { code?: string };
      throw code === "ELOOP" ? isLink(path) : code === "ENXIO" ? unfit(path, "no regular file") : error;
    }
    const stat = fstatSync(this.#fd);
    this.size = stat.size;
    const why = whyUnfit(stat, how);
    if (why === undefined && how === "append") fchmodSync(this.#fd, 0o600);
    if (why === undefined) return;
    this.close();
    throw unfit(path, why);
  }

  /** A disk that is nearly full takes a part at a time. */
  write(bytes: Uint8Array): void {
    writing(this.#path, () => {
      for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at);
    });
  }

  /** Fills a part of the bytes with what the file has from a place on; returns how many there were. */
  read(into: Uint8Array, from: number): number {
    return readSync(this.#fd, into, 0, into.length, from);
  }

  readAll(): Buffer {
    return readFileSync(this.#fd);
  }

  cut(size: number): void {
    ftruncateSync(this.#fd, size);
  }

  sync(): void {
    writing(this.#path, () => fdatasyncSync(this.#fd));
  }

  close(): void {
    closeSync(this.#fd);
  }
}

const FLAGS: { readonly [how in OpenMode]: number } = {
  read: constants.O_RDONLY,
  append: constants.O_RDWR | constants.O_APPEND | constants.O_CREAT,
  new: constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL,
};

function whyUnfit(stat: Stats, how: OpenMode): string | undefined {
  if (!stat.isFile()) return "no regular file";
  if (stat.size > MOST_BYTES) return "larger than 1 GiB";
  const user = process.getuid?.() ?? 0;
  return how === "append" && user !== 0 && stat.uid !== user ? "another user's" : undefined;
}

function unfit(path: string, why: string): Error {
  return new Error(`Cannot use ${path} as it is ${why}: move it away`);
}

/** A new file survives a power cut only once its folder is on the disk too. */
export function syncFolder(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The bytes of a file; undefined if it is not there. */
export function readStateBytes(path: string): Buffer | undefined {
  const file = quietly(() => new StateFile(path, "read"), ["ENOENT"]);
  try {
    return file?.readAll();
  } finally {
    file?.close();
  }
}

/** The text of a file; undefined if it is not there. */
export function readStateFile(path: string): string | undefined {
  return readStateBytes(path)?.toString();
}

/** Adds to a file in one write, so that others who add at the same time need no lock. */
export function appendStateFile(path: string, text: string): void {
  makeFolder(dirname(path));
  const file = new StateFile(path, "append");
  try {
    file.write(Buffer.from(text));
  } finally {
    file.close();
  }
}

/** Writes a file for its user alone, whole or not at all; what stood there, a link too, is replaced. */
export function writeStateFile(path: string, text: string | Uint8Array, { replace = true, mode = 0o600 } = {}): void {
  makeFolder(dirname(path));
  writeWhole(path, text, { mode, replace });
}

/** Lets a name in a folder lead to another one there, as others may do at the same time. */
export function linkState(folder: string, name: string, to: string): void {
  const draft = join(folder, to, crypto.randomUUID());
  symlinkSync(to, draft);
  renameSync(draft, join(folder, name));
}

/** Gives a file the name of another, which goes. */
export function replaceState(from: string, to: string): void {
  renameSync(from, to);
}

/** Makes a folder for its user alone. */
export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** The regular files of a folder by how their names end, with when they were written. */
export function stateFiles(folder: string, ending: string): { readonly path: string; readonly at: number }[] {
  return namesIn(folder).filter((name) => name.endsWith(ending)).flatMap((name) => {
    const path = join(folder, name);
    const at = writtenAt(path);
    return at === undefined ? [] : [{ path, at }];
  });
}

/** The names in a folder; none if it is not there, or no folder. */
export function namesIn(folder: string): string[] {
  return quietly(() => readdirSync(folder), MISSING) ?? [];
}

/** Whether something is there; a link that leads nowhere too. */
export function hasState(path: string): boolean {
  return lookAt(path) !== undefined;
}

/** Whether there is a folder; a link to one counts. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** A text that is another one once a file has changed; none if it is not there. */
export function signOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.mtimeMs} ${stat.ctimeMs} ${stat.ino} ${stat.size}`;
}

/** When a regular file was written. */
export function writtenAt(path: string): number | undefined {
  const stat = lookAt(path);
  return stat?.isFile() ? stat.mtimeMs : undefined;
}

/** Removes a file, a link or a folder with all in it. */
export function removeState(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** Where a path really leads; undefined if nowhere. */
export function realState(path: string): string | undefined {
  return quietly(() => realpathSync(path));
}

/** A new folder in a folder of state, which no other process uses. */
export function scratchState(folder: string, name: string): string {
  return mkdtempSync(join(folder, `${name}-`));
}
