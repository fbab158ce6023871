import { snapshot } from "./_event.ts";
import { freeze, present } from "./json.ts";
import { asError, thrownWords } from "./shown.ts";
import { Ended } from "./limits.ts";
import {
  type CallEnd,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type Reply,
  type ReplyDelta,
  type Used,
} from "./model.ts";
import type { Run } from "./run.ts";
import { toolSpecs } from "./tool.ts";
import { type Block, invalidConversation, type Message, user } from "./messages.ts";
import { type PartlyUsed, readReply, replyFrom } from "./reply.ts";
import { isNotKept } from "./hook-words.ts";
import { UnusableAnswer } from "./verdict.ts";

/** What the requests of a turn are made from, as hooks changed it for the turn. */
export interface TurnView {
  readonly system: string;
  /** Stands in for the history before this turn. */
  readonly prefix?: ReturnType<typeof turnBegin> & { readonly messages: readonly Message[] };
}

/** Where a turn begins: at a message, or at a block of it if its input is added to an existing message. */
export function turnBegin(messages: readonly Message[]) {
  const last = messages.at(-1);
  return last?.role === "user"
    ? { index: messages.length - 1, block: last.content.length }
    : { index: messages.length, block: 0 };
}

/** One model call: iteration hooks, the request, the reply; a failed attempt is tried again while nothing has happened. */
export async function callModel(run: Run, view: TurnView, iteration: number, isFirst: boolean): Promise<Reply> {
  const { agent, count } = run;
  // A history that a hook changed for this turn is its own business: making room would pull it from under the turn.
  if (agent.compact && !view.prefix) await agent.compact(run);
  const past = snapshot(run.state.messages);
  const { pending } = run;
  const said = await run.fire({
    event: "iteration",
    iteration,
    total_iterations: count.iterations,
    usage: run.own.usage,
    get request() {
      return freeze({ system: view.system, messages: withPending(past(), pending) });
    },
  }, { accept: (value) => acceptChange(run, value) });
  run.endIfDenied(said);
  run.endIfHalted();
  if (said.contexts.length > 0) run.say([...run.pending, ...run.heard(said.contexts)], run.resultsOnly);
  await run.commit();
  showEphemeral(run);

  const change = said.value as { system?: string; append?: string | readonly Message[] } | undefined;
  const recover = agent.recovery?.(run, !view.prefix);
  for (;;) {
    const messages = requestMessages(run, view, change?.append);
    const end = await callEnd(run, { system: change?.system ?? view.system, messages }, isFirst);
    if (end.reply) run.account(end.reply);
    if (await recover?.(end)) continue;
    if (!end.reply) throw end.error;
    if (end.reply.container !== undefined) run.state.container = end.reply.container;
    return end.reply;
  }
}

async function callEnd(
  run: Run,
  { system, messages }: Pick<ModelRequest, "system" | "messages">,
  isFirst: boolean,
): Promise<CallEnd> {
  const { agent, modelParams: { maxTokens: max_tokens, effort } } = run;
  const params = agent.paramsOf ? agent.paramsOf(run, isFirst) : run.modelParams.params;
  run.countCall();
  const tools = toolSpecs(agent);
  const systemBlocks = system === agent.system ? agent.systemBlocks : undefined;
  const { model } = run.state;
  const request = present({ model, system, systemBlocks, messages, tools, max_tokens, effort, params });
  try {
    const reply = await attempts(run, (signal, partial) => {
      const next = (onFirst?: () => void) => read(run, agent.model(request, signal), partial, onFirst);
      return agent.around?.model ? agent.around.model(run, partial, next) : next();
    });
    return { reply };
  } catch (error) {
    return { error };
  }
}

function read(run: Run, answer: AsyncIterable<ModelEvent>, partial: PartlyUsed, onFirst?: () => void) {
  const onDelta = (delta: ReplyDelta) => run.emit(delta);
  return Symbol.iterator in answer
    ? replyFrom(answer as unknown as Iterable<ModelEvent>, onDelta, partial, onFirst)
    : readReply(answer, onDelta, partial, onFirst);
}

