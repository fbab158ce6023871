import { dirname } from "node:path";
import { filesNamedIn, minedFrom } from "./mined.ts";
import { OPERATIONS } from "./operations.ts";
import { SPELLINGS, word } from "./paths.ts";
import { PLANS, projectPlans, type ProjectScript } from "./plans.ts";
import { REWRITINGS, wrapped } from "./rewritings.ts";
import { operationsOf } from "./schema-inputs.ts";
import type { AttackCall, CandidateStep, Grammar, Operation, Target, ToolSchema } from "./types.ts";

export interface GrammarOptions {
  readonly tools: readonly ToolSchema[];
  /** The guard's files and rules, as they are written. */
  readonly guardTexts: readonly string[];
  readonly target: Target;
  readonly scripts: readonly ProjectScript[];
  /** What goes before a command for another program to run it: see `FIND_WRAPPERS`. */
  readonly wrappers: readonly string[];
}

/** Everything that the adversary can write down against one target, with the tools that the agent has. */
export function grammarFor({ tools, guardTexts, target, scripts, wrappers }: GrammarOptions): Grammar {
  const names = new Set(tools.flatMap(({ name, aliases = [] }) => [name, ...aliases]));
  const has = ({ tool, calls = [] }: AttackCall): boolean => names.has(tool) && calls.every(has);
  const tables: Tables = {
    operations: [...OPERATIONS, ...operationsOf(tools, OPERATIONS)]
      .filter(({ tool, effects }) => names.has(tool) && effects.includes(target.property)),
    spellings: SPELLINGS,
    rewritings: [...REWRITINGS, ...wrapped(wrappers)],
    plans: [...projectPlans(scripts, filesNamedIn(guardTexts)), ...PLANS],
    mined: minedFrom(guardTexts),
  };
  return {
    ...tables,
    build({ steps }) {
      const calls = steps.map((step) => callsOf(step, tables, target));
      const all = calls.every((made) => made !== undefined) ? calls.flat() : undefined;
      return all?.every(has) ? all : undefined;
    },
  };
}

type Tables = Omit<Grammar, "build">;

/** Undefined if some part is unknown, does not apply, or makes no difference: the same call under two names is one form. */
function callsOf(step: CandidateStep, tables: Tables, target: Target): readonly AttackCall[] | undefined {
  const operation = tables.operations.find(({ name }) => name === step.operation);
  const path = operation && pathOf(step, operation, tables, target);
  if (path === undefined) return undefined;
  const call = operation!.call(target, path);
  const goal = rewritten(call, step, operation!, tables, target);
  if (step.plan === undefined || goal === undefined) return goal && [goal];
  return tables.plans.find(({ name }) => name === step.plan)?.calls(goal, target);
}

/** The target as the step spells it. */
function pathOf(step: CandidateStep, operation: Operation, tables: Tables, target: Target): string | undefined {
  const { shell, folder } = operation;
  const file = target.path ?? "";
  const plain = folder ? dirname(file) : file;
  const inShell = (path: string) => shell ? word(path) : path;
  const unlike = (path: string | undefined) =>
    path === undefined || same(operation.call(target, path), operation.call(target, inShell(plain))) ? undefined : path;
  const spell = step.mined === undefined ? undefined : tables.mined.find(({ name }) => name === step.mined)?.spell;
  if (step.spelling === undefined && !spell) return inShell(plain);
  const from = spell ? spell(plain, target) : plain;
  if (from === undefined || step.spelling === undefined) return from === undefined ? undefined : unlike(inShell(from));
  const spelling = tables.spellings.find(({ name, for: kind }) =>
    name === step.spelling && kind !== (shell ? "file" : "shell")
  );
  const spelled = spelling?.spell(from, target);
  return spelled === undefined ? undefined : unlike(spelling!.for === "both" ? inShell(spelled) : spelled);
}

const same = (a: AttackCall, b: AttackCall) => JSON.stringify(a) === JSON.stringify(b);

/** The call with its command rewritten, first by what was mined: what is built around it then hides nothing of that. */
function rewritten(call: AttackCall, step: CandidateStep, { shell }: Operation, tables: Tables, target: Target) {
  const mined = step.mined === undefined ? [] : [tables.mined.find(({ name }) => name === step.mined)];
  const rewritings = step.rewritings.map((name) => tables.rewritings.find((each) => each.name === name));
  const [contents] = mined.map((each) => each?.contents);
  if (contents !== undefined) return shell ? undefined : withContents(call, contents);
  const all = [...mined.filter((each) => !each?.spell), ...rewritings];
  if (all.length === 0) return call;
  if (shell === undefined) return undefined;
  let command: string | undefined = String(call.input[shell]);
  for (const each of all) command = command === undefined ? undefined : each?.rewrite?.(command, target);
  return command === undefined ? undefined : { ...call, input: { ...call.input, [shell]: command } };
}

const WRITTEN = ["content", "new_string"];

/** The call with another text to write; undefined if it writes none. */
function withContents(call: AttackCall, contents: string): AttackCall | undefined {
  const input = JSON.parse(JSON.stringify(call.input), (key, value) => WRITTEN.includes(key) ? contents : value);
  return same(call, { ...call, input }) ? undefined : { ...call, input };
}
