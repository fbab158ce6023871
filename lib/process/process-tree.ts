import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine, environmentOf, processIds, processStat } from "./owner.ts";

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Tells a process from a later one with the same number. */
  readonly born: string;
}

/** How long a tree may take to end before it is killed: within the grace the loop gives an aborted tool. */
const GRACE_MS = 800;
const KILL_MS = 1000;

/**
 * Ends a process that leads its own group, with everything it started: the group, and children that left it. Its
 * first child is left to the end, as it is there to end the rest should we be gone before.
 */
export async function endTree(leader: number): Promise<void> {
  const known = new Map<number, Process>();
  const watcher = treeOf(leader, known).filter((p) => p.parent === leader).sort(byAge)[0]?.pid;
  const others = () => treeOf(leader, known).filter((p) => p.pid !== watcher);
  for (const { pid } of others()) send(pid, "SIGTERM");
  await emptied(others, GRACE_MS);
  await emptied(() => {
    const alive = treeOf(leader, known);
    for (const { pid } of alive) send(pid, "SIGKILL");
    return alive;
  }, KILL_MS);
}

/** A dying tree may still fork, so it is looked at again until nothing is left. */
async function emptied(tree: () => readonly Process[], ms: number): Promise<void> {
  for (const until = performance.now() + ms; tree().length > 0 && performance.now() < until;) await sleep(15);
}

function byAge(a: Process, b: Process): number {
  return a.born.localeCompare(b.born, "en", { numeric: true }) || a.pid - b.pid;
}

/** A variable by which the system tells who started a process, also once its parents are gone. */
export const STARTED_BY = "CROCHET_STARTED_BY";

/**
 * Sends a signal to what a process has started and what has left its group, as with `setsid`: known by its parents, or by
 * its mark. `known` keeps what belongs to it. Gives what cannot be ended.
 */
export function endStrays(leader: number, mark: string, known: Map<number, Process>, signal: NodeJS.Signals): string[] {
  const marked = processes().filter(({ pid }) => environmentOf(pid).includes(mark));
  const strays = [...treeOf(leader, known), ...marked].filter(({ pid, group }) => group !== leader && pid !== leader);
  const pids = [...new Set(strays.map(({ pid }) => pid))];
  return pids.filter((pid) => !send(pid, signal)).map((pid) => `${pid} (${commandLine(pid).slice(0, 200)})`);
}

/** What is alive of a tree; `known` keeps those whose parents are gone. */
function treeOf(leader: number, known: Map<number, Process>): Process[] {
  const all = new Map(processes().map((p) => [p.pid, p]));
  const belongs = new Map<number, boolean>();
  const isOurs = (p: Process): boolean => {
    const decided = belongs.get(p.pid);
    if (decided !== undefined) return decided;
    belongs.set(p.pid, false);
    const parent = all.get(p.parent);
    const ours = p.pid === leader || p.group === leader || p.session === leader || known.get(p.pid)?.born === p.born ||
      (parent !== undefined && isOurs(parent));
    belongs.set(p.pid, ours);
    return ours;
  };
  const tree = [...all.values()].filter(isOurs);
  for (const p of tree) known.set(p.pid, p);
  return tree;
}

function processes(): Process[] {
  if (process.platform !== "linux") return listed();
  return processIds().flatMap((pid) => {
    const stat = processStat(pid);
    return stat ? [{ pid, parent: +stat[1]!, group: +stat[2]!, session: +stat[3]!, born: stat[19]! }] : [];
  });
}

function listed(): Process[] {
  const lines = execFileSync("ps", ["-Ao", "pid=,ppid=,pgid=,stat=,lstart="], { encoding: "utf8" }).split("\n");
  return lines.flatMap((line) => {
    const [pid, parent, group, state, ...born] = line.trim().split(/\s+/);
    if (!pid || state?.startsWith("Z")) return [];
    return [{ pid: +pid, parent: +parent!, group: +group!, session: -1, born: born.join(" ") }];
  });
}

/** False if it is not ours to end. */
export function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as { code?: string }).code !== "EPERM"; // it ended on its own
  }
}
