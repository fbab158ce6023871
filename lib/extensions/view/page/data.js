import { byId } from "./dom.js";

/** @import { Row, Section, WholeView } from "../shape.ts" */

/** The data of one run: its first rows stand before the script, the rest after it. */
export class RunData {
  /** @type {WholeView} */
  view;
  /** @type {readonly Row[]} */
  rows;
  /** @type {readonly (readonly Section[])[]} */
  sections;
  #run;

  /** @param {number} run */
  constructor(run) {
    this.#run = run;
    this.view = JSON.parse(byId(`view-${run}`).textContent);
    ({ rows: this.rows, sections: this.sections } = this.view);
  }

  /** Reads the remaining rows; call it once the page is loaded. */
  complete() {
    /** @type {Pick<WholeView, "rows" | "sections">} */
    const { rows, sections } = JSON.parse(byId(`rest-${this.#run}`).textContent);
    this.rows = [...this.rows, ...rows];
    this.sections = [...this.sections, ...sections];
  }
}

/** Runs once the page is loaded: this script stands before the end of it. @param {() => void} work */
export function whenWhole(work) {
  document.addEventListener("DOMContentLoaded", work, { once: true });
}
