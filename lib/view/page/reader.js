import { byId, el } from "./dom.js";
import { drawHooks } from "./hooks.js";
import { List } from "./list.js";
import { drawRow } from "./row.js";

/** @import { RunData } from "./data.js" */
/** @import { Row } from "../shape.ts" */

/** @typedef {"conversation" | "edits" | "hooks"} Tab */

/** The rows of a run, by tab and filter. */
export class Reader {
  #data;
  /** @type {Tab} */
  #tab = "conversation";
  #quiet = false;
  /** @type {number | undefined} only the rows of this agent */
  #agent;
  list = new List();

  /** @param {RunData} data */
  constructor(data) {
    this.#data = data;
    this.draw();
  }

  /** Draws the rows that are loaded. */
  draw() {
    const { rows } = this.#data;
    const indexes = [...rows.keys()].filter((index) => rows[index]?.about === undefined);
    this.list.draw(new Map(indexes.map((index) => [index, drawRow(this.#data, index)])));
    this.show(this.#tab);
  }

  /** Follows links, once all rows are loaded. */
  begin() {
    this.draw();
    addEventListener("hashchange", () => this.#follow());
    this.#follow();
  }

  /** @param {Tab} tab */
  show(tab) {
    this.#tab = tab;
    const { rows, view } = this.#data;
    byId("list").hidden = tab === "hooks";
    byId("hooks").hidden = tab !== "hooks";
    if (tab === "hooks") byId("hooks").replaceChildren(...drawHooks(this.#data));
    else this.list.show((index) => this.#isShown(/** @type {Row} */ (rows[index])));
    byId("no-edits").hidden = tab !== "edits" || view.totals.edits > 0;
    if (tab === "edits") {
      for (const details of byId("list").querySelectorAll(".row:not([hidden]) > .what > details")) {
        details.setAttribute("open", "");
      }
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
    return this.#tab === "edits" ? row.edit !== undefined : this.#quiet || row.tone !== "quiet";
  }

  /**
   * Shows a row, and changes the tab and filters that hide it.
   *
   * @param {number} index
   * @returns {void}
   */
  go(index) {
    const row = this.#data.rows[index];
    if (!row) return;
    if (row.about !== undefined) return this.go(row.about);
    if (this.#tab === "hooks" || !this.#isShown(row)) {
      if (row.edit === undefined || this.#tab === "hooks") this.#tab = "conversation";
      if (row.tone === "quiet") this.#quiet = true;
      if (row.agent !== this.#agent) this.#agent = undefined;
      this.show(this.#tab);
    }
    this.list.go(index);
  }

  /**
   * @param {1 | -1} by
   * @param {(row: Row) => boolean} [wanted]
   */
  step(by, wanted = () => true) {
    if (this.#tab === "hooks") this.show("conversation");
    this.list.step(by, (index) => wanted(/** @type {Row} */ (this.#data.rows[index])));
  }

  /** Goes to the row or hook in the address. */
  #follow() {
    const key = decoded(location.hash.slice(1));
    if (key.startsWith("hook-")) {
      this.show("hooks");
      document.getElementById(key)?.scrollIntoView({ block: "center" });
    } else this.go(this.#data.rows.findIndex((row) => row.key === key));
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
