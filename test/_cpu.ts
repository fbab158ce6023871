/** The CPU of a command and of all that it starts, in seconds or in units (cal.ts). */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../lib/files/tree.ts";

export interface Spent {
  readonly code: number;
  readonly cpu: number;
}

/** Counts processes too that nobody waits for, as those of a killed sandbox; where it is missing, these are left out. */
const PERF = ["perf", "stat", "-e", "task-clock", "-x", ","];
let hasPerf: boolean | undefined;

/** Runs it to its end. `output`: the file descriptor that it writes to. */
export async function spend(
  command: readonly string[],
  { output, env = process.env }: { output?: number; env?: Record<string, string | undefined> } = {},
): Promise<Spent> {
  hasPerf ??= spawnSync(PERF[0]!, [...PERF.slice(1), "true"]).status === 0;
  const folder = mkdtempSync(join(tmpdir(), "crochet-cpu-"));
  try {
    const counted = join(folder, "counted");
    const child = (globalThis as any).Bun.spawn(hasPerf ? [...PERF, "-o", counted, ...command] : command, {
      stdio: ["ignore", output ?? "ignore", output ?? "ignore"],
      env,
    });
    const code: number = await child.exited;
    const clock = hasPerf ? /^([\d.]+),msec,/m.exec(readFileSync(counted, "utf8"))?.[1] : undefined;
    return { code, cpu: clock ? Number(clock) / 1000 : Number(child.resourceUsage().cpuTime.total) / 1e6 };
  } finally {
    removeTree(folder);
  }
}

/** The seconds of one unit here and now. */
export async function unit(): Promise<number> {
  return (await spend([process.execPath, join(import.meta.dirname!, "cal.ts")])).cpu;
}
