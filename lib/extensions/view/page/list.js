import { byId } from "./dom.js";

/** The list of rows, or of pairs: every item is an element of the page, and the browser lays out those near the screen. */
export class List {
  /** @type {Map<number, HTMLElement>} */
  #items = new Map();
  /** @type {number | undefined} */
  selected;
  /** @type {(item: number) => void} */
  onSelect = () => {};

  /** @param {Map<number, HTMLElement>} items each with an id, which is its address */
  draw(items) {
    this.#items = items;
    byId("list").replaceChildren(...items.values());
    for (const [item, element] of items) element.addEventListener("click", () => this.select(item));
  }

  /** @param {(item: number) => boolean} isShown */
  show(isShown) {
    for (const [item, element] of this.#items) element.hidden = !isShown(item);
  }

  toggleSelected() {
    for (const details of this.#items.get(this.selected ?? -1)?.querySelectorAll("details.row-body") ?? []) {
      details.toggleAttribute("open");
    }
  }

  /** @param {number} item */
  select(item) {
    if (item === this.selected) return;
    this.#items.get(this.selected ?? -1)?.classList.remove("selected");
    this.selected = item;
    this.#items.get(item)?.classList.add("selected");
    this.onSelect(item);
  }

  /** Goes to the next shown item that is wanted. @param {1 | -1} by @param {(item: number) => boolean} [wanted] */
  step(by, wanted = () => true) {
    const shown = [...this.#items].flatMap(([item, { hidden }]) => hidden ? [] : [item]);
    const at = this.selected ?? (by > 0 ? -1 : Infinity);
    const next = by > 0
      ? shown.find((item) => item > at && wanted(item))
      : shown.findLast((item) => item < at && wanted(item));
    if (next !== undefined) this.go(next, "nearest");
  }

  /**
   * Scrolls again when the items around it are laid out, as that may move it.
   * @param {number} item @param {ScrollLogicalPosition} [where]
   */
  go(item, where = "center") {
    const element = this.#items.get(item);
    if (!element) return;
    this.select(item);
    const scroll = () => element.scrollIntoView({ block: where, behavior: "instant" });
    scroll();
    requestAnimationFrame(() => requestAnimationFrame(scroll));
    history.replaceState(null, "", `#${element.id}`);
  }
}
