import { snapshot } from "./_event.ts";
import { callModel, joinRoles, turnBegin, type TurnView } from "./_call-model.ts";
import { answerCalls } from "./calls.ts";
import type { Folded } from "./fold.ts";
import { freeze } from "./json.ts";
import type { Stop, Trigger } from "./events.ts";
import type { Run } from "./run.ts";
import { countContinuation, remaining } from "./limits.ts";
import {
  type Block,
  invalidConversation,
  isToolUse,
  type Message,
  promptText,
  text,
  type TextBlock,
  textOf,
  user,
} from "./messages.ts";
import type { Reply } from "./model.ts";
import { goesOn, isCut } from "./reply.ts";
import { hookInput, NOT_KEPT } from "./hook-words.ts";
import { type HookText, UnusableAnswer } from "./verdict.ts";

/** What sets a turn off. */
export interface TurnInput {
  readonly trigger: Trigger;
  readonly prompt: string;
  /** The prompt as it was given, if that was not a text. */
  readonly content?: readonly Block[] | undefined;
  /** What goes to the model before the prompt, and after it. */
  readonly before?: readonly HookText[];
  readonly after?: readonly HookText[];
  /** Whose input this is, a hook's or the program's; its text is shown in this turn and not kept, unless it persists. */
  readonly from?: "turn-end" | "program";
  readonly persist?: boolean;
}

export interface TurnEnd {
  readonly stop: Stop;
  /** What hooks put in for a next turn. */
  readonly inputs: Folded["inputs"];
}

/**
 * One turn: from an input to the moment the agent lets go. This is the loop; all the rest serves it.
 *
 * The model is called until it calls no tool; then the stop hooks are asked, and a denial sends it back to work.
 * Every path through here passes a limit that only grows, so every turn ends.
 */
export async function takeTurn(run: Run, input: TurnInput): Promise<TurnEnd> {
  const { state } = run;
  const view = await startTurn(run, input);
  if (view === undefined) return { stop: "denied", inputs: [] };
  const first = state.messages.length;
  let sentBack = false;

  for (let iteration = 0, isFirst = true;; iteration++, isFirst = false) {
    const limit = run.forbidden();
    if (limit) return await endTurn(run, input, first, limit);

    const reply = await callModel(run, view, iteration, isFirst);
    await run.push(reply.message);
    let given: unknown;
    if (reply.calls.length > 0) {
      const answered = await answerCalls(run, reply.calls);
      const arrived = state.reports?.take(false, run) ?? [];
      const reports = arrived instanceof Promise ? await run.interruptible(arrived) : arrived;
      const said = [...answered.content, ...run.heard(await run.takeWaiting()), ...reports.map(text)];
      run.say(said, awaitsApi(reply.message));
      if (run.halt) return { stop: "halted", inputs: [] };
      if (answered.waiting) return await endTurn(run, input, first, "waiting");
      if (!answered.ended) continue;
      given = answered.ended.given;
    } else {
      if (goesOn(reply.stop_reason)) continue;
      if (isCut(reply.stop_reason)) return await endTurn(run, input, first, "truncated");
      if (reply.stop_reason === "refusal") return await endTurn(run, input, first, "refused");
    }

    const finished = await run.agent.finish?.(run, reply, given);
    if (finished && "lacks" in finished) {
      const over = countContinuation(run.agent.limits, run.count);
      if (over) return await endTurn(run, input, first, over);
      run.say([...run.pending, text(finished.lacks)]);
      continue;
    }
    run.output = finished && { value: finished.output };
    const said = await askToStop(run, reply, first, sentBack);
    const end = run.halt ? "halted" : letGo(run, said);
    if (end) state.waiting.push(...said.contexts);
    if (end === "halted") return { stop: end, inputs: [] };
    if (end) return await endTurn(run, input, first, end);
    const contexts = [...run.heard(await run.takeWaiting()), ...run.heard(said.contexts)];
    run.say([...run.pending, ...feedback(contexts, said)]);
    sentBack = true;
    iteration = -1;
  }
}

/**
 * Whether the API still works on a tool of its own that a reply called beside ours: it takes the results of our tools
 * then, and nothing else.
 */
function awaitsApi({ content }: Message): boolean {
  const open = content.filter(({ type }) => type === "server_tool_use" || type === "mcp_tool_use");
  if (open.length === 0) return false;
  const answered = new Set(content.map((block) => (block as { tool_use_id?: unknown }).tool_use_id));
  return content.some(isToolUse) && open.some((block) => !answered.has((block as { id?: unknown }).id));
}

