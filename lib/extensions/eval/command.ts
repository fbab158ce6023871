import { basename, dirname, join } from "node:path";
import { type Conclusion, pText } from "./conclusion.ts";
import { isGated, leastChange, looksOf, refuted, type Sight, sightOf } from "./gate.ts";
import { addPrice, FREE } from "./grade.ts";
import { newId, writePlan } from "./kept-evals.ts";
import { linesOf } from "./outcomes.ts";
import { type EvalPlan, fixtureOf, isContinued, type PlannedFixture, running, type Slot } from "./plan.ts";
import type { RunLine, RunPlace } from "./attempt.ts";
import { BrokenGrader, type EvalPlace, EvalRuns } from "./runs.ts";
import type { Look } from "./exact-stats.ts";
import { type Ended, summarise, type Summary } from "./summary.ts";
import { hasState, readStateFile, removeState, stateFolder, statePath, writeStateFile } from "../../files/state.ts";
import type { Price } from "../../replay/drift/drift-report.ts";
import { invariantsOf } from "../../replay/invariants.ts";
import { keepFiles } from "../../replay/record/keep-files.ts";
import { pathFrom } from "../../cli/show/call-subject.ts";
import { ProgressLine } from "../../cli/kit/each-of.ts";
import { costText, evalText } from "./table.ts";
import { freshRuns } from "./variants.ts";
import { type Flags, numberFlag, type Usage } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { type Judge, judgingCommand } from "../../cli/kit/judge.ts";
import { coloursFor, several } from "../../cli/show/text.ts";
import type { Item, Word } from "../../cli/kit/verdict.ts";
import { COUNT, DROP, keptLines, keptPlan, newPlan, shareOf } from "./make-plan.ts";

/** What an eval that is kept has chosen. */
const CHOSEN = ["against", "fresh", "model", "at-least", "cases", "with", "without"];
const NO_RUNS = ["model", "runs", "detect", "on", "tools", "resume", "regrade", "trust"];
const NOT_OF_HOOKS = ["against", "model", "at-least", "detect", "tools", "cases"];

