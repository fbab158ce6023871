import { hashOf } from "../runtime/sha256.ts";
import { lstatSync, mkdirSync, readlinkSync, statSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settle, systemClock } from "../core/clock.ts";
import { quietly } from "../core/json.ts";
import { ToolError } from "../core/tool.ts";
import { isGone, thisOwner } from "../process/owner.ts";

/**
 * Runs `work` while no other edit of this file runs, in this process or in another one of this user. `real` is
 * the file's real path, so that two names of one file are one lock. One that has several real paths, hard links, is
 * locked for them all, and always after its path: no process waits for a path while holding that.
 */
export function withFileLock<T>(real: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return withLock(real, real, signal, () => {
    const all = sharedBy(real);
    return all === undefined ? work() : withLock(all, real, signal, work);
  });
}

/** What the names of a file have in common, if it has several. Of one that cannot be looked at, who changes it finds out why. */
function sharedBy(real: string): string | undefined {
  const { dev, ino, nlink = 0 } = quietly(() => statSync(real)) ?? {};
  return nlink > 1 ? `${dev}:${ino}` : undefined;
}

async function withLock<T>(key: string, real: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const before = queues.get(key) ?? Promise.resolve();
  let leave = () => {};
  const mine = new Promise<void>((resolve) => leave = resolve);
  const tail = before.then(() => mine);
  queues.set(key, tail);
  try {
    await settle(before, { clock: systemClock, signal });
    signal.throwIfAborted();
    const lock = join(lockDirectory(), hashOf(key, 32));
    const release = await acquire(lock, PATIENCE, signal, (pid) => {
      const why = `process ${pid} holds its lock '${lock}'`;
      return new ToolError(`Cannot change '${real}' as ${why}: try again`, { code: "locked" });
    });
    try {
      return await work();
    } finally {
      release();
    }
  } finally {
    leave();
    if (queues.get(key) === tail) queues.delete(key);
  }
}

/** The end of each file's queue in this process. */
const queues = new Map<string, Promise<void>>();

/**
 * Locks lie in one directory a user, outside every workspace: two processes with other working directories,
 * `CROCHET_HOME` or `TMPDIR` must still meet, and a lock left by a crash must not litter a project.
 */
function lockDirectory(): string {
  const user = process.getuid?.() ?? 0;
  for (const base of ["/tmp", tmpdir()]) {
    const directory = join(base, `crochet-${user}`);
    quietly(() => mkdirSync(directory, { recursive: true, mode: 0o700 }));
    const stat = quietly(() => lstatSync(directory));
    // Another user could have made it first, to take our locks away.
    if (stat?.isDirectory() && stat.uid === user && (stat.mode & 0o022) === 0) return directory;
  }
  const why = `'/tmp' has no directory of user ${user} to write to`;
  throw new ToolError(`Cannot lock the file as ${why}: make '/tmp/crochet-${user}'`, { code: "locked" });
}

const PATIENCE = 30_000;
/** Distinct also between threads of one process, which share its id. */
let acquired = Math.floor(Math.random() * 2 ** 40);

/**
 * Claims an id for this process by a lock that lasts until it is released or the process ends.
 *
 * @throws {Error} if a running process has it
 */
export async function claim(lock: string, id: string): Promise<() => Promise<void>> {
  const release = await acquire(lock, 0, new AbortController().signal, (pid) => {
    return new Error(`Cannot run '${id}' as process ${pid} is running it: wait for it or end it`);
  });
  return async () => release();
}

/**
 * A lock is a symbolic link whose target names its owner: made in one step together with its text, so no process
 * ever sees a lock without an owner. Answers how to release it; throws what `refusal` makes of the owner's process.
 */
async function acquire(
  lock: string,
  patience: number,
  signal: AbortSignal,
  refusal: (pid: string) => Error,
): Promise<() => void> {
  const mine = `${thisOwner()}-${++acquired}`;
  const deadline = performance.now() + patience;
  for (let wait = 1;; wait = Math.min(wait * 2, 20)) {
    signal.throwIfAborted();
    try {
      symlinkSync(mine, lock);
      return () => remove(lock, mine);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const theirs = read(lock);
    if (theirs === undefined) continue;
    const { owner, age } = theirs;
    if (isGone(owner, age)) {
      // Of several that see it, one at a time may look again and remove it: a late one would remove its successor.
      const release = await acquire(`${lock}.stale`, PATIENCE, signal, refusal);
      try {
        remove(lock, owner);
      } finally {
        release();
      }
    } else if (performance.now() > deadline) throw refusal(owner.split("-")[0]!);
    else await systemClock.sleep(wait * (0.5 + Math.random() / 2));
  }
}

/** Removes a lock if it is still that of this owner. */
function remove(lock: string, owner: string): void {
  if (read(lock)?.owner === owner) unlinkSync(lock);
}

function read(lock: string): { owner: string; age: number } | undefined {
  return quietly(() => ({ owner: readlinkSync(lock), age: Date.now() - lstatSync(lock).mtimeMs }), ["ENOENT"]);
}
