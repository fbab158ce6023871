import { type Answer, answer, type Ending } from "./_answer.ts";
import type { Ready } from "./_gate.ts";
import { perform, type Performed } from "./_perform.ts";
import type { ToolResult } from "./events.ts";
import type { Run, Thrown } from "./run.ts";
import { countTool } from "./limits.ts";
import { type Block, contentText, isContent, text } from "./messages.ts";
import { wordings } from "./said.ts";
import { shown } from "./shown.ts";
import type { Tool } from "./tool.ts";
import { UnusableAnswer } from "./verdict.ts";

/** A call that runs. */
export interface Begun {
  readonly ready: Ready;
  readonly ran: Promise<Performed>;
  readonly time: () => number;
}

/** Starts one call. */
export function begin(run: Run, ready: Ready): Begun {
  const { call, tool, input } = ready;
  run.emit({ type: "tool_start", id: call.id, name: tool.name, input });
  const { clock } = run.state;
  const start = clock.tick();
  return { ready, ran: perform(run, ready), time: () => clock.tick() - start };
}

/** Waits for a call and asks the hooks what they think of its result. The answer stands before they are asked. */
export async function finish(
  run: Run,
  { ready, ran: running, time }: Begun,
  answers: Map<string, Answer>,
): Promise<void> {
  const { call, tool, input, after } = ready;
  const { agent } = run;
  let ran = await running;
  const ending = (): Ending => ({
    outcome: ran.outcome,
    content: ran.result.content,
    response: ran.result.response,
    ms: time(),
    after,
    waiting: ran.wait,
    refused: refusalIn(ran),
  });
  let final = ending();
  try {
    if (ran.thrown && run.hears("error") && await hooksWantRetry(run, tool, ran.thrown)) {
      ran = await perform(run, ready, ":retry");
    }
    final = ending();
    if (ran.outcome === "interrupted") return;
    countTool(run.count);
    if (tool.effect === "write") await agent.afterWrite?.(run);
    final = asRead(run, ready, await reviewed(run, ready, ran, final));
    if (tool.settled) {
      await run.step("settled", call.id, async () => {
        await tool.settled!(input, { cwd: run.state.cwd(), state: run.state.toolState });
        return null;
      });
    }
  } finally {
    answers.set(call.id, answer(run, call, final));
  }
}

/** A tool that was kept from its work by its confines. */
function refusalIn({ thrown }: Performed): Ending["refused"] {
  const { message: reason, refusedBy: by } = thrown ?? {};
  return reason === undefined || by === undefined ? undefined : { by, reason };
}

/** The call's end as its hooks leave it. */
async function reviewed(run: Run, ready: Ready, ran: Performed, ending: Ending): Promise<Ending> {
  if (!run.hears("post-tool-use")) {
    run.check();
    return ending;
  }
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
    error: failed ? contentText(ran.result.content) : null,
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

/** The call's end as the model reads it. */
function asRead({ agent: { around } }: Run, { call, tool }: Ready, ending: Ending): Ending {
  if (!around?.result) return ending;
  const { content, is_error } = around.result(tool.name, call.id, {
    content: ending.content,
    is_error: ending.outcome === "failure",
  });
  return { ...ending, content, outcome: is_error ? "failure" : "success" };
}

/** Asks error hooks about a tool that threw; they may ask for one more try if that can do no harm. */
async function hooksWantRetry(run: Run, tool: Tool, thrown: Thrown): Promise<boolean> {
  const { name, message, stack } = thrown;
  const fields = { error_type: name, error_message: message, tool: tool.name, stack_trace: stack ?? null };
  const retry = tool.effect !== "write";
  const said = await run.inOrder(() => run.fire({ event: "error", ...fields, severity: "error", retry }));
  run.state.waiting.push(...said.contexts);
  run.endIfDenied(said);
  return retry && said.modified && said.value === true;
}

/** Turns what a hook gave for a result into one; null is the original again. */
function acceptResult(tool: Tool, original: ToolResult, value: unknown): ToolResult {
  if (value === null) return original;
  if (typeof value === "string") return { ...original, content: value, response: value };
  if (typeof value !== "object") {
    throw new UnusableAnswer(
      `Cannot use ${shown(value)} as a result: expected a text or { content, is_error }`,
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
