import type { EventFields, Input } from "./events.ts";
import type { Block } from "./messages.ts";
import type { ApiTool, JsonSchema, ToolCall, ToolSpec } from "./model.ts";
import type { Refusal } from "./hook-words.ts";

/** What a call may do to the world: decides what may run in parallel, be retried, or be replayed. */
export type Effect = "none" | "read" | "write";

/** What a tool gets beside its input. */
export interface ToolContext {
  /** Aborted when the run is interrupted or out of time. */
  readonly signal: AbortSignal;
  /** The directory relative paths are resolved against. */
  readonly cwd: string;
  readonly toolUseId: string;
  readonly agentId: string;
  readonly sessionId: string;
  /** Stable across retries of the same call, for tools whose effects must happen once. */
  readonly idempotencyKey: string;
  /** What tools of one agent share for its session: a shell, what was read, the undo log. */
  readonly state: Map<string, unknown>;
  readonly progress: (text: string) => void;
  /** The block being answered, as the model wrote it, under the name the SDK's runnable tools look for. */
  readonly toolUse: { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };
}

/** The key in `ToolContext.state` of the directories (`string[]`) that tools may use. */
export const ROOTS = "crochet.roots";

/**
 * What a tool answers. A bare string or block list is what the model sees; `response` is the structured result
 * hooks read as `tool_response`.
 */
export interface ToolOutput {
  readonly content: string | readonly Block[];
  readonly isError?: boolean;
  readonly response?: unknown;
  /** Ends the turn after this result: the agent waits for a person. */
  readonly wait?: boolean;
}

export type ToolReturn = string | readonly Block[] | ToolOutput;

/** A session as its tools see it when it opens. */
export interface ToolSession extends Pick<ToolContext, "cwd" | "state"> {
  readonly warn: (message: string) => void;
}

/** A tool an agent can call. */
export interface Tool<Input = any> {
  readonly name: string;
  readonly description: string;
  /** The description in one session, if it depends on the files in its directory. */
  readonly describe?: (session: ToolSession) => Promise<string>;
  readonly input_schema: JsonSchema;
  /** What the API is sent in place of name, description and schema, if it knows the tool by its type. */
  readonly ofApi?: ApiTool;
  readonly effect: Effect;
  /** Whether calls may run beside others although they write. */
  readonly parallel?: boolean;
  /** Whether a call that succeeds ends the turn, as a last reply does. */
  readonly ends?: boolean;
  /** Other names the model, matchers and rules may use for it. */
  readonly aliases?: readonly string[];
  /** Checks and completes the input: the value given to `run`, or a throw whose message the model reads. */
  readonly parse: (input: unknown) => Input | Promise<Input>;
  /** Makes the input plain before hooks see it (absolute paths); must not touch the disk. */
  readonly prepare?: (input: Input, context: { readonly cwd: string }) => Input;
  readonly run: (input: Input, context: ToolContext) => ToolReturn | Promise<ToolReturn>;
  /** Called after the hooks of a call: they may have changed what it wrote. */
  readonly settled?: (input: Input, context: Pick<ToolContext, "cwd" | "state">) => Promise<void>;
  /** What a person is asked by a call: `agent-prompt` fires with it before the call runs. */
  readonly asks?: (input: Input) => EventFields["agent-prompt"];
  /** Turns a structured result back into what the model sees, after a hook has replaced it. */
  readonly render?: (response: any) => string | readonly Block[];
  /** Releases what the tool holds, once no session uses it; a later call may acquire it again. */
  readonly close?: () => void | Promise<void>;
}

/** A failure whose text is meant for the model; `response` is what hooks read. */
export class ToolError extends Error {
  override name = "ToolError";
  readonly code: string;
  readonly response?: unknown;
  /** What does not allow the call, such as the sandbox: it then counts among the denials. */
  readonly refusedBy?: string;
  constructor(message: string, options: { code?: string; response?: unknown; refusedBy?: string } = {}) {
    super(message);
    if (options.refusedBy !== undefined) this.refusedBy = options.refusedBy;
    this.code = options.code ?? "tool_error";
    if (options.response !== undefined) this.response = options.response;
  }
}

/** A tool call that its hooks let pass. */
export interface GatedCall {
  readonly tool: Tool;
  readonly input: Input;
  /** What all events of the call say of it. */
  readonly fields: Pick<EventFields["pre-tool-use"], "tool_name" | "original_input" | "tool_use_id">;
  /** Checks another input as that of the model was checked. */
  readonly check: (input: unknown) => Promise<Checked>;
}

export type Permitted = { readonly input: Input } | Refusal;

export type Checked = { readonly input: Input } | { readonly why: string };

/** A tool call that may run, and its name: unique, and the same if the run is run again. */
export interface ToolRun {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly key: string;
}

/** How a tool's run ended: what the model gets of it, and what was thrown if it failed. */
export interface ToolEnd extends ToolOutput {
  readonly thrown?: Thrown;
}

export type Thrown = Pick<Error, "name" | "message" | "stack"> & Pick<ToolError, "refusedBy">;

/** The tool a model means by a name: its own, or an alias. */
export function findTool(tools: readonly Tool[], name: string): Tool | undefined {
  return tools.find((t) => t.name === name) ?? tools.find((t) => t.aliases?.includes(name));
}

const specsOf = new WeakMap<readonly Tool[], { ofApi: readonly ApiTool[]; specs: readonly (ToolSpec | ApiTool)[] }>();

const NONE: readonly ApiTool[] = [];

/** What the model reads about the tools; the same object every time, so that its bytes are made once. */
export function toolSpecs(
  { tools, apiTools: ofApi = NONE }: { readonly tools: readonly Tool[]; readonly apiTools?: readonly ApiTool[] },
): readonly (ToolSpec | ApiTool)[] {
  const known = specsOf.get(tools);
  if (known?.ofApi === ofApi) return known.specs;
  const own = tools.map(({ name, description, input_schema, ofApi }) => ofApi ?? { name, description, input_schema });
  const specs = [...own, ...ofApi];
  specsOf.set(tools, { ofApi, specs });
  return specs;
}
