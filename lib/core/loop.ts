import { contextBlocks } from "./said.ts";
import { answerCalls } from "./calls.ts";
import type { Folded } from "./fold.ts";
import type { Stop, Trigger } from "./events.ts";
import { Ended, type Run } from "./life.ts";
import { countContinuation, forbidsCall, limitWarning, remaining, spend } from "./limits.ts";
import {
  addUsage,
  type Block,
  invalidConversation,
  type Message,
  text,
  type TextBlock,
  textOf,
  user,
} from "./messages.ts";
import { ModelError, type Reply } from "./model.ts";
import { readReply } from "./reply.ts";
import { UnusableAnswer } from "./verdict.ts";

/** What sets a turn off. */
export interface TurnInput {
  readonly trigger: Trigger;
  readonly prompt: string;
  /** What goes to the model before the prompt, and after it. */
  readonly before?: readonly Block[];
  readonly after?: readonly Block[];
  /** The hook whose input this is; its text is shown in this turn and not kept. */
  readonly from?: string;
}

export interface TurnEnd {
  readonly stop: Stop;
  /** What hooks put in for a next turn. */
  readonly inputs: readonly { readonly hook: string; readonly text: string }[];
}

/**
 * One turn: from an input to the moment the agent lets go. This is the loop; all the rest serves it.
 *
 * The model is called until it calls no tool; then the stop hooks are asked, and a denial sends it back to work.
 * Every path through here passes a limit that only grows, so every turn ends.
 */
export async function takeTurn(run: Run, input: TurnInput): Promise<TurnEnd> {
  const { agent, life, count } = run;
  const view = await startTurn(run, input);
  if (view === undefined) return { stop: "denied", inputs: [] };
  const first = life.messages.length;
  let sentBack = false;

  for (let iteration = 0;; iteration++) {
    const limit = forbidsCall(agent.limits, count, life.spent);
    if (limit) return await endTurn(run, input, first, limit);

    const reply = await callModel(run, view, iteration);
    run.push(reply.message);
    if (reply.calls.length > 0) {
      const answered = await answerCalls(run, reply.calls);
      run.pending = [...answered.content, ...contextBlocks(life.waiting.splice(0))];
      if (answered.halted) return { stop: "halted", inputs: [] };
      if (answered.waiting) return await endTurn(run, input, first, "waiting");
      continue;
    }
    if (reply.stop_reason === "pause_turn") continue;
    if (reply.stop_reason === "max_tokens") return await endTurn(run, input, first, "truncated");
    if (reply.stop_reason === "refusal") return await endTurn(run, input, first, "refused");

    const said = await askToStop(run, reply, first, sentBack);
    if (said.halt) return { stop: "halted", inputs: [] };
    if (said.decision !== "deny") {
      life.waiting.push(...said.contexts);
      return await endTurn(run, input, first, "done");
    }
    for (const denial of said.denials) run.keepers.add(denial.hook);
    const over = countContinuation(agent.limits, count);
    if (over) return await endTurn(run, input, first, over);
    run.pending = feedback(run.heard(said.contexts), said);
    sentBack = true;
    iteration = -1;
  }
}

/** What the requests of a turn are made from, where hooks changed it for the turn. */
interface View {
  readonly system: string;
  /** Stands in for the history before this turn. */
  readonly prefix?: { readonly messages: readonly Message[]; readonly until: number };
}

