import { Buffer } from "node:buffer";
import { constants, type Stats } from "node:fs";
import * as disk from "node:fs/promises";
import { access, type FileHandle, mkdir, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type ToolContext, ToolError } from "../core/tool.ts";
import { isGone, thisOwner } from "../process/owner.ts";
import { confine, type FilePlace, hold, readRegular, throwAs } from "./confine.ts";
import { withFileLock } from "./lock.ts";
import { changedSinceRead, logChange, preImageOf, recordRead } from "./file-history.ts";
import { pieces, type Splice, splicedLength } from "./text-bytes.ts";

/** What a tool needs of its context to change a file. */
export type FileContext = Pick<ToolContext, "cwd" | "state" | "signal">;

export interface ChangeOptions<Plan> {
  /** "edit", "write": for error texts. */
  readonly verb: string;
  /** Whether a file that is not there is made, with its parents. @default false */
  readonly create?: boolean;
  /** Whether undo can take the change back. @default true */
  readonly undoable?: boolean;
  /** Whether the model knows all of the new bytes without reading them. @default false */
  readonly known?: boolean;
  /** What to change. Called with the file's bytes, inside its lock; a throw leaves everything as it is. */
  readonly plan: (bytes: Uint8Array | undefined, place: FilePlace) => Plan;
  /** Work on a plan that can be done while the system writes. */
  readonly meanwhile?: (bytes: Uint8Array | undefined, plan: Plan) => void;
}

export interface Changed<Plan> {
  readonly place: FilePlace;
  readonly plan: Plan;
  /** The old bytes; undefined for a new file. */
  readonly before: Uint8Array | undefined;
  /** Whether the bytes were other than those last read; undefined if the file was never read. */
  readonly changedSinceRead: boolean | undefined;
  /** The file has several names, so it was written in place. */
  readonly hardLinked: boolean;
  /** Why undo cannot take this back, if it cannot. */
  readonly notUndoable: string | undefined;
}

/**
 * The one way a tool changes a file: inside its lock read it, plan on the bytes it has now, and replace it if it is
 * still the same. When another program changed it meanwhile all of that is done once more, then given up.
 */
export async function changeFile<Plan extends { readonly splices: readonly Splice[] }>(
  path: string,
  context: FileContext,
  options: ChangeOptions<Plan>,
): Promise<Changed<Plan>> {
  const place = await confine(path, context);
  if (!place.exists && !options.create) throw notFound(place.path);
  if (!place.exists && place.path.endsWith("/")) {
    throw new ToolError(
      `Cannot ${options.verb} '${place.path}' as it names a directory: leave out the slash at its end`,
      { code: "is_directory" },
    );
  }
  return await withFileLock(place.real, context.signal, async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      const changed = await attemptChange(place, context, options);
      if (changed !== undefined) return changed;
    }
    throw new ToolError(`Cannot ${options.verb} '${place.path}' as another program keeps changing it: try again`, {
      code: "changed",
    });
  });
}

async function attemptChange<Plan extends { readonly splices: readonly Splice[] }>(
  place: FilePlace,
  context: FileContext,
  options: ChangeOptions<Plan>,
): Promise<Changed<Plan> | undefined> {
  const { verb, create = false, undoable = true, known = false, meanwhile } = options;
  const original = await readOriginal(place, verb, create);
  const before = original?.bytes;
  const plan = options.plan(before, place);
  const stale = before && changedSinceRead(context.state, place.real, before);
  context.signal.throwIfAborted();
  const preImage = undoable ? preImageOf(before) : undefined;
  const removeParents = original === undefined
    ? await makeParents(place.real).catch((e) => throwAs(verb, place, e))
    : undefined;
  let done: "done" | "changed" | undefined;
  try {
    done = await commit({
      real: place.real,
      original,
      splices: plan.splices,
      meanwhile: () => meanwhile?.(before, plan),
    });
  } catch (error) {
    throwAs(verb, place, error);
  } finally {
    if (done !== "done") await removeParents?.();
  }
  if (done === "changed") return undefined;
  if (preImage) {
    logChange(context.state, {
      path: place.path,
      real: place.real,
      cwd: context.cwd,
      before: preImage,
      splices: plan.splices,
    });
  }
  if (known || stale === false) recordRead(context.state, place.real, pieces(before ?? new Uint8Array(), plan.splices));
  return {
    place,
    plan,
    before,
    changedSinceRead: stale,
    hardLinked: original !== undefined && original.stat.nlink > 1,
    notUndoable: preImage?.kind === "dropped" ? preImage.why : undefined,
  };
}

