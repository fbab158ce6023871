import { RunData, whenWhole } from "./data.js";
import { dollars, duration, el, short } from "./dom.js";
import { startKeys } from "./keys.js";
import { Pairs } from "./pairs.js";

/** @import { Totals } from "../shape.ts" */

/** The page of two runs side by side. */
const runs = /** @type {const} */ ([new RunData(0), new RunData(1)]);

/**
 * What is compared: a name, the value, and how it is shown.
 *
 * @type {readonly (readonly [string, (totals: Totals, ms: number) => number | null, (n: number) => string])[]}
 */
const MEASURES = [
  ["time", (_, ms) => ms, duration],
  ["model calls", ({ calls }) => calls, String],
  ["tool calls", ({ tools }) => tools, String],
  ["edits", ({ edits }) => edits, String],
  ["problems", ({ problems }) => problems, String],
  ["denied or sent back", ({ denied }) => denied, String],
  ["prompt tokens", ({ spent }) => spent.fresh + spent.cacheRead + spent.cacheWrite, short],
  ["of these from the cache", ({ spent }) => spent.cacheRead, short],
  ["output tokens", ({ spent }) => spent.output, short],
  ["cost", ({ spent }) => spent.cost, dollars],
];

// Two requests have none.
document.getElementById("differences")?.replaceChildren(drawMeasures());

function drawMeasures() {
  const [a, b] = runs.map(({ view }) => view);
  if (!a || !b) return "";
  return el(
    "table",
    { class: "measures" },
    el("thead", {}, el("tr", {}, ...["", "A", "B", ""].map((name) => el("th", {}, name)))),
    el(
      "tbody",
      {},
      ...MEASURES.map(([name, of, say]) => {
        const one = of(a.totals, a.ms), other = of(b.totals, b.ms);
        const delta = one === null || other === null ? 0 : other - one;
        const [tone, sign] = delta > 0 ? ["denied", "+"] : delta < 0 ? ["good", "−"] : [""];
        return el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          el("td", {}, one === null ? "unknown" : say(one)),
          el("td", {}, other === null ? "unknown" : say(other)),
          el("td", { class: `delta ${tone}` }, delta === 0 ? "same" : `${sign}${say(Math.abs(delta))}`),
        );
      }),
    ),
  );
}

whenWhole(() => {
  for (const run of runs) run.complete();
  const pairs = new Pairs(runs);
  const differs = (/** @type {number} */ index) => pairs.isDifference(index);
  startKeys([
    [["j", "ArrowDown"], "next pair", () => pairs.list.step(1)],
    [["k", "ArrowUp"], "previous pair", () => pairs.list.step(-1)],
    [["x", "d"], "next difference", () => pairs.list.step(1, differs)],
    [["X", "D"], "previous difference", () => pairs.list.step(-1, differs)],
    [["Enter", "o"], "open or close the pair", () => pairs.list.toggleSelected()],
  ]);
  performance.mark("whole");
});
