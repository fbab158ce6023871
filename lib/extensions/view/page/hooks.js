import { duration, el, many } from "./dom.js";

/** @import { RunData } from "./data.js" */
/** @import { HookLedger, HookOutcome } from "../shape.ts" */

/** The ledger of each hook over the whole run. @param {RunData} data @returns {HTMLElement[]} */
export function drawHooks(data) {
  const all = data.view.hooks.map((hook) => drawHook(data, hook));
  return all.length > 0 ? all : [el("p", { class: "empty" }, "No hook of this run listens to an event that happened")];
}

/** @param {RunData} data @param {HookLedger} hook */
function drawHook(data, { name, events, considered, ran, acted, ms, outcomes }) {
  return el(
    "article",
    { class: "hook", id: `hook-${name}` },
    el("h3", {}, el("a", { href: `#hook-${name}` }, name), el("span", { class: "events" }, events.join(", "))),
    el(
      "p",
      { class: "counts" },
      `considered ${many(considered, "time")}, ran ${ran}, did something ${acted}`,
      ms >= 1 ? `, took ${duration(ms)}` : "",
    ),
    el("ul", { class: "outcomes" }, ...outcomes.map((outcome) => drawOutcome(data, outcome))),
  );
}

/** @param {RunData} data @param {HookOutcome} outcome */
function drawOutcome(data, { event, tone, did, why, count, rows }) {
  const links = rows.map((index) => {
    const fire = data.rows[index];
    const row = fire?.about === undefined ? fire : data.rows[fire.about];
    return row &&
      el("a", { href: `#${row.key}`, title: row.line }, row.kind === "tool" ? `${row.key} ${row.name}` : row.key);
  });
  return el(
    "li",
    { class: tone },
    el("span", { class: "count" }, `${count}×`),
    el("span", { class: "did" }, did),
    el("span", { class: "why" }, why || `at ${event}`),
    el("span", { class: "links" }, ...links, count > rows.length && el("span", {}, `and ${count - rows.length} more`)),
  );
}
