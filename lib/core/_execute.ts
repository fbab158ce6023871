import { type Answer, answer, type Ending, plain } from "./_answer.ts";
import type { Ready } from "./_gate.ts";
import { thaw } from "./frozen.ts";
import { settle } from "./_settle.ts";
import { asError, thrownWords } from "./_thrown.ts";
import type { ToolResult } from "./events.ts";
import type { Run } from "./run.ts";
import { countTool } from "./limits.ts";
import { type Block, INTERRUPTED, isContent, text } from "./messages.ts";
import { wordings } from "./said.ts";
import { type Tool, ToolError, type ToolOutput, type ToolReturn } from "./tool.ts";
import { UnusableAnswer } from "./verdict.ts";

/** How long a tool may go on after it was told to stop, before it is given up on. */
const GRACE_MS = 2000;

/** Runs one call and asks the hooks what they think of its result. The answer stands before they are asked. */
export async function execute(run: Run, ready: Ready, answers: Map<string, Answer>): Promise<void> {
  const { call, tool, input, after } = ready;
  const { agent, life: { clock } } = run;
  run.emit({ type: "tool_start", id: call.id, name: tool.name, input });
  const start = clock.tick();
  let ran = await perform(run, ready, "");
  const ending = (): Ending => ({
    outcome: ran.outcome,
    content: ran.result.content,
    response: ran.result.response,
    ms: clock.tick() - start,
    after,
    waiting: ran.wait,
  });
  let final = ending();
  try {
    if ("thrown" in ran && run.hears("error") && await hooksWantRetry(run, tool, ran.thrown)) {
      ran = await perform(run, ready, ":retry");
    }
    final = ending();
    if (ran.outcome === "interrupted") return;
    countTool(run.count);
    if (tool.effect === "write") await agent.afterWrite?.(run);
    final = await reviewed(run, ready, ran, final);
    await tool.settled?.(input, { cwd: run.life.cwd(), state: run.life.toolState });
  } finally {
    answers.set(call.id, answer(run, call, final));
  }
}

/** The call's end as its hooks leave it. */
async function reviewed(run: Run, ready: Ready, ran: Performed, ending: Ending): Promise<Ending> {
  const { call, tool, input, original, after } = ready;
  const failed = ran.outcome === "failure";
  const fired = {
    event: "post-tool-use",
    tool_name: tool.name,
    input,
    original_input: original,
    tool_use_id: call.id,
    result: ran.result,
    outcome: failed ? "failure" : "success",
    failed,
    error: failed ? plain(ran.result.content) : null,
    duration_ms: Math.round(ending.ms ?? 0),
  } as const;
  const post = await run.inOrder(() => run.fire(fired, { accept: (value) => acceptResult(tool, ran.result, value) }));
  const result = post.modified ? post.value as ToolResult : ran.result;
  // A dialect with words of its own puts them into the result; ours stand after it.
  const inside = [
    ...post.denials.flatMap((d) => d.text === undefined ? [] : [d.text]),
    ...wordings(post.contexts.filter((c) => c.place === "result")),
  ];
  const feedback = post.denials.filter((d) => d.text === undefined).map((d) =>
    text(`Feedback from hook ${d.hook}: ${d.reason}`)
  );
  return {
    ...ending,
    outcome: result.is_error ? "failure" : "success",
    content: joined(result.content, inside),
    response: result.response,
    after: [...after, ...feedback, ...run.heard(post.contexts.filter((c) => c.place !== "result"))],
  };
}

interface Performed {
  readonly outcome: "success" | "failure" | "interrupted";
  readonly result: ToolResult;
  readonly wait: boolean;
  readonly thrown?: unknown;
}

/** Tells hooks that a tool threw; they may ask for one more try where a second try can do no harm. */
async function hooksWantRetry(run: Run, tool: Tool, thrown: unknown): Promise<boolean> {
  const { name, message, stack } = asError(thrown);
  const fields = { error_type: name, error_message: message, tool: tool.name, stack_trace: stack ?? null };
  const retry = tool.effect !== "write";
  const said = await run.inOrder(() => run.fire({ event: "error", ...fields, severity: "error", retry }));
  run.life.waiting.push(...said.contexts);
  run.endIfDenied(said);
  return retry && said.modified && said.value === true;
}

/** Runs the tool to one of its ends; one that does not stop when told is given up on after a grace. */
async function perform(run: Run, { call, tool, input }: Ready, suffix: string): Promise<Performed> {
  const { life, agent, signal } = run;
  if (signal.aborted) return interrupted(INTERRUPTED);
  const key = `tool:${run.turnId}:${tool.name}:${call.id}${suffix}`;
  let thrown: { error: unknown } | undefined;
  const working = agent.step(key, async (): Promise<ToolOutput> => {
    try {
      return outputOf(
        await tool.run(thaw(input), {
          signal,
          cwd: life.cwd(),
          toolUseId: call.id,
          agentId: life.agentId,
          sessionId: life.id,
          idempotencyKey: key,
          state: life.toolState,
          ...(life.spawn && { spawn: (request) => life.spawn!(request, run, call.id) }),
          progress: (words) => run.emit({ type: "tool_progress", id: call.id, text: words }),
          toolUse: { type: "tool_use", id: call.id, name: call.name, input: call.input },
        }),
      );
    } catch (error) {
      thrown = { error };
      return failureOf(error);
    }
  });
  let end = await settle(working, { clock: life.clock, signal });
  if ("ended" in end) end = await settle(working, { clock: life.clock, signal: NEVER, ms: GRACE_MS });
  const output = "value" in end ? end.value : "error" in end ? failureOf(end.error) : undefined;
  // What a tool has done is told even where nobody wants to know any more; how it was stopped is not.
  if (!output || (signal.aborted && output.isError)) {
    return interrupted("The call was interrupted before it ended");
  }
  const is_error = output.isError ?? false;
  return {
    outcome: is_error ? "failure" : "success",
    result: { content: output.content, is_error, response: output.response ?? output.content },
    wait: output.wait ?? false,
    ...(thrown && { thrown: thrown.error }),
  };
}

const NEVER = new AbortController().signal;

function interrupted(content: string): Performed {
  return { outcome: "interrupted", result: { content, is_error: true, response: content }, wait: false };
}

function outputOf(value: ToolReturn): ToolOutput {
  if (isContent(value)) return { content: value };
  if (typeof value === "object" && value !== null && "content" in value && isContent(value.content)) return value;
  throw new ToolError("Cannot use the tool's result as it is no text, no list of blocks and has no 'content'");
}

function failureOf(error: unknown): ToolOutput {
  return {
    content: thrownWords(error),
    isError: true,
    ...(error instanceof ToolError && error.response !== undefined && { response: error.response }),
  };
}

/** Turns what a hook gave for a result into one; null is the original again. */
function acceptResult(tool: Tool, original: ToolResult, value: unknown): ToolResult {
  if (value === null) return original;
  if (typeof value === "string") return { ...original, content: value, response: value };
  if (typeof value !== "object") {
    throw new UnusableAnswer(
      `Cannot use ${JSON.stringify(value)} as a result: expected a text or { content, is_error }`,
    );
  }
  const given = value as Partial<ToolResult>;
  if (isContent(given.content)) {
    return {
      content: given.content,
      is_error: given.is_error ?? original.is_error,
      response: given.response ?? given.content,
    };
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
