import { basename, dirname, join, resolve } from "node:path";
import type { Drawn, Gifts } from "../../cli/kit/extension.ts";
import { UsageError } from "../../cli/kit/io.ts";
import { hasState, readStateFile, statePath } from "../../files/state.ts";
import { readLineLog } from "../../log/line-log.ts";
import { type Fixture, fixtureAt } from "../../replay/fixture.ts";
import { runPage } from "../view/html.ts";
import { viewOfFixture } from "../view/view-of-run.ts";
import type { Summary } from "./summary.ts";
import type { RunLine } from "./attempt.ts";
import { keptEvals, readPlan } from "./kept-evals.ts";
import { evalPage, type ShownRun } from "./page.ts";
import { type EvalPlan, isRunOf, slotName } from "./plan.ts";

/** The report of an eval; the pages of its runs are drawn from their tapes. */
async function drawnEval(folder: string): Promise<Drawn> {
  const text = readStateFile(join(folder, "summary.json"));
  if (text === undefined) {
    throw new UsageError(`Cannot view ${folder} as it has not ended: crochet eval --resume ${basename(folder)}`);
  }
  const summary: Summary = JSON.parse(text);
  if (!summary.paid) {
    throw new UsageError(
      `Cannot view ${folder} as another release made it: crochet eval --regrade ${basename(folder)}`,
    );
  }
  const plan: EvalPlan = JSON.parse(readStateFile(join(folder, "eval.json"))!);
  const name = `eval-${summary.id}`;
  const pages: (readonly [page: string, fixture: Fixture])[] = [];
  const shown = plan.variants.map((variant) => {
    const other = join(dirname(folder), variant.name);
    const isKept = variant.kind === "kept" && hasState(join(other, "eval.json"));
    const [from, as] = isKept ? [other, readPlan(dirname(folder), variant.name).variants[0]!] : [folder, variant];
    const lines = new Map(readLineLog<RunLine>(join(from, "runs.jsonl"))?.values.map((line) => [line.run, line]));
    return plan.fixtures.map((fixture) => {
      const own = [...lines.values()].filter(({ run }) => isRunOf(run, { fixture, variant: as }));
      return own.map((line): ShownRun => {
        const round = Number(basename(line.run));
        const run = slotName({ fixture, variant, round });
        const page = `${name}/${run.replaceAll("/", "-")}.html`;
        const isThere = hasState(join(from, line.run, "tape.jsonl"));
        if (isThere) pages.push([page, { ...fixtureAt(join(from, line.run)), name: run }]);
        return { round, line: { ...line, run: line.log ?? run }, href: isThere ? page : undefined };
      }).sort((a, b) => a.round - b.round);
    });
  });
  return {
    name,
    html: evalPage(summary, shown, plan.atLeast),
    beside: () =>
      Promise.all(pages.map(async ([path, fixture]): Promise<[string, string]> => {
        const { view } = await viewOfFixture(fixture);
        return [path, runPage(view)];
      })),
  };
}

export default {
  files: (cwd, io) => {
    const evals = statePath(cwd, io.env, "evals");
    return keptEvals(evals).map((id) => join(evals, id, "summary.json"));
  },
  /** By its folder or its id. */
  draw: async (meant, cwd, io) => {
    const evals = statePath(cwd, io.env, "evals");
    const folders = [resolve(cwd, meant), ...keptEvals(evals).includes(meant) ? [join(evals, meant)] : []];
    const folder = folders.find((folder) => hasState(join(folder, "eval.json")));
    return folder === undefined ? undefined : await drawnEval(folder);
  },
} satisfies Gifts["pages"];
