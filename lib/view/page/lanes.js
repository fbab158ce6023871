/** @import { RunData } from "./data.js" */
/** @import { Row } from "../shape.ts" */

/** How many calls that run at the same time are drawn below each other. */
const STACK = 4;

/**
 * @typedef {{ row: number, from: number, to: number, lane: number, tone: string, kind: string }} Span
 */

/**
 * The agents in order, each right below the one that started it.
 *
 * @param {readonly { parent: number }[]} agents
 * @returns {number[]}
 */
export function order(agents) {
  /** @param {number} parent @returns {number[]} */
  const below = (parent) =>
    agents.flatMap((agent, i) => agent.parent === parent && i !== parent ? [i, ...below(i)] : []);
  const found = below(-1);
  const seen = new Set(found);
  return [...found, ...[...agents.keys()].filter((i) => !seen.has(i))];
}

/** @param {Row} row */
export function ran(row) {
  return row.tone !== "quiet" || row.ms > 0;
}

/**
 * @param {Span[]} spans
 * @returns {{ spans: Span[], depth: number }}
 */
export function stacked(spans) {
  /** @type {number[]} */
  const ends = [];
  const placed = spans.map((span) => {
    let lane = ends.findIndex((end) => end <= span.from);
    if (lane < 0) lane = ends.length < STACK ? ends.length : ends.indexOf(Math.min(...ends));
    ends[lane] = Math.max(ends[lane] ?? 0, span.to);
    return { ...span, lane };
  });
  return { spans: placed.sort((a, b) => a.lane - b.lane || a.from - b.from), depth: ends.length };
}

/**
 * Whether nothing happened most of the time, as in a session that was resumed the next day: then time is a bad scale.
 *
 * @param {RunData} data
 */
export function mostlyIdle({ rows, view }) {
  if (view.ms === 0) return true;
  let busy = 0, until = 0;
  for (const { at, ms } of rows.toSorted((a, b) => a.at - b.at)) {
    const from = Math.max(at, until);
    until = Math.max(until, at + ms);
    busy += Math.max(0, until - from);
  }
  return busy < view.ms * 0.3;
}
