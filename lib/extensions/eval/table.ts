import type { Cell, Row, Summary } from "./summary.ts";
import { notesOf, percent, verdictOf } from "./conclusion.ts";
import type { Budget } from "./plan.ts";
import { dollarsText, type Ink, type Price } from "../../replay/drift/drift-report.ts";
import { several, table } from "../../cli/show/text.ts";

/** How many fixtures with failed runs are shown one by one. */
const MOST_FAILURES = 5;

/** The conclusion of an eval, its table and its notes. */
export function evalText(summary: Summary, budget: Budget | undefined, folder: string, ink: Ink): string {
  const { variants, k, rows, level, conclusion, hooks } = summary;
  const isCompared = variants.length > 1;
  const head = [
    "fixture",
    ...variants.flatMap((name) => [name, percent(level), `pass^${k}`]),
    ...(isCompared ? ["cost", "calls", ""] : ["cost", "calls"]),
  ];
  const body = rows.map((row) => [
    row.fixture,
    ...row.cells.flatMap(cellTexts),
    ...(isCompared
      ? [...changes(row), verdictOf(row)]
      : [costText(row.cells[0]!.mean), row.cells[0]!.mean.calls.toFixed(1)]),
  ]);
  const notes = notesOf(summary).map((note) => `${note}\n`).join("");
  const end = `${failures(summary, folder)}${closing(summary, budget)}`;
  const still = Object.entries(hooks?.unchanged ?? {}).map(([name, how]) => `${name}: ${how}\n`).join("");
  const shown = rows.length === 0 ? "" : `${table(head, body)}\n`;
  const mark = ["bad", "not measured"].includes(conclusion.is) ? `${ink.red("✗")} ` : "";
  return `${mark}${conclusion.words}\n\n${shown}${still}${rows.length === 0 ? "" : `${notes}${end}`}`;
}

function cellTexts({ passed, runs, interval, passAll }: Cell): string[] {
  const between = interval ? `${interval.map((p) => Math.round(p * 100)).join("-")}%` : "";
  return runs === 0 ? ["-", "", "-"] : [`${passed}/${runs}`, between, passAll.toFixed(2)];
}

/** What things cost in one sentence, all in one unit: that of the budget, else dollars if all of it has a price. */
export function costText(cost: Spent, { budget, of = cost, times = 1 }: Unit = {}): string {
  const inTokens = budget ? "tokens" in budget : !of.dollars;
  return inTokens ? `${Math.round(cost.tokens * times)} tokens` : dollarsText((cost.dollars ?? 0) * times);
}

type Spent = Pick<Price, "tokens"> & Partial<Price>;

interface Unit {
  readonly budget?: Budget | undefined;
  /** The sum that this is a part of. */
  readonly of?: Spent;
  readonly times?: number;
}

/** How much more one run costs and calls than one of the other variant. */
function changes({ cells: [now, then] }: Row): string[] {
  const [a, b] = [now!.mean, then!.mean];
  const [cost, before] = a.dollars && b.dollars ? [a.dollars, b.dollars] : [a.tokens, b.tokens];
  const sign = (n: number, text: string) => n > 0 ? `+${text}` : text;
  const more = before === 0 ? 0 : Math.round((cost / before - 1) * 100);
  const calls = Math.round((a.calls - b.calls) * 10) / 10;
  return [sign(more, `${more}%`), sign(calls, String(calls))];
}

/** The failed runs of a fixture by what most of them failed for, with one to look at. */
function failures({ rows }: Summary, folder: string): string {
  const failed = rows.filter(({ cells: [now] }) => now!.failures.length > 0);
  const width = Math.max(0, ...failed.map(({ fixture }) => fixture.length));
  return failed.slice(0, MOST_FAILURES).map(({ fixture, cells: [now], asRecorded = now! }) => {
    const groups = Map.groupBy(now!.failures, ({ name, seen }) => `"${name}": ${seen}`);
    const [words, runs] = [...groups].sort(([, a], [, b]) => b.length - a.length)[0]!;
    const label = `  ${fixture.padEnd(width)}  `;
    const { run } = runs[0]!;
    const look = `${" ".repeat(label.length)}${run.endsWith(".jsonl") ? run : `crochet view ${folder}/${run}`}`;
    return `${label}${runs.length} of ${asRecorded.runs}: ${words}\n${look}\n`;
  }).join("");
}

function closing({ runs, lostAttempts, lost, ungraded, spent, judged, ended }: Summary, budget?: Budget): string {
  const repeated = lostAttempts - lost;
  const of = budget === undefined ? "" : ` of ${costText({ tokens: 0, ...budget }, { budget })}`;
  const parts = [
    several(runs, "run"),
    repeated > 0 && `${repeated} lost and repeated`,
    lost > 0 && `${lost} given up`,
    ungraded > 0 && `${ungraded} not graded: crochet eval --regrade`,
    `${costText(spent, { budget })}${of}${judged ? `, judges ${costText(judged, { budget, of: spent })} of it` : ""}`,
    ended === "budget" && "the budget ended it",
  ];
  return `${parts.filter(Boolean).join(", ")}\n`;
}
