import { byId, dollars, el, onWidth, short, svg } from "./dom.js";

/** @import { RunData } from "./data.js" */
/** @import { Row, SpentTokens } from "../shape.ts" */

const LEFT = 64;
const TALL = 92;
const LOW = 34;
const BETWEEN = 16;

/** The parts of a prompt, from the bottom up. */
const PARTS = /** @type {const} */ ([["cacheRead", "from cache"], ["cacheWrite", "to cache"], ["fresh", "uncached"]]);

/** Three bar charts over the same calls: prompt tokens, output tokens and cost. */
export class Chart {
  #data;
  #go;
  /** @type {{ row: number, spent: SpentTokens }[]} */
  #calls;
  /** @type {number | undefined} */
  #selected;

  /** @param {RunData} data @param {(row: number) => void} go */
  constructor(data, go) {
    this.#data = data;
    this.#go = go;
    this.#calls = data.rows.flatMap(({ spent }, row) => spent ? [{ row, spent }] : []);
    byId("legend").replaceChildren(
      ...[...PARTS, /** @type {const} */ (["output", "output"]), /** @type {const} */ (["cost", "cost"])].map(
        ([key, name]) => {
          const box = el("i", { class: "key" });
          box.style.background = `var(--${key})`;
          return el("li", {}, box, name);
        },
      ),
    );
    onWidth(byId("chart"), () => this.draw());
  }

  /** @param {number} row */
  select(row) {
    this.#selected = row;
    this.#choose();
  }

  draw() {
    const box = byId("chart");
    if (this.#calls.length === 0) {
      box.replaceChildren(el("p", { class: "empty" }, "No model call in this run"));
      return;
    }
    const width = Math.max(240, box.clientWidth);
    const bins = this.#bins(Math.max(1, Math.floor((width - LEFT) / 3)));
    const height = TALL + LOW * 2 + BETWEEN * 3 + 14;
    const picture = svg("svg", { width, height, role: "img", "aria-label": "Tokens and cost of each model call" });
    const step = Math.min(96, (width - LEFT - 6) / bins.length);
    const wide = Math.max(1, Math.min(56, step - (step > 6 ? 2 : step > 4 ? 1 : 0)));
    /** @param {number} top @param {number} tall @param {string} title @param {(bin: Bin) => [string, number][]} parts @param {(n: number) => string} say */
    const band = (top, tall, title, parts, say) => {
      const most = Math.max(...bins.map((bin) => parts(bin).reduce((sum, [, n]) => sum + n, 0))) || 1;
      picture.append(
        svg("text", { class: "axis title", x: 0, y: top + 10 }, title),
        svg("text", { class: "axis", x: 0, y: top + 23 }, say(most)),
        svg("line", { class: "tick", x1: LEFT, x2: width, y1: top, y2: top }),
        svg("line", { class: "ground", x1: LEFT, x2: width, y1: top + tall, y2: top + tall }),
      );
      for (const [i, bin] of bins.entries()) {
        let y = top + tall;
        for (const [kind, n] of parts(bin)) {
          const high = (n / most) * tall;
          if (high <= 0) continue;
          y -= high;
          const place = { x: LEFT + i * step, y, width: wide, height: high };
          picture.append(svg("rect", { class: `bar-part ${kind}`, fill: `var(--${kind})`, ...place }));
        }
      }
    };
    band(6, TALL, "prompt", ({ spent }) => PARTS.map(([key]) => [key, spent[key]]), short);
    band(6 + TALL + BETWEEN, LOW, "output", ({ spent }) => [["output", spent.output]], short);
    band(6 + TALL + LOW + BETWEEN * 2, LOW, "cost", ({ spent }) => [["cost", spent.cost ?? 0]], dollars);
    const bottom = 6 + TALL + LOW * 2 + BETWEEN * 2;
    this.#numbers(picture, bins, step, bottom + 13);
    for (const [i, bin] of bins.entries()) {
      const hit = svg("rect", {
        class: "hit",
        x: LEFT + i * step - Math.min(4, (step - wide) / 2),
        y: 0,
        width: wide + Math.min(8, step - wide),
        height: bottom,
        "data-row": bin.rows.join(" "),
        click: () => this.#go(/** @type {number} */ (bin.rows[0])),
      }, svg("title", {}, this.#say(bin).join("\n")));
      picture.append(hit);
    }
    box.replaceChildren(picture);
    this.#choose();
  }

  #choose() {
    byId("chart").querySelector(".chosen")?.classList.remove("chosen");
    byId("chart").querySelector(`[data-row~="${this.#selected}"]`)?.classList.add("chosen");
  }

  /**
   * If there are more calls than bars fit, neighbouring calls share a bar, which shows their mean.
   *
   * @typedef {{ rows: number[], from: number, spent: SpentTokens }} Bin
   * @param {number} most
   * @returns {Bin[]}
   */
  #bins(most) {
    const size = Math.ceil(this.#calls.length / most);
    /** @type {Bin[]} */
    const bins = [];
    for (let from = 0; from < this.#calls.length; from += size) {
      const part = this.#calls.slice(from, from + size);
      /** @param {(spent: SpentTokens) => number} of */
      const mean = (of) => part.reduce((sum, { spent }) => sum + of(spent), 0) / part.length;
      bins.push({
        rows: part.map(({ row }) => row),
        from,
        spent: {
          fresh: mean((s) => s.fresh),
          cacheRead: mean((s) => s.cacheRead),
          cacheWrite: mean((s) => s.cacheWrite),
          output: mean((s) => s.output),
          cost: part.some(({ spent }) => spent.cost === null) ? null : mean((s) => s.cost ?? 0),
        },
      });
    }
    return bins;
  }

  /** @param {SVGElement} picture @param {readonly Bin[]} bins @param {number} step @param {number} y */
  #numbers(picture, bins, step, y) {
    const every = Math.max(1, Math.ceil(46 / step));
    for (const [i, { from }] of bins.entries()) {
      if (i % every === 0 && (bins.length - i) * step > 24) {
        picture.append(svg("text", { class: "axis", x: LEFT + i * step, y }, String(from + 1)));
      }
    }
  }

  /** @param {Bin} bin @returns {string[]} */
  #say({ rows, from, spent }) {
    const prompt = spent.fresh + spent.cacheRead + spent.cacheWrite;
    const row = /** @type {Row} */ (this.#data.rows[/** @type {number} */ (rows[0])]);
    const name = rows.length === 1 ? `call ${from + 1}` : `calls ${from + 1}–${from + rows.length}, mean`;
    return [
      name,
      ...(rows.length === 1 ? [row.name] : []),
      ...PARTS.filter(([key]) => spent[key] > 0).map(([key, words]) => `${short(spent[key])} ${words}`),
      ...(prompt > 0 ? [`${Math.round(100 * spent.cacheRead / prompt)} % of the prompt cached`] : []),
      `${short(spent.output)} output`,
      dollars(spent.cost),
    ];
  }
}
