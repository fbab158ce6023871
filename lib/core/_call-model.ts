import { Ended } from "./life.ts";
import { type Run } from "./run.ts";
import { spend } from "./limits.ts";
import { addUsage, type Message, user } from "./messages.ts";
import { ModelError, type ModelRequest, type Reply } from "./model.ts";
import { readReply } from "./reply.ts";

/** What the requests of a turn are made from, where hooks changed it for the turn. */
export interface View {
  readonly system: string;
  /** Stands in for the history before this turn. */
  readonly prefix?: { readonly messages: readonly Message[]; readonly until: number };
}

/** One model call: iteration hooks, the request, the reply; a failed attempt is tried again while nothing has happened. */
export async function callModel(run: Run, view: View, iteration: number): Promise<Reply> {
  const { agent, life, count } = run;
  await agent.compact?.(run);
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
  await run.commit();
  showEphemeral(run);

  const change = said.value as { system?: string; append?: string | readonly Message[] } | undefined;
  const shown = { system: change?.system ?? view.system, messages: requestMessages(run, view, change?.append) };
  count.iterations++;
  const reply = await agent.step(`llm:${run.turnId}:${count.iterations}`, () => replyOf(run, shown));
  const cost = agent.price?.(reply.model || run.modelName, reply.usage);
  run.usage = addUsage(run.usage, reply.usage);
  run.cost = run.cost === undefined || cost === undefined ? undefined : run.cost + cost;
  spend(life.spent, reply.usage, cost);
  run.emit({ type: "usage", usage: reply.usage, model: reply.model || run.modelName, cost });
  return reply;
}

/** The reply of the model, or of the one that stands in for it where it is overloaded or refuses. */
async function replyOf(run: Run, shown: Pick<ModelRequest, "system" | "messages">): Promise<Reply> {
  const { agent } = run;
  const fixed = { tools: run.toolSpecs, max_tokens: agent.maxTokens, ...(agent.params && { params: agent.params }) };
  for (;;) {
    const request = { model: run.modelName, ...shown, ...fixed };
    let reason: string;
    try {
      const reply = await attempts(
        run,
        (signal) => readReply(agent.model(request, signal), (delta) => run.emit(delta)),
      );
      if (reply.stop_reason !== "refusal" || !await fallBack(run, "it refused")) return reply;
      continue;
    } catch (error) {
      reason = error instanceof ModelError && OVERLOADED.has(error.code) ? error.message : "";
      if (reason === "" || !await fallBack(run, reason)) throw error;
    }
  }
}

const OVERLOADED: ReadonlySet<string> = new Set(["overloaded_error", "rate_limit_error"]);

/** Changes to the fallback model, once: a model that stands in has none. */
async function fallBack(run: Run, reason: string): Promise<boolean> {
  const next = await run.agent.fallback?.(run, reason);
  if (next === undefined || next === run.modelName) return false;
  run.modelName = next;
  return true;
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
