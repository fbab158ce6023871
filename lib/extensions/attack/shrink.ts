import type { AttackCall, Candidate, CandidateStep, Grammar } from "./grammar/types.ts";
import type { Form } from "./search.ts";

export type Breaks = (calls: readonly AttackCall[]) => Promise<boolean>;

const MOST_RUNS = 120;

/** Makes a finding as small as it gets: nothing that is left can be taken away. */
export async function shrink(form: Form, grammar: Grammar, breaks: Breaks): Promise<Form> {
  let runs = 0;
  const known = new Map<string, boolean>();
  const tried: Breaks = async (calls) => {
    const key = JSON.stringify(calls);
    const before = known.get(key);
    if (before !== undefined) return before;
    if (++runs > MOST_RUNS) return false;
    const broken = await breaks(calls);
    known.set(key, broken);
    return broken;
  };
  let { candidate, calls } = form;
  for (let again = true; again;) {
    again = false;
    for (const simpler of simplerThan(candidate, grammar)) {
      const made = grammar.build(simpler);
      if (!made || made.length === 0 || made.length > calls.length || !await tried(made)) continue;
      [candidate, calls, again] = [simpler, made, true];
      break;
    }
  }
  for (let i = calls.length - 1; i >= 0 && calls.length > 1; i--) {
    const fewer = calls.toSpliced(i, 1);
    if (await tried(fewer)) calls = fewer;
  }
  return { candidate, calls };
}

/** Every candidate that is one step simpler, the simplest first. */
function* simplerThan({ steps }: Candidate, { operations }: Grammar): Generator<Candidate> {
  if (steps.length > 1) { for (const i of steps.keys()) yield { steps: steps.toSpliced(i, 1) }; }
  for (const [i, step] of steps.entries()) {
    for (const simpler of simplerSteps(step, operations.map(({ name }) => name))) {
      yield { steps: steps.with(i, simpler) };
    }
  }
}

function* simplerSteps(step: CandidateStep, operations: readonly string[]): Generator<CandidateStep> {
  const { operation, rewritings, spelling, plan, mined } = step;
  const bare = { operation, rewritings: [] };
  if (rewritings.length + [spelling, plan, mined].filter((part) => part !== undefined).length > 1) yield bare;
  for (const i of rewritings.keys()) yield { ...step, rewritings: rewritings.toSpliced(i, 1) };
  for (const part of ["mined", "plan", "spelling"] as const) {
    const { [part]: gone, ...rest } = step;
    if (gone !== undefined) yield rest;
  }
  // Only what is as plain as the first ones: any further one tells nothing more.
  for (const earlier of operations.slice(0, Math.min(3, operations.indexOf(operation)))) {
    yield { ...step, operation: earlier };
  }
}
