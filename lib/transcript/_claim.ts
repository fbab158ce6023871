import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isGone, thisOwner } from "../files/owner.ts";

/**
 * Claims a name for this process by a file that only one can make. A file whose maker has ended is taken over.
 *
 * @throws {Error} where a living process has it
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
        const owner = ownerOf(file);
        if (owner && !isGone(owner.name, owner.age)) {
          throw new Error(
            `Cannot run '${id}' as process ${owner.name.split("-")[0]} is running it: wait for it or end it`,
          );
        }
        rmSync(file, { force: true });
      }
    }
    throw new Error(`Cannot run '${id}' as its lock ${file} keeps changing hands: try again`);
  } finally {
    rmSync(mine, { force: true });
  }
}
let counter = 0;

function ownerOf(file: string): { name: string; age: number } | undefined {
  try {
    return { name: readFileSync(file, "utf8"), age: Date.now() - statSync(file).mtimeMs };
  } catch {
    return undefined;
  }
}
