import { byId } from "./dom.js";

/** @import { PageData, Row, Section } from "../shape.ts" */

/**
 * @param {string} id
 * @returns {any} undefined if the browser has not parsed that element yet
 */
function parsed(id) {
  const text = byId(id)?.textContent;
  return text ? JSON.parse(text) : undefined;
}

/** The data of one run. Rows and sections arrive while the page loads; long texts are parsed when they are shown. */
export class RunData {
  /** @type {PageData} */
  view;
  /** @type {Row[]} */
  rows;
  /** @type {Map<string, number>} */
  keys = new Map();
  /** @type {readonly number[]} */
  #starts;
  /** @type {Map<number, readonly (readonly Section[])[]>} */
  #chunks = new Map();
  #run;

  /** @param {number} run */
  constructor(run) {
    this.#run = run;
    this.view = parsed(`view-${run}`);
    this.rows = [...this.view.rows];
    this.#starts = parsed("starts")[run];
    this.#index(0);
  }

  /** Reads the remaining rows; call it once the page is loaded. */
  complete() {
    const first = this.rows.length;
    if (first === this.view.count) return;
    for (const row of parsed(`rows-${this.#run}`)) this.rows.push(row);
    this.#index(first);
  }

  /** @param {number} from */
  #index(from) {
    for (let i = from; i < this.rows.length; i++) this.keys.set(/** @type {Row} */ (this.rows[i]).key, i);
  }

  /**
   * The sections of a row; undefined while they are not loaded.
   *
   * @param {number} row
   * @returns {readonly Section[] | undefined}
   */
  sections(row) {
    const start = this.#starts.findLast((first) => first <= row);
    if (start === undefined) return [];
    let chunk = this.#chunks.get(start);
    if (!chunk) {
      chunk = parsed(`sections-${this.#run}-${start}`);
      if (!chunk) return undefined;
      this.#chunks.set(start, chunk);
    }
    return chunk[row - start] ?? [];
  }
}

/**
 * Runs once the page is loaded.
 *
 * @param {() => void} work
 */
export function whenWhole(work) {
  if (document.readyState !== "loading") work();
  else document.addEventListener("DOMContentLoaded", work, { once: true });
}
