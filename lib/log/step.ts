import { present } from "../core/json.ts";
import { type Json, text } from "../core/messages.ts";
import { thrownWords } from "../core/shown.ts";
import { type Tool, ToolError, type ToolOutput, type ToolReturn } from "../core/tool.ts";
import type { ToolContext } from "../tools/tool-context.ts";
import { shellCwd } from "../tools/tool-state.ts";
import { workspacePath } from "../files/confine.ts";
import type { EntryOf, HookLeft, HookSaid, ToolFact } from "./entry.ts";
import type { EventName, Fired } from "../core/events.ts";
import { type Folded, IN_BACKGROUND } from "../core/fold.ts";
import { hookEnd, type Run } from "../core/run.ts";

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
  const said = response === undefined ? undefined : plainJson(response);
  return {
    content: plainJson(content),
    ...(isError && { is_error: true }),
    ...present({ response: said, wait: wait || undefined }),
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
  return present({ content: content as ToolOutput["content"], isError: is_error, response, wait });
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

/** The name of a step in which hooks are asked about an event. */
export function hookName(run: Run, event: Fired): string {
  const { tool_use_id } = event as { tool_use_id?: string };
  return run.nameOf("hook", tool_use_id === undefined ? event.event : `${event.event}:${tool_use_id}`);
}

/** The step in which hooks are asked about an event, as a line has it: in a lane there is no other such. */
export type HookStep = Pick<EntryOf<"hook">, "hook" | "event" | "about">;

export function hookStep(run: Run, fired: Fired): HookStep {
  const { event, tool_use_id: about } = fired as Fired & { tool_use_id?: string };
  const [, name = ""] = hookName(run, fired).split(`hook:${run.agent_id}:`);
  const hook = name.replace(about === undefined ? `:${event}` : `:${event}:${about}`, "");
  return { hook, event, ...(about !== undefined && { about }) };
}

/** What a run reports while it asks hooks: that each of them began and ended. */
export function hookEvents(event: EventName, runs: Folded["runs"]) {
  const asked = runs.filter(({ skipped }) => skipped === undefined);
  return asked.flatMap((run) => [{ type: "hook_start", hook: run.hook, event } as const, hookEnd(event, run)]);
}

/** Asks the hooks of one event: what they said, and what they left behind for others. */
export async function askedHooks(
  run: Run,
  next: () => Promise<Folded>,
): Promise<{ readonly folded: Folded; readonly left: HookLeft }> {
  const { values, sequence } = run.state;
  const before = JSON.stringify(plain(values));
  const had = [...values.keys()];
  const made = run.hookCalls.length;
  const folded = await next();
  const calls = run.hookCalls.slice(made);
  const now = plain(values);
  const gone = had.filter((key) => !values.has(key));
  return {
    folded,
    left: {
      next: sequence.next,
      ...(JSON.stringify(now) !== before && { values: now }),
      ...(gone.length > 0 && { gone }),
      ...(calls.length > 0 && { calls }),
    },
  };
}

/** Leaves behind what hooks left that are not asked again. */
export function recalledHooks(run: Run, { values = [], gone = [], calls = [], next }: HookLeft): void {
  const { state } = run;
  for (const [key, value] of values) state.values.set(key, value);
  for (const key of gone) state.values.delete(key);
  for (const call of calls) {
    state.spent.calls++;
    run.account(call.used, call);
  }
  state.sequence.next = Math.max(state.sequence.next, next);
}

export function hooksSaid({ runs = [], contexts: all = [] }: Partial<Folded>): HookSaid[] {
  return runs.flatMap(({ hook, opinion, failure }) => {
    const texts = all.filter((one) => one.hook === hook).map(({ text }) => text);
    const { decision, reason, value, halt, abort } = opinion ?? {};
    const contexts = texts.length > 0 ? texts : undefined;
    const said = present({ failure, decision, reason, value: value && plainJson(value.to), halt, abort, contexts });
    return Object.keys(said).length === 0 ? [] : [{ hook, ...said } as HookSaid];
  });
}

/** Whether a hook still works in the background once its event is over. */
export function worksOn({ runs }: Folded): boolean {
  return runs.some(({ skipped, opinion }) => skipped === IN_BACKGROUND || opinion?.later);
}

/** What can be written down of what hooks share. */
export function plain(values: ReadonlyMap<string, unknown>): [string, unknown][] {
  return [...values].filter(([, value]) => isPlain(value));
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined && typeof value !== "function";
  const proto = Object.getPrototypeOf(value);
  return (proto === Object.prototype || proto === Array.prototype) && Object.values(value).every(isPlain);
}

/** A fold without its empty lists, as a line has it. */
export function withoutEmpty(folded: Folded): Partial<Folded> {
  const says = (value: unknown) => Array.isArray(value) ? value.length > 0 : value !== false && value !== "continue";
  return Object.fromEntries(Object.entries(folded).filter(([, value]) => says(value)));
}
