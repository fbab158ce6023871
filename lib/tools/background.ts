import { quietly } from "../core/json.ts";
import { type Tool, ToolError } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import type { BackgroundRun } from "./shell/agent-shell.ts";
import { openedShell } from "./bash.ts";

/** What hooks read of a look at a background run. */
export interface BashOutputResponse {
  readonly shellId: string;
  readonly command: string;
  readonly status: "running" | "completed" | "failed" | "killed";
  readonly exitCode: number | null;
  /** Printed since the last look. */
  readonly stdout: string;
  readonly stderr: string;
  readonly persistedOutputPath?: string;
  readonly persistedOutputSize?: number;
}

/** Shows what a command in the background has printed since the last look, and whether it still runs. */
export const BashOutput: Tool<{ bash_id: string; filter?: string }> = tool({
  name: "BashOutput",
  description:
    "Returns the status of a background command and what it printed since the last call. You are not notified when it " +
    "ends. `filter` is a regular expression: only lines that match it are returned.",
  input: {
    type: "object",
    properties: {
      bash_id: { type: "string", description: "The ID that Bash returned" },
      filter: { type: "string", description: "Return only lines that match; the other lines are dropped" },
    },
    required: ["bash_id"],
    additionalProperties: false,
  },
  effect: "read",
  run: async ({ bash_id, filter }, { state }) => {
    const lines = await filterOf(filter);
    const run = runOf(state, bash_id);
    const end = run.end();
    const { stdout, stderr, ...persisted } = run.output();
    const response: BashOutputResponse = {
      shellId: run.id,
      command: run.command,
      status: end === undefined ? "running" : end.killed ? "killed" : end.status === 0 ? "completed" : "failed",
      // Which of a tree's processes goes first is a matter of luck, and so is the code of one that was ended.
      exitCode: end === undefined || end.killed ? null : end.status,
      stdout: lines(stdout),
      stderr: lines(stderr),
      ...persisted,
    };
    return { content: render(response), response };
  },
  render,
});

/** Ends a command in the background with everything it started. */
export const KillShell: Tool<{ shell_id: string }> = tool({
  name: "KillShell",
  description: "Ends a background command with everything it started.",
  input: {
    type: "object",
    properties: { shell_id: { type: "string", description: "The ID that Bash returned" } },
    required: ["shell_id"],
    additionalProperties: false,
  },
  effect: "write",
  run: async ({ shell_id }, { state }) => {
    const run = runOf(state, shell_id);
    if (run.end() !== undefined) {
      throw new ToolError(`Cannot end ${shell_id} as it has ended already: read it with BashOutput`);
    }
    await run.stop();
    const message = `Ended ${shell_id} (${run.command})`;
    return { content: message, response: { message, shell_id } };
  },
});

function runOf(state: ReadonlyMap<string, unknown>, id: string): BackgroundRun {
  const runs = openedShell(state)?.background ?? new Map<string, BackgroundRun>();
  const run = runs.get(id);
  if (run) return run;
  const known = runs.size > 0
    ? `the runs are ${[...runs.keys()].join(", ")}`
    : "none was started since this session began or was resumed, so start it with Bash";
  throw new ToolError(`Cannot find background run '${id}' as no run has that ID: ${known}`);
}

async function filterOf(filter: string | undefined): Promise<(text: string) => string> {
  if (filter === undefined) return (text) => text;
  const regex = quietly(() => new RegExp(filter));
  if (!regex) throw new ToolError(`Cannot use filter '${filter}' as it is not a regular expression`);
  const { runaway } = await import("../regex/runaway.ts");
  const why = runaway(regex);
  if (why !== undefined) throw new ToolError(`Cannot use filter '${filter}' as ${why}`);
  const { boundedSearch } = await import("../regex/bounded-search.ts");
  const search = boundedSearch(regex);
  return (text) => text.split("\n").filter((line) => search(line) !== false).join("\n");
}

function render({ status, exitCode, stdout, stderr }: BashOutputResponse): string {
  const head = exitCode === null ? `Status: ${status}` : `Status: ${status}, exit code ${exitCode}`;
  return [head, stdout.trimEnd(), stderr.trimEnd()].filter(Boolean).join("\n");
}