/** Fires turn-start and puts the turn's input together; undefined: the turn was refused. */
async function startTurn(run: Run, input: TurnInput): Promise<View | undefined> {
  const { agent, life } = run;
  run.turns++;
  run.turnId = `${life.agentId}:${life.sequence.next++}`;
  run.hooks = await run.interruptible(Promise.resolve(agent.hooks()));
  run.overlay.clear();
  const waiting = life.waiting.splice(0);
  run.pending = [...contextBlocks(waiting), ...input.before ?? [], text(promptText(input)), ...input.after ?? []];
  const shown: Block[] = input.from === undefined ? [] : [text(hookInputText("TurnEnd", input.prompt))];
  const said = await run.fire({
    event: "turn-start",
    trigger: input.trigger,
    prompt: input.prompt,
    get turn() {
      return { system: agent.system, messages: life.messages.slice() };
    },
  }, { accept: (value) => acceptView(value, run.pending) });
  if (said.decision === "deny") {
    run.pending = [];
    run.refusal = `Turn refused by hook ${said.deniedBy}: ${said.reason}`;
    run.warn(run.refusal);
    return undefined;
  }
  if (said.halt) throw new Ended("halted", said.halt.reason);
  run.ephemeral = shown;
  run.pending.push(...run.heard(said.contexts));
  run.ephemeral.push(...said.inputs.map((i) => text(hookInputText("TurnStart", i.text))));
  const value = said.value as { system?: string; messages?: readonly Message[] } | undefined;
  return {
    system: value?.system ?? agent.system,
    ...(value?.messages && { prefix: { messages: value.messages, until: life.messages.length } }),
  };
}

/** A turn that a hook began leaves one line: its input is for that turn only, but roles must alternate. */
function promptText(input: TurnInput): string {
  return input.from === undefined ? input.prompt : hookInputText("TurnEnd", "[not kept]");
}

function hookInputText(event: string, words: string): string {
  return `HookInput (${event}): ${words}`;
}

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

/** One model call: iteration hooks, the request, the reply; a failed attempt is tried again while nothing has happened. */
async function callModel(run: Run, view: View, iteration: number): Promise<Reply> {
  const { agent, life, count } = run;
  run.hooks = await run.interruptible(Promise.resolve(agent.hooks()));
  const said = await run.fire({
    event: "iteration",
    iteration,
    total_iterations: count.iterations,
    get request() {
      return {
        system: view.system,
        messages: joinRoles([...life.messages, ...(run.pending.length > 0 ? [user(run.pending)] : [])]),
      };
    },
  });
  run.endIfDenied(said);
  if (said.halt) throw new Ended("halted", said.halt.reason);
  run.pending.push(...run.heard(said.contexts));
  run.commit();
  showEphemeral(run);

  const change = said.value as { system?: string; append?: string | readonly Message[] } | undefined;
  const request = {
    model: run.modelName,
    system: change?.system ?? view.system,
    messages: requestMessages(run, view, change?.append),
    tools: run.toolSpecs,
    max_tokens: agent.maxTokens,
    ...(agent.params && { params: agent.params }),
  };
  count.iterations++;
  const name = `llm:${run.turnId}:${count.iterations}`;
  const reply = await agent.step(
    name,
    () => attempts(run, (signal) => readReply(agent.model(request, signal), (delta) => run.emit(delta))),
  );
  const cost = agent.price?.(reply.model || run.modelName, reply.usage);
  run.usage = addUsage(run.usage, reply.usage);
  run.cost = run.cost === undefined || cost === undefined ? undefined : run.cost + cost;
  spend(life.spent, reply.usage, cost);
  run.emit({ type: "usage", usage: reply.usage, model: reply.model || run.modelName, cost });
  return reply;
}

/** Joins what is only for this turn to the last user message, in requests alone. */
function showEphemeral(run: Run): void {
  if (run.ephemeral.length === 0) return;
  const index = run.life.messages.findLastIndex((m) => m.role === "user");
  run.overlay.set(index, [...run.overlay.get(index) ?? [], ...run.ephemeral]);
  run.ephemeral = [];
}

/** The conversation as this one call sees it. */
function requestMessages(run: Run, view: View, append: string | readonly Message[] | undefined): readonly Message[] {
  const { messages } = run.life;
  let shown: Message[] = messages.slice();
  for (const [index, blocks] of run.overlay) {
    const message = shown[index]!;
    shown[index] = { role: message.role, content: [...message.content, ...blocks] };
  }
  if (view.prefix) shown = [...view.prefix.messages, ...shown.slice(view.prefix.until)];
  if (append !== undefined) shown.push(...(typeof append === "string" ? [user(append)] : append));
  return view.prefix || append !== undefined ? joinRoles(shown) : shown;
}

