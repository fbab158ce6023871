/** @import { RunData } from "./data.js" */
/** @import { Section } from "../shape.ts" */

/**
 * The rows in which a text occurs, whatever its case, in order.
 *
 * @param {RunData} data
 * @param {string} wanted
 * @returns {number[]}
 */
export function findRows(data, wanted) {
  const needle = wanted.toLowerCase();
  if (needle === "") return [];
  /** @type {Set<number>} */
  const found = new Set();
  for (const [index, row] of data.rows.entries()) {
    const hit = `${row.name}\n${row.line}\n${row.key}`.toLowerCase().includes(needle) ||
      (data.sections(index) ?? []).some((section) => textOf(section).toLowerCase().includes(needle));
    if (hit) found.add(row.about ?? index);
  }
  return [...found].sort((a, b) => a - b);
}

/** @param {Section} section */
function textOf(section) {
  switch (section.as) {
    case "words":
    case "thinking":
    case "output":
      return section.text;
    case "fields":
      return section.fields.map(([name, text]) => `${name}\n${text}`).join("\n");
    case "diff":
      return `${section.file}\n${
        section.hunks.map(({ lines }) => lines.map((line) => line.slice(1)).join("\n")).join("\n")
      }`;
    case "ledger":
      return section.runs.map(({ hook, did, why }) => `${hook}\n${did}\n${why}`).join("\n");
  }
}

/**
 * Marks a text wherever it is drawn, without touching what is drawn.
 *
 * @param {HTMLElement} box
 * @param {string} wanted
 */
export function highlight(box, wanted) {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete("found");
  const needle = wanted.toLowerCase();
  if (needle === "") return;
  /** @type {Range[]} */
  const ranges = [];
  const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node && ranges.length < 5000; node = walk.nextNode()) {
    const text = (node.textContent ?? "").toLowerCase();
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
      const range = new Range();
      // Lower case may be longer than the text was.
      if (at + needle.length > (node.textContent ?? "").length) break;
      range.setStart(node, at);
      range.setEnd(node, at + needle.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}
