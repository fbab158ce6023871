import { asError } from "./shown.ts";
import type { Folded } from "./fold.ts";
import type { Stop } from "./events.ts";
import type { Run } from "./run.ts";
import { countContinuation, Ended, newSpent } from "./limits.ts";
import {
  INTERRUPTED,
  isToolResult,
  isToolUse,
  programText,
  type Prompt,
  promptText,
  textOf,
  toolResult,
} from "./messages.ts";
import { outputText, takeTurn, type TurnInput } from "./loop.ts";
import { ModelError } from "./model.ts";
import type { Result } from "./run-events.ts";

/** What a person has typed while a run goes on comes before the turns that hooks ask for at its end (U11). */
export interface Typed {
  /** Whether there is something: then the run ends, and those turns wait. */
  readonly hasMore: () => boolean;
  /** The turns that wait: the next run takes them after its prompt's. */
  readonly later: TurnInput[];
}

interface PromptOptions {
  readonly trigger?: "user" | "resume";
  readonly typed?: Typed | undefined;
  /** Called before the prompt, for the run that opens a session: gives what the hooks of `session-start` said. */
  readonly open?: ((run: Run) => Promise<Folded>) | undefined;
}

/**
 * One prompt of a person and everything it sets off: the turns of the prompt, and those that hooks' inputs start. What
 * goes wrong is in the Result. One run of a session at a time.
 *
 * @example
 * ```ts
 * import { allow, ask, context, DEFAULT_LIMITS, halt, hookOn, keepGoing, type Model, modify, newSessionState, Run, runPrompt } from "crochet/core";
 *
 * const model: Model = async function* ({ messages }) {
 *   yield { type: "message_start", message: {} };
 *   yield { type: "content_block_start", index: 0, content_block: { type: "text", text: `answer ${messages.length}` } };
 *   yield { type: "content_block_stop", index: 0 };
 *   yield { type: "message_delta", delta: { stop_reason: "end_turn" } };
 *   yield { type: "message_stop" };
 * };
 * const records = [
 *   hookOn("user-prompt-submit", ({ prompt }) => prompt === "" ? modify("Say hello") : context("Answer in one line")),
 *   hookOn("stop", ({ continuations }) => continuations === 0 ? keepGoing("Look again") : undefined),
 *   hookOn("pre-tool-use", ({ tool_name }) => tool_name === "Read" ? allow() : ask("Only reading is free")),
 *   hookOn("iteration", ({ total_iterations }) => total_iterations > 5 ? halt("Enough") : undefined),
 * ];
 * const agent = { type: "helper", model, system: "", tools: [], limits: DEFAULT_LIMITS, maxTokens: 1000, hooks: () => ({ records }) };
 * const state = newSessionState({ id: "s1", model: "none", cwd: () => "/" });
 * console.log((await runPrompt(new Run(agent, state), "")).text); // answer 3
 * ```
 */
export async function runPrompt(run: Run, prompt: Prompt, options: PromptOptions = {}): Promise<Result> {
  const { state } = run;
  if (state.parentAgentId === undefined) Object.assign(state.spent, newSpent(), { unpriced: undefined });
  const over = new AbortController();
  try {
    return await answered(run, prompt, options, () => deadline(run, over.signal));
  } finally {
    state.runs++;
    over.abort("over");
  }
}

function deadline(run: Run, over: AbortSignal): void {
  const { agent: { limits: { seconds }, around }, state: { clock, begun } } = run;
  if (seconds === undefined || seconds === Infinity) return;
  // A process that continues a run has the time that is left of it; a timer that outlives the process counts that itself.
  const left = seconds * 1000 - (begun === undefined ? 0 : clock.now() - begun);
  const end = (why: () => Ended) => over.aborted ? undefined : run.end(why());
  (around?.sleep ? around.sleep(seconds * 1000) : clock.sleep(Math.max(0, left), over)).then(
    () => end(() => new Ended("deadline", run.limitWarning("deadline"))),
    (error) => end(() => new Ended("error", asError(error).message)),
  );
}

