import { lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { scratch } from "../_scratch.ts";

/** A directory of its own for the length of `work`; it lies in another one, so that there is an outside. */
export async function inWorkspace<T>(work: (root: string) => T | Promise<T>): Promise<T> {
  using outside = scratch();
  const root = join(outside.path, "root");
  mkdirSync(root);
  return await work(root);
}

/** All that an error must leave as it was: names, bytes, modes, times of change, inodes and links. */
export function picture(directory: string): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const name of (readdirSync(directory, { recursive: true }) as string[]).sort()) {
    const stat = lstatSync(join(directory, name));
    const content = stat.isFile() ? readFileSync(join(directory, name)).toString("base64") : "";
    // What lies in a directory says what happened to it; its time also tells of what came and went.
    all[name] = [stat.mode, stat.ino, stat.nlink, stat.isDirectory() ? 0 : stat.mtimeMs, content];
  }
  return all;
}
