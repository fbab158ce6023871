import type { RunLine } from "./attempt.ts";
import type { Cell, Row, Summary } from "./summary.ts";
import { notesOf, percent, verdictOf } from "./conclusion.ts";
import { costText } from "./table.ts";
import { escapeHtml, reportPage } from "../view/html.ts";

/** A run that is shown by the name it has in the summary, and the address of its page, seen from the report; undefined if there is none. */
export interface ShownRun {
  readonly round: number;
  readonly line: RunLine;
  readonly href?: string | undefined;
}

/** The report of an eval; its runs are by variants, then by fixtures, and each has a link to its page. */
export function evalPage(
  summary: Summary,
  runs: readonly (readonly (readonly ShownRun[])[])[],
  atLeast?: number,
): string {
  const { id, variants, rows, conclusion: { is, badge, words } } = summary;
  const colour = { good: "good", bad: "bad", measured: "quiet", "not graded": "quiet", "not measured": "denied" }[is];
  return reportPage(`eval ${id}`, [
    `<p class="conclusion"><span class="pill ${colour}">${escapeHtml(badge)}</span> ${escapeHtml(words)}</p>`,
    `<p class="soft">${escapeHtml(about(summary))}</p>`,
    ...notesOf(summary).map((note) => `<p class="note">${escapeHtml(note)}</p>`),
    ...rows.map((row, i) => caseHtml(row, variants.map((name, of) => ({ name, runs: runs[of]![i]! })), atLeast)),
  ]);
}

function about({ runs, lostAttempts, level, spent, rows }: Summary): string {
  const hasInterval = rows.some(({ cells }) => cells.some(({ runs, interval }) => runs > 0 && interval));
  return [
    `${runs} runs`,
    `${lostAttempts} lost`,
    costText(spent),
    hasInterval && `intervals of rates at ${percent(level)}`,
  ].filter(Boolean).join(" · ");
}

interface ShownVariant {
  readonly name: string;
  readonly runs: readonly ShownRun[];
}

function caseHtml(row: Row, variants: readonly ShownVariant[], atLeast: number | undefined): string {
  const { fixture, cells, asRecorded, worse, below, pairs } = row;
  const lines = variants.map(({ name, runs }, i) =>
    `<dt>${escapeHtml(name)}</dt><dd>${rateHtml(cells[i]!)}` +
    `<p class="runs">${runs.map((run) => squareHtml(run, !asRecorded)).join("")}</p>${
      failuresHtml(cells[i]!, runs)
    }</dd>`
  ).toReversed();
  const changed = pairs ? `${pairs.fixed} fixed, ${pairs.broke} broken of ${pairs.pairs}` : "";
  const verdict = asRecorded ? "not graded" : [verdictOf(row), changed].filter(Boolean).join(" · ");
  return `<section><h2>${escapeHtml(fixture)} <span class="${worse || below ? "bad" : "quiet"}">` +
    `${escapeHtml(verdict)}</span></h2><dl>${lines.join("")}</dl>${scaleHtml(cells.toReversed(), atLeast)}</section>`;
}

const whole = (rate: number) => `${Math.round(rate * 100)}`;

function rateHtml({ passed, runs, interval, mean }: Cell): string {
  const rate = runs === 0 ? "" : `<strong>${passed}/${runs}</strong> `;
  const between = runs === 0 || !interval ? "" : `${whole(interval[0])}-${whole(interval[1])}% · `;
  return `${rate}<span class="soft">${between}${mean.calls.toFixed(1)} calls · ${costText(mean)} a run</span>`;
}

function squareHtml(
  { round, line: { pass, lost, ungraded, grades = [], calls, kept, log }, href }: ShownRun,
  isGraded: boolean,
): string {
  const [mark, tone, came] = pass === undefined || !isGraded
    ? ["?", "quiet", lost ?? ungraded ?? "not graded"]
    : pass
    ? ["✓", "good", "passed"]
    : ["✗", "bad", grades.find((one) => !one.pass)?.seen ?? "failed"];
  const title = escapeHtml(
    `${log ?? `run ${round}`}: ${came}, ${calls} calls${kept ? `, ${kept.calls} of them kept` : ""}`,
  );
  const [tag, to] = href === undefined ? ["span", ""] : ["a", ` href="${escapeHtml(href)}"`];
  return `<${tag} class="run ${tone}"${to} title="${title}" aria-label="${title}">${mark}</${tag}>`;
}

/** The width of the drawing of an interval: rates from 0 to 1. */
const WIDTH = 160;

/** The intervals of a fixture on one scale, in the order of its variants; nothing if none may be said. */
function scaleHtml(cells: readonly Cell[], atLeast: number | undefined): string {
  const drawn = cells.flatMap(({ runs, passed, interval }) =>
    runs > 0 && interval ? [{ interval, rate: passed / runs }] : []
  );
  if (drawn.length === 0) return "";
  const height = 12 * drawn.length + 4;
  const x = (rate: number) => (4 + rate * WIDTH).toFixed(1);
  const least = atLeast === undefined ? "" : `<path class="least" d="M${x(atLeast)} 1V${height - 1}"/>`;
  const lines = drawn.map(({ interval: [low, high], rate }, i) => {
    const y = 8 + 12 * i;
    return `<path class="scale" d="M${x(0)} ${y}H${x(1)}"/><path class="between" d="M${x(low)} ${y}H${x(high)}"/>` +
      `<circle cx="${x(rate)}" cy="${y}" r="3.5"/>`;
  });
  const words = drawn.map(({ interval: [low, high] }) => `between ${whole(low)} and ${whole(high)} percent`).join(
    ", then ",
  );
  return `<svg viewBox="0 0 ${WIDTH + 8} ${height}" role="img" aria-label="${words}">${lines.join("")}${least}</svg>`;
}

/** The failed runs by what they failed for. */
function failuresHtml({ failures }: Cell, runs: readonly ShownRun[]): string {
  const groups = [...Map.groupBy(failures, ({ name, seen }) => `${name}: ${seen}`)].map(([words, failed]) => {
    const links = failed.map(({ run }) => {
      const { round, href } = runs.find(({ line }) => run === line.run) ?? { round: run };
      return href === undefined ? escapeHtml(String(round)) : `<a href="${escapeHtml(href)}">${round}</a>`;
    });
    return `<li>${escapeHtml(words)} <span class="soft">runs ${links.join(" ")}</span></li>`;
  });
  return groups.length === 0 ? "" : `<ul>${groups.join("")}</ul>`;
}