/** Fires turn-start and puts the turn's input together; undefined: the turn was refused. */
async function startTurn(run: Run, input: TurnInput): Promise<TurnView | undefined> {
  const { agent, state } = run;
  run.turns++;
  run.turn_id = `${state.agentId}:${run.index}.${run.turns}`;
  run.overlay.clear();
  run.output = undefined;
  const waiting = await run.takeWaiting();
  const { before = [], after = [] } = input;
  run.say([...run.heard(waiting), ...run.heard(before), ...promptBlocks(input), ...run.heard(after)]);
  if (input.from !== undefined && !input.persist) run.ephemeral.push(hookInput(input.from, input.prompt));
  const { system } = agent;
  const past = snapshot(state.messages);
  const said = await run.fire({
    event: "turn-start",
    trigger: input.trigger,
    prompt: input.prompt,
    get turn() {
      return freeze({ system, messages: past() });
    },
  }, { accept: (value) => acceptView(value, run.pending) });
  if (said.decision === "deny") {
    run.pending = [];
    state.waiting.unshift(...waiting);
    run.refusal = `Turn refused by hook ${said.deniedBy}: ${said.reason}`;
    run.warn(run.refusal);
    return undefined;
  }
  run.endIfHalted();
  run.pending = [...run.pending, ...run.heard([...state.waiting.splice(0), ...said.contexts])];
  const value = said.value as { system?: string; messages?: readonly Message[] } | undefined;
  return {
    system: value?.system ?? agent.system,
    ...(value?.messages && { prefix: { messages: value.messages, ...turnBegin(state.messages) } }),
  };
}

/** A turn that a hook began leaves one line: its input is for that turn only, but roles must alternate. */
function promptBlocks({ from, prompt, content = [], persist }: TurnInput): readonly Block[] {
  if (from !== undefined) return [persist ? hookInput(from, prompt) : NOT_KEPT];
  // What a hook made of its text stands for all its texts.
  if (content.length > 0 && promptText(content) === prompt) return content;
  const others = content.filter(({ type }) => type !== "text");
  if (prompt.trim() !== "") return [...others, text(prompt)];
  return others.length > 0 ? others : [text(EMPTY_PROMPT)];
}

/** Stands in the transcript for a prompt without words, which the API would not take. */
const EMPTY_PROMPT = "(empty prompt)";

function acceptView(value: unknown, pending: readonly Block[]): unknown {
  const { messages } = value as { messages?: readonly Message[] };
  if (messages === undefined) return value;
  const why = Array.isArray(messages)
    ? invalidConversation(joinRoles([...messages, user(pending)]))
    : "it is not a list";
  if (why !== undefined) {
    throw new UnusableAnswer(`Cannot use the changed messages as the model would refuse them: ${why}`);
  }
  return value;
}

function askToStop(run: Run, reply: Reply, first: number, sentBack: boolean): Folded | Promise<Folded> {
  const { agent, state, count } = run;
  const added = snapshot(state.messages, first);
  return run.fire({
    event: "stop",
    last_assistant_message: textOf(reply.message) || outputText(run),
    get messages() {
      return added();
    },
    usage: run.own.usage,
    ...(run.output && { output: run.output.value }),
    stop_hook_active: sentBack,
    continuations: count.continuations,
    stalled: count.stalled,
    remaining: remaining(agent.limits, count),
    agent_type: agent.type,
  });
}

/** What the run gives back, in words; empty if its agent has no output. */
export function outputText({ output }: Run): string {
  return output ? JSON.stringify(output.value) : "";
}

/** How the turn ends now that the stop hooks have spoken; undefined: they keep it going, and no limit forbids that. */
function letGo(run: Run, said: Folded): Stop | undefined {
  if (said.decision !== "deny") return "done";
  for (const { hook } of said.denials) run.keepers.add(hook);
  return countContinuation(run.agent.limits, run.count);
}

/**
 * All that hooks said and all their reasons in one user message, each in its hook's words. A host sends the contexts
 * and each reason as messages of their own; joined to one, a line break stands between them.
 */
function feedback(contexts: readonly TextBlock[], { denials }: Folded): TextBlock[] {
  const reasons = denials
    .map(({ hook, reason, text: words }) => words ?? `Stop hook feedback (${hook}):\n${reason}`)
    .filter((words) => words !== "");
  const blocks = [...contexts, ...reasons.map(text)];
  if (!denials.some((d) => d.text !== undefined)) return blocks;
  const isBroken = (i: number) => i >= contexts.length - 1 && i < blocks.length - 1;
  return blocks.map((block, i) => isBroken(i) ? text(`${block.text}\n`) : block);
}

/** Fires turn-end; at a limit its inputs are recorded but start nothing. */
async function endTurn(run: Run, input: TurnInput, first: number, stop: Stop): Promise<TurnEnd> {
  const { state } = run;
  run.ephemeral = [];
  await run.commit();
  if (stop !== "done" && stop !== "waiting") run.warn(run.limitWarning(stop));
  if (stop === "waiting") {
    const message = "The agent waits for an answer";
    await run.fire({ event: "notification", message, notification_type: "agent_waiting", title: null });
  }
  const added = snapshot(state.messages, first);
  const said = await run.fire({
    event: "turn-end",
    trigger: input.trigger,
    stop,
    last_assistant_message: textOf(state.messages.findLast((m) => m.role === "assistant")),
    get messages() {
      return added();
    },
    usage: run.own.usage,
  });
  state.waiting.push(...said.contexts);
  return { stop, inputs: stop === "done" ? said.inputs : [] };
}
