import { dirname, join } from "node:path";
import { isGated } from "./gate.ts";
import { type HooksAsked, hooksNamed } from "./hook-arms.ts";
import { readPlan } from "./kept-evals.ts";
import { type EvalPlan, fixtureOf, isContinued, planned, type PlannedFixture, slotName, type Variant } from "./plan.ts";
import type { KeptLine } from "./runs.ts";
import { modelOf } from "../../agent/named-model.ts";
import { stateFolder } from "../../files/state.ts";
import { invariantsOf } from "../../replay/invariants.ts";
import { type Fixture, fixturesIn, hasTape } from "../../replay/fixture.ts";
import { whyAsked } from "../../replay/continue-run.ts";
import { isCi } from "../../replay/tape-options.ts";
import { readHeader } from "../../replay/read-tape.ts";
import type { RunLine } from "./attempt.ts";
import { readLineLog } from "../../log/line-log.ts";
import { makeCases } from "./cases.ts";
import { type ChangedByHooks, changedByHooks, hooksAsked, whyUntried } from "./unchanged-by-hooks.ts";
import { against, agentsIn, here } from "./variants.ts";
import { expectTrusted, fixturesFor } from "../../cli/kit/known-fixtures.ts";
import { budgetFlag, type Flags, numberFlag } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";

const RUNS = 10;
/** The drop of which an eval says how often it would find it. */
export const DROP = 0.2;
export const COUNT: { least: number; most: number; whole: boolean } = { least: 1, most: 999_999, whole: true };

/** What an eval is to do; undefined if it was interrupted while that was found. */
export async function newPlan(
  id: string,
  words: readonly string[],
  flags: Flags["flags"],
  evals: string,
  io: Io,
  cases: typeof makeCases = makeCases,
): Promise<EvalPlan | undefined> {
  const hooks = hooksAsked(flags, io);
  const budget = budgetOf(flags, io);
  const model = flags.model === undefined ? undefined : String(flags.model);
  const atLeast = flags.atLeast === undefined ? undefined : shareOf("at-least", flags.atLeast);
  const runs = numberFlag(flags, "runs", COUNT) ?? RUNS;
  const variants = [
    here(model, io.cwd),
    ...(flags.against === undefined ? [] : [against(String(flags.against), model, evals, io)]),
  ];
  if (variants[1]?.kind === "kept" && atLeast !== undefined && !flags.fresh) {
    throw new UsageError(
      `Cannot use --at-least with --against ${
        variants[1].name
      } as the change may have been made by looking at its runs: add --fresh`,
    );
  }
  const { whole, changed, ...all } = flags.cases === undefined
    ? await plannedHere(words, flags, variants, hooks, io)
    : {
      changed: undefined,
      fixtures: await cases(String(flags.cases), words, join(stateFolder(io.cwd, io.env, "evals"), id), io, {
        model,
      }),
      whole: true,
    };
  if (io.signal.aborted) return undefined;
  const { fixtures } = changed ?? all;
  const program = fixtures.find((one) => one.program);
  if (program && (model !== undefined || variants.some(({ kind }) => kind === "script"))) {
    throw new UsageError(
      `Cannot run ${program.name} with another agent or model as it is a program of its own: compare with a git ref or a kept eval`,
    );
  }
  const unpriced = budget && "dollars" in budget && fixtures.find(({ price }) => price.dollars === undefined);
  if (unpriced) {
    throw new UsageError(
      `Cannot keep a budget in dollars as the price of ${unpriced.name} is unknown: --budget 500k limits tokens, or set the option prices of its agent`,
    );
  }
  return await withAlone({
    eval: 1,
    id,
    at: new Date().toISOString(),
    runs,
    ...(atLeast !== undefined && { atLeast }),
    ...(flags.fresh && { fresh: true }),
    ...(budget && { budget }),
    whole,
    ...(flags.cases !== undefined && { cases: String(flags.cases) }),
    fixtures,
    variants,
    ...changed,
  }, io);
}

