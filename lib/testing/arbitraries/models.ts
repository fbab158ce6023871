import type { Arbitrary } from "fast-check";
import type { Tool } from "../../core/tool.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";
import { scripted, type ScriptedModel, type ScriptedReply } from "../scripted.ts";
import { SENTENCES } from "../../hooks/event-fields.ts";
import { type FastCheck, fastCheck, FILES, type Scene, textArbitrary } from "./texts.ts";
import { schemaArbitrary } from "./schemas.ts";
import { callArbitrary } from "./tool-inputs.ts";

export interface ModelArbitraryOptions {
  /** The tools it calls, each with inputs that its schema describes. */
  readonly tools?: readonly Pick<Tool, "name" | "input_schema">[];
  /** Inputs of some of these tools, by name, in place of those that the schema describes. */
  readonly inputs?: { readonly [tool: string]: Arbitrary<unknown> };
  /** Without `tools`, the known tools it calls: a name or a matcher. @default every tool we know */
  readonly tool?: string;
  /** How many replies are scripted at most; after them the model says that it is done. @default 6 */
  readonly replies?: number;
  /** Where the files are that it names. */
  readonly cwd?: string;
}

const OPTIONS: { readonly [option in keyof ModelArbitraryOptions]-?: OptionKind } = {
  tools: "a list",
  inputs: "an object",
  tool: "a text",
  replies: "a whole number",
  cwd: "a text",
};

type Move = ScriptedReply;
type Called = NonNullable<ScriptedReply["tools"]>[number];

/**
 * Models that behave in some way, as an arbitrary of fast-check: silent, talkative, calling tools at every turn, or a
 * mix of these. Each is a scripted model that is new with every run and ends by saying that it is done; a
 * counterexample shrinks to fewer and plainer replies.
 *
 * @example
 * ```ts
 * import fc from "fast-check";
 * import { agent } from "crochet";
 * import { modelArbitrary } from "crochet/testing";
 * import { Read } from "crochet/tools";
 *
 * await fc.assert(
 *   fc.asyncProperty(modelArbitrary({ tool: "Read" }), async (model) => {
 *     const { stop } = await agent({ model, tools: [Read] }).run("go");
 *     return stop === "done";
 *   }),
 *   { numRuns: 10 },
 * );
 * ```
 */
export function modelArbitrary(options: ModelArbitraryOptions = {}): Arbitrary<ScriptedModel> {
  checkOptions(options, OPTIONS, "make models");
  const { replies = 6 } = options;
  if (replies < 0) throw new TypeError(`Cannot make models: 'replies' must be a whole number, and is ${replies}`);
  const fc = fastCheck();
  const moves = movesOf(fc, callsOf(fc, options));
  const some = (move: Arbitrary<Move>, least = 0) =>
    fc.array(move, { minLength: Math.min(least, replies), maxLength: replies });
  const both = fc.oneof(
    { withCrossShrink: true },
    moves.says,
    { weight: 2, arbitrary: moves.calls },
    { weight: 2, arbitrary: moves.both },
  );
  // Tools are called in most runs: a reply without one ends the run.
  return fc.oneof(
    { withCrossShrink: true },
    some(moves.says),
    { weight: 3, arbitrary: some(moves.calls, 1) },
    { weight: 3, arbitrary: some(both, 1) },
  ).map((script) => playing(fc, script));
}

function callsOf(fc: FastCheck, options: ModelArbitraryOptions): Arbitrary<Called> {
  const { tools, inputs = {}, tool, cwd = "/home/dev/project" } = options;
  const names = tools?.map(({ name }) => name) ?? [];
  const unknown = Object.keys(inputs).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot make models: 'inputs' names ${unknown}, which is not among 'tools': ${names.join(", ")}`,
    );
  }
  if (!tools) {
    const scene: Scene = { cwd, files: FILES, words: [] };
    return callArbitrary(fc, tool, scene).map(({ tool_name, input }) => ({ name: tool_name, input }));
  }
  if (tool !== undefined || tools.length === 0) {
    throw new TypeError(`Cannot make models: ${tool === undefined ? "'tools' is empty" : "give 'tool' or 'tools'"}`);
  }
  const calls = tools.map(({ name, input_schema }) =>
    (inputs[name] ?? schemaArbitrary(fc, input_schema)).map((input) => ({ name, input } as Called))
  );
  return fc.oneof({ withCrossShrink: true }, ...calls);
}

function movesOf(fc: FastCheck, call: Arbitrary<Called>): { [kind in "says" | "calls" | "both"]: Arbitrary<Move> } {
  const words = textArbitrary(fc, SENTENCES).map((said) => said.trim() === "" ? "ok" : said);
  const tools = fc.array(call, { minLength: 1, maxLength: 3 });
  return {
    says: words.map((text): Move => ({ text })),
    calls: tools.map((made): Move => ({ tools: made })),
    both: fc.tuple(words, words, tools).map(([thinking, text, made]): Move => ({ thinking, text, tools: made })),
  };
}

/** A model that fast-check prints as its script. */
function playing(fc: FastCheck, script: readonly Move[]): ScriptedModel {
  const model = scripted(script, { then: { text: "Done." } });
  return Object.defineProperty(model, fc.toStringMethod, { value: () => `scripted(${JSON.stringify(script)})` });
}
