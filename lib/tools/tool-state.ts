import { ROOTS } from "../core/tool.ts";

// The keys under which an agent and its tools keep in `ToolContext.state` what more than one of them reads.

/** The `QuestionAsker` that tools ask. */
export const QUESTIONS = "crochet.questionAsker";

/** A function `(on: boolean) => void` that turns plan mode on and off, kept there by the owner of the permissions. */
export const PLAN_MODE = "crochet.plan-mode";

/** A function by which a search learns which of the found files permission rules keep to themselves. */
export const HIDES = "crochet.hides";

/** A function `(path, text)` that gets what was read of the workspace to start agents, while a run is recorded. */
export const HAS_READ = "crochet.has-read";

/** The project as it is now, while a run is replayed in a copy of what it was. */
export const PROJECT = "crochet.project";

/** The sandbox that commands run in. */
export const SANDBOX = "sandbox";

/** The file with variables that hooks left for the shell. */
export const ENV_FILE = "env-file";

/** The agent's shell, once a command has run. */
export const SHELL = "shell";

/** Whether a resumed conversation had a shell, which ended with its process. */
export const HAD_SHELL = "had-shell";

/** A function that says where the agent's shell is. */
export const CWD = "cwd";

/** What holds for the agents that an agent starts too; a shell, and what was read, are their own. */
export const INHERITED: readonly string[] = [ROOTS, PROJECT, QUESTIONS, PLAN_MODE, HIDES, HAS_READ, SANDBOX, ENV_FILE];

/** The folder an agent's shell is in, or undefined if no command has run. */
export function shellCwd(state: ReadonlyMap<string, unknown>): string | undefined {
  return (state.get(CWD) as (() => string) | undefined)?.();
}

/** The directory an agent works in, wherever its shell is. */
export function workspaceOf(
  { state, cwd }: { readonly state: ReadonlyMap<string, unknown>; readonly cwd: string },
): string {
  return (state.get(ROOTS) as readonly string[] | undefined)?.[0] ?? cwd;
}

/** What an agent has running in the background, as a Stop hook sees it. */
export interface BackgroundTask {
  readonly id: string;
  readonly type: "shell" | "subagent";
  readonly status: "running" | "ended";
  readonly description: string;
  readonly command?: string;
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
