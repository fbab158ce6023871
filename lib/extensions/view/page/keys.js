import { byId, el } from "./dom.js";

/** @typedef {readonly [keys: readonly string[], about: string, act: (key: string) => void]} Key */

/** @type {Record<string, string>} */
const SHOWN = { ArrowDown: "↓", ArrowUp: "↑" };

/** Handles keys and lists them under `?`. @param {readonly Key[]} keys */
export function startKeys(keys) {
  const help = byId("help");
  /** @type {readonly Key[]} */
  const all = [...keys, [["?"], "this list", () => help.togglePopover()]];
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
  const acts = new Map(all.flatMap(([names, , act]) => names.map((name) => /** @type {const} */ ([name, act]))));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (help.matches(":popover-open") && event.key !== "?") return;
    // These have keys of their own.
    const focused = event.target instanceof HTMLElement && event.target.closest("button, a, summary, input, select");
    if (focused && (event.key === "Enter" || focused instanceof HTMLSelectElement)) return;
    const act = acts.get(event.key);
    if (!act) return;
    event.preventDefault();
    act(event.key);
  });
}
