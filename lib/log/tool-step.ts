import { type Json, text } from "../core/messages.ts";
import { thrownWords } from "../core/thrown.ts";
import { type Tool, ToolError, type ToolOutput, type ToolReturn } from "../core/tool.ts";
import type { ToolContext } from "../tools/tool-context.ts";
import { shellCwd } from "../tools/tool-state.ts";
import { workspacePath } from "../files/confine.ts";
import type { EntryOf, ToolFact } from "./entry.ts";

/** How the calls of a lane are served, or made and written down. */
export interface ToolSteps {
  readonly lane: string;
  /** What takes the place of a call; undefined: it is made. */
  serve(tool: Tool, input: unknown, context: ToolContext): ToolReturn | undefined | Promise<ToolReturn | undefined>;
  /** A call begins; undefined if nothing is written of it. */
  begins(tool: Tool, input: unknown, context: ToolContext): BegunCall | undefined;
  /** A call that runs alone has ended. */
  ended(): void;
}

export interface BegunCall {
  /** What came of it. */
  note(fact: ToolFact): void;
  /** How it is made. @default as always */
  readonly made?: (run: () => ToolReturn | Promise<ToolReturn>) => Promise<ToolReturn>;
}

/** A tool whose calls are steps. The model sees the same tool. */
export function steppedTool(tool: Tool, steps: ToolSteps): Tool {
  const alone = tool.effect === "write" && !tool.parallel;
  const run = async (input: unknown, context: ToolContext): Promise<ToolReturn> => {
    try {
      const asked = steps.serve(tool, input, context);
      const served = asked instanceof Promise ? await asked : asked;
      if (served !== undefined) return served;
      const begun = steps.begins(tool, input, context);
      return await (begun ? noted(tool, input, context, steps.lane, begun) : tool.run(input, context));
    } finally {
      if (alone) steps.ended();
    }
  };
  return { ...tool, run };
}

/** Makes a call and writes down what came of it. */
async function noted(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  lane: string,
  begun: BegunCall,
): Promise<ToolReturn> {
  const began = performance.now();
  const { spawn, state, signal, cwd: place } = context;
  let spawned = false;
  const watched = !spawn ? context : {
    ...context,
    spawn: (request: Parameters<typeof spawn>[0]) => {
      spawned = true;
      return spawn(request);
    },
  };
  const note = (result: ToolFact["result"]) => {
    const cwd = shellCwd(state);
    begun.note({
      tool: context.toolUseId,
      lane,
      name: tool.name,
      effect: tool.effect,
      ...(tool.parallel && { parallel: true }),
      input: input as Json,
      result,
      ...(cwd !== undefined && cwd !== place && { cwd }),
      ...(signal.aborted && { aborted: true }),
      ...(spawned && { spawned: true }),
      ms: Math.round(performance.now() - began),
    });
  };
  try {
    const run = () => tool.run(input, watched);
    const returned = await (begun.made ? begun.made(run) : run());
    note(resultOf(returned));
    return returned;
  } catch (error) {
    note(failureOf(error));
    throw error;
  }
}

/** Says in a result that its effect may have happened twice. */
export async function marked(run: () => ToolReturn | Promise<ToolReturn>): Promise<ToolReturn> {
  const returned = await run();
  const { content, ...rest } = isOutput(returned) ? returned : { content: returned };
  return { ...rest, content: withMark(content) };
}

export function withMark(content: ToolOutput["content"]): ToolOutput["content"] {
  return typeof content === "string" ? `${content}\n\n${RAN_AGAIN}` : [...content, text(RAN_AGAIN)];
}

const RAN_AGAIN =
  "[This call ran again: a process ended while it ran this call before, so its effect may have happened twice]";

function isOutput(returned: ToolReturn): returned is ToolOutput {
  return typeof returned !== "string" && !Array.isArray(returned);
}

/** The result of a call as a line has it. */
export function resultOf(returned: ToolReturn): ToolFact["result"] {
  if (!isOutput(returned)) return { content: plainJson(returned) };
  const { content, isError, response, wait } = returned;
  return {
    content: plainJson(content),
    ...(isError && { is_error: true }),
    ...(response !== undefined && { response: plainJson(response) }),
    ...(wait && { wait: true }),
  };
}

export function failureOf(error: unknown): ToolFact["result"] {
  return {
    content: thrownWords(error),
    is_error: true,
    threw: (error as Error)?.name ?? "Error",
    ...(error instanceof ToolError && error.response !== undefined && { response: plainJson(error.response) }),
  };
}

/** The result of a line as a tool gives it. @throws {ToolError} if the tool threw */
export function output({ content, is_error, response, wait, threw }: ToolFact["result"]): ToolReturn {
  if (threw !== undefined) {
    const error = new ToolError(String(content), response === undefined ? {} : { response });
    throw Object.assign(error, { name: threw });
  }
  return {
    content: content as ToolOutput["content"],
    ...(is_error && { isError: true }),
    ...(response !== undefined && { response }),
    ...(wait && { wait: true }),
  };
}

export function plainJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value) ?? "null");
}

/** Notes what each file of a workspace said when the agent itself first read it. */
export function filesRead(root: string, line: (entry: EntryOf<"file">) => void): (path: string, text: string) => void {
  const read = new Set<string>();
  return (path, text) => {
    const file = workspacePath(root, path);
    if (file === undefined || read.has(file)) return;
    read.add(file);
    line({ file, text });
  };
}
