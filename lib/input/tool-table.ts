import type { JsonObject } from "../core/json.ts";

/** What rules, hooks, checks and the view know of a tool. */
export interface ToolRow {
  /** The fields of its input; `?` marks one that may be absent. */
  readonly fields: readonly string[];
  /** What it does where a path of its input leads; an edit that misses quotes the file. */
  readonly path?: "reads" | "searches" | "edits" | "writes";
  /** What a call is about in a few words, if it names no file. @default its input */
  readonly subject?: "command" | "search" | "task" | "questions" | "nothing";
  /** What came of a call in a few words. @default the first line of its result */
  readonly result?: "printed" | "lines" | "written" | "changed" | "found";
  /** A typical input. @default the word "example" in each field that must be there */
  readonly sample?: JsonObject;
  /** What the model reads of its result. @default "an example" */
  readonly text?: string;
  /** Only other hosts have it. */
  readonly elsewhere?: true;
}

const OPTIONS = ["SQLite", "Postgres"].map((label) => ({ label, description: `Use ${label}` }));

/** The tools of `crochet/tools`, and those of Claude Code whose fields are known. */
export const TOOLS = {
  Bash: {
    fields: ["command", "description?", "timeout?", "run_in_background?"],
    subject: "command",
    result: "printed",
    sample: { command: "npm test", description: "Run the tests" },
    text: "12 passing",
  },
  Edit: {
    fields: ["file_path", "old_string", "new_string", "replace_all?"],
    path: "edits",
    result: "changed",
    sample: { file_path: "src/app.ts", old_string: "alpha", new_string: "beta", replace_all: false },
    text: "The file src/app.ts has been updated successfully.",
  },
  Write: {
    fields: ["file_path", "content"],
    path: "writes",
    result: "written",
    sample: { file_path: "src/new.ts", content: "export const answer = 42;\n" },
    text: "File created successfully at: src/new.ts",
  },
  Read: {
    fields: ["file_path", "offset?", "limit?"],
    path: "reads",
    result: "lines",
    sample: { file_path: "src/app.ts" },
    text: "1\texport {};\n",
  },
  MultiEdit: {
    fields: ["file_path", "edits"],
    path: "edits",
    result: "changed",
    sample: { file_path: "src/app.ts", edits: [{ old_string: "alpha", new_string: "beta" }] },
  },
  NotebookEdit: {
    fields: ["notebook_path", "new_source", "cell_id?", "cell_type?", "edit_mode?"],
    path: "edits",
    elsewhere: true,
  },
  Glob: { fields: ["pattern", "path?"], path: "searches", subject: "search", result: "found" },
  Grep: {
    fields: [
      ...["pattern", "path?", "glob?", "type?", "output_mode?", "-i?", "-n?", "-A?", "-B?", "-C?"] as const,
      ...["context?", "head_limit?", "offset?", "multiline?"] as const,
    ],
    path: "searches",
    subject: "search",
    result: "found",
  },
  LS: { fields: ["path", "ignore?"], path: "searches", elsewhere: true },
  Agent: {
    fields: ["description", "prompt", "subagent_type?", "resume_agent_id?", "run_in_background?"],
    subject: "task",
    sample: { description: "look around", prompt: "Find the entry point", subagent_type: "general-purpose" },
    text: "It is src/app.ts",
  },
  WebFetch: { fields: ["url", "prompt"], elsewhere: true },
  WebSearch: { fields: ["query", "allowed_domains?", "blocked_domains?"], elsewhere: true },
  TodoWrite: { fields: ["todos"], elsewhere: true },
  TaskCreate: { fields: ["subject", "description", "activeForm?"], elsewhere: true },
  AskUserQuestion: {
    fields: ["questions"],
    subject: "questions",
    sample: { questions: [{ question: "Which database?", header: "Database", options: OPTIONS }] },
  },
  ExitPlanMode: { fields: ["plan"], subject: "nothing" },
  EnterPlanMode: { fields: [], subject: "nothing" },
  BashOutput: { fields: ["bash_id", "filter?"] },
  KillShell: { fields: ["shell_id"] },
} as const satisfies { readonly [tool: string]: ToolRow };

export type ToolName = keyof typeof TOOLS;

/** Other names under which matchers, rules and models may call a tool. */
export const TOOL_ALIASES: { readonly [alias: string]: ToolName } = { Task: "Agent" };

/** The row of a name; none for tools of a project, a server or another host. By no map: each served hook loads this. */
export function toolRow(name: string): ToolRow | undefined {
  const tool = Object.hasOwn(TOOL_ALIASES, name) ? TOOL_ALIASES[name]! : name;
  return Object.hasOwn(TOOLS, tool) ? TOOLS[tool as ToolName] : undefined;
}

/** Whether a tool changes files. */
export function isEdit(name: string): boolean {
  const path = toolRow(name)?.path;
  return path === "edits" || path === "writes";
}

/** Whether a tool looks into them. */
export function isRead(name: string): boolean {
  const path = toolRow(name)?.path;
  return path === "reads" || path === "searches";
}