/** A plan in which fixtures say why their runs continue no others, as far as that is known before. */
async function withAlone(plan: EvalPlan, io: Io): Promise<EvalPlan> {
  const fixtures = await Promise.all(plan.fixtures.map(async (fixture): Promise<PlannedFixture> => {
    const alone = isContinued(plan, fixture) ? await whyAlone(fixture, plan.variants[0]!, io) : undefined;
    return { ...fixture, ...(alone !== undefined && { alone }) };
  }));
  return { ...plan, fixtures };
}

async function whyAlone(planned: PlannedFixture, variant: Variant, io: Io): Promise<string | undefined> {
  if (planned.program) return "it is a program";
  const fixture = fixtureOf(planned, io.cwd);
  if (isRecorded(fixture)) return "it was recorded with --tools";
  try {
    const { agent } = await agentsIn("", planned, io)(fixture, { ...variant, kind: "here" });
    const { model, modelName } = modelOf(variant.model ?? agent.model, true);
    return whyAsked(model.named?.(modelName) ?? model);
  } catch {
    return undefined; // what does not load says so in its first run
  }
}

/** What is to be done with the fixtures of this directory. */
async function plannedHere(
  words: readonly string[],
  flags: Flags["flags"],
  variants: readonly Variant[],
  hooks: HooksAsked | undefined,
  io: Io,
): Promise<Required<Pick<EvalPlan, "fixtures" | "whole">> & { readonly changed: ChangedByHooks | undefined }> {
  const [{ model }] = variants as [Variant];
  const found = fixturesFor(words, io, { nested: false, attacks: false, doing: "evaluate" });
  expectTrusted(found, flags, io, "evaluate");
  const untried = hooks ? found.map((one) => [one, whyUntried(one)] as const).filter(([, why]) => why) : [];
  const chosen = found.filter((one) => !untried.some(([other]) => other === one));
  const [live, left] = [chosen.filter((one) => flags.tools || !isRecorded(one)), chosen.filter(isRecorded)];
  if (!flags.tools && left.length > 0) {
    const names = left.map(({ name }) => name).join(", ");
    const why = `recorded with --tools, and its tools may pay or send: add --tools to run them for real`;
    if (live.length === 0) throw new UsageError(`Cannot evaluate ${names} as it was ${why}`);
    io.err(`left out: ${names} (${why})\n`);
  }
  for (const fixture of live) await invariantsOf(fixture); // a wrong file is reported before anything is paid
  const fixtures = await Promise.all(live.map((fixture) => planned(fixture, io.cwd, model)));
  const leftOut = untried.map(([{ name }, why]) => `${name} (${why})`);
  const changed = hooks && await changedByHooks(fixtures, hooks, leftOut, io);
  const folders = new Set(live.map(({ folder }) => dirname(folder)));
  const whole = live.length === [...folders].flatMap((folder) => fixturesIn(folder)).length;
  return { fixtures, whole, changed };
}

function isRecorded({ tape }: Fixture): boolean {
  const { tools, mcp } = readHeader(tape);
  return tools || mcp === true;
}

/** The plan of an eval that is kept, with what the flags change. */
export async function keptPlan(evals: string, flags: Flags["flags"], io: Io): Promise<EvalPlan> {
  const given = flags.resume ?? flags.regrade;
  const plan = readPlan(evals, typeof given === "string" ? given : "last");
  if (plan.sessions !== undefined) {
    throw new UsageError(`Cannot continue ${plan.id} as it is of logs: crochet eval --sessions ${plan.sessions}`);
  }
  const now = plan.cases === undefined
    ? await stillPlanned(plan, flags, io)
    : await makeCases(plan.cases, plan.fixtures.map(({ name }) => name), join(evals, plan.id), io, { was: plan });
  const today = plan.fixtures.map((one, i) => ({ ...one, graders: now[i]!.graders }));
  const budget = flags.budget === undefined && plan.budget ? plan.budget : budgetOf(flags, io);
  if (flags.regrade !== undefined) return { ...plan, fixtures: today, ...(budget && { budget }) };
  const [{ commit: then }, { commit: head }] = [plan.variants[0]!, here(undefined, io.cwd)];
  if (then !== head) {
    throw new UsageError(
      `Cannot continue ${plan.id} as the project was at commit ${then}: check it out, or start a new eval`,
    );
  }
  const runs = numberFlag(flags, "runs", COUNT) ?? plan.runs;
  if (runs < plan.runs) {
    throw new UsageError(`Cannot take runs away from ${plan.id}, which has ${plan.runs}: raise --runs`);
  }
  if (runs > plan.runs && isGated(plan)) {
    throw new UsageError(
      `Cannot add runs to ${plan.id} as it compares: runs that are added after a look raise false alarms; start a new eval`,
    );
  }
  return {
    ...plan,
    fixtures: today,
    runs,
    ...(runs > plan.runs && { first: plan.first ?? plan.runs }),
    ...(budget && { budget }),
  };
}

