import { byId, clock, duration, onWidth, svg } from "./dom.js";

/** @import { RunData } from "./data.js" */
/** @import { Row } from "../shape.ts" */

/** The height of the axis. */
const AXIS = 20;
const GAP = 3;
const GROUP = 10;
const LABEL = 164;
/** The lanes of an agent: which rows, under which name, in which colour. */
const LANES = /** @type {const} */ ([["call", "model", "model"], ["tool", "tools", "tool"], ["fire", "hooks", "hook"]]);

/** @typedef {{ name: string, y: number, title: boolean }} Label */

/** The timeline: for each agent a lane of model calls, one of tools and one of hooks. */
export class Timeline {
  #data;
  #go;
  /** @type {Span[]} */
  #spans = [];
  /** @type {Label[]} */
  #labels = [];
  #height = 0;
  /** The height of a lane: higher if there is only one agent. */
  #lane;
  /** @type {[number, number]} the part that is shown, in milliseconds */
  #window;
  #plot = { start: 0, wide: 1 };
  #over = svg("g");
  /** @type {number | undefined} */
  #selected;

  /** @param {RunData} data @param {(row: number) => void} go */
  constructor(data, go) {
    this.#data = data;
    this.#go = go;
    this.#lane = data.view.agents.length === 1 ? 22 : 14;
    this.#lay();
    this.#window = [0, Math.max(1, data.view.ms)];
    byId("all").addEventListener("click", () => this.whole());
    onWidth(byId("timeline"), () => this.draw());
    startDrag(byId("timeline"), (left, right) => this.#show(left, right));
  }

  /** @param {number} row */
  select(row) {
    this.#selected = row;
    const { at } = /** @type {Row} */ (this.#data.rows[row]);
    if (at < this.#window[0] || at > this.#window[1]) this.whole();
    else this.#drawOver();
  }

  /** Zooms to a range of the drawing. @param {number} left @param {number} right */
  #show(left, right) {
    const [from, to] = this.#window;
    const { start, wide } = this.#plot;
    /** @param {number} x */
    const time = (x) => Math.min(to, Math.max(from, from + ((x - start) / wide) * (to - from)));
    if (time(right) > time(left)) this.#window = [time(left), time(right)];
    this.draw();
  }

  whole() {
    this.#window = [0, Math.max(1, this.#data.view.ms)];
    this.draw();
  }

  /** Puts every span into a lane. */
  #lay() {
    const { rows, view } = this.#data;
    let y = AXIS;
    for (const agent of order(view.agents)) {
      const own = rows.map((row, index) => ({ row, index })).filter(({ row }) => row.agent === agent);
      if (view.agents.length > 1) {
        this.#labels.push({ name: view.agents[agent]?.name ?? "", y: y + (this.#lane + 8) / 2, title: true });
        y += this.#lane + 2;
      }
      for (const [kind, name, colour] of LANES) {
        // Of hooks, those that ran.
        const isShown = (/** @type {Row} */ row) => kind !== "fire" || row.tone !== "quiet" || row.ms > 0;
        const spans = own.filter(({ row }) => row.kind === kind && isShown(row));
        if (spans.length === 0) continue;
        const lanes = stacked(spans.map(({ row, index }) => ({
          row: index,
          from: row.at,
          to: row.at + row.ms,
          lane: 0,
          tone: row.tone,
          colour: row.started === undefined ? colour : "agent",
        })));
        this.#labels.push({ name, y: y + (this.#lane + 8) / 2, title: false });
        for (const span of lanes.spans) this.#spans.push({ ...span, lane: y + span.lane * (this.#lane + GAP) });
        y += lanes.depth * (this.#lane + GAP);
      }
      y += GROUP;
    }
    this.#height = y;
  }

  /** @param {number} ms */
  #x(ms) {
    const [from, to] = this.#window;
    return this.#plot.start + ((ms - from) / (to - from)) * this.#plot.wide;
  }

  draw() {
    const box = byId("timeline");
    const width = Math.max(240, box.clientWidth);
    const label = width < 620 ? 92 : LABEL;
    const [from, to] = this.#window;
    const wide = width - label - 8;
    this.#plot = { start: label, wide };
    const picture = svg("svg", { width, height: this.#height, role: "img", "aria-label": "Timeline of the run" });
    const room = svg("rect", { x: label - 3, y: 0, width: wide + 8, height: this.#height });
    picture.append(svg("defs", {}, svg("clipPath", { id: "plot" }, room)));
    picture.append(...drawAxis({ from, to, wide, left: label, bottom: this.#height - GROUP }));
    for (const { name, y, title } of this.#labels) {
      // The name of an agent has a line of its own.
      const most = Math.floor((title ? width : label) / 7.4);
      const shown = name.length > most ? `${name.slice(0, most - 1)}…` : name;
      const place = { x: title ? 0 : 10, y, class: title ? "who" : "kind" };
      picture.append(svg("text", place, shown, svg("title", {}, name)));
    }
    const plot = svg("g", { "clip-path": "url(#plot)" });
    plot.append(...this.#merged(), this.#over);
    this.#drawOver();
    picture.append(plot);
    box.replaceChildren(picture);
  }

  /** Draws the selected row on a layer of its own, as it changes often. */
  #drawOver() {
    if (this.#selected === undefined) return;
    const at = this.#x(/** @type {Row} */ (this.#data.rows[this.#selected]).at);
    this.#over.replaceChildren(svg("line", { class: "now", x1: at, x2: at, y1: AXIS - 4, y2: this.#height - GROUP }));
  }

  /**
   * Spans on the same pixels are drawn as one, so that there are never more shapes than the screen has columns. The
   * most severe one decides the colour.
   */
  *#merged() {
    const SEVERITY = ["quiet", "plain", "good", "changed", "denied", "bad"];
    /** @type {{ x: number, end: number, span: Span, count: number } | undefined} */
    let open;
    const flush = () => open ? [this.#shape(open)] : [];
    for (const span of this.#spans) {
      if (span.to < this.#window[0] || span.from > this.#window[1]) continue;
      const left = this.#x(span.from), right = Math.max(this.#x(span.to) - 0.5, left + 3);
      if (open && open.span.lane === span.lane && left < open.x + 3 && right < open.end + 3 && right - left < 6) {
        open.end = Math.max(open.end, right);
        open.count++;
        if (SEVERITY.indexOf(span.tone) > SEVERITY.indexOf(open.span.tone)) open.span = span;
        continue;
      }
      yield* flush();
      open = { x: left, end: right, span, count: 1 };
    }
    yield* flush();
  }

  /** @param {{ x: number, end: number, span: Span, count: number }} merged */
  #shape({ x, end, span, count }) {
    const row = /** @type {Row} */ (this.#data.rows[span.row]);
    const name = row.kind === "call" ? row.key.replace("-", " ") : row.name;
    const when = `${duration(row.ms)} at ${clock(row.at)}${count > 1 ? ` · ${count} here` : ""}`;
    return svg("rect", {
      class: `span ${row.kind} ${span.tone}`,
      fill: `var(--${span.colour})`,
      x,
      y: span.lane,
      width: end - x,
      height: this.#lane,
      rx: 2,
      click: () => this.#go(row.about ?? span.row),
    }, svg("title", {}, [name, row.line, when].join("\n")));
  }
}

/** A shorter drag, in pixels, is a click. */
const LEAST_DRAG = 6;

/**
 * Lets a range of a drawing be chosen by dragging over it.
 *
 * @param {HTMLElement} box
 * @param {(from: number, to: number) => void} chosen in pixels from the left of the box
 */
function startDrag(box, chosen) {
  /** @type {number | undefined} */
  let from;
  const shade = svg("rect", { class: "shade", y: 0, height: "100%" });
  /** @param {PointerEvent} event */
  const at = (event) => event.clientX - box.getBoundingClientRect().left;
  box.addEventListener("pointerdown", (event) => {
    if (event.button === 0) from = at(event);
  });
  addEventListener("pointermove", (event) => {
    if (from === undefined || Math.abs(at(event) - from) < LEAST_DRAG) return;
    shade.setAttribute("x", String(Math.min(from, at(event))));
    shade.setAttribute("width", String(Math.abs(at(event) - from)));
    if (!shade.isConnected) box.firstElementChild?.append(shade);
  });
  addEventListener("pointerup", (event) => {
    const start = from;
    from = undefined;
    if (!shade.isConnected || start === undefined) return;
    shade.remove();
    // The click that ends a drag must not select a row.
    addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
    setTimeout(() => chosen(Math.min(start, at(event)), Math.max(start, at(event))));
  });
}

/** How many calls that run at the same time are drawn below each other. */
const STACK = 4;

/** @typedef {{ row: number, from: number, to: number, lane: number, tone: string, colour: string }} Span */

/** Agents, each below the one that started it. @param {readonly { parent: number }[]} agents @returns {number[]} */
function order(agents) {
  /** @param {number} parent @returns {number[]} */
  const below = (parent) =>
    agents.flatMap((agent, i) => agent.parent === parent && i !== parent ? [i, ...below(i)] : []);
  const found = below(-1);
  const seen = new Set(found);
  return [...found, ...[...agents.keys()].filter((i) => !seen.has(i))];
}

/** @param {Span[]} spans @returns {{ spans: Span[], depth: number }} */
function stacked(spans) {
  /** @type {number[]} */
  const ends = [];
  const placed = spans.map((span) => {
    let lane = ends.findIndex((end) => end <= span.from);
    if (lane < 0) lane = ends.length < STACK ? ends.length : ends.indexOf(Math.min(...ends));
    ends[lane] = Math.max(ends[lane] ?? 0, span.to);
    return { ...span, lane };
  });
  return { spans: placed.sort((a, b) => a.lane - b.lane || a.from - b.from), depth: ends.length };
}

/**
 * The axis of the timeline: a line and a label at round times.
 *
 * @param {{ from: number, to: number, wide: number, left: number, bottom: number }} about
 * @returns {SVGElement[]}
 */
function drawAxis({ from, to, wide, left, bottom }) {
  /** @type {SVGElement[]} */
  const shapes = [];
  const rough = (to - from) / Math.max(2, Math.floor(wide / 110));
  const step = STEPS.find((step) => step >= rough) ?? rough;
  const digits = step < 1000 ? 3 : 0;
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const x = left + ((at - from) / (to - from)) * wide;
    const anchor = x > left + wide - 40 ? "end" : "start";
    shapes.push(
      svg("line", { class: "tick", x1: x, x2: x, y1: AXIS - 4, y2: bottom }),
      svg("text", { class: "axis", x, y: 11, "text-anchor": anchor }, clock(at, digits)),
    );
  }
  return shapes;
}

/** Between two lines of the axis, in milliseconds. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((seconds) => seconds * 1000),
);
