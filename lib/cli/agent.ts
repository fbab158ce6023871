import { readFileSync } from "node:fs";
import { act, onPromptOf } from "../monitor/escalate.ts";
import { agentsDir, appendEvent, isAgentId, readEvents } from "../monitor/log.ts";
import { type AgentEvent, nextState, promptTypeOf, stateOf } from "../monitor/state.ts";
import { type Command, EXIT, type Io, UsageError } from "./_io.ts";

const HELP = `crochet agent settings <id> [--workspace <dir>] [--on-prompt escalate|none|<command>]
crochet agent hook pretooluse|stop|notification <id>

  Watches an agent of Claude Code: 'settings' writes a settings file for it (start it with --settings and that file)
  and prints the file's path as its last line; 'hook' is what that file calls. 'crochet agents' shows them all.

Example
  claude --settings "$(crochet agent settings fixer | tail -n 1)"
`;

const agent: Command = async (args, io) => {
  const [what, ...rest] = args;
  if (what === "hook") return hook(rest, io);
  if (what === "settings") return await (await import("./_agent-settings.ts")).agentSettings(rest, io);
  if (what === undefined || what === "--help") {
    io.out(HELP);
    return EXIT.ok;
  }
  throw new UsageError(`Cannot do 'agent ${what}' as there is no such thing: expected settings or hook`);
};
export default agent;

/** Notes what happened and is gone: silent, exit 0 on every path, so that it can never stand in an agent's way (S2.8). */
function hook([event, id]: readonly string[], io: Io): number {
  try {
    if (!isAgentId(id)) return EXIT.ok;
    const dir = agentsDir(io.env);
    const noted = eventOf(event, readInput());
    if (!noted) return EXIT.ok;
    const before = stateOf(readEvents(dir, id));
    appendEvent(dir, id, noted);
    const after = nextState(before, noted);
    if (after.state === "prompting" && after !== before) act(onPromptOf(dir, id), id, after);
  } catch { /* whatever it is, the agent goes on */ }
  return EXIT.ok;
}

function readInput(): Record<string, unknown> {
  try {
    const input: unknown = JSON.parse(readFileSync(0, "utf8"));
    return typeof input === "object" && input !== null ? input as Record<string, unknown> : {};
  } catch {
    return {};
  }
}

function eventOf(name: string | undefined, input: Record<string, unknown>): AgentEvent | undefined {
  const at = new Date().toISOString();
  if (name === "stop") return { type: "turn_end", at };
  if (name === "notification") {
    const message = typeof input.message === "string" ? input.message : "";
    if (input.notification_type === "permission_prompt" || /permission/i.test(message)) {
      return { type: "prompt", prompt_type: "permission", message, at };
    }
    return input.notification_type === "idle_prompt" ? { type: "turn_end", at } : undefined;
  }
  const prompt_type = name === "pretooluse" ? promptTypeOf(input.tool_name) : undefined;
  return prompt_type && { type: "prompt", prompt_type, message: asked(input.tool_input), at };
}

/** What the person is asked, as far as the tool's input tells. */
function asked(input: unknown): string {
  const { questions, plan } = (input ?? {}) as { questions?: { question?: unknown }[]; plan?: unknown };
  if (typeof plan === "string") return plan.split("\n", 1)[0]!.slice(0, 200);
  const question = Array.isArray(questions) ? questions[0]?.question : undefined;
  return typeof question === "string" ? question.slice(0, 200) : "";
}
