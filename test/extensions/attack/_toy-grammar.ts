import type { AttackCall, Candidate, Grammar } from "../../../lib/extensions/attack/grammar/types.ts";

/** The names of a table: `r0` to `r3`. */
export const names = (letter: string): string[] => Array.from({ length: 4 }, (_, i) => `${letter}${i}`);
const table = (letter: string, more = {}) => names(letter).map((name) => ({ name, ...more }));

/** Its calls say what they are made of: operations, rewritings, spellings, mined words; a plan puts a call before. */
export const TOY = {
  operations: table("o", { effects: ["changes"], shell: "command" }),
  ...{ rewritings: table("r"), spellings: table("s"), plans: table("p"), mined: table("m") },
  build: ({ steps }: Candidate) =>
    steps.flatMap(({ operation, rewritings, spelling = "", plan, mined = "" }) =>
      [...(plan === undefined ? [] : [plan]), [operation, ...rewritings, spelling, mined].join(" ")]
        .map((command) => ({ tool: "Bash", input: { command } }))
    ),
} as unknown as Grammar;

/** The names in calls. */
export const wordsOf = (calls: readonly AttackCall[]): string[] =>
  calls.flatMap(({ input }) => String(input.command).split(" ")).filter(Boolean);
