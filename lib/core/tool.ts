import type { EventFields, Stop } from "./events.ts";
import type { Block, Usage } from "./messages.ts";
import {
  checkSchema,
  isStandard,
  type JsonSchema,
  standardParser,
  type StandardSchema,
  standardToJson,
  validateJson,
} from "./schema.ts";

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
  /** Starts an agent below this one; absent where there can be none. */
  readonly spawn?: (request: SpawnRequest) => Promise<Spawned>;
  /** The type of an agent that was started before; undefined where no agent has that id. */
  readonly typeOf?: (agentId: string) => Promise<string | undefined>;
  /** Shows output while the tool runs. */
  readonly progress: (text: string) => void;
  /** The block being answered, as the model wrote it, under the name the SDK's runnable tools look for. */
  readonly toolUse: { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };
}

/** What a tool asks for when it wants an agent below its own. */
export interface SpawnRequest {
  readonly type: string;
  readonly prompt: string;
  /** The task in a few words. */
  readonly description?: string;
  readonly system?: string;
  readonly model?: string;
  /** The names of the tools it may use; all of its parent's where absent. */
  readonly tools?: readonly string[];
  /** The id of an agent that is to go on. */
  readonly resume?: string;
  /** Not waited for: its result comes as a later message. */
  readonly background?: boolean;
}

/** What came of it. */
export interface Spawned {
  readonly agent_id: string;
  readonly type: string;
  readonly model: string;
  /** Its last words; empty while it works in the background. */
  readonly text: string;
  readonly stop: Stop | undefined;
  readonly usage: Usage;
  /** The names of the tools it called, in order. */
  readonly tools: readonly string[];
  readonly duration_ms: number;
}

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
  /** The description in one session, where it depends on what lies in its directory. */
  readonly describe?: (session: ToolSession) => Promise<string>;
  readonly input_schema: JsonSchema;
  readonly effect: Effect;
  /** Whether calls may run beside others although they write. */
  readonly parallel?: boolean;
  /** Other names the model, matchers and rules may use for it. */
  readonly aliases?: readonly string[];
  /** Checks and completes the input: the value given to `run`, or a throw whose message the model reads. */
  readonly parse: (input: unknown) => Input | Promise<Input>;
  /** Makes the input plain before hooks see it (absolute paths); must not touch the disk. */
  readonly prepare?: (input: Input, context: { readonly cwd: string }) => Input;
  readonly run: (input: Input, context: ToolContext) => ToolReturn | Promise<ToolReturn>;
  /** Is told once hooks have looked at a call: they may have changed what it wrote. */
  readonly settled?: (input: Input, context: Pick<ToolContext, "cwd" | "state">) => Promise<void>;
  /** What a person is asked by a call: `agent-prompt` fires with it before the call runs. */
  readonly asks?: (input: Input) => EventFields["agent-prompt"];
  /** Turns a structured result back into what the model sees, after a hook has replaced it. */
  readonly render?: (response: any) => string | readonly Block[];
  /** Lets go of what the tool holds, once no session uses it; a later call may take it up again. */
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

export interface ToolOptions<Input> {
  name: string;
  description: string;
  /** The description in one session, where it depends on what lies in its directory. */
  describe?: (session: ToolSession) => Promise<string>;
  /** A zod schema (or any Standard Schema), or plain JSON Schema of an object. */
  input: StandardSchema<Input> | JsonSchema;
  run: (input: Input, context: ToolContext) => ToolReturn | Promise<ToolReturn>;
  /** @default "write" */
  effect?: Effect;
  /** Whether calls may run beside others although they write. @default false */
  parallel?: boolean;
  aliases?: readonly string[];
  prepare?: (input: Input, context: { readonly cwd: string }) => Input;
  settled?: (input: Input, context: Pick<ToolContext, "cwd" | "state">) => Promise<void>;
  /** What a person is asked by a call: `agent-prompt` fires with it before the call runs. */
  asks?: (input: Input) => EventFields["agent-prompt"];
  render?: (response: any) => string | readonly Block[];
  /** Lets go of what the tool holds, once no session uses it; a later call may take it up again. */
  close?: () => void | Promise<void>;
}

