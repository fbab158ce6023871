import { NEVER, settle } from "./clock.ts";
import type { Input, ToolResult } from "./events.ts";
import { present, thaw } from "./json.ts";
import { type Block, contentText, INTERRUPTED, isContent, shortened, text } from "./messages.ts";
import type { ToolCall } from "./model.ts";
import type { Run } from "./run.ts";
import { type Tool, type ToolEnd, ToolError, type ToolOutput, type ToolReturn, type ToolRun } from "./tool.ts";
import type { CallOutcome } from "./run-events.ts";
import { type Refusal, wordings } from "./hook-words.ts";
import { asError, shown, thrownWords } from "./shown.ts";
import { type HookText, UnusableAnswer } from "./verdict.ts";

/** How long the loop waits for a tool that was asked to stop. */
const GRACE_MS = 2000;

/** A call that may run: a known tool, a checked input, gates passed. */
export interface Ready {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: Input;
  readonly original: Input;
  /** What the gates said beside their verdict. */
  readonly after: readonly Block[];
  readonly contexts: readonly HookText[];
}

export interface Ending extends ToolEnd {
  readonly outcome: CallOutcome;
  readonly ms?: number;
  /** What hooks said of it: stands after all tool_results of the message. */
  readonly after?: readonly Block[];
  /** The same, and what they said inside the result or for one request only, in their own words. */
  readonly contexts?: readonly HookText[];
  readonly refused?: Omit<Refusal, "words">;
}

/** Begins a call. `finish` waits for it and asks the hooks what they think of its result: it has ended by then. */
export function begin(run: Run, ready: Ready, end: (ending: Ending) => void) {
  const { call, tool, input, after, contexts } = ready;
  run.emit({ type: "tool_start", id: call.id, name: tool.name, input });
  const { clock, cwd, toolState } = run.state;
  const start = clock.tick();
  const before = cwd();
  const writes = tool.effect === "write";
  const watching = writes ? run.agent.watchWrite?.(run, ready) : undefined;
  const ran = watching ? watching.then(() => perform(run, ready)) : perform(run, ready);
  const finish = async () => {
    let ending: Ending = { ...await ran, ms: clock.tick() - start, after, contexts };
    try {
      // One more try of what changes nothing can do no harm.
      if (ending.thrown && await run.wantsRetry(ending.thrown, tool.name, !writes)) {
        ending = { ...await perform(run, ready, ":retry"), ms: clock.tick() - start, after, contexts };
        if (ending.thrown) await run.wantsRetry(ending.thrown, tool.name, false);
      }
      if (ending.outcome === "interrupted") return;
      run.count.stalled = 0;
      if (watching) await (await watching)();
      ending = asRead(run, ready, await reviewed(run, ready, ending));
      if (writes && run.hears("cwd-changed")) await reportMove(run, call.id, before);
      if (tool.settled) {
        await run.step("settled", call.id, async () => {
          await tool.settled!(input, { cwd: cwd(), state: toolState });
          return null;
        });
      }
    } finally {
      end(ending);
    }
  };
  return { ran, finish };
}

/** Fires cwd-changed if a call moved the agent. A run that is run again finds the shell elsewhere: both places are a step's. */
async function reportMove(run: Run, id: string, old_cwd: string): Promise<void> {
  const moved = await run.step("cwd", id, () => Promise.resolve({ old_cwd, new_cwd: run.state.cwd() }));
  if (moved.new_cwd !== moved.old_cwd) await run.fire({ event: "cwd-changed", ...moved });
}

/** Runs the tool until it ends; the loop does not wait longer than GRACE_MS for one that was asked to stop. */
async function perform(run: Run, ready: Ready, suffix = ""): Promise<Ending> {
  const { state: { clock }, signal, agent: { around } } = run;
  if (signal.aborted) return interrupted(INTERRUPTED);
  const key = run.nameOf("tool", `${ready.tool.name}:${ready.call.id}${suffix}`);
  const toolRun = { ...ready, key };
  const next = (instead?: object) => attempt(run, toolRun, instead);
  const working = around?.tool ? around.tool(run, toolRun, next) : next();
  let end = await settle(working, { clock, signal });
  if ("ended" in end) end = await settle(working, { clock, signal: NEVER, ms: GRACE_MS });
  // A tool's own failure is a result: what is thrown here is the engine's.
  if ("error" in end && !signal.aborted) throw end.error;
  // What a tool has done is reported even if the run was interrupted; how it was stopped is not.
  if (!("value" in end) || (signal.aborted && end.value.isError)) {
    return interrupted("The call was interrupted before it ended");
  }
  const { value } = end;
  const { response = value.content, thrown } = value;
  const ending: Ending = { ...value, response, outcome: value.isError ? "failure" : "success" };
  if (thrown?.refusedBy === undefined) return ending;
  return { ...ending, refused: { by: thrown.refusedBy, reason: thrown.message } };
}

function interrupted(content: string): Ending {
  return { outcome: "interrupted", content, response: content };
}

