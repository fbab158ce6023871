import type { Ready } from "./_gate.ts";
import { NEVER, settle } from "./_settle.ts";
import { asError, thrownWords } from "./thrown.ts";
import type { ToolResult } from "./events.ts";
import { thaw } from "./frozen.ts";
import { INTERRUPTED, isContent } from "./messages.ts";
import { numbered, type Run, type Spawn, type Thrown, type ToolEnd } from "./run.ts";
import { ToolError, type ToolOutput, type ToolReturn } from "./tool.ts";

/** How long the loop waits for a tool that was asked to stop. */
const GRACE_MS = 2000;

export interface Performed {
  readonly outcome: "success" | "failure" | "interrupted";
  readonly result: ToolResult;
  readonly wait: boolean;
  /** Where the tool threw. */
  readonly thrown?: Thrown;
}

/** Runs the tool until it ends; the loop does not wait longer than GRACE_MS for one that was asked to stop. */
export async function perform(run: Run, ready: Ready, suffix = ""): Promise<Performed> {
  const { state: { clock }, signal } = run;
  if (signal.aborted) return interrupted(INTERRUPTED);
  const key = run.nameOf("tool", `${ready.tool.name}:${ready.call.id}${suffix}`);
  const { around } = run.agent;
  const next = (spawn = spawner(run, ready, key)) => attempt(run, ready, key, spawn);
  const working = around?.tool ? around.tool(run, { ...ready, key }, next) : next();
  let end = await settle(working, { clock, signal });
  if ("ended" in end) end = await settle(working, { clock, signal: NEVER, ms: GRACE_MS });
  // A tool's own failure is a result: what is thrown here is the engine's.
  if ("error" in end && !signal.aborted) throw end.error;
  const { output, thrown } = "value" in end ? end.value : {};
  // What a tool has done is reported even if the run was interrupted; how it was stopped is not.
  if (!output || (signal.aborted && output.isError)) {
    return interrupted("The call was interrupted before it ended");
  }
  const is_error = output.isError ?? false;
  return {
    outcome: is_error ? "failure" : "success",
    result: { content: output.content, is_error, response: output.response ?? output.content },
    wait: output.wait ?? false,
    ...(thrown && { thrown }),
  };
}

/** Starts agents for a call: the first has the call's own name, the others are numbered. */
function spawner(run: Run, { call }: Ready, key: string): Spawn | undefined {
  let started = 0;
  const { spawn } = run.state;
  return spawn && ((request) => spawn(request, run, { toolUseId: call.id, key: numbered(key, started++) }));
}

/** One run of the tool; never throws. */
async function attempt(
  run: Run,
  { call, tool, input }: Ready,
  key: string,
  spawn: Spawn | undefined,
): Promise<ToolEnd> {
  const { state, signal } = run;
  let thrown: Thrown | undefined;
  let output: ToolOutput;
  try {
    output = outputOf(
      await tool.run(thaw(input), {
        signal,
        cwd: state.cwd(),
        toolUseId: call.id,
        agentId: state.agentId,
        sessionId: state.id,
        idempotencyKey: key,
        state: state.toolState,
        ...(spawn && { spawn }),
        ...(state.typeOf && { typeOf: state.typeOf }),
        progress: (words) => run.emit({ type: "tool_progress", id: call.id, text: words }),
        toolUse: { type: "tool_use", id: call.id, name: call.name, input: call.input },
      }),
    );
  } catch (error) {
    const { name, message, stack } = asError(error);
    const refusedBy = error instanceof ToolError ? error.refusedBy : undefined;
    thrown = { name, message, ...(stack !== undefined && { stack }), ...(refusedBy !== undefined && { refusedBy }) };
    output = failureOf(error);
  }
  return { output, ...(thrown && { thrown }) };
}

function interrupted(content: string): Performed {
  return { outcome: "interrupted", result: { content, is_error: true, response: content }, wait: false };
}

function outputOf(value: ToolReturn): ToolOutput {
  if (isContent(value)) return { content: value };
  if (typeof value === "object" && value !== null && "content" in value && isContent(value.content)) return value;
  throw new ToolError("Cannot use the tool's result as it is not a text, not a list of blocks and has no 'content'");
}

function failureOf(error: unknown): ToolOutput {
  return {
    content: thrownWords(error),
    isError: true,
    ...(error instanceof ToolError && error.response !== undefined && { response: error.response }),
  };
}
