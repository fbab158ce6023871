import { byId, el, many } from "./dom.js";
import { List } from "./list.js";
import { drawRow } from "./row.js";

/** @import { RunData } from "./data.js" */
/** @import { Pair } from "../shape.ts" */

/** The rows of two runs, pair by pair. */
export class Pairs {
  #runs;
  /** @type {readonly Pair[]} */
  #pairs = JSON.parse(byId("pairs").textContent ?? "[]");
  list = new List();

  /** @param {readonly [RunData, RunData]} runs */
  constructor(runs) {
    this.#runs = runs;
    const differing = this.#pairs.filter(({ same }) => !same).length;
    /** @param {{ target: HTMLInputElement }} event */
    const change = ({ target: { checked } }) => this.list.show((index) => !checked || this.isDifference(index));
    byId("filters").replaceChildren(el("label", {}, el("input", { type: "checkbox", change }), "differences only"));
    byId("tabs").replaceChildren(
      el("p", { class: "verdict" }, differing === 0 ? "No differences" : many(differing, "difference")),
    );
    this.list.draw(new Map(this.#pairs.map((pair, index) => [index, this.#draw(pair, index)])));
    if ("highlights" in CSS) CSS.highlights.set("differs", new Highlight(...differingLines(byId("list"))));
    addEventListener("hashchange", () => this.#follow());
    this.#follow();
  }

  /** @param {number} index */
  isDifference(index) {
    return this.#pairs[index]?.same === false;
  }

  /** @param {Pair} pair @param {number} index */
  #draw({ a, b, same }, index) {
    const open = !same || (this.#runs[0].rows[a]?.open ?? this.#runs[1].rows[b]?.open ?? false);
    const id = `pair-${index + 1}`;
    const sides = [a, b].map((row, side) =>
      row < 0
        ? el("div", { class: "none" })
        : drawRow(/** @type {RunData} */ (this.#runs[side]), row, { open, anchor: id })
    );
    const bodies = sides.map((side) => /** @type {HTMLDetailsElement | null} */ (side.querySelector(".row-body")));
    for (const [one, other] of [bodies, bodies.toReversed()]) {
      one?.addEventListener("toggle", () => other && (other.open = one.open));
    }
    const kind = same ? "same" : a < 0 ? "differs only-b" : b < 0 ? "differs only-a" : "differs";
    return el("div", { class: `pair ${kind}`, id }, ...sides);
  }

  #follow() {
    const number = Number(/^#pair-(\d+)$/.exec(location.hash)?.[1] ?? 0);
    if (byId(`pair-${number}`)?.hidden) byId("filters").querySelector("input")?.click();
    this.list.go(number - 1);
  }
}

/** The lines drawn on one side of a pair that are not drawn on the other. @param {HTMLElement} box */
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
