import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isGone, thisOwner } from "../files/owner.ts";

/**
 * Claims a name for this process by a file that only one process can create. The file of an ended process is replaced.
 *
 * @throws {Error} if a running process has it
 */
export async function claim(file: string, id: string): Promise<() => Promise<void>> {
  const mine = `${file}.${thisOwner()}.${counter++}`;
  writeFileSync(mine, thisOwner(), { mode: 0o600 });
  try {
    for (let tries = 0; tries < 3; tries++) {
      try {
        linkSync(mine, file);
        return async () => rmSync(file, { force: true });
      } catch (error) {
        if ((error as { code?: string }).code !== "EEXIST") throw error;
      }
      const owner = ownerOf(file);
      if (owner && !owner.gone) {
        throw new Error(
          `Cannot run '${id}' as process ${owner.name.split("-")[0]} is running it: wait for it or end it`,
        );
      }
      if (owner) await removeStale(file);
    }
    throw new Error(`Cannot run '${id}' as other processes keep taking its lock ${file}: try again`);
  } finally {
    rmSync(mine, { force: true });
  }
}
let counter = 0;

/** Under a lock: otherwise a late process could remove the claim that another has made since. */
async function removeStale(file: string): Promise<void> {
  const { withFileLock } = await import("../files/lock.ts");
  await withFileLock(file, new AbortController().signal, async () => {
    if (ownerOf(file)?.gone) rmSync(file, { force: true });
  });
}

function ownerOf(file: string): { readonly name: string; readonly gone: boolean } | undefined {
  try {
    const name = readFileSync(file, "utf8");
    return { name, gone: isGone(name, Date.now() - statSync(file).mtimeMs) };
  } catch {
    return undefined;
  }
}
