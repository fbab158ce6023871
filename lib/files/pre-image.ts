import { readdir, rm, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isGone, thisOwner } from "./owner.ts";
import type { Original } from "./commit.ts";
import { reflink } from "./reflink.ts";
import { stateDir } from "./state-dir.ts";
import { LARGE, type PreImage } from "./undo-log.ts";

let clones = 0;

/**
 * Keeps the bytes of a file that is about to change: small ones in memory, large ones as a copy that shares their
 * blocks, in the state directory, if the file system can do that.
 */
export async function keepPreImage(real: string, original: Original | undefined, cwd: string): Promise<PreImage> {
  if (original === undefined) return { kind: "absent" };
  if (original.bytes.length <= LARGE) return { kind: "bytes", bytes: original.bytes };
  const directory = join(stateDir(cwd), "undo");
  const file = join(directory, `${thisOwner()}-${++clones}`);
  if (!await reflink(real, file, original.stat.dev)) {
    return { kind: "dropped", why: "the file is over 8 MiB and its file system cannot share blocks" };
  }
  await sweepClones(directory);
  return { kind: "clone", file };
}

/** For a change that was not made after all. */
export async function forgetPreImage(preImage: PreImage | undefined): Promise<void> {
  if (preImage?.kind === "clone") await unlink(preImage.file).catch(() => {});
}

/** The undo log of a process ends with it, and so do its clones. */
async function sweepClones(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    const age = await stat(path).then(({ mtimeMs }) => Date.now() - mtimeMs, () => 0);
    if (isGone(name, age)) await rm(path, { force: true });
  }
}