const USAGE: Usage = {
  name: "eval",
  words: "[name | dir]…",
  about:
    "Runs agents live on the prompts and files of their fixtures, grades each run, and reports how often they pass " +
    "and whether they are worse than others. Broken is what is worse, or below --at-least.",
  flags: [
    [
      "--cases <file>",
      "run the cases of a YAML file, which need no fixture, in place of fixtures; words choose some",
    ],
    ["--sessions <dir>", "grade sessions of Claude Code and Codex by their logs; no agent runs"],
    ["--graders <dir>", "the folder of what grades them: invariants.ts, grade.<label>.prompt.md"],
    ["--runs <n>", "live runs of each fixture (10)"],
    ["--detect <d>", "as many runs as find such a drop of a rate in 80 of 100 evals: 0.2"],
    [
      "--against <what>",
      "compare with a git ref, an agent.ts, '.' (this directory without --model: an A/A test) or an earlier eval",
    ],
    ["--fresh", "continue no runs of what it is compared with: all is paid, and rates may be claimed"],
    [
      "--with <path>",
      "what a hook, or a folder of hooks, changes: replays find where it speaks, then both ways are run live",
    ],
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
  excludes: [
    ["regrade", ["resume", "runs", "tools", ...CHOSEN], "no agent runs"],
    ["resume", ["tools", ...CHOSEN], "the eval has its own"],
    ["detect", ["runs", "resume", "regrade"], "it chooses the runs"],
    ["on", ["with", "without", "cases", "tools", "regrade"], "workers make whole runs of what they have"],
    ["with", ["without", ...NOT_OF_HOOKS], "it compares with and without hooks"],
    ["without", NOT_OF_HOOKS, "it compares with and without hooks"],
    ["cases", ["tools", "trust"], "a case is not recorded"],
    ["sessions", ["against", "cases", "with", "without", ...NO_RUNS], "no agent runs"],
  ],
  example: "crochet eval --runs 20 --budget 5",
};

const AT_ONCE = 4;
/** Why an eval ended, and what it had seen by then. */
type EvalEnd = Pick<Summary, "ended" | "part" | "measured">;

export default judgingCommand(USAGE, "claim", evaluated);

type Fresh = EvalPlace["fresh"];

/** What an eval is of that does not begin with fixtures. */
export interface EvalSource {
  readonly plan: (id: string, evals: string) => Promise<EvalPlan | undefined>;
  /** Makes a run; `live` is how the runs of fixtures are made. */
  readonly run: (slot: Slot, place: RunPlace, live: Fresh, how: Parameters<Fresh>[1]) => ReturnType<Fresh>;
}

/** An eval that has no plan leaves nothing. */
export async function evaluated({ words, flags }: Flags, io: Io, judge: Judge, given?: EvalSource): Promise<object> {
  const evals = statePath(io.cwd, io.env, "evals");
  const id = newId(new Date());
  using _unplanned = {
    [Symbol.dispose]: () => hasState(join(evals, id, "eval.json")) || removeState(join(evals, id)),
  };
  const isLogged = (flags.sessions ?? flags.graders) !== undefined;
  const source = isLogged ? (await import("./sessions.ts")).sessionsIn({ words, flags }, io) : given;
  const isKept = flags.resume !== undefined || flags.regrade !== undefined;
  if (isKept && words.length > 0) {
    throw new UsageError(`Cannot choose '${words[0]}' as an eval that is kept has its fixtures: leave it out`);
  }
  const drop = flags.detect === undefined ? DROP : shareOf("detect", flags.detect);
  const asked = isKept
    ? await keptPlan(evals, flags, io)
    : await (source ? source.plan(id, evals) : newPlan(id, words, flags, evals, io));
  if (!asked) return {};
  const bare = await bareIn(asked, io.cwd);
  if (bare[0] && (isGated(asked) || flags.detect !== undefined)) {
    throw new UsageError(
      `Cannot judge ${bare[0].name} as nothing grades it: add a grader, such as ${graderOf(bare[0])}`,
    );
  }
  judge.plan(...asked.fixtures.map(({ name }) => name), ...Object.keys(asked.unchanged ?? {}), ALL);
  const kept = keptLines(asked, evals);
  const sight = flags.regrade === undefined ? sightOf(asked, drop, kept) : undefined;
  const plan = flags.detect === undefined ? asked : { ...asked, runs: runsFor(drop, sight) };
  const looks = looksOf(plan, kept);
  if (!looks) throw tooFew(plan, kept);
  const atOnce = numberFlag(flags, "atOnce", COUNT);
  stateFolder(io.cwd, io.env, "evals");
  const folder = stateFolder(io.cwd, io.env, "evals", plan.id);
  if (plan.fixtures.some(({ copies }) => copies) && !hasState(join(folder, "files"))) keepFiles(io.cwd, folder, []);
  using fresh = freshRuns(folder, io);
  const place = { project: io.cwd, folder, signal: io.signal };
  const shared = flags.on === undefined
    ? undefined
    : (await import("./workers.ts")).runsOn(String(flags.on), plan, () => runs, { folder, atOnce, io });
  const total = plan.runs * plan.fixtures.length * running(plan).length;
  const progress = new ProgressLine(io);
  const runs: EvalRuns = new EvalRuns(plan, {
    ...place,
    fresh: source ? (slot, rehearsal) => source.run(slot, place, fresh.fresh, rehearsal) : shared?.fresh ?? fresh.fresh,
    rehearse: fresh.rehearse,
    get atOnce() {
      return shared?.atOnce ?? atOnce ?? AT_ONCE;
    },
    onRun: ({ run, pass }) => {
      const done = new Set(runs.lines.map((line) => line.run)).size;
      const came = pass === undefined ? "lost" : pass ? "passed" : "failed";
      progress.show(`${done}/${total} ${run} ${came}`);
    },
  }, kept);
  let summary: Summary;
  try {
    let came: EvalEnd;
    if (flags.regrade === undefined) {
      if (isKept) await runs.regrade("what is new");
      await runs.rehearse();
      writePlan(evals, plan);
      if (!flags.json) {
        io.err(`${priceLine(plan, runs.judges)}${bareLine(bare)}\n${sight ? `${sightLine(plan, sight)}\n` : ""}`);
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

const WORDS: { readonly [is in Conclusion["is"]]: Word } = {
  good: "held",
  bad: "broken",
  measured: "held",
  "not graded": "not measured",
  "not measured": "not measured",
};

/** How each claim ended: that of a fixture, and that of all of them. */
function itemsOf({ conclusion, rows, variants: [, other], hooks }: Summary, plan: EvalPlan): Item[] {
  const word = WORDS[conclusion.is];
  const unchanged = Object.keys(hooks?.unchanged ?? {}).map((name): Item => ({ name, word }));
  const each = rows.map(({ fixture: name, worse, below, p, cells, asRecorded }): Item => {
    const said = [worse ? `worse than ${other} (p ${pText(p!)})` : "", below ? `below ${plan.atLeast}` : ""];
    const against = said.filter(Boolean).join(", ");
    const seconds = cells.reduce((sum, cell) => sum + cell.seconds, 0);
    const isMissing = conclusion.is === "not measured";
    if (isMissing || asRecorded) {
      const why = isMissing ? conclusion.words : "Nothing grades it: add a grader";
      return { name, word: "not measured", why, seconds };
    }
    if (against === "") return { name, word: "held", seconds };
    const why = `${against}: ${cells[0]!.passed} of ${cells[0]!.runs} passed`;
    const { folder } = plan.fixtures.find((one) => one.name === name)!;
    const file = plan.cases ?? join(folder, "tape.jsonl");
    return { name, word: "broken", why, seconds, points: [{ file, title: `eval of ${name}`, message: why }] };
  });
  return [...each, ...unchanged, { name: ALL, word, ...(word !== "held" && { why: conclusion.words }) }];
}

/** Why an eval ended, now that its runs are graded otherwise. */
function regraded(runs: EvalRuns, came: EvalEnd, looks: readonly Look[], signal: AbortSignal): EvalEnd {
  if (signal.aborted) return { ...came, ended: "aborted" };
  if (runs.tooManyLost) return { ...came, ended: "lost" };
  if (came.ended !== "lost") return came;
  // It ended as too much of it was not graded: what is left to run is left to --resume.
  return runs.isComplete ? { ended: "done", part: looks.at(-1)!.part, measured: true } : { ...came, ended: "aborted" };
}

/** Runs until a look refutes the agent, or to the end. What a look has not spent of its level is left for the last. */
async function inLooks(plan: EvalPlan, runs: EvalRuns, looks: readonly Look[], kept: RunLine[]): Promise<EvalEnd> {
  let left = 1;
  for (const [i, { rounds, part }] of looks.entries()) {
    const came: Ended = await runs.through(rounds);
    const isMeasured = isGated(plan) ? i > 0 : runs.lines.some(({ pass }) => pass !== undefined);
    if (came !== "done") return { ended: came, part: left, measured: isMeasured && !runs.areMoved };
    left -= part;
    // A resumed eval may have more runs already: a look sees what it would have seen.
    const seen = runs.lines.filter(({ run }) => Number(basename(run)) <= rounds);
    if (i < looks.length - 1 && refuted(plan, [...seen, ...kept], part)) {
      return { ended: "refuted", part, measured: true };
    }
  }
  return { ended: "done", part: looks.at(-1)!.part, measured: true };
}

function lastSummary(folder: string): EvalEnd {
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

/** Why no outcome tells anything: runs that continue those of a kept eval make no more pairs than it has runs. */
function tooFew(plan: EvalPlan, kept: readonly RunLine[]): UsageError {
  const { runs, fixtures, variants: [, then] } = plan;
  const counts = fixtures.flatMap((one) => isContinued(plan, one) ? linesOf(kept, one, then!).length : []);
  const isShort = then?.kind === "kept" && counts.length > 0 &&
    !looksOf({ ...plan, runs: Math.max(runs, ...counts) }, kept);
  const from = `Cannot tell anything from ${several(runs, "run")} of ${several(fixtures.length, "fixture")}`;
  if (!isShort) return new UsageError(`${from}, whatever comes of them: raise --runs`);
  const few = `'${then.name}', which they continue, has only ${several(Math.min(...counts), "run")}`;
  return new UsageError(`${from} as ${few}: compare with an eval of more runs, or add --fresh`);
}

/** What can be seen, said before it is paid. */
function sightLine(plan: EvalPlan, { from, to, runs, oftenBy }: Sight): string {
  const whole = (rate: number) => `${Math.round(rate * 100)} %`;
  const where = plan.fixtures.length > 1 ? " of one fixture" : "";
  const more = runs === undefined || runs <= plan.runs ? "" : `; ${runs} runs in 80`;
  const isPaired = plan.fixtures.some((fixture) => isContinued(plan, fixture));
  const often = `${Math.floor(oftenBy(plan.runs) * 100)} of 100 evals${isPaired ? " or more" : ""}`;
  return `${several(plan.runs, "run")} find a drop${where} from ${whole(from)} to ${whole(to)} in ${often}${more}`;
}

/** What an eval is about to do, and what that costs, in the unit of its budget. */
function priceLine(plan: EvalPlan, judges: Price): string {
  if (plan.sessions !== undefined) return several(plan.runs, "session");
  const { fixtures, runs, budget, unchanged, variants: [now, then] } = plan;
  const quiet = Object.keys(unchanged ?? {}).length;
  const changes = `changes ${fixtures.length} of ${several(fixtures.length + quiet, "fixture")} (replayed, free)`;
  if (fixtures.length === 0) return changes;
  const variants = running(plan);
  const all = addPrice(fixtures.map(({ price }) => price).reduce(addPrice, FREE), judges);
  const times = (price: Price) => costText(price, { budget, of: all, times: runs * variants.length });
  const by = variants.length > 1 ? ` x ${variants.length}` : "";
  const judged = judges.calls === 0 ? "" : `, of which judges ${times(judges)}`;
  const isPaired = fixtures.some((fixture) => isContinued(plan, fixture));
  const whole = then?.kind === "kept" ? "" : `the whole of '${then?.name}' is paid, and of '${now!.name}' `;
  const differs = isPaired ? `; ${whole || "paid is "}what differs from ${whole ? "it" : `'${then!.name}'`}` : "";
  const pairs = runs * fixtures.length;
  const least = unchanged && Math.round(leastChange(pairs, fixtures.length)! * 100);
  const what = plan.cases === undefined ? "fixture" : "case";
  const cost = plan.cases === undefined
    ? `${isPaired ? "at most" : "about"} ${times(all)} by their tapes${judged}`
    : "the first run will show what one costs";
  return (unchanged ? `${changes}\n` : "") +
    `${several(fixtures.length, what)}${by} x ${several(runs, "run")}: ${cost}${differs}` +
    (unchanged ? `\n${pairs} pairs can show a change of ${least} points` : "");
}

/** The fixtures that nothing grades: a file of no invariants does not. */
async function bareIn({ fixtures }: EvalPlan, project: string): Promise<PlannedFixture[]> {
  const isBare = await Promise.all(fixtures.map(async (one) => {
    if (Object.keys(one.graders).some((file) => basename(file).startsWith("grade"))) return false;
    const { own, shared } = await invariantsOf(fixtureOf(one, project));
    return own.length + shared.length === 0;
  }));
  return fixtures.filter((_, i) => isBare[i]);
}

function bareLine(bare: readonly PlannedFixture[]): string {
  const names = bare.map(({ name }) => name).join(", ");
  return names === "" ? "" : `\nnothing grades ${names}: add a grader, such as ${graderOf(bare[0]!)}`;
}

function graderOf({ folder }: PlannedFixture): string {
  return join(folder, "grade.sh");
}
