import { drawChart } from "./chart.js";
import { RunData, whenWhole } from "./data.js";
import { byId, dollars, duration, el, many, short } from "./dom.js";
import { startKeys } from "./keys.js";
import { drawTimeline } from "./timeline.js";
import { Reader } from "./reader.js";

const TABS = /** @type {const} */ (["conversation", "edits", "hooks"]);

/** The page of one run. */
const data = new RunData(0);
byId("stats").replaceChildren(...drawStats());
const reader = new Reader(data);
performance.mark("first-rows");

whenWhole(() => {
  data.complete();
  /** @param {number} row */
  const go = (row) => reader.go(row);
  const marks = [drawTimeline(data, go), drawChart(data, go)];
  reader.list.onSelect = (row) => marks.forEach((mark) => mark(row));
  reader.begin();
  startKeys([
    [["j", "ArrowDown"], "next row", () => reader.step(1)],
    [["k", "ArrowUp"], "previous row", () => reader.step(-1)],
    [["J"], "next model call", () => reader.step(1, (row) => row.kind === "call")],
    [["K"], "previous model call", () => reader.step(-1, (row) => row.kind === "call")],
    [["e"], "next edit", () => reader.step(1, (row) => row.edit !== undefined)],
    [["x"], "next problem or denial", () => reader.step(1, (row) => row.tone === "bad" || row.tone === "denied")],
    [["Enter", "o"], "open or close the row", () => reader.list.toggleSelected()],
    [["1", "2", "3"], TABS.join(", "), (key) => reader.show(TABS[Number(key) - 1] ?? "conversation")],
  ]);
  performance.mark("whole");
});

function drawStats() {
  const { totals: { spent, calls, tools, problems, denied, edits }, ms, hooks } = data.view;
  const prompt = spent.fresh + spent.cacheRead + spent.cacheWrite;
  const cached = prompt === 0 ? "" : `${Math.round(100 * spent.cacheRead / prompt)} % from the cache`;
  /** @type {readonly (readonly [name: string, value: string, more: string])[]} */
  const stats = [
    ["time", duration(ms), many(calls, "model call")],
    ["tools", String(tools), problems > 0 ? many(problems, "problem") : many(edits, "edit")],
    ["hooks", String(hooks.length), denied > 0 ? `${denied} denied or sent back` : "nothing denied"],
    ["prompt tokens", short(prompt), cached],
    ["output tokens", short(spent.output), calls === 0 ? "" : `${short(spent.output / calls)} per call`],
    [
      "cost",
      spent.cost === null ? "unknown" : dollars(spent.cost),
      spent.cost === null ? "price of a model unknown" : "at list price",
    ],
  ];
  return stats.map(([name, value, more]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "more" }, more))
  );
}
