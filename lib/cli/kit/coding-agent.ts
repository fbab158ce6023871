import { agent } from "../../agent/agent.ts";
import type { Agent } from "../../agent/options.ts";
import { BUILT_IN } from "../../runtime/importing.ts";
import { Agent as AgentTool } from "../../tools/agent.ts";
import { AskUserQuestion, EnterPlanMode, ExitPlanMode } from "../../tools/ask.ts";
import { BashOutput, KillShell } from "../../tools/background.ts";
import { Bash } from "../../tools/bash.ts";
import { Edit } from "../../tools/edit.ts";
import { Glob } from "../../tools/glob.ts";
import { Grep } from "../../tools/grep.ts";
import { Read } from "../../tools/read.ts";
import { Write } from "../../tools/write.ts";

const SYSTEM = `You are a coding agent working in the user's directory.
Look before you change: read the files and search for what you need. Make the smallest change that does the whole job, then check it by
running the project's own tests or the code itself. Say at the end what you did and what you saw. If something cannot be done, say why.
Text inside <system-reminder>, or after "HookInput", "Stop hook feedback" or "Feedback from hook", comes from the user's hooks or from this
program, not from the user.`;

/** Only Edit and Write change files, as in other hosts: a guard of these would not see a third tool. */
const TOOLS = [
  Read,
  Write,
  Edit,
  Bash,
  BashOutput,
  KillShell,
  Glob,
  Grep,
  AgentTool,
  AskUserQuestion,
  EnterPlanMode,
  ExitPlanMode,
];

/** The agent of `crochet run` without a script. */
export function codingAgent(): Agent {
  return agent({ from: BUILT_IN, name: "coding", system: SYSTEM, tools: TOOLS });
}

/** An agent with the tools of a host, which nothing guards but the hooks of a folder. */
export function guardedAgent(hooks: string): Agent {
  return agent({ from: BUILT_IN, name: "guarded", tools: TOOLS, hooks, permissions: { mode: "bypassPermissions" } });
}