/** Undefined if the file does not exist and may be created. */
async function readOriginal(place: FilePlace, verb: string, create: boolean): Promise<Original | undefined> {
  const { path, real } = place;
  try {
    const original = await readRegular(place, verb, 2 ** 30);
    const { mode } = original.stat;
    // The rename asks the directory alone, so a file that is not to be written has to be asked for itself.
    if ((mode & 0o222) === 0 || !await access(real, constants.W_OK).then(() => true, () => false)) {
      const why = `it is read-only: its mode is ${(mode & 0o7777).toString(8)}`;
      throw new ToolError(`Cannot ${verb} '${path}' as ${why}`, { code: "read_only" });
    }
    return original;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && create) return undefined;
    if (code === "ENOENT" || (code === "ENOTDIR" && !create)) throw notFound(path);
    throwAs(verb, place, error);
  }
}

function notFound(path: string): ToolError {
  return new ToolError(`File not found: '${path}' does not exist: find it with Glob, or make it with Write`, {
    code: "no_such_file",
  });
}

/** The part of the file system a commit uses: tests pass one that fails at a chosen step. */
export type Disk = Pick<typeof disk, "open" | "rename" | "unlink" | "readdir" | "lstat">;

/** A file as it was read: what a commit starts from, and what it compares with before it replaces the file. */
interface Original {
  readonly bytes: Uint8Array;
  readonly stat: Stats;
}

interface Commit {
  readonly real: string;
  /** Undefined for a file that is not there yet. */
  readonly original: Original | undefined;
  readonly splices: readonly Splice[];
  /** Work to do while the system writes to the disk: the write waits for nothing of it. */
  readonly meanwhile?: () => void;
}

/**
 * Puts the new bytes in the place of the old ones. "changed" means another program changed the file since it was
 * read, and nothing was done. A throw means the same: the file is as it was, and no other file is left behind.
 *
 * The new file is written beside the old one and renamed over it, so that a crash leaves one or the other. Only a
 * file with several names (hard links) is written in place, because a rename would cut it off from the others.
 * Mode and owner are carried over; access lists and extended attributes are not, as Node has no call for them.
 */
export async function commit(asked: Commit, system: Disk = disk): Promise<"done" | "changed"> {
  const directory = dirname(asked.real);
  await sweep(directory, system);
  const held = hold(directory);
  try {
    return await commitIn(held.path, { ...asked, real: join(held.path, basename(asked.real)) }, system);
  } catch (error) {
    if (error instanceof Error) error.message = error.message.replaceAll(held.path, directory);
    throw error;
  } finally {
    held.close();
  }
}

async function commitIn(directory: string, change: Commit, system: Disk): Promise<"done" | "changed"> {
  if (change.original !== undefined && change.original.stat.nlink > 1) {
    return await commitInPlace(change, change.original, system);
  }
  const temporary = join(directory, `.crochet-${thisOwner()}-${++written}.tmp`);
  try {
    await writeBeside(temporary, change, system);
    if (!await isUnchanged(change, system)) {
      await system.unlink(temporary);
      return "changed";
    }
    await system.rename(temporary, change.real);
    return "done";
  } catch (error) {
    await system.unlink(temporary).catch(() => {});
    throw error;
  }
}

let written = 0;

async function writeBeside(path: string, { original, splices, meanwhile }: Commit, system: Disk): Promise<void> {
  const handle = await system.open(path, "wx", original ? 0o600 : 0o666);
  try {
    await writeAll(handle, pieces(original?.bytes ?? new Uint8Array(), splices), 0);
    if (original) await keepOwnerAndMode(handle, original.stat);
    const syncing = handle.sync();
    meanwhile?.();
    await syncing;
  } finally {
    await handle.close();
  }
}

/** Owner first: changing it clears the set-user-id bit, which the mode puts back. */
async function keepOwnerAndMode(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== uid || now.gid !== gid) {
    const chown = handle.chown(uid, gid);
    await (process.getuid?.() === 0 ? chown : chown.catch(() => {}));
  }
  await handle.chmod(mode & 0o7777);
}

