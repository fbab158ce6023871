import { Chart } from "./chart.js";
import { RunData, whenWhole } from "./data.js";
import { byId } from "./dom.js";
import { startKeys } from "./keys.js";
import { startTheme, switchTheme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { Reader } from "./reader.js";

const TABS = /** @type {const} */ (["conversation", "edits", "hooks"]);

/** The page of one run. */
const data = new RunData(0);
startTheme();
const reader = new Reader(data);
reader.show("conversation");
performance.mark("first-rows");

whenWhole(() => {
  data.complete();
  /** @param {number} row */
  const go = (row) => reader.go(row);
  const timeline = new Timeline(data, go);
  const chart = new Chart(data, go);
  reader.onSelect = (row) => {
    timeline.select(row);
    chart.select(row);
  };
  reader.onFound = (rows) => timeline.mark(rows);
  reader.begin();
  startKeys([
    [["j", "ArrowDown"], "next row", () => reader.step(1)],
    [["k", "ArrowUp"], "row before", () => reader.step(-1)],
    [["J"], "next model call", () => reader.stepTo(1, (row) => row.kind === "call")],
    [["K"], "model call before", () => reader.stepTo(-1, (row) => row.kind === "call")],
    [["e"], "next edit", () => reader.stepTo(1, (row) => row.edit !== undefined)],
    [["x"], "next problem or denial", () => reader.stepTo(1, (row) => row.tone === "bad" || row.tone === "denied")],
    [["Enter", "o"], "open or close the row", () => reader.toggleSelected()],
    [["/"], "search", () => byId("search").focus()],
    [["n"], "next found", () => reader.search.step(1)],
    [["N"], "found before", () => reader.search.step(-1)],
    [["1", "2", "3"], TABS.join(", "), (key) => reader.show(TABS[Number(key) - 1] ?? "conversation")],
    [["s"], "timeline by time or by steps", () => timeline.switchScale()],
    [["+", "="], "zoom in", () => timeline.zoom(0.5)],
    [["-"], "zoom out", () => timeline.zoom(2)],
    [["0"], "the whole timeline", () => timeline.whole()],
    [["h", "ArrowLeft"], "earlier in the timeline", () => timeline.pan(-0.3)],
    [["l", "ArrowRight"], "later in the timeline", () => timeline.pan(0.3)],
    [["t"], "light or dark", switchTheme],
    [["g"], "to the top", () => scrollTo(0, 0)],
    [["G"], "to the end", () => reader.last()],
    [["Escape"], "clear the search, close", () => reader.search.clear()],
  ]);
  performance.mark("whole");
});
