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
  #list;
  #onlyDifferences = false;
  /** @type {Map<number, boolean>} */
  #opened = new Map();
  /** @type {number | undefined} */
  #selected;

  /** @param {readonly [RunData, RunData]} runs */
  constructor(runs) {
    this.#runs = runs;
    this.#list = new List(byId("list"), {
      draw: (index) => this.#draw(index),
      guess: (index) => {
        const { a, b } = /** @type {Pair} */ (this.#pairs[index]);
        const lines = Math.max(runs[0].rows[a]?.lines ?? 0, runs[1].rows[b]?.lines ?? 0);
        return 40 + (this.#isOpen(index) ? Math.min(lines, 30) * 19 : 0);
      },
    });
    this.#list.onDrawn = () => this.#markSoon();
    this.search = new Search({
      find: (wanted) => this.#find(wanted),
      found: () => this.#markSoon(),
      go: (index) => this.#go(index),
      selected: () => this.#selected,
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
      el("p", { class: "verdict" }, differing === 0 ? "The two runs say the same" : many(differing, "difference")),
    );
    this.search.begin();
    byId("list").addEventListener("click", (event) => {
      const pair = event.target instanceof Element && event.target.closest(".pair");
      if (pair) this.#select(Number(pair.id.slice("pair-".length)) - 1);
    });
    addEventListener("hashchange", () => this.#follow());
    addEventListener("beforeprint", () => this.#list.drawAll(true));
    addEventListener("afterprint", () => this.#list.drawAll(false));
    this.show();
    this.#follow();
  }

  show() {
    this.#list.show(
      [...this.#pairs.keys()].filter((index) => !this.#onlyDifferences || this.#pairs[index]?.same === false),
    );
  }

  /** @param {number} index */
  #isOpen(index) {
    const { a, b, same } = /** @type {Pair} */ (this.#pairs[index]);
    const usual = this.#runs[0].rows[a]?.open ?? this.#runs[1].rows[b]?.open ?? false;
    return this.#opened.get(index) ?? (usual || !same);
  }

  /** @param {number} index */
  #draw(index) {
    const { a, b, same } = /** @type {Pair} */ (this.#pairs[index]);
    const sides = /** @type {const} */ ([a, b]).map((row, side) =>
      row < 0 ? el("div", { class: "none" }) : drawRow(/** @type {RunData} */ (this.#runs[side]), row, {
        isOpen: () => this.#isOpen(index),
        toggle: () => this.toggle(index),
        anchor: `pair-${index + 1}`,
      })
    );
    const kind = same ? "same" : a < 0 ? "differs only-b" : b < 0 ? "differs only-a" : "differs";
    const chosen = index === this.#selected ? " selected" : "";
    return el("div", { class: `pair ${kind}${chosen}`, id: `pair-${index + 1}` }, ...sides);
  }

  /** @param {number} index */
  toggle(index) {
    this.#opened.set(index, !this.#isOpen(index));
    this.#list.update(index);
  }

  toggleSelected() {
    if (this.#selected !== undefined) this.toggle(this.#selected);
  }

  /** @param {number} index */
  #select(index) {
    if (this.#selected !== undefined) this.#list.element(this.#selected)?.classList.remove("selected");
    this.#selected = index;
    this.#list.element(index)?.classList.add("selected");
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
    this.#select(index);
    this.#list.reveal(index, where);
    history.replaceState(null, "", `#pair-${index + 1}`);
  }

  /**
   * @param {1 | -1} by
   * @param {boolean} [differing]
   */
  step(by, differing = false) {
    const { items } = this.#list;
    let place = this.#selected === undefined ? -1 : this.#list.placeOf(this.#selected);
    if (place < 0 && by < 0) place = items.length;
    for (place += by; place >= 0 && place < items.length; place += by) {
      const index = /** @type {number} */ (items[place]);
      if (!differing || this.#pairs[index]?.same === false) return this.#go(index, differing ? "center" : "nearest");
    }
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
      const known = new Set((other.textContent ?? "").split("\n").flatMap((line) => line.trim()));
      const parts = [...other.querySelectorAll("p, pre, .hunk > div")];
      for (const part of parts) for (const line of (part.textContent ?? "").split("\n")) known.add(line.trim());
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
