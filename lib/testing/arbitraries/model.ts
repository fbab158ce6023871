import type { Arbitrary } from "fast-check";
import { scripted, type ScriptedModel, type ScriptedReply } from "../scripted.ts";
import { type FastCheck, fastCheck, FILES, type Scene, SENTENCES, textArbitrary } from "./texts.ts";
import { callArbitrary } from "./tools.ts";

export interface ModelArbitraryOptions {
  /** The tools it calls: a name or a matcher. @default every tool we know */
  readonly tool?: string;
  /** How many replies are scripted at most; after them the model says that it is done. @default 6 */
  readonly replies?: number;
  /** Where the files are that it names. */
  readonly cwd?: string;
}

type Move = ScriptedReply;

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
  const { tool, replies = 6, cwd = "/home/dev/project" } = options;
  if (!Number.isInteger(replies) || replies < 0) {
    throw new TypeError(`Cannot make models: 'replies' must be a whole number, and is ${replies}`);
  }
  const fc = fastCheck();
  const moves = movesOf(fc, tool, { cwd, files: FILES, words: [] });
  const same = (move: Arbitrary<Move>) => fc.array(move, { maxLength: replies });
  return fc.oneof(
    { withCrossShrink: true },
    same(moves.says),
    same(moves.calls),
    same(fc.oneof({ withCrossShrink: true }, moves.says, moves.calls, moves.both)),
  ).map((script) => playing(fc, script));
}

function movesOf(
  fc: FastCheck,
  tool: string | undefined,
  scene: Scene,
): { [kind in "says" | "calls" | "both"]: Arbitrary<Move> } {
  const words = textArbitrary(fc, SENTENCES).map((said) => said.trim() === "" ? "ok" : said);
  const call = callArbitrary(fc, tool, scene).map(({ tool_name, input }) => ({ name: tool_name, input }));
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
