import { byId } from "./dom.js";
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
  #quiet = /** @type {HTMLInputElement} */ (byId("quiet"));
  /** Only the rows of this agent; empty for all. */
  #agent = /** @type {HTMLSelectElement} */ (byId("agent"));
  list = new List();

  /** @param {RunData} data */
  constructor(data) {
    this.#data = data;
    for (const button of tabs()) button.addEventListener("click", () => this.show(/** @type {Tab} */ (button.value)));
    byId("filters").addEventListener("change", () => this.show(this.#tab));
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
    for (const button of tabs()) button.setAttribute("aria-selected", String(button.value === tab));
    byId("filters").hidden = tab === "hooks";
    byId("quiet-hooks").hidden = tab === "edits" || view.totals.fires === 0;
  }

  /** @param {Row} row */
  #isShown(row) {
    if (this.#agent.value !== "" && row.agent !== Number(this.#agent.value)) return false;
    return this.#tab === "edits" ? row.edit !== undefined : this.#quiet.checked || row.tone !== "quiet";
  }

  /** Shows a row, and changes the tab and filters that hide it. @param {number} index @returns {void} */
  go(index) {
    const row = this.#data.rows[index];
    if (!row) return;
    if (row.about !== undefined) return this.go(row.about);
    if (this.#tab === "hooks" || !this.#isShown(row)) {
      if (row.edit === undefined || this.#tab === "hooks") this.#tab = "conversation";
      if (row.tone === "quiet") this.#quiet.checked = true;
      if (row.agent !== Number(this.#agent.value)) this.#agent.value = "";
      this.show(this.#tab);
    }
    this.list.go(index);
  }

  /** @param {1 | -1} by @param {(row: Row) => boolean} [wanted] */
  step(by, wanted = () => true) {
    if (this.#tab === "hooks") this.show("conversation");
    this.list.step(by, (index) => wanted(/** @type {Row} */ (this.#data.rows[index])));
  }

  /** Goes to the row or hook in the address. */
  #follow() {
    const { hash } = location;
    if (hash.startsWith("#hook-")) {
      this.show("hooks");
      const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (byId("hooks").querySelectorAll("h3 a"));
      [...links].find((link) => link.hash === hash)?.scrollIntoView({ block: "center" });
    } else this.go(this.#data.rows.findIndex(({ key }) => `#${key}` === hash));
  }
}

function tabs() {
  return /** @type {NodeListOf<HTMLButtonElement>} */ (byId("tabs").querySelectorAll("button"));
}