/** One run of the tool; never throws. */
async function attempt(run: Run, toolRun: Ready & ToolRun, instead?: object): Promise<ToolEnd> {
  const { call, tool, input, key } = toolRun;
  const { state, signal } = run;
  try {
    const returned = await tool.run(thaw(input), {
      signal,
      cwd: state.cwd(),
      toolUseId: call.id,
      agentId: state.agentId,
      sessionId: state.id,
      idempotencyKey: key,
      state: state.toolState,
      progress: (words) => run.emit({ type: "tool_progress", id: call.id, text: words }),
      toolUse: { type: "tool_use", id: call.id, name: call.name, input: call.input },
      ...state.contextOf?.(run, toolRun),
      ...instead,
    });
    return outputOf(returned);
  } catch (error) {
    const { name, message, stack } = asError(error);
    const { refusedBy, response } = error instanceof ToolError ? error : {};
    const thrown = present({ name, message, stack, refusedBy });
    return { content: shortened(thrownWords(error)), isError: true, ...present({ response }), thrown };
  }
}

function outputOf(value: ToolReturn): ToolOutput {
  if (isContent(value)) return { content: shortened(value) };
  if (typeof value === "object" && value !== null && "content" in value && isContent(value.content)) {
    // Field by field: what else a tool returns must not pass for what the loop says of the call.
    const { content, isError, response, wait } = value;
    return {
      content: shortened(content),
      ...(isError && { isError }),
      ...present({ response }),
      ...(wait && { wait }),
    };
  }
  throw new ToolError("Cannot use the tool's result as it is not a text, not a list of blocks and has no 'content'");
}

/** The call's end as its hooks leave it. */
async function reviewed(run: Run, ready: Ready, ending: Ending): Promise<Ending> {
  const { call, tool, input, original, after } = ready;
  const { content, response, ms = 0 } = ending;
  const failed = ending.outcome === "failure";
  const ran: ToolResult = { content, is_error: failed, response };
  const fired = {
    event: "post-tool-use",
    tool_name: tool.name,
    input,
    original_input: original,
    tool_use_id: call.id,
    result: ran,
    outcome: failed ? "failure" : "success",
    failed,
    error: failed ? contentText(content) : null,
    duration_ms: Math.round(ms),
  } as const;
  const post = await run.inOrder(() => run.fire(fired, { accept: (value) => acceptResult(tool, ran, value) }));
  const result = post.modified ? post.value as ToolResult : ran;
  // A dialect with words of its own puts them into the result; ours stand after it.
  const inside = post.denials.flatMap((d) => d.text ?? []);
  const feedback = post.denials.filter((d) => d.text === undefined)
    .map((d) => text(`Feedback from hook ${d.hook}: ${d.reason}`));
  const next: Ending = {
    ...ending,
    outcome: result.is_error ? "failure" : "success",
    content: joined(result.content, inside),
    response: result.response,
    after: [...after, ...feedback],
  };
  return withContexts(run, next, post.contexts);
}

/** A call's end with what hooks said of it, inside its result or after it. */
export function withContexts(run: Run, ending: Ending, contexts: readonly HookText[]): Ending {
  const inside = wordings(contexts.filter((c) => c.place === "result"));
  const beside = run.heard(contexts.filter((c) => c.place !== "result"));
  return {
    ...ending,
    content: joined(ending.content, inside),
    after: [...ending.after ?? [], ...beside],
    contexts: [...ending.contexts ?? [], ...contexts],
  };
}

/** The call's end as the model reads it. */
function asRead({ agent: { around } }: Run, { call, tool }: Ready, ending: Ending): Ending {
  if (!around?.result) return ending;
  const now = { content: ending.content, is_error: ending.outcome === "failure" };
  const { content, is_error } = around.result(tool.name, call.id, now);
  return { ...ending, content, outcome: is_error ? "failure" : "success" };
}

/** Turns what a hook gave for a result into one; null is the original again. */
function acceptResult(tool: Tool, original: ToolResult, value: unknown): ToolResult {
  if (value === null) return original;
  if (typeof value === "string") return { ...original, content: value, response: value };
  if (typeof value !== "object") {
    throw new UnusableAnswer(`Cannot use ${shown(value)} as a result: expected a text or { content, is_error }`);
  }
  const given = value as Partial<ToolResult>;
  if (isContent(given.content)) {
    const { content, is_error = original.is_error, response = content } = given;
    return { content, is_error, response };
  }
  if (!("response" in given)) {
    throw new UnusableAnswer("Cannot use the result as it has neither a 'content' of text or blocks nor a 'response'");
  }
  if (!tool.render) {
    throw new UnusableAnswer(`Cannot show the result as tool ${tool.name} does not say how: give 'content'`);
  }
  return { ...original, content: tool.render(given.response), response: given.response };
}

function joined(content: string | readonly Block[], words: readonly string[]): string | readonly Block[] {
  if (words.length === 0) return content;
  return typeof content === "string" ? [content, ...words].join("\n\n") : [...content, ...words.map(text)];
}
