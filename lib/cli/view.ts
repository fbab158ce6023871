import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Summary } from "../eval/compare.ts";
import { keptEvals } from "../eval/kept-evals.ts";
import type { EvalPlan } from "../eval/plan.ts";
import { nearest } from "../input/nearest.ts";
import { hasState, readStateFile, stateFolder, statePath, writeStateFile } from "../files/state.ts";
import { findFixture, type Fixture, fixtureAt, FIXTURES, fixturesIn } from "../replay/fixture.ts";
import { readTape } from "../replay/read-tape.ts";
import { readRollout } from "../transcript/rollout.ts";
import { pathFrom } from "../view/view-calls.ts";
import { comparePage, runPage } from "../view/html.ts";
import type { WholeView } from "../view/shape.ts";
import { viewOf } from "../view/view-of-run.ts";
import { command, type Usage } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";
import { several } from "./show/text.ts";
import { newestFirst, projectOf, rolloutId, rolloutName, rollouts, runMeant } from "./_project.ts";

const USAGE: Usage = {
  name: "view",
  words: "[run | fixture | rollout | eval] [another]",
  about:
    "Draws a run as one HTML file: timeline, conversation, diffs, hooks, tokens. Without a name, or with 'last': the newest run, recording or eval. " +
    "Of an eval: its report, with the pages of its failed runs beside it.",
  flags: [
    ["--out <file>", "where to write it"],
    ["--diff", "draw two runs side by side: crochet view --diff A B"],
    ["--cwd <dir>", "the project"],
    ["--json", "print JSON"],
  ],
  example: "crochet view",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const cwd = projectOf(flags, io);
  if ((words.length === 2) !== (flags.diff === true)) {
    throw new UsageError(
      `Cannot view ${several(words.length, "run")} like this: crochet view A, or crochet view --diff A B`,
    );
  }
  const { name, html, beside } = flags.diff === true ? await compared(words, cwd, io) : await drawn(words[0], cwd, io);
  const path = write(html, name, flags.out, cwd, io);
  for (const [run, page] of await beside?.() ?? []) write(page, run, join(dirname(path), run), cwd, io);
  const bytes = Buffer.byteLength(html);
  return { data: { path, bytes }, text: pathText(path, bytes, io) };
});

interface Drawn {
  readonly name: string;
  readonly html: string;
  /** Pages that it links to, by their paths from it. */
  readonly beside?: () => Promise<[path: string, html: string][]>;
}

async function drawn(given: string | undefined, cwd: string, io: Io): Promise<Drawn> {
  const meant = given === undefined || given === "last" ? newest(cwd, io, evalsIn(cwd, io)) : given;
  const evaluated = evalFolder(meant, cwd, io);
  if (evaluated !== undefined) return drawnEval(evaluated);
  const { name, view } = await findView(meant, cwd, io);
  return { name, html: runPage(view) };
}

/** The folder of an eval that is named by it or by its id. */
function evalFolder(given: string, cwd: string, io: Io): string | undefined {
  const evals = statePath(cwd, io.env, "evals");
  const folders = [resolve(cwd, given), ...keptEvals(evals).filter((id) => id === given).map((id) => join(evals, id))];
  return folders.find((folder) => hasState(join(folder, "eval.json")));
}

/** The report of an eval; the pages of its failed runs are drawn from their tapes. */
async function drawnEval(folder: string): Promise<Drawn> {
  const { evalPage } = await import("../view/eval-page.ts");
  const text = readStateFile(join(folder, "summary.json"));
  if (text === undefined) {
    throw new UsageError(`Cannot view ${folder} as it has not ended: crochet eval --resume ${basename(folder)}`);
  }
  const summary: Summary = JSON.parse(text);
  if (!summary.conclusion) {
    throw new UsageError(
      `Cannot view ${folder} as another release made it: crochet eval --regrade ${basename(folder)}`,
    );
  }
  const plan: EvalPlan = JSON.parse(readStateFile(join(folder, "eval.json"))!);
  const name = `eval-${summary.id}`;
  const failed = summary.rows.flatMap(({ cells }) => cells.flatMap(({ failures }) => failures.map(({ run }) => run)))
    .filter((run) => hasState(join(folder, run, "tape.jsonl")));
  const pages = new Map(failed.map((run) => [run, `${name}/${run.replaceAll("/", "-")}.html`]));
  return {
    name,
    html: evalPage(summary, (run) => pages.get(run), plan.atLeast),
    beside: () =>
      Promise.all([...pages].map(async ([run, path]): Promise<[string, string]> => {
        const { view } = await viewOfFixture({ ...fixtureAt(join(folder, run)), name: run });
        return [path, runPage(view)];
      })),
  };
}

