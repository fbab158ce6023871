import { byId } from "./dom.js";

/** @import { RunData } from "./data.js" */
/** @import { Section } from "../shape.ts" */

/**
 * The rows that contain a text, ignoring case, in order.
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
 * Marks a text wherever it is drawn, without changing the elements.
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
      // A text may become longer in lower case.
      if (at + needle.length > (node.textContent ?? "").length) break;
      range.setStart(node, at);
      range.setEnd(node, at + needle.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

/** The search starts when the user stops typing for this long. */
const PAUSE_MS = 120;

/**
 * @typedef {object} Searched
 * @property {(wanted: string) => readonly number[]} find the items that contain a text
 * @property {() => void} found
 * @property {(item: number) => void} go
 * @property {() => number | undefined} selected
 */

/** The search field: the text, the items that contain it, and steps from one to the next. */
export class Search {
  #of;
  #field = /** @type {HTMLInputElement} */ (byId("search"));
  /** @type {readonly number[]} */
  #found = [];
  wanted = "";

  /** @param {Searched} of */
  constructor(of) {
    this.#of = of;
  }

  /** Handles what is typed. */
  begin() {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    this.#field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#find(), PAUSE_MS);
    });
    this.#field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      clearTimeout(timer);
      if (this.#field.value.trim() !== this.wanted) this.#find();
      else this.step(event.shiftKey ? -1 : 1);
    });
  }

  /** Goes to the first item found from the selected one on. */
  #find() {
    this.wanted = this.#field.value.trim();
    this.#found = this.#of.find(this.wanted);
    this.#of.found();
    const from = this.#of.selected() ?? 0;
    this.#go(this.#found.find((item) => item >= from) ?? this.#found[0]);
  }

  /** @param {1 | -1} by */
  step(by) {
    const at = this.#found.indexOf(this.#of.selected() ?? -1);
    this.#go(this.#found[(at + by + this.#found.length) % this.#found.length]);
  }

  /** @param {number | undefined} item */
  #go(item) {
    if (item !== undefined) this.#of.go(item);
    const at = this.#found.indexOf(this.#of.selected() ?? -1);
    const none = this.wanted === "" ? "" : "none";
    byId("found").textContent = this.#found.length === 0 ? none : `${at + 1} / ${this.#found.length}`;
  }

  clear() {
    this.#field.value = "";
    this.#field.blur();
    this.#find();
  }
}
