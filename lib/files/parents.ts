import { mkdir, rmdir } from "node:fs/promises";
import { dirname } from "node:path";

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
