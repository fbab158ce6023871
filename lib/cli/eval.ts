import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  type Ended,
  exitCode,
  isGated,
  looksOf,
  refuted,
  type Sight,
  sightOf,
  summarise,
  type Summary,
} from "../eval/compare.ts";
import { pText } from "../eval/conclusion.ts";
import type { HooksAsked } from "../eval/hook-fork.ts";
import { addPrice, FREE } from "../eval/grade.ts";
import {
  type Budget,
  changedSince,
  type EvalPlan,
  fixtureOf,
  newId,
  planned,
  type PlannedFixture,
  readPlan,
  running,
  slotName,
  type Variant,
  writePlan,
} from "../eval/plan.ts";
import type { RunLine } from "../eval/attempt.ts";
import { BrokenGrader, EvalRuns } from "../eval/runs.ts";
import type { Look } from "../eval/exact-stats.ts";
import { privateDir, stateDir } from "../files/state-dir.ts";
import type { Case, Price } from "../replay/drift/drift-report.ts";
import { invariantsOf } from "../replay/fault/judge-fault.ts";
import { type Fixture, fixturesIn } from "../replay/fixture.ts";
import { isCi } from "../replay/tape-options.ts";
import { readHeader } from "../replay/read-tape.ts";
import { keepFiles } from "../replay/record/keep-files.ts";
import { readLineLog } from "../transcript/line-log.ts";
import { pathFrom } from "../view/view-calls.ts";
import { ProgressLine } from "./_each-of.ts";
import { makeCases } from "./_eval-cases.ts";
import { costText, evalText } from "./_eval-table.ts";
import { forkLines, type HookForks, hookForks, hooksAsked, whyUnforked } from "./_eval-hooks.ts";
import { against, freshRuns, here } from "./_eval-variants.ts";
import { expectTrusted, fixturesFor } from "./_fixtures.ts";
import { budgetFlag, type Flags, numberFlag, refuseTogether, type Usage } from "./_flags.ts";
import { type Annotation, githubCommand } from "./_github.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";
import { writeJunit } from "./_replay-table.ts";
import { coloursFor, several } from "./show/text.ts";

const USAGE: Usage = {
  name: "eval",
  words: "[name | dir]…",
  about:
    "Runs agents live on the prompts and files of their fixtures, grades each run, and reports how often they pass " +
    "and whether they are worse than others. Exit code 1: worse, or below --at-least; 3: not measured.",
  flags: [
    [
      "--cases <file>",
      "run the cases of a YAML file, which need no recording, in place of fixtures; words choose some",
    ],
    ["--runs <n>", "live runs of each fixture (10)"],
    ["--detect <d>", "as many runs as find such a drop of a rate in 80 of 100 evals: 0.2"],
    [
      "--against <what>",
      "compare with a git ref, an agent.ts, '.' (this directory without --model: an A/A test) or an earlier eval",
    ],
    ["--with <path>", "what a hook, or a folder of hooks, changes: replays until it speaks, then runs both ways live"],
    ["--without <name>", "the same of a hook that the fixtures were recorded with"],
    ["--model <name>", "the model to use"],
    ["--at-least <p>", "fail if the pass rate of a fixture is below this, beyond chance: 0.9"],
    ["--budget <n>", "at most this many dollars, or tokens as 500k; required if CI is set"],
    ["--at-once <n>", "how many runs at the same time (4)"],
    ["--on <url>", "have the workers of the durable engine at this ingress make the runs; all else stays here"],
    ["--tools", "also run fixtures recorded with --tools: their tools run for real and may spend money or send data"],
    ["--resume [id]", "continue an interrupted eval; with --runs, add runs to it"],
    ["--regrade [id]", "grade the kept runs again; no agent runs"],
    ["--junit <file>", "write a JUnit report"],
    ["--trust", "trust these fixtures for this call: their agents, tools and graders are run"],
    ["--json", "print JSON"],
  ],
  example: "crochet eval --runs 20 --budget 5",
};