/** The fixtures of an eval that is kept, as they are now. */
async function stillPlanned(plan: EvalPlan, flags: Flags["flags"], io: Io): Promise<EvalPlan["fixtures"]> {
  const fixtures = plan.fixtures.map((one) => fixtureOf(one, io.cwd));
  expectTrusted(fixtures, flags, io, "evaluate");
  const expectSame = (what: string, now: string | undefined, then: string | undefined) => {
    if (now === then) return;
    const why = now === undefined ? "is gone" : "has changed since";
    throw new UsageError(`Cannot continue ${plan.id} as ${what} ${why}: start a new eval`);
  };
  const { path, hash } = plan.variants[0]?.hooks ?? {};
  if (path !== undefined) expectSame(path, hooksNamed(path, io.cwd)?.asked.hash, hash);
  return await Promise.all(fixtures.map(async (fixture, i) => {
    const now = hasTape(fixture) ? await planned(fixture, io.cwd) : undefined;
    expectSame(fixture.name, now?.hash, plan.fixtures[i]!.hash);
    return now!;
  }));
}

/** The runs of a kept eval that this one is compared with, under the name they have here. */
export function keptLines(plan: EvalPlan, evals: string): KeptLine[] {
  const variant = plan.variants.find(({ kind }) => kind === "kept");
  if (!variant) return [];
  const other = readPlan(evals, variant.name);
  const lines = readLineLog<RunLine>(join(evals, variant.name, "runs.jsonl"))?.values ?? [];
  return plan.fixtures.flatMap((fixture) => {
    const then = other.fixtures.find(({ name }) => name === fixture.name);
    const refuse = (why: string, fix: string) =>
      new UsageError(`Cannot compare with '${variant.name}' as ${fixture.name} ${why}: ${fix}`);
    if (!then) throw refuse("is not in it", "name the fixtures to evaluate");
    if (then.hash !== fixture.hash) throw refuse("has changed since", "compare with a git ref");
    if (JSON.stringify(then.graders) !== JSON.stringify(fixture.graders)) {
      throw refuse("was graded otherwise", `crochet eval --regrade ${variant.name}`);
    }
    const like = (of: typeof variant) => slotName({ fixture, variant: of, round: 0 }).slice(0, -1);
    const from = like(other.variants[0]!);
    return lines.filter(({ run }) => run.startsWith(from)).map((line) => ({
      ...line,
      run: like(variant) + line.run.slice(from.length),
      folder: join(evals, variant.name, line.run),
    }));
  });
}

export function shareOf(flag: "at-least" | "detect", given: string | boolean): number {
  const share = Number(given);
  if (share > 0 && share < 1) return share;
  const example = flag === "detect" ? DROP : 0.9;
  throw new UsageError(`Cannot use --${flag} ${given} as it is not between 0 and 1: --${flag} ${example}`);
}

export function budgetOf(flags: Flags["flags"], { env }: Io): EvalPlan["budget"] {
  if (flags.budget !== undefined || !isCi(env)) return budgetFlag(flags);
  throw new UsageError("Cannot run an eval in CI without a budget: add --budget <dollars>, or tokens as 500k");
}