/** The shape of the SDK's own runnable tools (`betaTool`, `betaZodTool`, the agent toolset), which plug in unchanged. */
export interface RunnableTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input_schema?: unknown;
  readonly type?: string | null | undefined;
  readonly parse?: (input: unknown) => unknown;
  readonly run: (input: any, context?: any) => unknown;
  readonly close?: () => void | Promise<void>;
}

/**
 * Makes a tool from a name, a schema and a function.
 *
 * @example
 * ```ts
 * import { tool } from "crochet";
 *
 * const shout = tool({
 *   name: "Shout",
 *   description: "Says it louder.",
 *   input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
 *   effect: "none",
 *   run: ({ text }: { text: string }) => text.toUpperCase(),
 * });
 * ```
 */
export function tool<Input = any>(options: ToolOptions<Input>): Tool<Input> {
  const { name, description, input, run, effect = "write" } = options;
  checkName(name);
  if (!["none", "read", "write"].includes(effect)) {
    throw new TypeError(`Cannot make tool '${name}' as effect '${effect}' is unknown: expected none, read or write`);
  }
  if (typeof run !== "function") throw new TypeError(`Cannot make tool '${name}' as 'run' is not a function`);
  const schema = isStandard(input) ? standardToJson(name, input) : input;
  checkSchema(name, schema);
  return {
    name,
    description,
    input_schema: schema,
    effect,
    parse: isStandard(input) ? standardParser(input) : (value) => validateJson<Input>(schema, value),
    run,
    ...(options.describe && { describe: options.describe }),
    ...(options.parallel && { parallel: true }),
    ...(options.aliases && { aliases: options.aliases }),
    ...(options.prepare && { prepare: options.prepare }),
    ...(options.settled && { settled: options.settled }),
    ...(options.asks && { asks: options.asks }),
    ...(options.render && { render: options.render }),
    ...(options.close && { close: options.close }),
  };
}

/** Accepts one of our tools, or one of the SDK's runnable tools, as an agent's tool. */
export function asTool(value: Tool | RunnableTool): Tool {
  const given = value as Partial<Tool> & RunnableTool;
  if (typeof given !== "object" || given === null || typeof given.run !== "function") {
    throw new TypeError("Cannot use a value as a tool as it has no 'run' function: make it with tool({...})");
  }
  if (given.effect !== undefined && given.parse !== undefined) return given as Tool;
  checkName(given.name);
  const schema = given.input_schema as JsonSchema | undefined;
  checkSchema(given.name, schema);
  const parse = given.parse;
  return {
    name: given.name,
    description: given.description ?? "",
    input_schema: schema,
    effect: "write",
    // A parser that gives back what it got has not looked: then the schema decides. One that looked (zod) fills in
    // what it may, which the schema it tells the model would already ask for.
    parse: async (input) => {
      const parsed = parse ? await parse(input) : input;
      return parsed === input ? await validateJson(schema, input) : parsed;
    },
    run: async (input, context) => {
      const result = await given.run(input, context);
      return typeof result === "string" || Array.isArray(result) ? result : JSON.stringify(result);
    },
    ...(given.close && { close: () => given.close!() }),
  };
}

/** The tool a model means by a name: its own, or an alias. */
export function findTool(tools: readonly Tool[], name: string): Tool | undefined {
  return tools.find((t) => t.name === name) ?? tools.find((t) => t.aliases?.includes(name));
}

function checkName(name: unknown): asserts name is string {
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,128}$/.test(name)) {
    throw new TypeError(
      `Cannot make tool '${name}' as its name must be 1 to 128 letters, digits, '_' or '-'`,
    );
  }
}
