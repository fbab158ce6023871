import { Buffer } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { quietly } from "../core/json.ts";
import { ROOTS, ToolError } from "../core/tool.ts";
import { isKey } from "./user-key.ts";

/** Loaded by the first tool: few runs that only read a log or a tape need it. */
const disk = () => process.getBuiltinModule("node:fs/promises");

/** Where a tool works, and the directories it must stay in. */
export interface Workspace {
  readonly cwd: string;
  /** Holds the roots under `ROOTS`; without them the working directory is the one root. */
  readonly state: ReadonlyMap<string, unknown>;
}

export interface FilePlace {
  /** The absolute path as it was asked for: what results and hooks show. */
  readonly path: string;
  /** The same with every symbolic link resolved: what is locked, read and written. */
  readonly real: string;
  readonly exists: boolean;
}

/** A path as hooks see it: nothing expanded or decoded; a slash at its end stays, because it asks for a directory. */
export function absolute(path: string, cwd: string): string {
  const full = resolve(cwd, path);
  return path.endsWith("/") && full !== "/" ? `${full}/` : full;
}

/** Resolves a path to its real place, or refuses it with a ToolError when that is outside every root. */
export async function confine(path: string, workspace: Workspace): Promise<FilePlace> {
  const full = absolute(path, workspace.cwd);
  const { real, exists } = await resolveLinks(full, 0);
  const roots = await rootsOf(workspace);
  if (!roots.some((root) => isInside(real, root))) {
    throw new ToolError(
      `Cannot use '${full}' as it is outside the workspace: allowed is ${roots.map((r) => `'${r}'`).join(", ")}`,
      { code: "outside_root", refusedBy: "workspace" },
    );
  }
  if (exists && isKey(real)) {
    throw new ToolError(`Cannot use '${full}' as it is the key of your logs: no tool may read or write it`, {
      code: "outside_root",
      refusedBy: "workspace",
    });
  }
  return { path: full, real, exists };
}

export function isInside(real: string, root: string): boolean {
  return real === root || real.startsWith(root.endsWith("/") ? root : `${root}/`);
}

async function rootsOf({ cwd, state }: Workspace): Promise<string[]> {
  const set = state.get(ROOTS);
  // The working directory follows the agent's shell: were it a root too, `cd /` would open the whole machine.
  const given = Array.isArray(set) ? set.filter((root) => typeof root === "string") : [cwd];
  const real = await Promise.all(given.map((root) => disk().realpath(resolve(cwd, root)).catch(() => undefined)));
  return [...new Set(real.filter((root) => root !== undefined))];
}

const MAX_LINKS = 40;

/** Like realpath, but for a path that is not there yet it resolves what is: a missing file must not hide a link that leaves. */
async function resolveLinks(path: string, links: number): Promise<{ real: string; exists: boolean }> {
  try {
    return { real: await disk().realpath(path), exists: true };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP" || links > MAX_LINKS) {
      throw new ToolError(`File not found: '${path}' is a symbolic link that leads to itself`, {
        code: "no_such_file",
      });
    }
    if (code !== "ENOENT" && code !== "ENOTDIR") throw unreadable(path, error);
  }
  const parent = await resolveLinks(dirname(path), links);
  const real = join(parent.real, basename(path));
  const target = await disk().readlink(real).catch(() => undefined);
  if (target !== undefined) return resolveLinks(resolve(parent.real, target), links + 1);
  // What realpath missed and lstat sees was made just now, or is a file asked for as a directory.
  return { real, exists: !path.endsWith("/") && await disk().lstat(real).then(() => true, () => false) };
}

function unreadable(path: string, error: unknown): ToolError {
  return new ToolError(`Cannot use '${path}' as it cannot be looked up: ${(error as Error).message}`, {
    code: "unreadable",
  });
}

/** Linux's O_PATH, which Node does not name: a directory can be held without the permission to list it. */
const O_PATH = 0o10000000;

/**
 * Holds a directory that was found to be allowed: between that and its use another program may put a link in its
 * place, or in that of a directory above. `path` leads into that very directory, for children too; if the system does
 * not show what is open, it is its name.
 *
 * @throws {ToolError} where another directory is there now
 */
