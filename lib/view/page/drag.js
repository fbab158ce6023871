import { svg } from "./dom.js";

/** A shorter way is a click. */
const LEAST = 6;

/**
 * Lets a stretch of a drawing be chosen by dragging over it.
 *
 * @param {HTMLElement} box
 * @param {(from: number, to: number) => void} chosen in pixels from the left of the box
 */
export function startDrag(box, chosen) {
  /** @type {number | undefined} */
  let from;
  const shade = svg("rect", { class: "shade", y: 0, height: "100%" });
  /** @param {PointerEvent} event */
  const at = (event) => event.clientX - box.getBoundingClientRect().left;
  box.addEventListener("pointerdown", (event) => {
    if (event.button === 0) from = at(event);
  });
  addEventListener("pointermove", (event) => {
    if (from === undefined || Math.abs(at(event) - from) < LEAST) return;
    shade.setAttribute("x", String(Math.min(from, at(event))));
    shade.setAttribute("width", String(Math.abs(at(event) - from)));
    if (!shade.isConnected) box.firstElementChild?.append(shade);
  });
  addEventListener("pointerup", (event) => {
    const start = from;
    from = undefined;
    if (!shade.isConnected || start === undefined) return;
    shade.remove();
    // The click that ends a drag is meant for nobody.
    addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
    setTimeout(() => chosen(Math.min(start, at(event)), Math.max(start, at(event))));
  });
}
