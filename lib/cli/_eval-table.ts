import type { Cell, Row, Summary } from "../eval/compare.ts";
import { notesOf, percent, pText } from "../eval/conclusion.ts";
import type { Budget } from "../eval/plan.ts";
import { addPrice, FREE } from "../eval/grade.ts";
import { dollarsText, type Ink, type Price } from "../replay/drift/drift-report.ts";
import { several, table } from "./show/text.ts";

/** How many fixtures with failed runs are shown one by one. */
const MOST_FAILURES = 5;

/** The conclusion of an eval, its table and its notes. */
export function evalText(summary: Summary, budget: Budget | undefined, folder: string, ink: Ink): string {
  const { variants, k, rows, level, conclusion } = summary;
  if (summary.hooks || rows.some(({ fork }) => fork)) return hooksText(summary, budget, ink);
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
      ? [...changes(row), verdict(row)]
      : [costText(row.cells[0]!.mean), row.cells[0]!.mean.calls.toFixed(1)]),
  ]);
  const first = `${conclusion.is === "good" ? "" : `${ink.red("✗")} `}${conclusion.words}\n`;
  const notes = notesOf(summary).map((note) => `${note}\n`).join("");
  return `${first}\n${table(head, body)}\n${notes}${failures(summary, folder)}${closing(summary, budget)}`;
}

/** What hooks change: the fixtures they change, those they do not, and the one claim that is about all. */
function hooksText(summary: Summary, budget: Budget | undefined, ink: Ink): string {
  const { rows, hooks, conclusion } = summary;
  const quiet = Object.entries(hooks?.unchanged ?? {});
  const width = Math.max(0, ...rows.map(({ fixture }) => fixture.length), ...quiet.map(([name]) => name.length));
  const body = rows.map((row) => {
    const [now, then] = row.cells.map(({ passed, runs }) => `${passed}/${runs}`);
    return [row.fixture.padEnd(width), row.fork!.from ?? "end", now!, then!, ...changes(row)];
  });
  const shown = rows.length === 0 ? "" : table(["fixture", "from", "with", "without", "cost", "calls"], body);
  const still = quiet.map(([name, how]) =>
    `${name.padEnd(Math.max(width, "fixture".length))}  ${how}
`
  ).join("");
  const words = `${conclusion.is === "good" ? "" : `${ink.red("✗")} `}${conclusion.words}
`;
  return `${shown}${still}\n${words}${rows.length === 0 ? "" : closing(summary, budget)}`;
}

function cellTexts({ passed, runs, interval: [low, high], passAll }: Cell): string[] {
  const whole = (p: number) => Math.round(p * 100);
  return runs === 0 ? ["-", "", "-"] : [`${passed}/${runs}`, `${whole(low)}-${whole(high)}%`, passAll.toFixed(2)];
}

/** What things cost in one sentence, all in one unit: that of the budget, else dollars if all of it has a price. */
export function costText(cost: Cost, { budget, of = cost, times = 1 }: Unit = {}): string {
  const inTokens = budget ? "tokens" in budget : !of.dollars;
  return inTokens ? `${Math.round(cost.tokens * times)} tokens` : dollarsText((cost.dollars ?? 0) * times);
}

interface Cost {
  readonly dollars?: number | undefined;
  readonly tokens: number;
}

interface Unit {
  readonly budget?: Budget | undefined;
  /** The sum that this is a part of. */
  readonly of?: Cost;
  readonly times?: number;
}

/** How much more one run costs and calls than one of the other variant, with what it was served. */
function changes({ cells: [now, then], fork }: Row): string[] {
  const served = fork?.served ?? FREE;
  const [a, b] = [now!, then!].map(({ mean }) => addPrice({ dollars: undefined, ...mean }, served)) as [Price, Price];
  const [cost, before] = a.dollars && b.dollars ? [a.dollars, b.dollars] : [a.tokens, b.tokens];
  const sign = (n: number, text: string) => n > 0 ? `+${text}` : text;
  const more = before === 0 ? 0 : Math.round((cost / before - 1) * 100);
  const calls = Math.round((a.calls - b.calls) * 10) / 10;
  return [sign(more, `${more}%`), sign(calls, String(calls))];
}

function verdict({ worse, below, p }: Row): string {
  return [worse ? `worse (p ${pText(p!)})` : "", below ? "below" : ""].filter(Boolean).join(", ");
}

/** The failed runs of a fixture by what most of them failed for, with one to look at. */
function failures({ rows }: Summary, folder: string): string {
  const failed = rows.filter(({ cells: [now] }) => now!.failures.length > 0);
  const width = Math.max(0, ...failed.map(({ fixture }) => fixture.length));
  return failed.slice(0, MOST_FAILURES).map(({ fixture, cells: [now] }) => {
    const groups = Map.groupBy(now!.failures, ({ name, seen }) => `"${name}": ${seen}`);
    const [words, runs] = [...groups].sort(([, a], [, b]) => b.length - a.length)[0]!;
    const label = `  ${fixture.padEnd(width)}  `;
    return `${label}${runs.length} of ${now!.runs}: ${words}\n${" ".repeat(label.length)}crochet view ${folder}/${
      runs[0]!.run
    }\n`;
  }).join("");
}

function closing({ runs, lostAttempts, lost, ungraded, spent, judged, ended }: Summary, budget?: Budget): string {
  const repeated = lostAttempts - lost;
  const of = budget === undefined ? "" : ` of ${costText({ tokens: 0, ...budget }, { budget })}`;
  return `${
    [
      several(runs, "run"),
      ...(repeated > 0 ? [`${repeated} lost and repeated`] : []),
      ...(lost > 0 ? [`${lost} given up`] : []),
      ...(ungraded > 0 ? [`${ungraded} not graded: crochet eval --regrade`] : []),
      `${costText(spent, { budget })}${of}${judged ? `, judges ${costText(judged, { budget, of: spent })} of it` : ""}`,
      ...(ended === "budget" ? ["the budget ended it"] : []),
    ].join(", ")
  }\n`;
}
