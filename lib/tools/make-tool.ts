import { isObject } from "../core/json.ts";
import type { ApiTool, JsonSchema } from "../core/model.ts";
import type { Effect, Tool, ToolReturn } from "../core/tool.ts";
import type { ToolContext } from "./tool-context.ts";
import {
  checkSchema,
  isStandard,
  standardParser,
  type StandardSchema,
  standardToJson,
  validateJson,
} from "./schema.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";

interface ToolOptions<Input> extends Omit<Tool<Input>, "input_schema" | "ofApi" | "effect" | "ends" | "parse" | "run"> {
  /** A zod schema (or any Standard Schema), or plain JSON Schema of an object. */
  input: StandardSchema<Input> | JsonSchema;
  run: (input: Input, context: ToolContext) => ToolReturn | Promise<ToolReturn>;
  /** @default "write" */
  effect?: Effect;
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
  const { name, description, input, run, effect = "write", parallel, ...rest } = options;
  checkName(name);
  checkOptions(options, TOOL_OPTIONS, `make tool '${name}'`);
  if (run === undefined) throw new TypeError(`Cannot make tool '${name}' as it has no 'run': give a function`);
  const schema = isStandard(input) ? standardToJson(name, input) : input;
  checkSchema(name, schema);
  return {
    name,
    description,
    input_schema: schema,
    effect,
    parse: isStandard(input) ? standardParser(input) : (value) => validateJson<Input>(schema, value),
    run,
    ...(parallel && { parallel }),
    ...rest,
  };
}

const TOOL_OPTIONS: { readonly [option in keyof ToolOptions<unknown>]-?: OptionKind } = {
  name: "a text",
  description: "a text",
  describe: "a function",
  input: "any",
  run: "a function",
  effect: ["none", "read", "write"],
  parallel: "true or false",
  aliases: "a list of texts",
  prepare: "a function",
  settled: "a function",
  asks: "a function",
  render: "a function",
  close: "a function",
};

/** Whether a tool is the API's own: it has a type, and nothing here that runs it. */
export function isApiTool(value: unknown): value is ApiTool {
  return isObject(value) && typeof value.type === "string" && !("run" in value);
}

/** Accepts one of our tools, or one of the SDK's runnable tools, as an agent's tool. */
export function asTool(value: Tool | RunnableTool): Tool {
  const given = value as Partial<Tool> & RunnableTool;
  if (typeof given !== "object" || given === null || typeof given.run !== "function") {
    throw new TypeError("Cannot use a value as a tool as it has no 'run' function: make it with tool({...})");
  }
  if (given.effect !== undefined && given.parse !== undefined) return given as Tool;
  checkName(given.name);
  const ofApi = apiSpec(given);
  const schema = ofApi ? ANY_INPUT : given.input_schema as JsonSchema | undefined;
  checkSchema(given.name, schema);
  const parse = given.parse;
  return {
    name: given.name,
    description: given.description ?? "",
    input_schema: schema,
    ...(ofApi && { ofApi }),
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

const ANY_INPUT: JsonSchema = { type: "object" };

/** What the API is sent of a tool whose input it knows by the tool's type, as of `memory_20250818`, and that runs here. */
function apiSpec({ run: _, parse: __, close: ___, ...spec }: RunnableTool): Tool["ofApi"] {
  const { type, input_schema } = spec;
  const isKnown = typeof type === "string" && type !== "custom" && input_schema === undefined;
  return isKnown ? spec as Tool["ofApi"] : undefined;
}

function checkName(name: unknown): asserts name is string {
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,128}$/.test(name)) {
    throw new TypeError(
      `Cannot make tool '${name}' as its name must be 1 to 128 letters, digits, '_' or '-'`,
    );
  }
}
