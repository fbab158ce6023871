import { sha256 } from "../files/sha256.ts";
import { pageAssets } from "./assets.ts";
import { compareFrame, escapeHtml, runFrame } from "./_frame.ts";
import type { Pair, Section, View, WholeView } from "./shape.ts";

/** So many rows come before the script: enough for the first screen, however long the run. */
const FIRST_ROWS = 60;
/** Sections of neighbouring rows are parsed together: about so many characters at a time. */
const CHUNK = 100_000;

/** What the page's script reads first. */
export interface PageData extends View {
  /** How many rows there are; those that are not here yet come behind the script. */
  readonly count: number;
}

/** A run as one HTML file that needs nothing else. */
export function runPage(view: WholeView): string {
  return page({ entry: "run.js", title: view.title, frame: runFrame(view), runs: [view] });
}

/** Two runs beside each other. */
export function comparePage(a: WholeView, b: WholeView, pairs: readonly Pair[]): string {
  const title = `${a.title}: two runs`;
  return page({ entry: "compare.js", title, frame: compareFrame(a, b), runs: [a, b], pairs });
}

interface Page {
  readonly entry: "run.js" | "compare.js";
  readonly title: string;
  readonly frame: string;
  readonly runs: readonly WholeView[];
  readonly pairs?: readonly Pair[];
}

/**
 * The first screen's data stands before the script and everything long behind it, so that the first paint takes as
 * long for a long run as for a short one. Nothing of a run is ever markup: it is JSON until the script makes text of it.
 */
function page({ entry, title, frame, runs, pairs }: Page): string {
  const { style, script } = pageAssets(entry);
  const policy = [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const first = runs.map((run, i) => json(`view-${i}`, headOf(run)));
  const rest = runs.flatMap((run, i) => [
    json(`rows-${i}`, run.rows.slice(FIRST_ROWS)),
    ...chunks(run.sections).slice(1).map(([at, part]) => json(`sections-${i}-${at}`, part)),
  ]);
  const firstSections = runs.flatMap((run, i) =>
    chunks(run.sections).slice(0, 1).map(([at, part]) => json(`sections-${i}-${at}`, part))
  );
  const starts = runs.map((run) => chunks(run.sections).map(([at]) => at));
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
    frame,
    ...first,
    ...firstSections,
    json("starts", starts),
    ...(pairs ? [json("pairs", pairs)] : []),
    `<script>${script}</script>`,
    ...rest,
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

function headOf({ sections: _, rows, ...view }: WholeView): PageData {
  return { ...view, rows: rows.slice(0, FIRST_ROWS), count: rows.length };
}

const known = new WeakMap<readonly (readonly Section[])[], [number, (readonly Section[])[]][]>();

/** Neighbouring rows' sections, with the index of the first row of each chunk. */
function chunks(sections: WholeView["sections"]): [number, (readonly Section[])[]][] {
  const before = known.get(sections);
  if (before) return before;
  const all: [number, (readonly Section[])[]][] = [];
  let size = CHUNK;
  for (const [i, row] of sections.entries()) {
    if (size >= CHUNK) {
      all.push([i, []]);
      size = 0;
    }
    all.at(-1)![1].push(row);
    size += row.reduce((sum, section) => sum + sizeOf(section), 0);
  }
  known.set(sections, all);
  return all;
}

function sizeOf(section: Section): number {
  return "text" in section ? section.text.length + 40 : JSON.stringify(section).length;
}

/** Data for the script. No `<` is left in it, so that no text can end the element or open a comment. */
function json(id: string, value: unknown): string {
  return `<script type="application/json" id="${id}">${JSON.stringify(value).replaceAll("<", "\\u003c")}</script>`;
}

/** How a policy names an inline script or style. */
function hash(text: string): string {
  return `sha256-${Buffer.from(sha256().update(text).digest()).toString("base64")}`;
}
