import { duration, svg } from "./dom.js";

/** Its height. */
export const AXIS = 20;

/**
 * The axis of the timeline: a line and a label at round times or step numbers.
 *
 * @param {{ from: number, to: number, inTime: boolean, wide: number, left: number, bottom: number }} about
 * @returns {SVGElement[]}
 */
export function drawAxis({ from, to, inTime, wide, left, bottom }) {
  /** @type {SVGElement[]} */
  const shapes = [];
  const step = niceStep(to - from, Math.max(2, Math.floor(wide / 110)), inTime);
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const x = left + ((at - from) / (to - from)) * wide;
    shapes.push(
      svg("line", { class: "tick", x1: x, x2: x, y1: AXIS - 4, y2: bottom }),
      svg(
        "text",
        { class: "axis", x, y: 11, "text-anchor": x > left + wide - 40 ? "end" : "start" },
        inTime ? timeName(at, step) : String(Math.round(at)),
      ),
    );
  }
  return shapes;
}

/**
 * Labels next to each other must differ.
 *
 * @param {number} ms
 * @param {number} step
 */
function timeName(ms, step) {
  if (ms < 60_000) return duration(ms);
  const pad = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const seconds = Math.floor(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const fraction = step < 1000 ? `.${String(Math.round(ms % 1000)).padStart(3, "0")}` : "";
  return `${hours > 0 ? `${hours}:${pad(minutes)}` : minutes}:${pad(seconds % 60)}${fraction}`;
}

/**
 * @param {number} range
 * @param {number} ticks
 * @param {boolean} time
 */
function niceStep(range, ticks, time) {
  const rough = range / ticks;
  if (time && rough > 1000) {
    const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) =>
      s * 1000
    );
    return steps.find((step) => step >= rough) ?? Math.ceil(rough / 86_400_000) * 86_400_000;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return Math.max(1, power * (/** @type {number} */ ([1, 2, 5, 10].find((n) => n * power >= rough))));
}
