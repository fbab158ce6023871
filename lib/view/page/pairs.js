import { byId, el, many } from "./dom.js";
import { List } from "./list.js";
import { drawRow } from "./row.js";
import { findRows, highlight, Search } from "./search.js";

/** @import { RunData } from "./data.js" */
/** @import { Pair } from "../shape.ts" */

/** The rows of two runs, pair by pair. */
export class Pairs {
  #runs;
  /** @type {readonly Pair[]} */
  #pairs = JSON.parse(byId("pairs").textContent ?? "[]");
  /** @type {List} */
  #list;
  #onlyDifferences = false;

  /** @param {readonly [RunData, RunData]} runs */
  constructor(runs) {
    this.#runs = runs;
    this.#list = new List(byId("list"), {
      draw: (index) => this.#draw(index),
      open: (index) => {
        const { a, b, same } = /** @type {Pair} */ (this.#pairs[index]);
        return !same || (runs[0].rows[a]?.open ?? runs[1].rows[b]?.open ?? false);
      },
    });
    this.#list.onDrawn = () => this.#markSoon();
    this.search = new Search({
      find: (wanted) => this.#find(wanted),
      found: () => this.#markSoon(),
      go: (index) => this.#go(index),
      selected: () => this.#list.selected,
    });
  }

  /** @param {string} wanted */
  #find(wanted) {
    const [a, b] = this.#runs.map((run) => new Set(findRows(run, wanted)));
    return [...this.#pairs.keys()].filter((index) => {
      const pair = /** @type {Pair} */ (this.#pairs[index]);
      return a?.has(pair.a) || b?.has(pair.b);
    });
  }

  begin() {
    const differing = this.#pairs.filter(({ same }) => !same).length;
    const box = el("input", {
      type: "checkbox",
      change: () => {
        this.#onlyDifferences = !this.#onlyDifferences;
        this.show();
      },
    });
    byId("filters").replaceChildren(el("label", {}, box, "differences only"));
    byId("tabs").replaceChildren(
      el("p", { class: "verdict" }, differing === 0 ? "No differences" : many(differing, "difference")),
    );
    this.search.begin();
    byId("list").addEventListener("click", (event) => {
      const pair = event.target instanceof Element && event.target.closest(".pair");
      if (pair) this.#list.select(Number(pair.id.slice("pair-".length)) - 1);
    });
    addEventListener("hashchange", () => this.#follow());
    this.show();
    this.#follow();
  }

  show() {
    this.#list.show(
      [...this.#pairs.keys()].filter((index) => !this.#onlyDifferences || this.#pairs[index]?.same === false),
    );
  }

  /**
   * @param {number} index
   * @returns {HTMLElement}
   */
  #draw(index) {
    const { a, b, same } = /** @type {Pair} */ (this.#pairs[index]);
    const sides = /** @type {const} */ ([a, b]).map((row, side) =>
      row < 0 ? el("div", { class: "none" }) : drawRow(/** @type {RunData} */ (this.#runs[side]), row, {
        open: this.#list.isOpen(index),
        toggle: () => this.#list.toggle(index),
        anchor: `pair-${index + 1}`,
      })
    );
    const kind = same ? "same" : a < 0 ? "differs only-b" : b < 0 ? "differs only-a" : "differs";
    return el("div", { class: `pair ${kind}`, id: `pair-${index + 1}` }, ...sides);
  }

  toggleSelected() {
    this.#list.toggle(this.#list.selected);
  }

  /**
   * @param {number} index
   * @param {ScrollLogicalPosition} [where]
   */
  #go(index, where = "center") {
    if (!this.#list.has(index)) {
      this.#onlyDifferences = false;
      this.show();
    }
    this.#list.select(index);
    this.#list.reveal(index, where);
    history.replaceState(null, "", `#pair-${index + 1}`);
  }

  /**
   * @param {1 | -1} by
   * @param {boolean} [differing]
   */
  step(by, differing = false) {
    const next = this.#list.next(by, (index) => !differing || this.#pairs[index]?.same === false);
    if (next !== undefined) this.#go(next, differing ? "center" : "nearest");
  }

  #pending = 0;

  /** Marks what was searched for, and the lines that only one side of a pair has. */
  #markSoon() {
    cancelAnimationFrame(this.#pending);
    this.#pending = requestAnimationFrame(() => {
      highlight(byId("list"), this.search.wanted);
      if ("highlights" in CSS) CSS.highlights.set("differs", new Highlight(...differingLines(byId("list"))));
    });
  }

  #follow() {
    const number = Number(/^#pair-(\d+)$/.exec(location.hash)?.[1] ?? 0);
    if (number > 0 && number <= this.#pairs.length) this.#go(number - 1);
  }
}

/**
 * The lines drawn on one side of a pair that are not drawn on the other.
 *
 * @param {HTMLElement} box
 * @returns {Range[]}
 */
function differingLines(box) {
  /** @type {Range[]} */
  const ranges = [];
  for (const pair of box.querySelectorAll(".pair.differs:not(.only-a, .only-b)")) {
    const [a, b] = [...pair.children].map((side) => side.querySelector(".body"));
    for (const [one, other] of [[a, b], [b, a]]) {
      if (!one || !other) continue;
      const parts = [...other.querySelectorAll("p, pre, .hunk > div")];
      const known = new Set(parts.flatMap((part) => (part.textContent ?? "").split("\n")).map((line) => line.trim()));
      const walk = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        let at = 0;
        for (const line of (node.textContent ?? "").split("\n")) {
          if (line.trim() !== "" && !known.has(line.trim()) && node.parentElement?.closest("p, pre, .hunk")) {
            const range = new Range();
            range.setStart(node, at);
            range.setEnd(node, at + line.length);
            ranges.push(range);
          }
          at += line.length + 1;
        }
      }
    }
  }
  return ranges;
}