export function hold(directory: string): { readonly path: string; close(): void } {
  if (process.platform !== "linux") return { path: directory, close() {} };
  const fd = openSync(directory, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const isSure = refuseOther(fd, directory);
    return { path: isSure ? openPath(fd) : directory, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Throws a ToolError where what was opened under a name lies elsewhere. @returns whether the system shows it */
function refuseOther(fd: number, real: string): boolean {
  const opened = quietly(() => readlinkSync(openPath(fd)));
  if (opened === undefined) return false;
  // A file that was replaced since is still the one that was asked for.
  if (opened === real || opened === `${real} (deleted)`) return true;
  throw new ToolError(`Cannot use '${real}' as a link has taken the place of a directory above it: look again`, {
    code: "changed",
  });
}

function openPath(fd: number): string {
  return `/proc/${process.pid}/fd/${fd}`;
}

/** A whole regular file of at most so many bytes. Looks before it opens: opening a FIFO would wait for a writer. */
export async function readRegular(
  { path, real }: FilePlace,
  verb: string,
  most: number,
): Promise<{ bytes: Buffer; stat: Stats }> {
  const found = await disk().stat(real);
  if (found.isDirectory()) {
    throw new ToolError(`Cannot ${verb} '${path}' as it is a directory: name a file in it`, { code: "is_directory" });
  }
  if (!found.isFile()) {
    throw new ToolError(`Not a regular file: '${path}' is a FIFO, a socket or a device`, { code: "not_regular" });
  }
  if (found.size > most) {
    const why = `it is over ${most / 2 ** 20} MiB: use Grep or Bash, current size is ${found.size} bytes`;
    throw new ToolError(`Cannot ${verb} '${path}' as ${why}`, { code: "too_large" });
  }
  const handle = await disk().open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    refuseOther(handle.fd, real);
    const stat = await handle.stat();
    // Files of the system, as in /proc, say that they are empty.
    if (stat.size === 0) return { bytes: await handle.readFile(), stat };
    const bytes = Buffer.allocUnsafeSlow(stat.size);
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return { bytes: bytes.subarray(0, filled), stat };
  } finally {
    await handle.close();
  }
}

/** Throws an error of the system as a refusal of the tool. */
export function throwAs(verb: string, { path }: FilePlace, error: unknown): never {
  if (error instanceof ToolError) throw error;
  const { code, message } = error as NodeJS.ErrnoException;
  throw new ToolError(`Cannot ${verb} '${path}' as the system refused: ${message}`, { code: code ?? "failed" });
}

/** More than any hook, settings or memory file has, and less than fills the memory. */
const MOST_BYTES = 10_000_000;

/**
 * Reads a file that a checkout brought along: a regular file of at most 10 MB that does not lead out of the project.
 * Undefined if there is nothing.
 *
 * @throws {Error} with the reason, by the file's name
 */
export function readBrought(project: string, path: string): Uint8Array | undefined {
  const name = relative(project, path);
  const refuse = (why: string) => new Error(`'${name}' ${why}`);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  const real = quietly(() => realpathSync(path));
  if (real === undefined) throw refuse("is a link that leads nowhere");
  if (!isInside(real, realpathSync(project))) throw refuse("is a link that leads out of the project");
  if (!lstatSync(real).isFile()) throw refuse("is not a regular file");
  // Looked at again once it is open: a pipe put in its place meanwhile would never end.
  const file = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw refuse("is not a regular file");
    if (stat.size > MOST_BYTES) throw refuse(`is larger than ${MOST_BYTES / 1_000_000} MB`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** A folder and those above it, the nearest first. */
export function foldersUp(folder: string): string[] {
  return dirname(folder) === folder ? [folder] : [folder, ...foldersUp(dirname(folder))];
}

/** The path of a file from the workspace it is in; undefined if it is in none. */
export function workspacePath(root: string, path: string): string | undefined {
  // A shell that went elsewhere may name the workspace by another way than it was given by, one of which is a link.
  const real = join(realpathSync(dirname(path)), basename(path));
  return [relative(root, path), relative(realpathSync(root), real)].find((way) => !way.startsWith(".."));
}
