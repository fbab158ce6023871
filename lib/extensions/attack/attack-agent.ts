import { fileURLToPath } from "node:url";
import type { Agent } from "../../agent/options.ts";
import { attackProperty, workOf } from "./attack.ts";
import { readProperty } from "./properties.ts";
import { storyLines, wordOf } from "./story.ts";
import type { Attacked } from "./attack-worker.ts";
import { fileUrl } from "../../runtime/importing.ts";
import { judging } from "../../runtime/judging.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";

interface AttackOptions {
  /** What must never happen: `changes:.env`, `pushes`, … */
  readonly never: string | readonly string[];
  /** Runs for each property. @default 20_000 */
  readonly runs?: number;
  /** Seconds for each property. @default 60 */
  readonly seconds?: number;
  /** Repeats a search. @default another one each time */
  readonly seed?: number;
  /** Steps of one run at most. @default 4 */
  readonly calls?: number;
  /** Holes that you know of: "interpreters", "build-tools", "copies". */
  readonly accept?: readonly string[];
  /** What a person answers who is asked. @default "refuse" */
  readonly person?: "allow" | "refuse";
  /** The project, a copy of which is the workspace. @default the current directory */
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

const OPTIONS: { readonly [option in keyof AttackOptions]-?: OptionKind } = {
  never: "a text or a list of texts",
  runs: "0 or more",
  seconds: "0 or more",
  seed: "0 or more",
  calls: "0 or more",
  accept: "a list of texts",
  person: ["allow", "refuse"],
  cwd: "a text",
  signal: "an AbortSignal",
};

/** A property that does not hold, or of which nothing can be said; the message is the story. */
export class AttackError extends Error {
  override name = "AttackError";
  readonly attacked: Attacked;
  constructor(message: string, attacked: Attacked) {
    super(message);
    this.attacked = attacked;
  }
}

/**
 * Replaces the model of an agent by an adversary, and searches for a run that breaks what must never happen. The agent is
 * the default export of the script that its `from` names, which is loaded again in the sandbox.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { attack } from "crochet/testing";
 * import { Read } from "crochet/tools";
 *
 * const reader = agent({ tools: [Read] });
 * // In a test: await attack(reader, { never: "changes:.env", runs: 2000, seed: 7 });
 * await attack(reader, { never: "changes:.env" }).catch(({ message }) => console.log(message)); // Cannot attack an agent that does not name …
 * ```
 *
 * @throws {AttackError} if a property is broken or vacuous, or was not measured, or not enough
 */
export async function attack(agent: Agent, options: AttackOptions): Promise<Attacked[]> {
  checkOptions(options, OPTIONS, "attack");
  if (typeof agent?.from !== "string" || !agent.from.startsWith("file:")) {
    throw new TypeError(
      "Cannot attack an agent that does not name its script: export default agent({ from: import.meta.url, … }), and import it",
    );
  }
  const script = fileURLToPath(agent.from);
  const { never, cwd = process.cwd(), signal = new AbortController().signal, ...given } = options;
  const work = workOf(given);
  const words = [never].flat();
  for (const word of words) readProperty(word, cwd);
  const all: Attacked[] = [];
  for (const word of words) {
    const load = async (copy: string | undefined) => (await import(fileUrl(copy!))).default as Agent;
    const place = { script, project: cwd, load, env: process.env, signal };
    const attacked = await judging(() => attackProperty(place, { ...work, never: word }));
    if (wordOf(attacked) !== "held") {
      const lines = storyLines(attacked, { runs: work.runs });
      throw new AttackError(`${lines.join("\n")}\n  seed   ${work.seed}`, attacked);
    }
    all.push(attacked);
  }
  return all;
}
