import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";

/** Waits until a condition holds; fails with its words after three minutes, which even a busy machine does not need. */
export async function until(words: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 180_000; performance.now() < end;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`never: ${words}`);
}

/** Whether the process whose id a file holds runs. */
export function isAlive(pidFile: string): boolean {
  return existsSync(pidFile) && isRunning(Number(readFileSync(pidFile, "utf8")));
}

/** Whether a process runs; one that has ended and that nobody has asked about yet does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync("/proc/self/stat") || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