/** Neighbours of one role made one message, as the API reads them. */
function joinRoles(messages: readonly Message[]): Message[] {
  const out: Message[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    if (last?.role === message.role) {
      out[out.length - 1] = { role: last.role, content: [...last.content, ...message.content] };
    } else out.push(message);
  }
  return out;
}

const RETRIES = 2;

async function attempts(run: Run, attempt: (signal: AbortSignal) => Promise<Reply>): Promise<Reply> {
  const { clock } = run.life;
  let hookRetries = 1;
  for (let n = 0;; n++) {
    try {
      return await run.interruptible(attempt(run.signal));
    } catch (error) {
      if (error instanceof Ended) throw error;
      let again = error instanceof ModelError && error.retryable && n < RETRIES;
      if (!again && hookRetries-- > 0) again = await hooksWantRetry(run, error);
      if (!again) throw error;
      const wait = (error as ModelError).retryAfter ?? Math.min(500 * 2 ** n, 8000) * (0.75 + clock.random() / 2);
      run.emit({ type: "retry", attempt: n + 1, reason: (error as Error).message, wait_ms: Math.round(wait) });
      await run.interruptible(clock.sleep(wait, run.signal));
    }
  }
}

async function hooksWantRetry(run: Run, error: unknown): Promise<boolean> {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const fields = { error_type: name, error_message: message, tool: null, stack_trace: stack ?? null };
  const said = await run.fire({ event: "error", ...fields, severity: "critical", retry: true });
  run.endIfDenied(said);
  return said.modified && said.value === true;
}

function askToStop(run: Run, reply: Reply, first: number, sentBack: boolean): Promise<Folded> {
  const { agent, life, count } = run;
  return run.fire({
    event: "stop",
    last_assistant_message: textOf(reply.message),
    get messages() {
      return life.messages.slice(first);
    },
    usage: run.usage,
    stop_hook_active: sentBack,
    continuations: count.continuations,
    stalled: count.stalled,
    remaining: remaining(agent.limits, count),
    agent_type: agent.type,
  });
}

/**
 * All that hooks said and all their reasons in one user message, each in its hook's words. A host sends the contexts
 * and each reason as messages of their own; joined to one, a line break stands between them.
 */
function feedback(contexts: readonly Block[], { denials }: Folded): Block[] {
  const reasons = denials
    .map(({ hook, reason, text: words }) => words ?? `Stop hook feedback (${hook}):\n${reason}`)
    .filter((words) => words !== "");
  const parted = denials.some((d) => d.text !== undefined);
  const part = (block: Block) => parted && block.type === "text" ? text(`${(block as TextBlock).text}\n`) : block;
  return [
    ...contexts.map((block, i) => i === contexts.length - 1 && reasons.length > 0 ? part(block) : block),
    ...reasons.map((words, i) => i === reasons.length - 1 ? text(words) : part(text(words))),
  ];
}

/** Fires turn-end; at a limit its inputs are told but start nothing. */
async function endTurn(run: Run, input: TurnInput, first: number, stop: Stop): Promise<TurnEnd> {
  const { life, agent } = run;
  run.commit();
  if (stop !== "done" && stop !== "waiting") run.warn(limitWarning(stop, agent.limits, [...run.keepers]));
  const said = await run.fire({
    event: "turn-end",
    trigger: input.trigger,
    stop,
    last_assistant_message: textOf(life.messages.findLast((m) => m.role === "assistant")),
    get messages() {
      return life.messages.slice(first);
    },
    usage: run.usage,
  });
  life.waiting.push(...said.contexts);
  return { stop, inputs: stop === "done" ? said.inputs : [] };
}
