import { readFileSync } from "node:fs";
import { PACKAGE } from "../../runtime/own-copy.ts";
import { sha256 } from "../../runtime/sha256.ts";
import { endTone } from "./calls.ts";
import type { Pair, WholeView } from "./shape.ts";

/** How many rows, and about how many characters of them, come before the script: enough for the first screen. */
const FIRST_ROWS = 60;
const FIRST_LENGTH = 100_000;

/** A run as one self-contained HTML file. */
export function runPage(view: WholeView): string {
  return page("run.js", view.title, runFrame(view), [view]);
}

/** Requests are drawn as runs are, without what a run came to. */
export function comparePage(
  a: WholeView,
  b: WholeView,
  pairs: readonly Pair[],
  are: "runs" | "requests" = "runs",
): string {
  return page("compare.js", `${a.title}: two ${are}`, compareFrame(a, b, are === "runs"), [a, b], pairs);
}

/** A long run paints as soon as a short one: most of it is behind the script. Nothing of it is markup: it is JSON. */
function page(
  entry: "run.js" | "compare.js",
  title: string,
  frame: string,
  runs: readonly WholeView[],
  pairs?: readonly Pair[],
): string {
  const { style, script } = pageAssets(entry);
  const part = ({ rows, sections }: WholeView, from: number, to?: number) => ({
    rows: rows.slice(from, to),
    sections: sections.slice(from, to),
  });
  return wholePage(title, style, script, [
    frame,
    ...runs.map((run, i) => json(`view-${i}`, { ...run, ...part(run, 0, firstRows(run)) })),
    ...(pairs ? [json("pairs", pairs)] : []),
    `<script>${script}</script>`,
    ...runs.map((run, i) => json(`rest-${i}`, part(run, firstRows(run)))),
  ]);
}

