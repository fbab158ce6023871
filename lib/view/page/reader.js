import { byId, el } from "./dom.js";
import { drawHooks } from "./hooks.js";
import { List } from "./list.js";
import { drawRow } from "./row.js";
import { findRows, highlight, Search } from "./search.js";

/** @import { RunData } from "./data.js" */
/** @import { Row } from "../shape.ts" */

/** @typedef {"conversation" | "edits" | "hooks"} Tab */

/** The rows of a run, by tab and filter. */
export class Reader {
  #data;
  /** @type {Tab} */
  #tab = "conversation";
  /** @type {List} */
  #list;
  #quiet = false;
  /** @type {number | undefined} only the rows of this agent */
  #agent;
  /** @type {(row: number) => void} */
  onSelect = () => {};

  /** @param {RunData} data */
  constructor(data) {
    this.#data = data;
    this.#list = new List(byId("list"), {
      draw: (index) => this.#draw(index),
      open: (index) => this.#tab === "edits" || /** @type {Row} */ (data.rows[index]).open,
    });
    this.#list.onDrawn = () => this.#highlightSoon();
    this.search = new Search({
      find: (wanted) => findRows(data, wanted),
      found: () => highlight(byId("list"), this.search.wanted),
      go: (row) => {
        this.go(row);
        this.#list.toggle(row, true);
      },
      selected: () => this.#list.selected,
    });
  }

  /** Handles clicks, search and links, once all rows are loaded. */
  begin() {
    this.show(this.#tab);
    this.search.begin();
    addEventListener("hashchange", () => this.#follow());
    byId("list").addEventListener("click", (event) => {
      const row = event.target instanceof Element && event.target.closest("[data-row]");
      if (row) this.select(Number(row.getAttribute("data-row")));
    });
    this.#follow();
  }

  /** @param {Tab} tab */
  show(tab) {
    this.#tab = tab;
    const { rows, view } = this.#data;
    byId("list").hidden = tab === "hooks";
    byId("hooks").hidden = tab !== "hooks";
    if (tab === "hooks") byId("hooks").replaceChildren(...drawHooks(this.#data));
    else this.#list.show([...rows.keys()].filter((index) => this.#isShown(/** @type {Row} */ (rows[index]))));
    if (tab === "edits" && this.#list.items.length === 0) {
      byId("list").replaceChildren(el("p", { class: "empty" }, "No file was changed by a tool in this run"));
    }
    /** @param {Tab} name @param {string} words @param {number} [count] */
    const button = (name, words, count) =>
      el(
        "button",
        { type: "button", role: "tab", "aria-selected": String(name === tab), click: () => this.show(name) },
        words,
        count !== undefined && el("span", { class: "count" }, String(count)),
      );
    byId("tabs").replaceChildren(
      button("conversation", "Conversation"),
      button("edits", "Edits", view.totals.edits),
      button("hooks", "Hooks", view.hooks.length),
    );
    byId("filters").replaceChildren(...this.#filters());
    this.#highlightSoon();
  }

  #filters() {
    const { agents, totals } = this.#data.view;
    if (this.#tab === "hooks") return [];
    const toggle = () => {
      this.#quiet = !this.#quiet;
      this.show(this.#tab);
    };
    const box = el("input", { type: "checkbox", checked: this.#quiet, change: toggle });
    const quiet = totals.fires > 0 && this.#tab === "conversation" && el("label", {}, box, "quiet hooks");
    if (agents.length < 2) return quiet ? [quiet] : [];
    const choice = el(
      "select",
      {
        "aria-label": "Agent",
        change: (/** @type {Event & { target: HTMLSelectElement }} */ { target }) => {
          this.#agent = target.value === "" ? undefined : Number(target.value);
          this.show(this.#tab);
        },
      },
      el("option", { value: "" }, "all agents"),
      ...agents.map(({ name }, i) => el("option", { value: i, selected: i === this.#agent }, name)),
    );
    return [...(quiet ? [quiet] : []), choice];
  }

  /** @param {Row} row */
  #isShown(row) {
    if (this.#agent !== undefined && row.agent !== this.#agent) return false;
    if (this.#tab === "edits") return row.edit !== undefined;
    return row.about === undefined && (this.#quiet || row.tone !== "quiet");
  }

  /**
   * @param {number} index
   * @returns {HTMLElement}
   */
  #draw(index) {
    return drawRow(this.#data, index, {
      open: this.#list.isOpen(index),
      toggle: () => this.#list.toggle(index),
    });
  }

  toggleSelected() {
    if (this.#tab !== "hooks") this.#list.toggle(this.#list.selected);
  }

  /** @param {number} index */
  select(index) {
    if (index === this.#list.selected) return;
    this.#list.select(index);
    this.onSelect(index);
  }

  /**
   * Shows a row, and changes the tab and filters that hide it.
   *
   * @param {number} index
   * @param {ScrollLogicalPosition} where
   * @returns {void}
   */
  go(index, where = "center") {
    const row = this.#data.rows[index];
    if (!row) return;
    if (row.about !== undefined) return this.go(row.about, where);
    if (this.#tab === "hooks" || (this.#tab === "edits" && row.edit === undefined)) this.#tab = "conversation";
    if (row.tone === "quiet") this.#quiet = true;
    if (row.agent !== this.#agent) this.#agent = undefined;
    if (!this.#list.has(index) || byId("list").hidden) this.show(this.#tab);
    this.select(index);
    this.#list.reveal(index, where);
    history.replaceState(null, "", `#${row.key}`);
  }

  /**
   * @param {1 | -1} by
   * @param {(row: Row) => boolean} [wanted]
   */
  step(by, wanted = () => true) {
    if (this.#tab === "hooks") this.show("conversation");
    const next = this.#list.next(by, (index) => wanted(/** @type {Row} */ (this.#data.rows[index])));
    if (next !== undefined) this.go(next, "nearest");
  }

  #pending = 0;

  #highlightSoon() {
    if (this.search.wanted === "") return;
    cancelAnimationFrame(this.#pending);
    this.#pending = requestAnimationFrame(() => highlight(byId("list"), this.search.wanted));
  }

  /** Goes to the row or hook in the address. */
  #follow() {
    const key = decoded(location.hash.slice(1));
    if (key.startsWith("hook-")) {
      this.show("hooks");
      document.getElementById(key)?.scrollIntoView({ block: "center" });
      return;
    }
    const index = this.#data.keys.get(key);
    if (index !== undefined) this.go(index);
  }
}

/**
 * An address that was cut is used as it is.
 *
 * @param {string} text
 */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
