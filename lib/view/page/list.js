import { el } from "./dom.js";

/** How many items are drawn and dropped together. */
const BLOCK = 20;
/** The height of an item that was never drawn, in pixels. */
const CLOSED = 40;
const OPEN = 200;
/** How far beyond the screen items are drawn. */
const MARGIN = "1000px 0px";

/**
 * @typedef {object} ListOptions
 * @property {(item: number) => HTMLElement} draw
 * @property {(item: number) => boolean} open whether an item is open at first
 */

/**
 * A list of any length whose items can be opened and selected. Only items near the screen are drawn. The window scrolls;
 * a block that is not drawn keeps its last height, or a guess, and the browser's scroll anchoring corrects the guess.
 */
export class List {
  /** @type {HTMLElement} */
  #box;
  /** @type {ListOptions} */
  #options;
  /** @type {readonly number[]} */
  items = [];
  /** @type {Map<number, number>} item → position in the list */
  #positions = new Map();
  /** @type {Map<number, boolean>} items that the user opened or closed */
  #opened = new Map();
  /** @type {number | undefined} */
  selected;
  /** @type {HTMLElement[]} */
  #blocks = [];
  /** @type {Set<number>} */
  #drawn = new Set();
  #observer;
  /** Called whenever items were drawn. */
  onDrawn = () => {};

  /**
   * @param {HTMLElement} box
   * @param {ListOptions} options
   */
  constructor(box, options) {
    this.#box = box;
    this.#options = options;
    this.#observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const block = Number(/** @type {HTMLElement} */ (target).dataset.block);
        if (isIntersecting) this.#fill(block);
        else this.#empty(block);
      }
    }, { rootMargin: MARGIN });
  }

  /** @param {readonly number[]} items */
  show(items) {
    this.#observer.disconnect();
    this.items = items;
    this.#positions = new Map(items.map((item, position) => [item, position]));
    this.#drawn.clear();
    this.#blocks = [];
    for (let start = 0; start < items.length; start += BLOCK) {
      const block = el("div", { class: "block", "data-block": this.#blocks.length });
      const guesses = items.slice(start, start + BLOCK).map((item) => this.isOpen(item) ? OPEN : CLOSED);
      block.style.height = `${guesses.reduce((sum, guess) => sum + guess, 0)}px`;
      this.#blocks.push(block);
    }
    this.#box.replaceChildren(...this.#blocks);
    // The first screen must not wait for an observer.
    if (this.#blocks.length > 0) this.#fill(0);
    for (const block of this.#blocks) this.#observer.observe(block);
  }

  /** @param {number} item */
  #draw(item) {
    const element = this.#options.draw(item);
    if (item === this.selected) element.classList.add("selected");
    return element;
  }

  /** @param {number} index */
  #fill(index) {
    const block = this.#blocks[index];
    if (!block || this.#drawn.has(index)) return;
    this.#drawn.add(index);
    block.style.height = "";
    block.append(...this.items.slice(index * BLOCK, (index + 1) * BLOCK).map((item) => this.#draw(item)));
    this.onDrawn();
  }

  /** @param {number} index */
  #empty(index) {
    const block = this.#blocks[index];
    if (!block || !this.#drawn.delete(index)) return;
    block.style.height = `${block.getBoundingClientRect().height}px`;
    block.replaceChildren();
  }

  /** @param {number} item */
  isOpen(item) {
    return this.#opened.get(item) ?? this.#options.open(item);
  }

  /**
   * Opens or closes an item.
   *
   * @param {number | undefined} item
   * @param {boolean} [open]
   */
  toggle(item, open = item !== undefined && !this.isOpen(item)) {
    if (item === undefined) return;
    this.#opened.set(item, open);
    this.#element(item)?.replaceWith(this.#draw(item));
    this.onDrawn();
  }

  /** @param {number} item */
  select(item) {
    if (this.selected !== undefined) this.#element(this.selected)?.classList.remove("selected");
    this.selected = item;
    this.#element(item)?.classList.add("selected");
  }

  /**
   * The next item that is wanted, before or after the selected one.
   *
   * @param {1 | -1} by
   * @param {(item: number) => boolean} wanted
   */
  next(by, wanted) {
    const at = this.#positions.get(this.selected ?? -1) ?? (by > 0 ? -1 : this.items.length);
    const rest = by > 0 ? this.items.slice(at + 1) : this.items.slice(0, at).reverse();
    return rest.find(wanted);
  }

  /** @param {number} item */
  has(item) {
    return this.#positions.has(item);
  }

  /**
   * The element of an item, if it is drawn.
   *
   * @param {number} item
   * @returns {HTMLElement | undefined}
   */
  #element(item) {
    const position = this.#positions.get(item);
    if (position === undefined || !this.#drawn.has(Math.floor(position / BLOCK))) return undefined;
    const block = this.#blocks[Math.floor(position / BLOCK)];
    return /** @type {HTMLElement | undefined} */ (block?.children[position % BLOCK]);
  }

  /**
   * Scrolls to an item. Drawing the items around it may move it, so this scrolls again once they are drawn.
   *
   * @param {number} item
   * @param {ScrollLogicalPosition} where
   */
  reveal(item, where) {
    const position = this.#positions.get(item);
    if (position === undefined) return;
    const block = Math.floor(position / BLOCK);
    for (const near of [block - 1, block, block + 1]) this.#fill(near);
    const go = () => this.#element(item)?.scrollIntoView({ block: where, behavior: "instant" });
    go();
    requestAnimationFrame(() => requestAnimationFrame(go));
  }
}
