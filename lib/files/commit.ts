import { Buffer } from "node:buffer";
import { constants, type Stats } from "node:fs";
import { type FileHandle, mkdir, rmdir } from "node:fs/promises";
import * as disk from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { hold } from "./confine.ts";
import { isGone, thisOwner } from "../process/owner.ts";
import { pieces, type Splice, splicedLength } from "./splices.ts";

/** The part of the file system a commit uses: tests pass one that fails at a chosen step. */
export type Disk = Pick<typeof disk, "open" | "rename" | "unlink" | "readdir" | "lstat">;

/** A file as it was read: what a commit starts from, and what it compares with before it replaces the file. */
export interface Original {
  readonly bytes: Uint8Array;
  readonly stat: Stats;
}

export interface Commit {
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
export async function makeParents(file: string): Promise<() => Promise<void>> {
  const made = await mkdir(dirname(file), { recursive: true });
  return async () => {
    if (made === undefined) return;
    // Not recursive: a directory that now holds other files is not ours to remove.
    for (let directory = dirname(file); directory.length >= made.length; directory = dirname(directory)) {
      await rmdir(directory).catch(() => {});
    }
  };
}
