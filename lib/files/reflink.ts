import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { makeParents } from "./commit.ts";

/** Devices that were found not to share blocks. */
const unable = new Set<number>();

/**
 * Copies a file by sharing its blocks, whatever its size, or not at all. `cp` is asked because Deno's own copy
 * takes the flag that demands it and copies all the same.
 */
export async function reflink(from: string, to: string, device: number): Promise<boolean> {
  if (process.platform !== "linux" || unable.has(device)) return false;
  const removeParents = await makeParents(to);
  const shared = await new Promise<boolean>((resolve) => {
    execFile("cp", ["--reflink=always", "--", from, to], (error) => resolve(error === null));
  });
  if (shared) return true;
  unable.add(device);
  await rm(to, { force: true });
  await removeParents();
  return false;
}
