import { byId, el } from "./dom.js";

/**
 * Shows a few lines beside the pointer.
 *
 * @param {{ clientX: number, clientY: number }} at
 * @param {readonly (string | Node)[]} lines
 */
export function showTip(at, lines) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.map((line) => el("div", {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(at.clientX + 14, innerWidth - width - 8);
  const top = at.clientY + 18 + height > innerHeight ? at.clientY - height - 10 : at.clientY + 18;
  tip.style.transform = `translate(${Math.max(8, left)}px, ${top}px)`;
}

export function hideTip() {
  byId("tip").hidden = true;
}
