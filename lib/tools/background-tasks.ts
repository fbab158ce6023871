/** What an agent has running in the background, as a Stop hook is told of it. */
export interface BackgroundTask {
  readonly id: string;
  readonly type: "shell" | "subagent";
  readonly status: "running" | "ended";
  readonly description: string;
  /** Of a shell. */
  readonly command?: string;
  /** Of an agent. */
  readonly agent_type?: string;
}

/** The key in an agent's tool state of those who tell what it has in the background. */
const TASKS = "background-tasks";

type Tellers = ReadonlyMap<string, () => readonly BackgroundTask[]>;

/** Adds one who tells what the agent of this `state` has in the background, under the name `owner`; without `tell`, takes it out. */
export function tellTasks(state: Map<string, unknown>, owner: string, tell?: () => readonly BackgroundTask[]): void {
  const tellers = new Map(state.get(TASKS) as Tellers | undefined);
  if (tell) tellers.set(owner, tell);
  else tellers.delete(owner);
  if (tellers.size > 0) state.set(TASKS, tellers);
  else state.delete(TASKS);
}

/** The background runs of the agent whose `state` this is, oldest of their kind first. */
export function backgroundTasks(state: ReadonlyMap<string, unknown>): BackgroundTask[] {
  return [...(state.get(TASKS) as Tellers | undefined)?.values() ?? []].flatMap((tell) => tell());
}

/** Of them, those that still run. */
export function runningTasks(state: ReadonlyMap<string, unknown>): BackgroundTask[] {
  return backgroundTasks(state).filter(({ status }) => status === "running");
}
