import { lstatSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isGone, thisOwner } from "../files/owner.ts";

const MARK = ".draft-";

/** A run takes hours at most: what another machine has begun before this was left behind. */
const LONGEST_RUN = 24 * 60 * 60 * 1000;

/** Where a file or a folder is made that is whole only under its own name. It says whose it is: a killed process leaves it. */
export function draftIn(folder: string): string {
  return join(folder, `${MARK}${thisOwner()}-${crypto.randomUUID().slice(0, 8)}`);
}

/** What processes that are no more have left in a folder. */
export function leftIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith(MARK)).map((name) => join(folder, name)).filter(isLeft);
}

function isLeft(path: string): boolean {
  const made = lstatSync(path, { throwIfNoEntry: false });
  return made !== undefined &&
    isGone(path.slice(path.lastIndexOf(MARK) + MARK.length), Date.now() - made.mtimeMs - LONGEST_RUN);
}

/** Removes that, as far as it may be: what is written next is worth more. */
export function sweep(folder: string): void {
  for (const path of leftIn(folder)) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      continue;
    }
  }
}
