import { reducedSchema } from "../models/anthropic/anthropic-model.ts";
import { isObject, parsed } from "../core/json.ts";
import { textOf } from "../core/messages.ts";
import { type JsonSchema, ModelError, type ModelParams, type Reply } from "../core/model.ts";
import type { AgentSpec, Run } from "../core/run.ts";
import type { Tool } from "../core/tool.ts";
import { tool } from "../tools/make-tool.ts";
import type { StandardSchema } from "../tools/schema.ts";

type Schema<O> = StandardSchema<O> | JsonSchema;

/** What a run gives back: a zod schema (or any Standard Schema) or JSON Schema of an object, or that and how it is asked for. */
export type OutputOption<O = unknown> =
  | StandardSchema<O>
  | { readonly schema: Schema<O>; readonly as?: "tool" | "format" }
  | JsonSchema;

/** How an agent asks for its output and reads it. */
export interface Output {
  /** By a tool of this schema that ends the turn; absent: by the form of its answer. */
  readonly tool?: Tool;
  readonly withFormat: (given: ModelParams) => Promise<ModelParams>;
  readonly finish: NonNullable<AgentSpec["finish"]>;
}

/** How often an answer that does not fit is sent back. */
const SENT_BACK = 2;

const NAME = "output";

const DESCRIPTION = "Gives your final answer and ends your work. Call it once, when everything else is done.";

/**
 * An agent with tools is given one more: a model that must answer in a form from the start cannot call tools well.
 *
 * @throws {TypeError} if it is not a schema
 */
export function outputOf(given: OutputOption, hasTools: boolean): Output {
  const { schema, as = hasTools ? "tool" : "format" } = optionOf(given);
  const made = tool({
    name: NAME,
    description: DESCRIPTION,
    input: schema,
    effect: "none",
    run: (input) => ({ content: "ok", response: input }),
  });
  const { parse, input_schema } = made;
  const again = sentBack();
  if (as === "tool") {
    return {
      // The call keeps what the model wrote: what the schema makes of it need not be JSON.
      tool: { ...made, ends: true, parse: async (input) => (await parse(input), input) },
      withFormat: async (given) => given,
      finish: async (run, _, value) => {
        if (value !== undefined) return { output: await parse(value) };
        if (run.output) return { output: run.output.value };
        return again(run, `Call the tool ${NAME} with your answer: the work ends with it`);
      },
    };
  }
  return {
    withFormat: async (given) => {
      const { output_config, ...params } = given.params ?? {};
      const format = { type: "json_schema", schema: await reducedSchema(input_schema) };
      return { ...given, params: { ...params, output_config: { ...output_config as object, format } } };
    },
    finish: async (run, reply) => {
      try {
        return { output: await parse(jsonOf(reply)) };
      } catch (error) {
        return again(
          run,
          `Your answer does not fit its schema: ${(error as Error).message}. Answer with the whole JSON again`,
        );
      }
    },
  };
}

function optionOf(
  given: OutputOption,
): { readonly schema: Schema<unknown>; readonly as?: "tool" | "format" | undefined } {
  const isOption = isObject(given) && "schema" in given && !("~standard" in given) && !("type" in given);
  const option = isOption
    ? given as { schema: Schema<unknown>; as?: "tool" | "format" }
    : { schema: given as Schema<unknown> };
  if (option.as === undefined || option.as === "tool" || option.as === "format") return option;
  throw new TypeError(
    `Cannot make an agent as output.as must be "tool" or "format": current value is ${JSON.stringify(option.as)}`,
  );
}

/** Sends a model back to work with some words; the third time in a run is an error. */
function sentBack(): (run: Run, lacks: string) => { lacks: string } {
  const times = new WeakMap<Run, number>();
  return (run, lacks) => {
    const before = times.get(run) ?? 0;
    if (before >= SENT_BACK) {
      throw new ModelError(`Cannot give an output as the model gave none in ${before + 1} attempts: ${lacks}`, {
        code: "no_output",
      });
    }
    times.set(run, before + 1);
    return { lacks };
  };
}

/** Not in the runtime's words: the model reads these, and a tape of one runtime is replayed on another. */
function jsonOf({ message }: Reply): unknown {
  const value = parsed(textOf(message));
  if (value === undefined) throw new Error("it is not JSON");
  return value;
}
