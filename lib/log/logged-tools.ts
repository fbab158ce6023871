import type { Json } from "../core/messages.ts";
import { thrownWords } from "../core/thrown.ts";
import { text } from "../core/messages.ts";
import { type Tool, ToolError, type ToolOutput, type ToolReturn } from "../core/tool.ts";
import type { ToolContext } from "../tools/tool-context.ts";
import { CWD, shellCwd } from "../tools/tool-state.ts";
import type { ToolFact } from "./entry.ts";
import type { RunLog } from "./run-log.ts";

/** What the tools of a lane are given of its log. */
interface ToolLog {
  readonly log: RunLog;
  readonly lane: string;
  /** Whether a call that was cut off runs again. */
  readonly again: boolean;
  /** What is done now was never logged. */
  readonly leave: () => void;
  /** A call that runs alone has ended. */
  readonly ended: () => void;
}

/** A tool whose calls are logged, and served if the log has them. The model sees the same tool. */
export function loggedTool(tool: Tool, { log, lane, again, leave, ended }: ToolLog): Tool {
  const alone = tool.effect === "write" && !tool.parallel;
  const run = async (input: unknown, context: ToolContext): Promise<ToolReturn> => {
    try {
      const { toolUseId: id } = context;
      const known = log.past?.tool(lane, id);
      if (known && !known.spawned) return served(known, context, log);
      const hadBegun = tool.effect === "write" && log.past?.hasBegun(lane, id);
      if (!known) leave();
      if (tool.effect === "write") log.line({ begun: id, lane }, "written");
      const wasCut = hadBegun && !known;
      return await logged(tool, input, context, { log, lane }, wasCut ? again ? marked : cutOff : undefined);
    } finally {
      if (alone) ended();
    }
  };
  return { ...tool, run };
}

/** A call that a process began which then ended: the model has to look what has become of it. */
function cutOff(): never {
  throw new ToolError("The run was ended before this call's result was written: it may have happened or not");
}

function served(fact: ToolFact, { state }: ToolContext, log: RunLog): ToolReturn {
  const { result, cwd } = fact;
  log.tool(fact);
  if (cwd !== undefined) state.set(CWD, () => cwd);
  return output(result);
}

/** Runs a call and writes down what came of it. */
async function logged(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  { log, lane }: Pick<ToolLog, "log" | "lane">,
  change?: (run: () => ToolReturn | Promise<ToolReturn>) => Promise<ToolReturn>,
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
    log.tool({
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
    const returned = await (change ? change(run) : run());
    note(resultOf(returned));
    return returned;
  } catch (error) {
    note(failureOf(error));
    throw error;
  }
}

/** Says in a result that its effect may have happened twice. */
async function marked(run: () => ToolReturn | Promise<ToolReturn>): Promise<ToolReturn> {
  const returned = await run();
  const { content, ...rest } = isOutput(returned) ? returned : { content: returned };
  return {
    ...rest,
    content: typeof content === "string" ? `${content}\n\n${RAN_AGAIN}` : [...content, text(RAN_AGAIN)],
  };
}

export const RAN_AGAIN =
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