/** Writes from the first changed byte on. When that fails half-way the old bytes are put back. */
async function commitInPlace(change: Commit, { bytes }: Original, system: Disk): Promise<"done" | "changed"> {
  const { real, splices, meanwhile } = change;
  const from = splices[0]?.start ?? 0;
  if (!await isUnchanged(change, system)) return "changed";
  const handle = await system.open(real, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    await writeAll(
      handle,
      pieces(bytes.subarray(from), splices.map((s) => ({ ...s, start: s.start - from, end: s.end - from }))),
      from,
    );
    await handle.truncate(splicedLength(bytes, splices));
    const syncing = handle.sync();
    meanwhile?.();
    await syncing;
    return "done";
  } catch (error) {
    await writeAll(handle, [bytes.subarray(from)], from).catch(() => {});
    await handle.truncate(bytes.length).catch(() => {});
    throw error;
  } finally {
    // What was synced is on the disk, however the close ends.
    await handle.close().catch(() => {});
  }
}

/** Pieces smaller than this are copied together: many small writes cost more than the copy. */
const SMALL = 64 * 1024;

/** Not by `writev`: Deno copies what it is given, Bun is as fast without. */
async function writeAll(handle: FileHandle, all: Iterable<Uint8Array>, position: number): Promise<void> {
  let small: Uint8Array[] = [], size = 0;
  const flush = async () => {
    if (size > 0) {
      position = await writePiece(handle, small.length === 1 ? small[0]! : Buffer.concat(small, size), position);
    }
    small = [];
    size = 0;
  };
  for (const piece of all) {
    if (size + piece.length > SMALL) await flush();
    if (piece.length > SMALL) position = await writePiece(handle, piece, position);
    else {
      small.push(piece);
      size += piece.length;
    }
  }
  await flush();
}

/** A write may take less than it was given. Answers the position after the piece. */
async function writePiece(handle: FileHandle, piece: Uint8Array, position: number): Promise<number> {
  for (let written = 0; written < piece.length;) {
    const { bytesWritten } = await handle.write(piece, written, piece.length - written, position + written);
    written += bytesWritten;
  }
  return position + piece.length;
}

const BLOCK = 1 << 20;

/** Reads the file once more and compares, a block at a time: the last look before it is replaced. */
async function isUnchanged({ real, original }: Commit, system: Disk): Promise<boolean> {
  if (original === undefined) return await unlessMissing(system.lstat(real)) === undefined;
  const handle = await unlessMissing(system.open(real, constants.O_RDONLY | constants.O_NOFOLLOW));
  if (handle === undefined) return false;
  try {
    const { bytes, stat } = original;
    const now = await handle.stat();
    if (now.size !== bytes.length || now.nlink !== stat.nlink || now.mode !== stat.mode) return false;
    const block = Buffer.allocUnsafe(Math.min(BLOCK, bytes.length));
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await handle.read(block, 0, block.length, at);
      if (bytesRead === 0 || Buffer.compare(block.subarray(0, bytesRead), bytes.subarray(at, at + bytesRead)) !== 0) {
        return false;
      }
      at += bytesRead;
    }
    return true;
  } finally {
    await handle.close();
  }
}

function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
}

const swept = new Set<string>();

/** Removes what an edit left that was killed half-way: looked for once in each directory, by each process. */
async function sweep(directory: string, system: Disk): Promise<void> {
  if (swept.has(directory)) return;
  swept.add(directory);
  const names = await system.readdir(directory).catch(() => []);
  for (const name of names) {
    const owner = /^\.crochet-(\d+-\w+-\w+)-\d+\.tmp$/.exec(name)?.[1];
    if (owner === undefined) continue;
    const path = join(directory, name);
    const age = await system.lstat(path).then((stat) => Date.now() - stat.mtimeMs, () => 0);
    if (isGone(owner, age)) await system.unlink(path).catch(() => {});
  }
}

/** Makes the directories a file needs, and answers how to take back those that were not there before. */
async function makeParents(file: string): Promise<() => Promise<void>> {
  const made = await mkdir(dirname(file), { recursive: true });
  return async () => {
    if (made === undefined) return;
    // Not recursive: a directory that now holds other files is not ours to remove.
    for (let directory = dirname(file); directory.length >= made.length; directory = dirname(directory)) {
      await rmdir(directory).catch(() => {});
    }
  };
}
