import { byId, clock, duration, svg } from "./dom.js";

/** @import { RunData } from "./data.js" */
/** @import { Row } from "../shape.ts" */

/** The height of the axis. */
const AXIS = 20;
const GAP = 3;
const GROUP = 10;
/** The lanes of an agent: which rows, under which name, in which colour. */
const LANES = /** @type {const} */ ([["call", "model", "model"], ["tool", "tools", "tool"], ["fire", "hooks", "hook"]]);

/** Lanes for each agent; gives what marks a row in them. @param {RunData} data @param {(row: number) => void} go */
export function drawTimeline({ rows, view }, go) {
  const whole = Math.max(1, view.ms);
  /** @param {number} ms */
  const x = (ms) => `${100 * ms / whole}%`;
  const high = view.agents.length === 1 ? 22 : 14;
  const labels = svg("svg"), plot = svg("svg", { role: "img", "aria-label": "Timeline of the run" });
  plot.append(...drawAxis(whole, x));
  let y = AXIS;
  /** @param {string} kind @param {string} words */
  const label = (kind, words) =>
    labels.append(svg("text", { class: kind, x: kind === "who" ? 0 : 10, y: y + (high + 8) / 2 }, words));
  for (const agent of order(view.agents)) {
    if (view.agents.length > 1) {
      label("who", view.agents[agent]?.name ?? "");
      y += high + 2;
    }
    for (const [kind, name, colour] of LANES) {
      // Of hooks, those that ran.
      const own = rows.filter((row) =>
        row.agent === agent && row.kind === kind && (kind !== "fire" || row.tone !== "quiet" || row.ms > 0)
      );
      if (own.length === 0) continue;
      label("kind", name);
      const { spans, depth } = stacked(own, LEAST * whole);
      for (const { row, from, to, lane, count } of spans) {
        const words = row.kind === "call" ? row.key.replace("-", " ") : row.name;
        const when = `${duration(row.ms)} at ${clock(row.at)}${count > 1 ? ` · ${count} here` : ""}`;
        plot.append(svg("rect", {
          class: `span ${row.kind} ${row.tone}`,
          fill: `var(--${row.started === undefined ? colour : "agent"})`,
          x: x(from),
          y: y + lane * (high + GAP),
          width: x(Math.max(to - from, LEAST * whole)),
          height: high,
          rx: 2,
          click: () => go(row.about ?? rows.indexOf(row)),
        }, svg("title", {}, [words, row.line, when].join("\n"))));
      }
      y += depth * (high + GAP);
    }
    y += GROUP;
  }
  for (const part of [labels, plot]) part.setAttribute("height", String(y - GROUP));
  byId("timeline").replaceChildren(labels, plot);
  const now = svg("line", { class: "now", y1: AXIS - 4, y2: "100%" });
  return (/** @type {number} */ row) => {
    for (const end of ["x1", "x2"]) now.setAttribute(end, x(/** @type {Row} */ (rows[row]).at));
    plot.append(now);
  };
}

/** Agents, each below the one that started it. @param {readonly { parent: number }[]} agents @returns {number[]} */
function order(agents) {
  /** @param {number} parent @returns {number[]} */
  const below = (parent) =>
    agents.flatMap((agent, i) => agent.parent === parent && i !== parent ? [i, ...below(i)] : []);
  const found = below(-1);
  const seen = new Set(found);
  return [...found, ...[...agents.keys()].filter((i) => !seen.has(i))];
}

/** The shortest span that is drawn, as a part of the run. */
const LEAST = 0.004;
/** How many calls that run at the same time are drawn below each other. */
const STACK = 4;
const SEVERITY = ["quiet", "plain", "good", "changed", "denied", "bad"];

/** @typedef {{ row: Row, from: number, to: number, lane: number, count: number }} Span */

/**
 * Rows in lanes, each in the first that is free. Those too short to be told apart are one span, of the most severe, as
 * there are no more shapes than a screen has columns. @param {readonly Row[]} rows @param {number} least
 */
function stacked(rows, least) {
  /** @type {Span[]} */
  const spans = [];
  /** @type {Span[]} the last span of each lane */
  const lanes = [];
  for (const row of rows.toSorted((a, b) => a.at - b.at)) {
    const from = row.at, to = row.at + row.ms;
    let lane = lanes.findIndex((last) => last.to <= from);
    if (lane < 0) lane = lanes.length < STACK ? lanes.length : lanes.indexOf(earliest(lanes));
    const last = lanes[lane];
    if (last && from < last.from + least && to < last.from + 2 * least) {
      last.to = Math.max(last.to, to);
      last.count++;
      if (SEVERITY.indexOf(row.tone) > SEVERITY.indexOf(last.row.tone)) last.row = row;
    } else spans.push(lanes[lane] = { row, from, to, lane, count: 1 });
  }
  return { spans, depth: lanes.length };
}

/** @param {readonly Span[]} lanes */
function earliest(lanes) {
  return lanes.reduce((found, span) => span.to < found.to ? span : found);
}

/** Between two lines of the axis, in milliseconds. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((seconds) => seconds * 1000),
);

/** A line and a label at round times. @param {number} whole @param {(ms: number) => string} x */
function drawAxis(whole, x) {
  const step = STEPS.find((step) => step >= whole / 6) ?? whole / 6;
  return Array.from({ length: Math.floor(whole / step) + 1 }, (_, i) => [
    svg("line", { class: "tick", x1: x(i * step), x2: x(i * step), y1: AXIS - 4, y2: "100%" }),
    svg(
      "text",
      { class: "axis", x: x(i * step), y: 11, "text-anchor": i * step > 0.9 * whole ? "end" : "start" },
      clock(i * step, step < 1000 ? 3 : 0),
    ),
  ]).flat();
}