/** Joins what is only for this turn to the last user message, in requests alone. */
function showEphemeral(run: Run): void {
  if (run.ephemeral.length === 0 || run.resultsOnly) return;
  const index = run.state.messages.findLastIndex((m) => m.role === "user");
  run.overlay.set(index, [...run.overlay.get(index) ?? [], ...run.ephemeral]);
  run.ephemeral = [];
}

/** The conversation as this one call sees it. */
function requestMessages(
  run: Run,
  view: TurnView,
  append: string | readonly Message[] | undefined,
): readonly Message[] {
  const { messages } = run.state;
  let shown: Message[] = messages.slice();
  for (const [index, blocks] of run.overlay) {
    const message = shown[index]!;
    const content = message.content.filter((block) => !isNotKept(block));
    shown[index] = { role: message.role, content: [...content, ...blocks] };
  }
  if (view.prefix) {
    const { index, block, messages: instead } = view.prefix;
    const begun = shown[index]!;
    shown = [...instead, { ...begun, content: begun.content.slice(block) }, ...shown.slice(index + 1)];
  }
  if (typeof append !== "string") shown.push(...append ?? []);
  else if (append.trim() !== "") shown.push(user(append));
  return view.prefix || append !== undefined ? joinRoles(shown) : shown;
}

function withPending(messages: readonly Message[], pending: readonly Block[]): Message[] {
  return joinRoles([...messages, ...(pending.length > 0 ? [user(pending)] : [])]);
}

function acceptChange(run: Run, value: unknown): unknown {
  const { append } = value as { append?: unknown };
  if (append === undefined || (typeof append === "string" && !run.resultsOnly)) return value;
  const why = run.resultsOnly
    ? "it has called a tool of its own that is still to answer"
    : Array.isArray(append)
    ? invalidConversation(joinRoles([...withPending(run.state.messages, run.pending), ...append]))
    : "it is neither a text nor a list";
  if (why !== undefined) {
    throw new UnusableAnswer(`Cannot append to the messages as the model would refuse them: ${why}`);
  }
  return value;
}

/** Neighbours of one role made one message, as the API reads them. */
export function joinRoles(messages: readonly Message[]): Message[] {
  const out: Message[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    if (last?.role === message.role) {
      out[out.length - 1] = { role: last.role, content: [...last.content, ...message.content] };
    } else out.push(message);
  }
  return out;
}

/** How often a call that failed is made again. */
const RETRIES = 2;

async function attempts(
  run: Run,
  attempt: (signal: AbortSignal, partial: PartlyUsed) => Reply | Promise<Reply>,
): Promise<Reply> {
  const { clock } = run.state;
  let hookRetries = 1;
  for (let n = 0;; n++) {
    const partial: PartlyUsed = {};
    try {
      const reply = attempt(run.signal, partial);
      return reply instanceof Promise ? await run.interruptible(reply) : reply;
    } catch (error) {
      // What came of a reply that failed or was interrupted has to be paid too.
      if (partial.usage) run.account(partial as Used);
      if (error instanceof Ended) throw error;
      let again = error instanceof ModelError && error.retryable && n < RETRIES;
      if (!again) {
        again = await run.wantsRetry(asError(error), null, hookRetries-- > 0 && !run.forbidden());
        run.endIfHalted();
        if (again) run.countCall();
      }
      if (!again) throw error;
      const wait = (error as Partial<ModelError> | undefined)?.retryAfter ??
        Math.min(500 * 2 ** n, 8000) * (0.75 + clock.random() / 2);
      run.emit({ type: "retry", attempt: n + 1, reason: thrownWords(error), wait_ms: Math.round(wait) });
      await run.interruptible(
        run.agent.around?.sleep?.(wait) ?? (clock.pass ? clock.pass(wait, run.signal) : clock.sleep(wait, run.signal)),
      );
    }
  }
}
