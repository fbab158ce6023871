/** What an agent has running in the background, as a Stop hook sees it. */
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

/** The key in an agent's tool state of the functions that list what it has in the background. */
const TASKS = "background-tasks";

type TaskLists = ReadonlyMap<string, () => readonly BackgroundTask[]>;

/** Adds a list of what the agent of this `state` has in the background, under the name `owner`; without `list`, removes it. */
export function listTasks(state: Map<string, unknown>, owner: string, list?: () => readonly BackgroundTask[]): void {
  const lists = new Map(state.get(TASKS) as TaskLists | undefined);
  if (list) lists.set(owner, list);
  else lists.delete(owner);
  if (lists.size > 0) state.set(TASKS, lists);
  else state.delete(TASKS);
}

/** The background runs of the agent whose `state` this is, oldest of their kind first. */
export function backgroundTasks(state: ReadonlyMap<string, unknown>): BackgroundTask[] {
  return [...(state.get(TASKS) as TaskLists | undefined)?.values() ?? []].flatMap((list) => list());
}

/** Of them, those that still run. */
export function runningTasks(state: ReadonlyMap<string, unknown>): BackgroundTask[] {
  return backgroundTasks(state).filter(({ status }) => status === "running");
}
