import { type Message, text, textOf, totalTokens, user } from "../core/messages.ts";
import { readReply } from "../core/reply.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { Model } from "../core/model.ts";
import type { Run } from "../core/run.ts";
import { toolSpecs } from "../core/tool.ts";
import { summaryParams } from "./params.ts";

/** What a context may hold before it is made smaller: this part of what the model takes, or so many tokens if that is unknown. */
const COMPACT_PART = 0.75;
const COMPACT_AT = 150_000;
/** How much it must grow before the next attempt, if it could not be made smaller. */
const GROWN = 1.1;

/** How many of the last messages stay as they are, at least. */
const KEEP = 6;

const INSTRUCTIONS =
  `Write down what must be known to go on with this work: what was asked, what was done and found, the files and names that
matter, what is left to do. Be exact about paths, commands and decisions. Write for yourself; nothing else of the conversation remains.
Answer in words alone: a tool that you call now is not run.`;

/** What compacts the conversation of each agent of a session if it has become too large; undefined if that is not wanted. */
export function compactorFor(wanted: boolean | { at: number } = true, { contextWindow }: Model) {
  if (wanted === false) return undefined;
  const whole = contextWindow === undefined ? COMPACT_AT : COMPACT_PART * contextWindow;
  const at = wanted === true ? whole : wanted.at;
  const sizes = new Map<string, number>();
  const allowed = new Map<string, number>();
  return {
    note: (event: RunEvent): void => {
      if (event.type === "usage" && event.hook === undefined) sizes.set(event.agent_id, totalTokens(event.usage));
      if (event.type === "compact") { for (const known of [sizes, allowed]) known.delete(event.agent_id); }
    },
    compact: async (run: Run, isTooLong = false): Promise<boolean> => {
      const { state: { agentId, messages, spent }, agent: { limits } } = run;
      const size = sizes.get(agentId) ?? 0;
      const room = spent.calls + 1 < limits.calls; // a summary that no call follows is of no use
      if (!room || !(isTooLong || size > (allowed.get(agentId) ?? at)) || cutAt(messages) === undefined) return false;
      const done = await compact(run, "auto");
      if (!done) allowed.set(agentId, size * GROWN);
      return done;
    },
  };
}

/**
 * Makes a conversation smaller: all but its end is replaced by a summary the model writes. A call and its result
 * are never parted, and a summary that would not make it smaller is thrown away.
 */
export async function compact(run: Run, trigger: "auto" | "manual"): Promise<boolean> {
  const { state, agent } = run;
  const cut = cutAt(state.messages);
  if (cut === undefined) return false;
  const said = await run.fire({ event: "pre-compact", trigger, instructions: INSTRUCTIONS });
  if (said.decision === "deny") {
    run.warn(`The context is not compacted: ${said.deniedBy} said: ${said.reason}`);
    return false;
  }
  const asked = said.modified ? said.value as string : INSTRUCTIONS;
  const instructions = [asked, ...said.contexts.map((c) => c.text)].join("\n\n");
  const past = state.messages.slice(0, cut);
  const asking = [
    ...past,
    ...(past.at(-1)?.role === "user" ? [{ role: "assistant", content: [text("Understood.")] } as Message] : []),
    user(instructions),
  ];
  const { maxTokens: max_tokens, ...modelParams } = summaryParams(run.modelParams);
  const request = {
    ...{ model: run.state.model, system: agent.system, messages: asking, tools: toolSpecs(agent), max_tokens },
    ...(agent.systemBlocks && { systemBlocks: agent.systemBlocks }),
    ...modelParams,
  };
  run.state.spent.calls++;
  const reply = await run.interruptible(
    run.step("compact", String(run.count.iterations), () => readReply(agent.model(request, run.signal), () => {})),
  );
  run.account(reply);
  const summary = textOf(reply.message);
  const next = [
    user(`The conversation so far was summarised to make room:\n\n${summary}`),
    ...state.messages.slice(cut),
  ];
  const [before, after] = [sizeOf(state.messages), sizeOf(next)];
  if (summary.trim() === "" || after >= before) {
    run.warn("The context is not compacted as its summary would not make it smaller");
    return false;
  }
  state.messages = next;
  // What is shown in this turn only stays with its message, or with the summary if that message is gone.
  const shown = [...run.overlay];
  run.overlay.clear();
  for (const [index, blocks] of shown) {
    const at = index < cut ? 0 : index - cut + 1;
    run.overlay.set(at, [...run.overlay.get(at) ?? [], ...blocks]);
  }
  run.firstIndex = Math.min(run.firstIndex, next.length);
  run.emit({ type: "compact", messages: next, before, after });
  await run.fire({ event: "post-compact", trigger, summary });
  return true;
}

/** Where the kept end begins: at a reply of the model, so that its calls keep their results. */
function cutAt(messages: readonly Message[]): number | undefined {
  for (let at = messages.length - KEEP; at > 1; at--) {
    if (messages[at]!.role === "assistant") return at;
  }
  return undefined;
}

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
}
