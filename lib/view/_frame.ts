import { endTone } from "./_sections.ts";
import type { View } from "./shape.ts";

const LOGO =
  `<svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 17c0-7 8-7 8 0M12 17c0-7 8-7 8 0M8 9c0-6 8-6 8 0"/><path d="M2 17h20"/></svg>`;

/** Up to this many calls, the chart takes half the width, so that the conversation is on the first screen. */
const FEW_CALLS = 50;

/** The static part of the page of a run: shown before any script runs. */
export function runFrame(view: View): string {
  return `${head(view.title, pill(view.stop))}
<main>
<section class="about">
<p class="from">${about(view)}</p>
${notes(view)}
<dl class="stats" id="stats"></dl>
</section>
<section class="overview${view.totals.calls <= FEW_CALLS ? " beside" : ""}" aria-label="Timeline and tokens">
<div class="panel"><div class="panel-head"><h2>Timeline</h2><div class="tools" id="timeline-tools"></div></div><div id="timeline"></div></div>
<div class="panel"><div class="panel-head"><h2>Tokens and cost per call</h2><ul class="legend" id="legend"></ul></div><div id="chart"></div></div>
</section>
<div class="bar"><div class="tabs" role="tablist" id="tabs"></div><div class="filters" id="filters"></div></div>
<div id="list"></div>
<div id="hooks" hidden></div>
</main>
${foot()}`;
}

/** The static part of the page that compares two runs. */
export function compareFrame(a: View, b: View): string {
  const side = (name: string, view: View) =>
    `<section class="side"><h2><span class="letter">${name}</span>${pill(view.stop)}</h2><p class="from">${
      about(view)
    }</p>${notes(view)}</section>`;
  return `${head(a.title, "")}
<main class="compare">
<div class="sides">${side("A", a)}${side("B", b)}</div>
<div class="panel"><div id="differences"></div></div>
<div class="bar"><div class="tabs" id="tabs"></div><div class="filters" id="filters"></div></div>
<div id="list"></div>
</main>
${foot()}`;
}

function head(title: string, status: string): string {
  return `<header class="top">
${LOGO}
<h1 title="${escapeHtml(title)}">${escapeHtml(title)}</h1>
${status}
<div class="search"><input id="search" type="search" placeholder="Search" aria-label="Search the run" autocomplete="off" spellcheck="false"><kbd>/</kbd><output id="found"></output></div>
<button type="button" id="theme" title="Light or dark (t)" aria-label="Light or dark"></button>
<button type="button" id="help-open" title="Keys (?)" aria-label="Keys">?</button>
</header>`;
}

function foot(): string {
  return `<div id="tip" role="status" hidden></div>
<dialog id="help" aria-label="Keys"></dialog>
<noscript><p class="note">Allow scripts on this page to see the run</p></noscript>`;
}

function pill(stop: string | null): string {
  const tone = stop === null ? "changed" : endTone(stop);
  return `<span class="pill ${tone}">${escapeHtml(stop ?? "unfinished")}</span>`;
}

function about({ source, models, began, agents }: View): string {
  const when = new Date(began).toISOString().replace("T", " ").slice(0, 19);
  const parts = [source, models.join(", "), began > 0 ? `${when} UTC` : ""];
  if (agents.length > 1) parts.push(`${agents.length} agents`);
  return parts.filter(Boolean).map(escapeHtml).join(' <span class="dot">·</span> ');
}

function notes({ notes }: View): string {
  return notes.map((note) => `<p class="note">${escapeHtml(note)}</p>`).join("");
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