async function compared([a, b]: readonly string[], cwd: string, io: Io): Promise<Drawn> {
  const { alignRuns } = await import("../view/align.ts");
  const find = (given: string) => findView(given === "last" ? newest(cwd, io, []) : given, cwd, io);
  const [one, other] = [await find(a!), await find(b!)];
  const pairs = await alignRuns(one.view, other.view);
  return { name: `${one.name}-and-${other.name}`, html: comparePage(one.view, other.view, pairs) };
}

/** Writes beside the project's runs by default; a page shows what the run saw, so only its user may read it. */
function write(html: string, name: string, out: string | boolean | undefined, cwd: string, io: Io): string {
  const folder = out === undefined ? stateFolder(cwd, io.env, "views") : undefined;
  const path = folder === undefined ? resolve(io.cwd, String(out)) : join(folder, `${fileName(name)}.html`);
  try {
    if (folder !== undefined) writeStateFile(path, html);
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, html, { mode: 0o600 });
    }
  } catch (error) {
    throw new Error(`Cannot write ${path} as ${(error as { code?: string }).code ?? error}: give another --out`);
  }
  return path;
}

function fileName(name: string): string {
  return name.replace(/[^\w.-]+/g, "-").slice(0, 120);
}

function pathText(path: string, bytes: number, io: Io): string {
  if (!io.tty) return `${path}\n`;
  const shown = pathFrom(io.cwd, path);
  const opener = io.env.BROWSER || (process.platform === "darwin" ? "open" : "xdg-open");
  return `wrote ${shown} (${Math.ceil(bytes / 1024)} KB)\nopen it in a browser: ${opener} ${shown}\n`;
}

/** A run to look at, with a name for the file it is drawn into. */
interface Viewed {
  readonly name: string;
  readonly view: WholeView;
}

/** Finds what a person means: a run by its id or the beginning of it, a fixture, a rollout. */
async function findView(given: string, cwd: string, io: Io): Promise<Viewed> {
  const path = resolve(cwd, given);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile && basename(path) !== "tape.jsonl") return viewOfRollout(path);
  const run = isFile ? undefined : runMeant(given, rollouts(cwd, io.env));
  if (run !== undefined) return viewOfRollout(run);
  const fixture = findFixture(isFile ? dirname(path) : given, cwd);
  if (hasState(fixture.tape)) return await viewOfFixture(fixture);
  const what = /[/\\]|\.jsonl$/.test(given) ? "file" : "run, fixture or rollout";
  throw new UsageError(`Cannot view '${given}' as there is no such ${what}: ${viewHint(given, cwd, io)}`);
}

/** The summaries of the evals that have ended. */
function evalsIn(cwd: string, io: Io): string[] {
  const evals = statePath(cwd, io.env, "evals");
  return keptEvals(evals).map((id) => join(evals, id, "summary.json"));
}

/** What was written last: the log of a run, the tape of a fixture, the folder of an eval. */
function newest(cwd: string, io: Io, evals: readonly string[]): string {
  const tapes = fixturesIn(join(cwd, FIXTURES)).map(({ tape }) => tape);
  const [path] = newestFirst([...rollouts(cwd, io.env), ...tapes, ...evals]);
  if (path !== undefined) return evals.includes(path) ? dirname(path) : path;
  throw new UsageError(`Cannot view a run as there is no run here yet: 'crochet run "<prompt>"' makes one`);
}

function viewHint(given: string, cwd: string, io: Io): string {
  const names = [...rollouts(cwd, io.env).map(rolloutId), ...fixturesIn(join(cwd, FIXTURES)).map(({ name }) => name)];
  return names.length === 0
    ? "there is no run here yet, 'crochet run' makes one"
    : `did you mean '${nearest(given, names)}'?`;
}

function viewOfRollout(path: string): Viewed {
  const log = readRollout(path);
  const name = basename(path, ".jsonl");
  return { name, view: viewOf(log, basename(path) === rolloutName(log.id) ? `run ${log.id}` : basename(path)) };
}

/** A fixture is drawn from its tape alone: looking at a recording runs none of its code. */
async function viewOfFixture({ name, tape }: Fixture): Promise<Viewed> {
  const { logOfTape } = await import("../view/from-tape.ts");
  return { name, view: viewOf(await logOfTape(await readTape(tape), name), `fixture ${name}`) };
}
