import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { quietly } from "../core/json.ts";
import { hashOf } from "../runtime/sha256.ts";

/**
 * Names the process that made a lock or a temporary file: its id, its start time (an id can be used again), and
 * the place where that id means something (this boot of this machine, this container).
 */
export function thisOwner(): string {
  return self ??= `${process.pid}-${startOf(process.pid) ?? "0"}-${here()}`;
}
let self: string | undefined;

/** After this long an owner that cannot be looked up is taken to be gone; no edit takes a hundredth of it. */
const FOREIGN_LIMIT = 10 * 60 * 1000;

/** Whether the named process has ended. One of another machine or container is judged by age alone. */
export function isGone(owner: string, ageMs: number): boolean {
  const [pid, start, place] = owner.split("-");
  if (place !== here() || !/^\d+$/.test(pid!)) return ageMs > FOREIGN_LIMIT;
  return startOf(Number(pid)) !== start;
}

let place: string | undefined;
function here(): string {
  return place ??= hashOf(
    [
      hostname(),
      quietly(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1")),
      quietly(() => readlinkSync("/proc/self/ns/pid")),
    ].join("\n"),
    10,
  );
}

/** When a process started, in words that are only compared; undefined if it does not exist, or waits to be reaped. */
function startOf(pid: number): string | undefined {
  if (process.platform === "linux") return processStat(pid)?.[19];
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const env = { ...process.env, LC_ALL: "C" };
  const { stdout } = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", env });
  return stdout.trim() === "" ? undefined : hashOf(stdout.trim(), 10);
}

/** The numbers of the processes that this one sees; none where the system is not Linux. */
export function processIds(): number[] {
  return (quietly(() => readdirSync("/proc")) ?? []).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** The words of a process's command line; none if it is ending. */
export function commandLine(pid: number): string {
  return quietly(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"))?.replaceAll("\0", " ").trim() ?? "";
}

/** The variables that a process was started with; none if they are not ours to see. */
export function environmentOf(pid: number): string {
  return quietly(() => readFileSync(`/proc/${pid}/environ`, "latin1")) ?? "";
}

/** What Linux says of a process, from its state on; undefined if it does not exist, or waits to be reaped. */
export function processStat(pid: number): string[] | undefined {
  const stat = quietly(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  // The name in brackets may hold anything, also brackets.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields?.[0] === "Z" || fields?.[0] === "X" ? undefined : fields;
}
