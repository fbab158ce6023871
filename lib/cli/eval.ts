import { basename, dirname, join } from "node:path";
import {
  type Ended,
  isGated,
  looksOf,
  refuted,
  type Sight,
  sightOf,
  summarise,
  type Summary,
} from "../eval/compare.ts";
import { pText } from "../eval/conclusion.ts";
import { addPrice, FREE } from "../eval/grade.ts";
import { newId, writePlan } from "../eval/kept-evals.ts";
import { type EvalPlan, running } from "../eval/plan.ts";
import type { RunLine } from "../eval/attempt.ts";
import { BrokenGrader, EvalRuns } from "../eval/runs.ts";
import type { Look } from "../eval/exact-stats.ts";
import { hasState, readStateFile, removeState, stateFolder, statePath, writeStateFile } from "../files/state.ts";
import type { Price } from "../replay/drift/drift-report.ts";
import { keepFiles } from "../replay/record/keep-files.ts";
import { pathFrom } from "../view/view-calls.ts";
import { ProgressLine } from "./_each-of.ts";
import { costText, evalText } from "./_eval-table.ts";
import { forkLines } from "./_eval-hooks.ts";
import { freshRuns } from "./_eval-variants.ts";
import { type Flags, numberFlag, refuseTogether, type Usage } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";
import { type Judge, judgingCommand } from "./_judge.ts";
import { coloursFor, several } from "./show/text.ts";
import type { Item, Word } from "./_verdict.ts";
import { COUNT, DROP, keptLines, keptPlan, newPlan, shareOf } from "./_eval-plan.ts";

const USAGE: Usage = {
  name: "eval",
  words: "[name | dir]…",
  about:
    "Runs agents live on the prompts and files of their fixtures, grades each run, and reports how often they pass " +
    "and whether they are worse than others. Broken is what is worse, or below --at-least.",
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
    ["--trust", "trust these fixtures for this call: their agents, tools and graders are run"],
  ],
  example: "crochet eval --runs 20 --budget 5",
};

const AT_ONCE = 4;
/** Why an eval ended, and what it had seen by then. */
type Came = Pick<Summary, "ended" | "part" | "measured">;

export default judgingCommand(USAGE, "claim", evaluated);

/** An eval that has no plan leaves nothing. */
async function evaluated(asked: Flags, io: Io, judge: Judge): Promise<object> {
  const evals = statePath(io.cwd, io.env, "evals");
  const id = newId(new Date());
  try {
    return await evaluatedAs(id, evals, asked, io, judge);
  } finally {
    if (!hasState(join(evals, id, "eval.json"))) removeState(join(evals, id));
  }
}

async function evaluatedAs(id: string, evals: string, { words, flags }: Flags, io: Io, judge: Judge): Promise<object> {
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
  if (!asked) return {};
  judge.plan(...asked.fixtures.map(({ name }) => name), ...Object.keys(asked.unchanged ?? {}), ALL);
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
  stateFolder(io.cwd, io.env, "evals");
  const folder = stateFolder(io.cwd, io.env, "evals", plan.id);
  if (plan.fixtures.some(({ copies }) => copies) && !hasState(join(folder, "files"))) keepFiles(io.cwd, folder, []);
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
    if (!isKept && runs.lines.length === 0) removeState(join(folder, "eval.json"));
    throw error instanceof BrokenGrader ? new UsageError(error.message) : error;
  } finally {
    runs.close();
    progress.end();
  }
  writeStateFile(join(folder, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  const path = pathFrom(io.cwd, folder);
  io.out(`\n${evalText(summary, plan.budget, join(dirname(path), "last"), coloursFor(io.tty, io.env))}`);
  if (summary.ended === "aborted" && !flags.json) io.err(`crochet: interrupted: crochet eval --resume ${plan.id}\n`);
  itemsOf(summary, plan).forEach(judge.settle);
  return { ...summary, folder: path };
}

/** What is claimed of all fixtures together. */
const ALL = "all fixtures";

/** How each claim ended: that of a fixture, and that of all of them. */
function itemsOf({ conclusion, rows, variants: [, other], hooks }: Summary, plan: EvalPlan): Item[] {
  const words: { readonly [is in typeof conclusion.is]: Word } = {
    ...{ good: "held", bad: "broken", "not measured": "not measured" },
  };
  const word = words[conclusion.is];
  const unchanged = Object.keys(hooks?.unchanged ?? {}).map((name): Item => ({ name, word }));
  const each = rows.map(({ fixture: name, worse, below, p, cells }): Item => {
    const said = [worse ? `worse than ${other} (p ${pText(p!)})` : "", below ? `below ${plan.atLeast}` : ""];
    const against = said.filter(Boolean).join(", ");
    const seconds = cells.reduce((sum, cell) => sum + cell.seconds, 0);
    if (word === "not measured") return { name, word, why: conclusion.words, seconds };
    if (against === "") return { name, word: "held", seconds };
    const why = `${against}: ${cells[0]!.passed} of ${cells[0]!.runs} passed`;
    const { folder } = plan.fixtures.find((one) => one.name === name)!;
    const file = plan.cases ?? join(folder, "tape.jsonl");
    return { name, word: "broken", why, seconds, points: [{ file, title: `eval of ${name}`, message: why }] };
  });
  return [...each, ...unchanged, { name: ALL, word, ...(word !== "held" && { why: conclusion.words }) }];
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

function lastSummary(folder: string): Came {
  const text = readStateFile(join(folder, "summary.json"));
  return text === undefined ? { ended: "aborted", part: 1, measured: false } : JSON.parse(text);
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
