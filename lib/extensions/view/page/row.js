import { clock, dollars, duration, el, short } from "./dom.js";
import { drawLedger, drawSection } from "./sections.js";

/** @import { RunData } from "./data.js" */
/** @import { Row, Section } from "../shape.ts" */

/**
 * A line that says what happened, and opens its sections; `anchor` is what a link leads to if not to the row itself.
 * @param {RunData} data @param {number} index @param {{ open?: boolean, anchor?: string }} [options]
 */
export function drawRow(data, index, { open, anchor } = {}) {
  const row = /** @type {Row} */ (data.rows[index]);
  const line = el(
    "summary",
    // A click that selects text must not close the row.
    { click: (event) => getSelection()?.toString() && event.preventDefault() },
    el("div", { class: "line" }, ...headOf(data, row), el("span", { class: "meta" }, ...metaOf(row))),
    ...hooksOf(data, row),
  );
  const body = bodyOf(data, row, data.sections[index] ?? []);
  const box = el(
    "article",
    {
      class: `row ${row.kind === "note" ? "remark" : row.kind} ${row.tone}`,
      id: anchor === undefined ? row.key : undefined,
    },
    el(
      "a",
      { class: "at", href: `#${anchor ?? row.key}`, title: "Link to this row" },
      data.view.ms > 0 ? clock(row.at) : "#",
    ),
    el("div", { class: "what" }, el("details", { class: "row-body", open: open ?? row.open }, line, body)),
  );
  if (row.agent > 0) {
    box.classList.add("sub");
    box.style.setProperty("--depth", String(Math.min(data.view.agents[row.agent]?.depth ?? 0, 4)));
    box.style.setProperty("--lane", `hsl(${row.agent * 137} 35% 60%)`);
  }
  return box;
}

/** @param {RunData} data @param {Row} row @returns {(Node | string | false | undefined)[]} */
function headOf(data, row) {
  const agent = row.agent > 0 && el("span", { class: "agent" }, data.view.agents[row.agent]?.name);
  const name = el("b", { class: "name" }, row.name);
  switch (row.kind) {
    case "prompt":
    case "input":
      return [agent, name];
    case "call":
      return [
        agent,
        el("b", { class: "name" }, row.key.replace("-", " ")),
        data.view.models.length > 1 && el("span", { class: "model" }, row.name),
      ];
    case "end":
      return [agent, el("span", { class: `pill ${row.tone}` }, row.name)];
    default:
      return [
        el("i", { class: "state" }),
        agent,
        name,
        el("span", { class: "text" }, row.line),
        !row.edit && row.result && el("span", { class: "text result" }, `· ${row.result}`),
      ];
  }
}

/** @param {Row} row @returns {(Node | string | false | undefined)[]} */
function metaOf(row) {
  const { spent, edit } = row;
  /** @type {(Node | string | false | undefined)[]} */
  const parts = [];
  if (spent) {
    const prompt = spent.fresh + spent.cacheRead + spent.cacheWrite;
    const hit = prompt > 0 ? Math.round(100 * spent.cacheRead / prompt) : 0;
    parts.push(
      el("span", { title: "prompt tokens" }, `${short(prompt)} in`),
      spent.cacheRead > 0 && el("span", { class: "cached", title: "of the prompt from the cache" }, `${hit} % cached`),
      el("span", { title: "output tokens" }, `${short(spent.output)} out`),
      el("span", { title: "cost" }, dollars(spent.cost)),
    );
  }
  if (edit) {
    parts.push(
      el("span", { class: "good" }, `+${edit.added}`),
      el("span", { class: "bad" }, `−${edit.removed}`),
      !edit.applied && el("span", {}, "not applied"),
    );
  }
  if (row.ms >= 1) parts.push(el("span", { class: "ms" }, duration(row.ms)));
  return parts;
}

/** Hooks that did something to a call are shown with it, even closed. @param {RunData} data @param {Row} row */
function hooksOf(data, row) {
  return (row.fires ?? []).flatMap((index) => {
    const fire = data.rows[index];
    if (!fire || fire.tone === "quiet") return [];
    return [el("div", { class: `acted ${fire.tone}` }, el("b", {}, fire.name), " ", fire.line)];
  });
}

/** @param {RunData} data @param {Row} row @param {readonly Section[]} sections */
function bodyOf(data, row, sections) {
  const ledgers = (row.fires ?? []).flatMap((fire) => data.sections[fire] ?? []);
  if (sections.length + ledgers.length === 0) return undefined;
  return el(
    "div",
    { class: "body" },
    ...sections.map(drawSection),
    ...ledgers.flatMap((section) => section.as === "ledger" ? [drawLedger(section, false)] : []),
  );
}