const RUNS = 10;
/** The drop of which an eval says how often it would find it. */
const DROP = 0.2;
const AT_ONCE = 4;
/** Why an eval ended, and what it had seen by then. */
type Came = Pick<Summary, "ended" | "part" | "measured">;

const COUNT = { least: 1, most: 999_999, whole: true };

export default githubCommand(USAGE, evaluated);

type Point = (annotation: Annotation) => void;

/** An eval that has no plan leaves nothing. */
async function evaluated(asked: Flags, io: Io, point: Point): Promise<number> {
  const evals = join(stateDir(io.cwd, io.env), "evals");
  const id = newId(new Date());
  try {
    return await evaluatedAs(id, evals, asked, io, point);
  } finally {
    if (!existsSync(join(evals, id, "eval.json"))) rmSync(join(evals, id), { recursive: true, force: true });
  }
}

async function evaluatedAs(id: string, evals: string, { words, flags }: Flags, io: Io, point: Point): Promise<number> {
  const isKept = flags.resume !== undefined || flags.regrade !== undefined;
  if (flags.regrade !== undefined) {
    refuseTogether(
      flags,
      "regrade",
      ["resume", "runs", "against", "model", "atLeast", "cases", "with", "without"],
      "no agent runs",
    );
  }
  if (isKept && words.length > 0) {
    throw new UsageError(`Cannot choose '${words[0]}' as an eval that is kept has its fixtures: leave it out`);
  }
  if (flags.detect !== undefined) refuseTogether(flags, "detect", ["runs", "resume", "regrade"], "it chooses the runs");
  if (flags.on !== undefined) {
    refuseTogether(
      flags,
      "on",
      ["with", "without", "cases", "tools", "regrade"],
      "workers make whole runs of what they have",
    );
  }
  const drop = flags.detect === undefined ? DROP : shareOf("detect", flags.detect);
  const asked = isKept ? await keptPlan(evals, flags, io) : await newPlan(id, words, flags, evals, io);
  if (!asked) return EXIT.interrupted;
  const kept = keptLines(asked, evals);
  const sight = flags.regrade === undefined ? sightOf(asked, drop, kept) : undefined;
  const plan = flags.detect === undefined ? asked : { ...asked, runs: runsFor(drop, sight) };
  const looks = looksOf(plan, kept);
  if (!looks) {
    throw new UsageError(
      `Cannot tell anything from ${several(plan.runs, "run")} of ${several(plan.fixtures.length, "fixture")}, ` +
        "whatever comes of them: raise --runs",
    );
  }
  const atOnce = numberFlag(flags, "atOnce", COUNT);
  const folder = join(privateDir(evals), plan.id);
  mkdirSync(folder, { recursive: true });
  if (plan.fixtures.some(({ copies }) => copies) && !existsSync(join(folder, "files"))) keepFiles(io.cwd, folder, []);
  using fresh = freshRuns(folder, io);
  const shared = flags.on === undefined
    ? undefined
    : (await import("./_eval-workers.ts")).runsOn(String(flags.on), plan, () => runs, { folder, atOnce, io });
  const total = plan.runs * plan.fixtures.length * running(plan).length;
  const progress = new ProgressLine(io);
  const runs: EvalRuns = new EvalRuns(plan, {
    project: io.cwd,
    folder,
    fresh: shared?.fresh ?? fresh.fresh,
    rehearse: fresh.rehearse,
    get atOnce() {
      return shared?.atOnce ?? atOnce ?? AT_ONCE;
    },
    signal: io.signal,
    onRun: ({ run, pass }) => {
      const done = new Set(runs.lines.map((line) => line.run)).size;
      const came = pass === undefined ? "lost" : pass ? "passed" : "failed";
      progress.show(`${done}/${total} ${run} ${came}`);
    },
  });
  let summary: Summary;
  try {
    let came: Came;
    if (flags.regrade === undefined) {
      if (isKept) await runs.regrade("what is new");
      await runs.rehearse();
      writePlan(evals, plan);
      const priced = plan.unchanged ? forkLines : priceLine;
      if (!flags.json) {
        io.err(`${priced(plan, runs.judges)}${bareLine(plan)}\n${sight ? `${sightLine(plan, sight)}\n` : ""}`);
      }
      came = await inLooks(plan, runs, looks, kept);
    } else {
      await runs.regrade("all");
      writePlan(evals, plan);
      came = regraded(runs, lastSummary(folder), looks, io.signal);
    }
    summary = summarise(plan, [...runs.lines, ...kept], came, runs.judged);
  } catch (error) {
    if (!isKept && runs.lines.length === 0) rmSync(join(folder, "eval.json"), { force: true });
    throw error instanceof BrokenGrader ? new UsageError(error.message) : error;
  } finally {
    runs.close();
    progress.end();
  }
  writeFileSync(join(folder, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  for (const { name, failure } of show(summary, plan, folder, flags, io)) {
    if (failure === undefined) continue;
    const { folder } = plan.fixtures.find((one) => one.name === name)!;
    point({ file: plan.cases ?? join(folder, "tape.jsonl"), title: `eval of ${name}`, message: failure });
  }
  return exitCode(summary);
}

/** Why an eval ended, now that its runs are graded otherwise. */
function regraded(runs: EvalRuns, came: Came, looks: readonly Look[], signal: AbortSignal): Came {
  if (signal.aborted) return { ...came, ended: "aborted" };
  if (runs.tooManyLost) return { ...came, ended: "lost" };
  if (came.ended !== "lost") return came;
  // It ended as too much of it was not graded: what is left to run is left to --resume.
  return runs.isComplete ? { ended: "done", part: looks.at(-1)!.part, measured: true } : { ...came, ended: "aborted" };
}

/** Runs until a look refutes the agent, or to the end. What a look has not spent of its level is left for the last. */
async function inLooks(
  plan: EvalPlan,
  runs: EvalRuns,
  looks: readonly Look[],
  kept: readonly RunLine[],
): Promise<Came> {
  let left = 1;
  for (const [i, { rounds, part }] of looks.entries()) {
    const came: Ended = await runs.through(rounds);
    const isMeasured = isGated(plan) ? i > 0 : runs.lines.some(({ pass }) => pass !== undefined);
    if (came !== "done") return { ended: came, part: left, measured: isMeasured };
    left -= part;
    // A resumed eval may have more runs already: a look sees what it would have seen.
    const seen = runs.lines.filter(({ run }) => Number(basename(run)) <= rounds);
    if (i < looks.length - 1 && refuted(plan, [...seen, ...kept], part)) {
      return { ended: "refuted", part, measured: true };
    }
  }
  return { ended: "done", part: looks.at(-1)!.part, measured: true };
}

/** What an eval is to do; undefined if it was interrupted while that was found. */
async function newPlan(
  id: string,
  words: readonly string[],
  flags: Flags["flags"],
  evals: string,
  io: Io,
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
  const { whole, forks, ...all } = flags.cases === undefined ? await plannedHere(words, flags, variants, hooks, io) : {
    forks: undefined,
    fixtures: await makeCases(casesFile(flags), words, join(privateDir(evals), id), io, { model }),
    whole: true,
  };
  if (io.signal.aborted) return undefined;
  const { fixtures } = forks ?? all;
  const unpriced = budget && "dollars" in budget && fixtures.find(({ price }) => price.dollars === undefined);
  if (unpriced) {
    throw new UsageError(
      `Cannot keep a budget in dollars as the price of ${unpriced.name} is unknown: --budget 500k limits tokens, or set the option prices of its agent`,
    );
  }
  return {
    eval: 1,
    id,
    at: new Date().toISOString(),
    runs,
    ...(atLeast !== undefined && { atLeast }),
    ...(budget && { budget }),
    whole,
    ...(flags.cases !== undefined && { cases: String(flags.cases) }),
    fixtures,
    variants,
    ...forks,
  };
}

function casesFile(flags: Flags["flags"]): string {
  refuseTogether(flags, "cases", ["tools", "trust"], "a case is not recorded");
  return String(flags.cases);
}

/** What is to be done with the fixtures of this directory. */
async function plannedHere(
  words: readonly string[],
  flags: Flags["flags"],
  variants: readonly Variant[],
  hooks: HooksAsked | undefined,
  io: Io,
): Promise<Required<Pick<EvalPlan, "fixtures" | "whole">> & { readonly forks: HookForks | undefined }> {
  const [{ model }] = variants as [Variant];
  const found = fixturesFor(words, io, "evaluate");
  expectTrusted(found, flags, io, "evaluate");
  const unforked = hooks ? found.map((one) => [one, whyUnforked(one)] as const).filter(([, why]) => why) : [];
  const chosen = found.filter((one) => !unforked.some(([other]) => other === one));
  const [live, left] = [chosen.filter((one) => flags.tools || !isRecorded(one)), chosen.filter(isRecorded)];
  if (!flags.tools && left.length > 0) {
    const names = left.map(({ name }) => name).join(", ");
    const why = `recorded with --tools, and its tools may pay or send: add --tools to run them for real`;
    if (live.length === 0) throw new UsageError(`Cannot evaluate ${names} as it was ${why}`);
    io.err(`left out: ${names} (${why})\n`);
  }
  const program = live.find(({ tape }) => readHeader(tape).command);
  if (program && (model !== undefined || variants.some(({ kind }) => kind === "ref" || kind === "script"))) {
    throw new UsageError(
      `Cannot run ${program.name} with another agent or model as it is a program of its own: compare with a kept eval`,
    );
  }
  for (const fixture of live) await invariantsOf(fixture); // a wrong file is reported before anything is paid
  const fixtures = await Promise.all(live.map((fixture) => planned(fixture, io.cwd, model)));
  const leftOut = unforked.map(([{ name }, why]) => `${name} (${why})`);
  const forks = hooks && await hookForks(fixtures, hooks, leftOut, io);
  const folders = new Set(live.map(({ folder }) => dirname(folder)));
  const whole = live.length === [...folders].flatMap((folder) => fixturesIn(folder)).length;
  return { fixtures, whole, forks };
}

function isRecorded({ tape }: Fixture): boolean {
  const { tools, mcp } = readHeader(tape);
  return tools || mcp === true;
}

/** The plan of an eval that is kept, with what the flags change. */
async function keptPlan(evals: string, flags: Flags["flags"], io: Io): Promise<EvalPlan> {
  refuseTogether(
    flags,
    "resume",
    ["against", "model", "atLeast", "tools", "cases", "with", "without"],
    "the eval has its own",
  );
  const given = flags.resume ?? flags.regrade;
  const plan = readPlan(evals, typeof given === "string" ? given : "last");
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
async function stillPlanned(plan: EvalPlan, flags: Flags["flags"], io: Io): Promise<readonly PlannedFixture[]> {
  const fixtures = plan.fixtures.map((one) => fixtureOf(one, io.cwd));
  expectTrusted(fixtures, flags, io, "evaluate");
  const changed = await changedSince(plan, io.cwd);
  if (changed !== undefined) throw new UsageError(`Cannot continue ${plan.id} as ${changed}: start a new eval`);
  return await Promise.all(fixtures.map((fixture) => planned(fixture, io.cwd)));
}

/** The runs of a kept eval that this one is compared with, under the name they have here. */
function keptLines(plan: EvalPlan, evals: string): RunLine[] {
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
    }));
  });
}

