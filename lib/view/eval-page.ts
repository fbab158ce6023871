import type { Cell, Row, Summary } from "../eval/compare.ts";
import { notesOf, percent, pText } from "../eval/conclusion.ts";
import { escapeHtml, LOGO, readPage, wholePage } from "./html.ts";

/** The address of the page of a run, seen from the report; undefined if there is none. */
export type RunLink = (run: string) => string | undefined;

/** The report of an eval: its conclusion, fixtures by variants, their intervals drawn, and its failed runs, each with a link to its page. */
export function evalPage(summary: Summary, link: RunLink, atLeast?: number): string {
  const style = ["base", "eval"].map((name) => readPage(`${name}.css`)).join("\n");
  const { id, variants, k, rows } = summary;
  const title = `eval ${id}`;
  const head = variants.map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join("");
  return wholePage({ title, style }, [
    `<header class="top">\n${LOGO}\n<h1>${escapeHtml(title)}</h1>\n${pill(summary)}\n</header>`,
    `<main class="eval">`,
    `<p class="conclusion">${escapeHtml(summary.conclusion.words)}</p>`,
    `<p class="from">${escapeHtml(about(summary))}</p>`,
    ...notesOf(summary).map((note) => `<p class="note">${escapeHtml(note)}</p>`),
    `<table>\n<thead><tr><th scope="col">fixture</th>${head}<th scope="col"></th></tr></thead>\n<tbody>`,
    ...rows.map((row) => rowHtml(row, k, atLeast)),
    "</tbody>\n</table>",
    ...rows.map((row) => failuresHtml(row, variants, link)),
    "</main>",
  ]);
}

/** How a conclusion is coloured. */
const TONES = { good: "good", bad: "bad", "not measured": "denied" };

function pill({ conclusion: { is, badge } }: Summary): string {
  return `<span class="pill ${TONES[is]}">${escapeHtml(badge)}</span>`;
}

function about({ runs, lostAttempts, level, spent: { tokens, dollars } }: Summary): string {
  const cost = dollars === undefined || dollars === 0 ? `${tokens} tokens` : `$${dollars.toFixed(2)}`;
  return `${runs} runs · ${lostAttempts} lost · ${cost} · intervals of rates at ${percent(level)}`;
}

function rowHtml({ fixture, cells, p, worse, below }: Row, k: number, atLeast: number | undefined): string {
  const shown = [worse ? `worse (p ${pText(p!)})` : "", below ? "below" : ""].filter(Boolean).join(", ");
  return `<tr><th scope="row">${escapeHtml(fixture)}</th>${cells.map((cell) => cellHtml(cell, k, atLeast)).join("")}` +
    `<td class="${worse || below ? "bad" : "soft"}">${escapeHtml(shown)}</td></tr>`;
}

/** The width of the drawing of an interval: rates from 0 to 1. */
const WIDTH = 160;

function cellHtml({ passed, runs, interval: [low, high], passAll, mean }: Cell, k: number, atLeast?: number): string {
  if (runs === 0) return `<td class="soft">-</td>`;
  const x = (rate: number) => (4 + rate * WIDTH).toFixed(1);
  const whole = (rate: number) => `${Math.round(rate * 100)}`;
  const line = atLeast === undefined ? "" : `<path class="least" d="M${x(atLeast)} 1V15"/>`;
  return `<td><strong>${passed}/${runs}</strong> <span class="soft">${whole(low)}-${whole(high)}%</span>` +
    `<svg viewBox="0 0 ${WIDTH + 8} 16" role="img" aria-label="between ${whole(low)} and ${whole(high)} percent">` +
    `<path class="scale" d="M${x(0)} 8H${x(1)}"/>${line}<path class="between" d="M${x(low)} 8H${x(high)}"/>` +
    `<circle cx="${x(passed / runs)}" cy="8" r="3.5"/></svg>` +
    `<span class="soft">pass^${k} ${passAll.toFixed(2)} · ${mean.calls.toFixed(1)} calls · ${
      mean.dollars ? `$${mean.dollars.toFixed(4)}` : `${Math.round(mean.tokens)} tokens`
    }</span></td>`;
}

/** The failed runs of a fixture by what they failed for. */
function failuresHtml({ fixture, cells }: Row, variants: readonly string[], link: RunLink): string {
  return cells.map(({ failures }, i) => {
    if (failures.length === 0) return "";
    const groups = [...Map.groupBy(failures, ({ name, seen }) => `${name}: ${seen}`)].map(([words, runs]) => {
      const links = runs.map(({ run }) => {
        const href = link(run);
        const name = escapeHtml(run.slice(run.lastIndexOf("/") + 1));
        return href === undefined ? name : `<a href="${escapeHtml(href)}">${name}</a>`;
      });
      return `<li>${escapeHtml(words)} <span class="runs">runs ${links.join(" ")}</span></li>`;
    });
    return `<section><h2>${escapeHtml(fixture)}, ${escapeHtml(variants[i]!)}: ${failures.length} failed</h2><ul>${
      groups.join("")
    }</ul></section>`;
  }).join("");
}
