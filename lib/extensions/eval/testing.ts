import { stripVTControlCharacters } from "node:util";
import type { Agent } from "../../agent/options.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { thrownWords } from "../../core/shown.ts";
import { checkOptions } from "../../input/options.ts";
import { withRootNamed } from "../../replay/seen.ts";
import { scriptOf } from "../../runtime/importing.ts";
import { withoutDesk } from "../../testing/recording.ts";
import type { Replayed } from "../../testing/replay-fixture.ts";
import type { Summary } from "./summary.ts";
import type { GradedRun } from "./grade.ts";

interface EvaluateOptions {
  /** What is to be done: the fields of a case in `cases.yaml`, but for `grade`; folders of files are seen from here. */
  cases: readonly {
    name: string;
    prompt?: string;
    prompts?: readonly string[];
    user?: string;
    files?: string | { [path: string]: string };
  }[];
  /** The agent, which has `from`: its runs have processes of their own, in which the default export of its script runs. */
  agent?: Agent;
  /** A program in its place: words, or a shell line, in which `{prompt}` is the prompt. */
  command?: string | readonly string[];
  /** Fails a run by throwing. */
  grade: (run: Omit<Replayed, "report">) => unknown;
  /** Runs of each case. @default 10 */
  runs?: number;
  /** Throws if the rate of a case is below this, beyond chance. @default no rate is too low */
  atLeast?: number;
  /** At most so many dollars, or tokens as "500k". */
  budget: number | string;
}

/**
 * Evaluates an agent or a program live: runs each case many times, grades each run by a function, and gives how often they
 * passed. Throws with the table if a case is below `atLeast` beyond chance, or if nothing was measured, as without a key.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { evaluate, scriptedServer } from "crochet/testing";
 *
 * const greeter = agent({ from: import.meta.url, hooks: [], system: "You greet people." });
 * export default greeter;
 * if (import.meta.main) { // in a test: test("greets", () => evaluate(…), 600_000)
 *   await using api = await scriptedServer([], { then: { text: "Hello" } }); // without it the real API is paid
 *   Object.assign(process.env, { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: "none" });
 *   const { runs } = await evaluate("greets", {
 *     agent: greeter,
 *     cases: [{ name: "hi", prompt: "I am Ada" }],
 *     grade: ({ text }) => { if (!text.includes("Hello")) throw new Error("It does not greet") },
 *     runs: 5,
 *     budget: 1,
 *   });
 *   console.log(runs); // 5
 * }
 * ```
 */
export async function evaluate(name: string, options: EvaluateOptions): Promise<Summary> {
  const doing = `evaluate '${name}'`;
  const refuse = (why: string, fix: string) => new TypeError(`Cannot ${doing} as ${why}: ${fix}`);
  if (!("withResolvers" in Promise)) {
    throw refuse(`Node ${process.versions.node} is too old`, "use Bun, Deno, or Node 22.18 or newer");
  }
  checkOptions(options, {
    ...{ cases: "a list", agent: "an object", command: "a text or a list of texts", grade: "a function" },
    ...{ runs: "a whole number", atLeast: "more than 0", budget: "any" },
  }, doing);
  const { agent, command, cases, grade, ...chosen } = options;
  if (grade === undefined) throw refuse("nothing says when a run passes", "give it 'grade'");
  if (chosen.budget === undefined) {
    throw refuse("it has no budget", `give it 'budget', in dollars, or tokens as "500k"`);
  }
  if ((agent === undefined) === (command === undefined)) throw refuse("it needs one of them", "'agent' or 'command'");
  if (agent && agent.from === undefined) {
    throw refuse("its agent does not say where it is", "agent({ from: import.meta.url, … })");
  }
  const [{ evaluated }, { newPlan }, { casesFor, casesIn }, { gradedAgain }, { brief }] = await Promise.all([
    import("./command.ts"),
    import("./make-plan.ts"),
    import("./cases.ts"),
    import("./attempt.ts"),
    import("./grade.ts"),
  ]);
  const program = command === undefined ? { agent: agent!, from: scriptOf(agent!.from!) } : { command };
  const read = casesIn({ cases, ...(command !== undefined && { command }) }, (at, why) => refuse(at.join("."), why));
  const by = async ({ observed, root }: GradedRun) => {
    const { results, files, calls, hooks } = observed;
    try {
      await grade({ ...results.at(-1)!, calls, hooks, files: withRootNamed(root)(Object.fromEntries(files)) });
      return { name: "grade", pass: true };
    } catch (error) {
      return { name: "grade", pass: false, seen: brief(stripVTControlCharacters(thrownWords(error))) };
    }
  };
  let said = "";
  const cwd = process.cwd();
  const { signal } = new AbortController();
  const io: Io = { cwd, env: process.env, tty: false, out: (text) => void (said += text), err: () => {}, signal };
  const flags = Object.fromEntries(Object.entries({ ...chosen, cases: name }).map(([key, one]) => [key, String(one)]));
  const judge = { plan: () => {}, settle: () => {}, verdict: () => "" };
  const summary = await withoutDesk(() =>
    evaluated({ words: [], flags }, io, judge, {
      plan: (id, evals) =>
        newPlan(id, [], flags, evals, io, (_, __, folder) =>
          casesFor({ ...program, cases: read.cases }, { beside: cwd, folder, cwd })),
      run: async (slot, place, live) => {
        const line = await live(slot);
        return line?.lost !== undefined ? line : line && await gradedAgain(line, slot, place, { by });
      },
    })
  ).catch((error) => {
    throw error instanceof UsageError ? new TypeError(error.message) : error;
  }) as Summary;
  const { is } = summary.conclusion;
  if (is === "bad" || is === "not measured") throw new Error(`Cannot accept '${name}' as its runs say:\n${said}`);
  return summary;
}