/** `time` begins to count the run's time. */
async function answered(
  run: Run,
  prompt: Prompt,
  { trigger = "user", open, typed }: PromptOptions,
  time: () => void,
): Promise<Result> {
  const { agent, state } = run;
  const submission = programText(prompt);
  const words = submission ?? promptText(prompt);
  run.emit({ type: "start", session_id: state.id, agent_type: agent.type, prompt: words, model: run.state.model });
  if (submission !== undefined) {
    run.emit({ type: "hook_input", hook: "program", event: "turn-start", text: submission });
  }
  let refused = false;
  let opening: TurnInput[] = [];
  let end: { stop: Stop; error?: unknown };
  try {
    // Loading hooks is work outside a step: an engine that waits for its timer must not find the run idle meanwhile.
    if (!agent.around?.sleep) time();
    const isPrompted = state.parentAgentId === undefined;
    run.list = await run.interruptible(Promise.resolve(agent.hooks(isPrompted)));
    if (run.list.problem !== undefined) run.warn(run.list.problem);
    if (agent.around?.sleep) time();
    if (open) {
      const said = await open(run);
      state.waiting.push(...said.contexts);
      opening = said.inputs.map(({ text }) => ({ trigger: "hook_input", prompt: text }));
    }
    const submitted = submission === undefined
      ? await submit(run, prompt)
      : { trigger: "hook_input", prompt: submission, from: "program" } as const;
    refused = typeof submitted === "string";
    end = typeof submitted === "string" ? { stop: submitted } : {
      stop: await takeTurns(run, [
        ...opening,
        await begin(run, submitted, submission === undefined ? trigger : "hook_input"),
        ...typed?.later.splice(0) ?? [],
      ], typed),
    };
  } catch (error) {
    end = endBy(error);
    if (LIMITS.has(end.stop)) run.warn((error as Error).message);
  }
  try {
    answerOpenCalls(run);
    await run.commit();
    if (end.error instanceof ModelError) await fireFailure(run, end.error);
  } catch (error) {
    end = endBy(error);
  }
  const said = run.refusal ??
    (textOf(state.messages.slice(run.firstIndex).findLast((m) => m.role === "assistant")) || outputText(run));
  if (!refused) {
    const { own: { usage, dollars: cost = null }, denials } = run;
    const result = { text: said, stop: end.stop, usage, cost, denials: [...denials] };
    await run.fire({ event: "agent-stop", stop: end.stop, result, agent_type: agent.type }, { final: true });
  }
  run.emit({ type: "end", stop: end.stop, text: said });
  return resultOf(run, said, end);
}

function endBy(error: unknown): { stop: Stop; error?: unknown } {
  if (!(error instanceof Ended)) return { stop: "error", error };
  return { stop: error.stop, ...(error.stop === "error" && { error }) };
}

function fireFailure(run: Run, { code: error, message: error_details }: ModelError): Folded | Promise<Folded> {
  const last_assistant_message = textOf(run.state.messages.findLast((m) => m.role === "assistant"));
  return run.fire({ event: "stop-failure", error, error_details, last_assistant_message });
}

/** Limits that may end a run at any moment. */
const LIMITS: ReadonlySet<Stop> = new Set(["deadline", "max_iterations", "budget"]);

/** Whatever ended the run, no tool_use stays open: the API would never take the conversation again. */
function answerOpenCalls(run: Run): void {
  const last = run.state.messages.at(-1);
  if (last?.role !== "assistant" || run.pending.some(isToolResult)) return;
  const open = last.content.filter(isToolUse);
  run.pending = [...open.map(({ id }) => toolResult(id, INTERRUPTED, true)), ...run.pending];
}