function lastSummary(folder: string): Came {
  const path = join(folder, "summary.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { ended: "aborted", part: 1, measured: false };
}

function shareOf(flag: "at-least" | "detect", given: string | boolean): number {
  const share = Number(given);
  if (share > 0 && share < 1) return share;
  const example = flag === "detect" ? DROP : 0.9;
  throw new UsageError(`Cannot use --${flag} ${given} as it is not between 0 and 1: --${flag} ${example}`);
}

/** How many runs find a drop often. */
function runsFor(drop: number, sight: Sight | undefined): number {
  if (sight?.runs !== undefined) return sight.runs;
  const why = sight ? "no number of runs finds it in 80 of 100 evals" : "nothing is compared";
  throw new UsageError(
    `Cannot detect a drop of ${drop} as ${why}: ${sight ? "raise it" : "add --against or --at-least"}`,
  );
}

/** What can be seen, said before it is paid. */
function sightLine(plan: EvalPlan, { from, to, runs, oftenBy }: Sight): string {
  const whole = (rate: number) => `${Math.round(rate * 100)} %`;
  const where = plan.fixtures.length > 1 ? " of one fixture" : "";
  const more = runs === undefined || runs <= plan.runs ? "" : `; ${runs} runs in 80`;
  return `${several(plan.runs, "run")} find a drop${where} from ${whole(from)} to ${whole(to)} in ${
    Math.floor(oftenBy(plan.runs) * 100)
  } of 100 evals${more}`;
}

function budgetOf(flags: Flags["flags"], { env }: Io): Budget | undefined {
  if (flags.budget !== undefined || !isCi(env)) return budgetFlag(flags);
  throw new UsageError("Cannot run an eval in CI without a budget: add --budget <dollars>, or tokens as 500k");
}

/** What an eval is about to do, and what that costs, in the unit of its budget. */
function priceLine(plan: EvalPlan, judges: Price): string {
  const { fixtures, runs, budget } = plan;
  const variants = running(plan);
  const all = addPrice(fixtures.map(({ price }) => price).reduce(addPrice, FREE), judges);
  const times = (price: Price) => costText(price, { budget, of: all, times: runs * variants.length });
  const by = variants.length > 1 ? ` x ${variants.length}` : "";
  const judged = judges.calls === 0 ? "" : `, of which judges ${times(judges)}`;
  if (plan.cases !== undefined) {
    return `${several(fixtures.length, "case")}${by} x ${several(runs, "run")}: the first run will show what one costs`;
  }
  return `${several(fixtures.length, "fixture")}${by} x ${several(runs, "run")}: about ${
    times(all)
  } by their tapes${judged}`;
}

function bareLine({ fixtures }: EvalPlan): string {
  const bare = fixtures.filter(({ graders }) => Object.keys(graders).length === 0).map(({ name }) => name);
  return bare.length === 0 ? "" : `\nwithout graders, so a run passes if it ends as recorded: ${bare.join(", ")}`;
}

function show(summary: Summary, plan: EvalPlan, folder: string, flags: Flags["flags"], io: Io): readonly Case[] {
  const path = pathFrom(io.cwd, folder);
  if (flags.json) io.out(`${JSON.stringify({ ...summary, folder: path })}\n`);
  else {
    io.out(`\n${evalText(summary, plan.budget, join(dirname(path), "last"), coloursFor(io.tty, io.env))}`);
    if (summary.ended === "aborted") io.err(`crochet: interrupted: crochet eval --resume ${plan.id}\n`);
  }
  const { conclusion, rows, variants: [, other] } = summary;
  const cases = rows.map(({ fixture: name, worse, below, p, cells }): Case => {
    const why = [
      worse ? `worse than ${other} (p ${pText(p!)})` : "",
      below ? `below ${plan.atLeast}` : "",
    ].filter(Boolean);
    const failure = `${why.join(", ")}: ${cells[0]!.passed} of ${cells[0]!.runs} passed`;
    const seconds = cells.reduce((sum, cell) => sum + cell.seconds, 0);
    return { name, seconds, ...(why.length > 0 && { failure }) };
  });
  if (flags.junit === undefined) return cases;
  const said = { good: {}, bad: { failure: conclusion.words }, "not measured": { error: conclusion.words } };
  writeJunit([...cases, { name: "all fixtures", seconds: 0, ...said[conclusion.is] }], flags.junit, io, "crochet eval");
  return cases;
}