/** A file whose policy allows its own style and script, and nothing else. */
function wholePage(title: string, style: string, script: string | undefined, body: readonly string[]): string {
  const policy = [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src '${hash(script)}'`]),
    `style-src '${hash(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="generator" content="crochet view">',
    `<title>${escapeHtml(title)}</title>`,
    `<style>${style}</style>`,
    "</head>",
    "<body>",
    ...body,
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

/** A report without a script, in one column; `style` is added to what reports share. */
export function reportPage(title: string, body: readonly string[], style = ""): string {
  return wholePage(title, [...["base", "eval"].map((name) => readPage(`${name}.css`)), style].join("\n"), undefined, [
    `<header class="top">\n${LOGO}\n<h1>${escapeHtml(title)}</h1>\n</header>\n<main class="eval">`,
    ...body,
    "</main>",
  ]);
}

/** How many rows stand before the script. */
function firstRows({ sections }: WholeView): number {
  let length = 0;
  for (const [i, row] of sections.entries()) {
    if (i === FIRST_ROWS || length > FIRST_LENGTH) return i;
    length += JSON.stringify(row).length;
  }
  return sections.length;
}

/** Data for the script, without any `<`, so that no text can end the element or open a comment. */
function json(id: string, value: unknown): string {
  return `<script type="application/json" id="${id}">${JSON.stringify(value).replaceAll("<", "\\u003c")}</script>`;
}

/** An inline script or style as the content security policy names it. */
function hash(text: string): string {
  return `sha256-${Buffer.from(sha256().update(text).digest()).toString("base64")}`;
}

/** The page's files are read from `lib`, also by the built package, whose code is in another folder. */
const PAGE = `${PACKAGE}/lib/extensions/view/page`;

const STYLES = ["base", "overview", "rows"];

/** Its style, and its modules as one function: a module script would wait until the whole page is loaded. */
export function pageAssets(entry: "run.js" | "compare.js"): { style: string; script: string } {
  const style = STYLES.map((name) => readPage(`${name}.css`)).join("\n");
  const script = `(() => {\n"use strict";\n${inOrder(entry, new Set()).join("\n")}\n})();`;
  return { style, script };
}

/** The text of a module after the modules that it imports, each once. */
function inOrder(name: string, seen: Set<string>): string[] {
  if (seen.has(name)) return [];
  seen.add(name);
  const text = readPage(name);
  const below = [...text.matchAll(IMPORT)].flatMap(([, from]) => inOrder(from!, seen));
  return [...below, text.replaceAll(IMPORT, "").replace(/^export (?=(async )?function|const|let|class)/gm, "")];
}

/** The only form in which modules of the page import each other. */
const IMPORT = /^import \{[^}]*\} from "\.\/([\w-]+\.js)";\n/gm;

function readPage(name: string): string {
  return readFileSync(`${PAGE}/${name}`, "utf8");
}

const LOGO =
  `<svg class="logo" width="26" height="26" viewBox="0 0 24 24" fill="none" stroke-width="2" stroke-linecap="round" aria-hidden="true"><path d="M4 17c0-7 8-7 8 0M12 17c0-7 8-7 8 0M8 9c0-6 8-6 8 0"/><path d="M2 17h20"/></svg>`;

/** Up to this many calls, the chart takes half the width, so that the conversation is on the first screen. */
const FEW_CALLS = 50;

/** The static part of the page of a run: shown before any script runs. */
function runFrame(view: WholeView): string {
  return `${head(view.title, pill(view.stop))}
<main>
<section class="about">
<p class="from">${about(view)}</p>
${notes(view)}
<dl class="stats" id="stats"></dl>
</section>
<section class="overview${view.totals.calls <= FEW_CALLS ? " beside" : ""}" aria-label="Timeline and tokens">
<div class="panel"><div class="panel-head"><h2>Timeline</h2></div><div id="timeline"></div></div>
<div class="panel"><div class="panel-head"><h2>Tokens and cost per call</h2><ul class="legend" id="legend"></ul></div><div id="chart"></div></div>
</section>
<div class="bar"><div class="tabs" role="tablist" id="tabs">${tab("conversation", "Conversation")}${
    tab("edits", "Edits", view.totals.edits)
  }${tab("hooks", "Hooks", view.hooks.length)}</div>${filters(view)}</div>
<div id="list"></div>
<p class="empty" id="no-edits" hidden>No file was changed by a tool in this run</p>
<div id="hooks" hidden></div>
</main>
${FOOT}`;
}

function tab(value: string, words: string, count?: number): string {
  const counted = count === undefined ? "" : `<span class="count">${count}</span>`;
  return `<button type="button" role="tab" value="${value}">${words}${counted}</button>`;
}

/** What the reader can leave out: hooks that did nothing are, at first. */
function filters({ agents }: WholeView): string {
  const options = agents.map(({ name }, i) => `<option value="${i}">${escapeHtml(name)}</option>`).join("");
  return `<div class="filters" id="filters"><label id="quiet-hooks"><input type="checkbox" id="quiet" autocomplete="off">quiet hooks</label>${`<select id="agent" aria-label="Agent" autocomplete="off"${
    agents.length < 2 ? " hidden" : ""
  }>`}<option value="">all agents</option>${options}</select></div>`;
}

/** The static part of the page that compares two runs, or two requests. */
function compareFrame(a: WholeView, b: WholeView, areRuns: boolean): string {
  const side = (name: string, view: WholeView) =>
    `<section class="side"><h2><span class="letter">${name}</span>${
      areRuns ? pill(view.stop) : ""
    }</h2><p class="from">${about(view)}</p>${notes(view)}</section>`;
  return `${head(a.title, "")}
<main class="compare">
<div class="sides">${side("A", a)}${side("B", b)}</div>
${areRuns ? `<div class="panel"><div id="differences"></div></div>` : ""}
<div class="bar"><div class="tabs" id="tabs"></div><div class="filters" id="filters"></div></div>
<div id="list"></div>
</main>
${FOOT}`;
}

function head(title: string, status: string): string {
  return `<header class="top">
${LOGO}
<h1 title="${escapeHtml(title)}">${escapeHtml(title)}</h1>
${status}
<button type="button" popovertarget="help" title="Keys (?)" aria-label="Keys">?</button>
</header>`;
}

const FOOT = `<div id="help" popover aria-label="Keys"></div>
<noscript><p class="note">Allow scripts on this page to see the run</p></noscript>`;

function pill(stop: string | null): string {
  const tone = stop === null ? "changed" : endTone(stop);
  return `<span class="pill ${tone}">${escapeHtml(stop ?? "unfinished")}</span>`;
}

function about({ source, models, began, agents }: WholeView): string {
  const when = new Date(began).toISOString().replace("T", " ").slice(0, 19);
  const parts = [source, models.join(", "), began > 0 ? `${when} UTC` : ""];
  if (agents.length > 1) parts.push(`${agents.length} agents`);
  return parts.filter(Boolean).map(escapeHtml).join(' <span class="dot">·</span> ');
}

function notes({ notes }: WholeView): string {
  return notes.map((note) => `<p class="note">${escapeHtml(note)}</p>`).join("");
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