/** Asks whether the prompt may come in; what hooks say about it goes with it. */
async function submit(run: Run, given: Prompt): Promise<TurnInput | Stop> {
  const content = typeof given === "string" ? undefined : given;
  const input = { trigger: "user", prompt: promptText(given), content } as const;
  if (run.state.parentAgentId !== undefined) return input;
  const said = await run.fire({ event: "user-prompt-submit", prompt: input.prompt });
  if (said.decision === "deny") {
    const { hook, reason, text: words } = said.denials[0]!;
    run.refusal = words ?? `Prompt dropped by hook ${hook}: ${reason}`;
    return "denied";
  }
  if (said.halt) {
    run.refusal = `Operation stopped by hook: ${said.halt.reason}`;
    return "halted";
  }
  return asLeft(input, said);
}

async function begin(run: Run, input: TurnInput, trigger: TurnInput["trigger"]): Promise<TurnInput> {
  const said = await run.fire({ event: "agent-start", task: input.prompt, agent_type: run.agent.type });
  if (said.decision === "deny") {
    const { reason, text: words } = said.denials[0]!;
    run.refusal = words ?? `Blocked by hook: ${reason}`;
    throw new Ended("denied", run.refusal);
  }
  if (said.halt) throw new Ended("halted", said.halt.reason);
  return asLeft({ ...input, trigger }, said);
}

/** An input as hooks leave it, with what they said. */
function asLeft(input: TurnInput, { modified, value, contexts }: Folded): TurnInput {
  return {
    ...input,
    prompt: modified ? value as string : input.prompt,
    before: [...input.before ?? [], ...contexts.filter((c) => c.place === "before")],
    after: [...input.after ?? [], ...contexts.filter((c) => c.place !== "before")],
  };
}

/** Takes the turns that were asked for (those that hooks opened the session with, then the prompt's), and those that hooks' inputs start. */
async function takeTurns(run: Run, inputs: readonly TurnInput[], typed: Typed | undefined): Promise<Stop> {
  const queue = [...inputs];
  let stop: Stop = "done";
  for (let input = queue.shift(); input; input = queue.shift()) {
    const end = await takeTurn(run, input);
    stop = end.stop;
    if (stop !== "done") return stop;
    if (run.halt) return "halted";
    for (const { hook, text: words, persist } of end.inputs) {
      run.keepers.add(hook);
      queue.push({ trigger: "hook_input", prompt: words, from: "turn-end", ...(persist && { persist }) });
    }
    if (queue.length > 0 && queue.every(({ from }) => from === "turn-end") && typed?.hasMore()) {
      typed.later.push(...queue);
      return stop;
    }
    if (queue.length === 0) queue.push(...await fromBackground(run));
    if (queue.length === 0) return stop;
    if (queue[0]!.from === undefined && queue[0]!.trigger !== "background") continue;
    const over = countContinuation(run.agent.limits, run.count);
    if (over) {
      run.warn(run.limitWarning(over, queue[0]!.trigger === "hook_input"));
      return over;
    }
  }
  return stop;
}

/** Waits for the next agent that works in the background; what it has to say begins a turn. */
async function fromBackground(run: Run): Promise<TurnInput[]> {
  const reports = await run.interruptible(Promise.resolve(run.state.reports?.take(true, run) ?? []));
  return reports.length === 0 ? [] : [{ trigger: "background", prompt: reports.join("\n\n") }];
}

function resultOf(run: Run, said: string, end: { stop: Stop; error?: unknown }): Result {
  const error = "error" in end ? asError(end.error) : undefined;
  const { usage, dollars: cost, replies: modelCalls } = run.state.parentAgentId === undefined
    ? run.state.spent
    : run.own;
  return {
    id: run.state.id,
    text: said,
    stop: end.stop,
    messages: run.state.messages.slice(),
    turns: run.turns,
    iterations: run.count.iterations,
    modelCalls,
    usage,
    cost,
    denials: run.denials,
    ...(run.output && end.stop === "done" && { output: run.output.value }),
    ...(error && { error: { type: error instanceof ModelError ? error.code : error.name, message: error.message } }),
  };
}
