import { byId, el } from "./dom.js";

/**
 * @typedef {readonly [keys: readonly string[], about: string, act: (key: string) => void]} Key
 */

/** @type {Record<string, string>} */
const SHOWN = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" };

/**
 * Handles keys and lists them under `?`. Keys typed into a field belong to the field.
 *
 * @param {readonly Key[]} keys
 */
export function startKeys(keys) {
  const help = /** @type {HTMLDialogElement} */ (byId("help"));
  const toggle = () => help.open ? help.close() : help.showModal();
  /** @type {readonly Key[]} */
  const all = [...keys, [["?"], "this list", toggle]];
  help.replaceChildren(
    el("h2", {}, "Keys"),
    el(
      "dl",
      {},
      ...all.flatMap(([names, about]) => [
        el("dt", {}, ...names.flatMap((name, i) => [i > 0 && " ", el("kbd", {}, SHOWN[name] ?? name)])),
        el("dd", {}, about),
      ]),
    ),
  );
  help.addEventListener("click", (event) => event.target === help && help.close());
  byId("help-open").addEventListener("click", toggle);
  const acts = new Map(all.flatMap(([names, , act]) => names.map((name) => /** @type {const} */ ([name, act]))));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (typing && event.key !== "Escape") return;
    if (help.open && event.key !== "?") return;
    // Enter presses a focused button anyway.
    if (event.key === "Enter" && event.target instanceof HTMLElement && event.target.closest("button, a, summary")) {
      return;
    }
    const act = acts.get(event.key);
    if (!act) return;
    event.preventDefault();
    act(event.key);
  });
}
