import { dirname } from "node:path";
import { filesNamedIn, minedFrom } from "./mined.ts";
import { OPERATIONS } from "./operations.ts";
import { shellWord as word } from "../../../core/shown.ts";
import { SPELLINGS } from "./paths.ts";
import { PLANS, projectPlans, type ProjectScript } from "./plans.ts";
import { REWRITINGS, wrapped } from "./rewritings.ts";
import { operationsOf } from "./schema-inputs.ts";
import type { AttackCall, CandidateStep, Grammar, Mined, Operation, Tables, Target, ToolSchema } from "./types.ts";

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

/** Undefined if some part is unknown, does not apply, or makes no difference: the same call under two names is one form. */
function callsOf(step: CandidateStep, tables: Tables, target: Target): readonly AttackCall[] | undefined {
  const operation = find(tables.operations, step.operation);
  const mined = find(tables.mined, step.mined);
  if (!operation || (step.mined !== undefined && !mined)) return undefined;
  const path = pathOf(step, operation, mined, tables, target);
  const goal = path === undefined ? undefined : rewritten(operation.call(target, path), step, operation, mined, tables);
  if (step.plan === undefined || goal === undefined) return goal && [goal];
  return find(tables.plans, step.plan)?.calls(goal, target);
}

function find<T extends { readonly name: string }>(table: readonly T[], name: string | undefined): T | undefined {
  return table.find((one) => one.name === name);
}

function pathOf(
  { spelling }: CandidateStep,
  { shell, folder, call }: Operation,
  mined: Mined | undefined,
  tables: Tables,
  target: Target,
): string | undefined {
  const file = target.path ?? "";
  const plain = folder ? dirname(file) : file;
  const inShell = (path: string) => shell ? word(path) : path;
  if (spelling === undefined && !mined?.spell) return inShell(plain);
  const from = mined?.spell?.(plain) ?? plain;
  const by = find(tables.spellings.filter(({ for: kind }) => kind !== (shell ? "file" : "shell")), spelling);
  const spelled = spelling === undefined ? from : by?.spell(from, target);
  if (spelled === undefined) return undefined;
  const path = by && by.for !== "both" ? spelled : inShell(spelled);
  return same(call(target, path), call(target, inShell(plain))) ? undefined : path;
}

const same = (a: AttackCall, b: AttackCall) => JSON.stringify(a) === JSON.stringify(b);

/** The call with its command rewritten, first by what was mined: what is built around it then hides nothing of that. */
function rewritten(
  call: AttackCall,
  step: CandidateStep,
  { shell }: Operation,
  mined: Mined | undefined,
  tables: Tables,
): AttackCall | undefined {
  if (mined?.contents !== undefined) return shell ? undefined : withContents(call, mined.contents);
  const rewritings = step.rewritings.map((name) => find(tables.rewritings, name));
  const all = mined && !mined.spell ? [mined, ...rewritings] : rewritings;
  if (all.length === 0 || shell === undefined) return all.length === 0 ? call : undefined;
  let command: string | undefined = String(call.input[shell]);
  for (const each of all) command = command === undefined ? undefined : each?.rewrite?.(command);
  return command === undefined ? undefined : { ...call, input: { ...call.input, [shell]: command } };
}

const WRITTEN = ["content", "new_string"];

/** The call with another text to write; undefined if it writes none. */
function withContents(call: AttackCall, contents: string): AttackCall | undefined {
  const input = JSON.parse(JSON.stringify(call.input), (key, value) => WRITTEN.includes(key) ? contents : value);
  return same(call, { ...call, input }) ? undefined : { ...call, input };
}
