import { el } from "./dom.js";

/** So many rows are drawn and dropped together. */
const BLOCK = 20;
/** How far beyond the screen rows are drawn. */
const MARGIN = "1000px 0px";

/**
 * A list of any length: only what is near the screen is drawn. The window scrolls, and a block that is not drawn has
 * the height it had last, or a guess; the browser's scroll anchoring keeps the view still when a guess was wrong.
 */
export class List {
  /** @type {HTMLElement} */
  #box;
  /** @type {(item: number) => HTMLElement} */
  #draw;
  /** @type {(item: number) => number} */
  #guess;
  /** @type {readonly number[]} */
  items = [];
  /** @type {Map<number, number>} item → place in the list */
  #places = new Map();
  /** @type {HTMLElement[]} */
  #blocks = [];
  /** @type {Set<number>} */
  #drawn = new Set();
  #all = false;
  #observer;

  /**
   * @param {HTMLElement} box
   * @param {{ draw: (item: number) => HTMLElement, guess: (item: number) => number }} options
   */
  constructor(box, { draw, guess }) {
    this.#box = box;
    this.#draw = draw;
    this.#guess = guess;
    this.#observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const block = Number(/** @type {HTMLElement} */ (target).dataset.block);
        if (isIntersecting) this.#fill(block);
        else if (!this.#all) this.#empty(block);
      }
    }, { rootMargin: MARGIN });
  }

  /** @param {readonly number[]} items */
  show(items) {
    this.#observer.disconnect();
    this.items = items;
    this.#places = new Map(items.map((item, place) => [item, place]));
    this.#drawn.clear();
    this.#blocks = [];
    for (let start = 0; start < items.length; start += BLOCK) {
      const block = el("div", { class: "block", "data-block": this.#blocks.length });
      let height = 0;
      for (const item of items.slice(start, start + BLOCK)) height += this.#guess(item);
      block.style.height = `${height}px`;
      this.#blocks.push(block);
    }
    this.#box.replaceChildren(...this.#blocks);
    // The first screen must not wait for an observer.
    if (this.#blocks.length > 0) this.#fill(0);
    for (const block of this.#blocks) this.#observer.observe(block);
    if (this.#all) this.drawAll(true);
  }

  /**
   * Draws every row, for print; or goes back to those near the screen.
   *
   * @param {boolean} all
   */
  drawAll(all) {
    this.#all = all;
    if (all) { for (const block of this.#blocks.keys()) this.#fill(block); }
  }

  /** @param {number} index */
  #fill(index) {
    const block = this.#blocks[index];
    if (!block || this.#drawn.has(index)) return;
    this.#drawn.add(index);
    block.style.height = "";
    block.append(...this.items.slice(index * BLOCK, (index + 1) * BLOCK).map(this.#draw));
    this.onDrawn();
  }

  /** @param {number} index */
  #empty(index) {
    const block = this.#blocks[index];
    if (!block || !this.#drawn.delete(index)) return;
    block.style.height = `${block.getBoundingClientRect().height}px`;
    block.replaceChildren();
  }

  /** Called whenever rows were drawn. */
  onDrawn = () => {};

  /** Draws again what is drawn, where its data has changed. */
  redraw() {
    for (const index of this.#drawn) {
      this.#blocks[index]?.replaceChildren(...this.items.slice(index * BLOCK, (index + 1) * BLOCK).map(this.#draw));
    }
    this.onDrawn();
  }

  /**
   * Draws one row again in its place.
   *
   * @param {number} item
   */
  update(item) {
    const old = this.element(item);
    if (!old) return undefined;
    const now = this.#draw(item);
    old.replaceWith(now);
    this.onDrawn();
    return now;
  }

  /** @param {number} item */
  has(item) {
    return this.#places.has(item);
  }

  /** @param {number} item */
  placeOf(item) {
    return this.#places.get(item) ?? -1;
  }

  /**
   * A row's element, where it is drawn.
   *
   * @param {number} item
   * @returns {HTMLElement | undefined}
   */
  element(item) {
    const place = this.#places.get(item);
    if (place === undefined || !this.#drawn.has(Math.floor(place / BLOCK))) return undefined;
    return /** @type {HTMLElement | undefined} */ (this.#blocks[Math.floor(place / BLOCK)]?.children[place % BLOCK]);
  }

  /**
   * Brings a row to the screen, drawn. Rows around it are drawn on the way, so it is looked for again once they are.
   *
   * @param {number} item
   * @param {ScrollLogicalPosition} where
   */
  reveal(item, where) {
    const place = this.#places.get(item);
    if (place === undefined) return;
    const block = Math.floor(place / BLOCK);
    this.#fill(block - 1);
    this.#fill(block);
    this.#fill(block + 1);
    const go = () => this.element(item)?.scrollIntoView({ block: where, behavior: "instant" });
    go();
    requestAnimationFrame(() => requestAnimationFrame(go));
  }
}
