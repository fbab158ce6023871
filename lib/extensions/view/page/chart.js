import { byId, dollars, el, short, svg } from "./dom.js";

/** @import { RunData } from "./data.js" */
/** @import { SpentTokens } from "../shape.ts" */

/** The parts of a prompt, from the bottom up. */
const PARTS = /** @type {const} */ ([["cacheRead", "from cache"], ["cacheWrite", "to cache"], ["fresh", "uncached"]]);
/** The bar charts over the same calls: where each begins, how high it is, what it adds up, and how that is said. */
const BANDS = /** @type {const} */ ([
  { title: "prompt", top: 6, tall: 92, parts: PARTS.map(([kind]) => kind), say: short },
  { title: "output", top: 114, tall: 34, parts: ["output"], say: short },
  { title: "cost", top: 164, tall: 34, parts: ["cost"], say: dollars },
]);
const BOTTOM = 198;
/** Of more calls, neighbours share a bar. */
const MOST_BARS = 240;
/** Of fewer calls, the bars do not get wider. */
const LEAST_BARS = 8;

/** What calls spent; gives what marks the bar of a row. @param {RunData} data @param {(row: number) => void} go */
export function drawChart({ rows }, go) {
  const box = byId("chart");
  byId("legend").replaceChildren(...[...PARTS, ["output", "output"], ["cost", "cost"]].map(([kind, name]) => {
    const key = el("i", { class: "key" });
    key.style.background = `var(--${kind})`;
    return el("li", {}, key, name);
  }));
  const bars = barsOf(rows.flatMap(({ spent }, row) => spent ? [{ row, spent }] : []));
  if (bars.length === 0) {
    box.replaceChildren(el("p", { class: "empty" }, "No model call in this run"));
    return () => {};
  }
  const wide = 100 / Math.max(LEAST_BARS, bars.length);
  const labels = svg("svg", { height: BOTTOM + 14 });
  const plot = svg("svg", { height: BOTTOM + 14, role: "img", "aria-label": "Tokens and cost of each model call" });
  for (const { title, top, tall, parts, say } of BANDS) {
    const most = Math.max(...bars.map(({ spent }) => parts.reduce((sum, kind) => sum + (spent[kind] ?? 0), 0))) || 1;
    labels.append(
      svg("text", { class: "axis title", y: top + 10 }, title),
      svg("text", { class: "axis", y: top + 23 }, say(most)),
    );
    for (const [kind, y] of /** @type {const} */ ([["tick", top], ["ground", top + tall]])) {
      plot.append(svg("line", { class: kind, x2: "100%", y1: y, y2: y }));
    }
    for (const [i, { spent }] of bars.entries()) {
      let y = top + tall;
      for (const kind of parts) {
        const height = tall * (spent[kind] ?? 0) / most;
        y -= height;
        const place = { x: `${i * wide}%`, y, width: `${0.85 * wide}%`, height };
        if (height > 0) plot.append(svg("rect", { class: `bar-part ${kind}`, fill: `var(--${kind})`, ...place }));
      }
    }
  }
  const every = Math.ceil(bars.length / LEAST_BARS);
  for (const [i, { from, calls, spent }] of bars.entries()) {
    const x = `${i * wide}%`;
    if (i % every === 0) plot.append(svg("text", { class: "axis", x, y: BOTTOM + 13 }, String(from + 1)));
    const click = () => go(/** @type {number} */ (calls[0]));
    const place = { x, width: `${wide}%`, height: BOTTOM };
    const words = svg("title", {}, sayBar(from, calls.map((row) => rows[row]?.name ?? ""), spent));
    plot.append(svg("rect", { class: "hit", "data-row": calls.join(" "), click, ...place }, words));
  }
  box.replaceChildren(labels, plot);
  return (/** @type {number} */ row) => {
    plot.querySelector(".chosen")?.classList.remove("chosen");
    plot.querySelector(`[data-row~="${row}"]`)?.classList.add("chosen");
  };
}

/** Some calls in a row share a bar: their mean. @param {readonly { row: number, spent: SpentTokens }[]} all */
function barsOf(all) {
  const size = Math.ceil(all.length / MOST_BARS);
  return Array.from({ length: Math.ceil(all.length / size) || 0 }, (_, i) => {
    const few = all.slice(i * size, (i + 1) * size);
    /** @param {keyof SpentTokens} kind */
    const mean = (kind) => few.reduce((sum, { spent }) => sum + (spent[kind] ?? 0), 0) / few.length;
    const cost = few.some(({ spent }) => spent.cost === null) ? null : mean("cost");
    const [cacheRead, cacheWrite, fresh] = [mean("cacheRead"), mean("cacheWrite"), mean("fresh")];
    const spent = { cacheRead, cacheWrite, fresh, output: mean("output"), cost };
    return { from: i * size, calls: few.map(({ row }) => row), spent };
  });
}

/** @param {number} from @param {readonly string[]} models @param {SpentTokens} spent */
function sayBar(from, models, spent) {
  const prompt = spent.fresh + spent.cacheRead + spent.cacheWrite;
  const one = models.length === 1;
  return [
    ...(one ? [`call ${from + 1}`, ...models] : [`calls ${from + 1}–${from + models.length}, mean`]),
    ...PARTS.filter(([kind]) => spent[kind] > 0).map(([kind, words]) => `${short(spent[kind])} ${words}`),
    ...(prompt > 0 ? [`${Math.round(100 * spent.cacheRead / prompt)} % of the prompt cached`] : []),
    `${short(spent.output)} output`,
    dollars(spent.cost),
  ].join("\n");
}
