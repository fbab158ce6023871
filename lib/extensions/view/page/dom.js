/** @typedef {Record<string, string | number | boolean | undefined | ((event: any) => void)>} Attributes */
/** @typedef {Node | string | undefined | null | false} Child */

/** A string becomes text, never markup. @param {string} tag @param {Attributes} attributes @param {...Child} children */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** @param {string} tag @param {Attributes} attributes @param {...Child} children */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return filled(/** @type {SVGElement} */ (element), attributes, children);
}

/** @template {Element} E @param {E} element @param {Attributes} attributes @param {readonly Child[]} children */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** An element that is always on the page. @param {string} id */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
  const seconds = Math.floor(ms / 1000) % 60;
  return seconds === 0 ? `${minutes} m` : `${minutes} m ${seconds} s`;
}

/** A moment of a run: 4.20s, 1:05, 2:01:05. @param {number} ms @param {number} [digits] of a second */
export function clock(ms, digits = ms < 10_000 ? 2 : ms < 60_000 ? 1 : 0) {
  const rest = (Math.floor(ms % 60_000 / 10 ** (3 - digits)) / 10 ** digits).toFixed(digits);
  if (ms < 60_000) return `${rest}s`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = rest.padStart(digits > 0 ? digits + 3 : 2, "0");
  if (minutes < 60) return `${minutes}:${seconds}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${seconds}`;
}

/** @param {number} n */
export function short(n) {
  if (n < 1000) return String(Math.round(n));
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(2)}M`;
}

/** @param {number | null} cost */
export function dollars(cost) {
  if (cost === null) return "cost unknown";
  return `$${cost.toFixed(cost === 0 ? 0 : cost < 0.01 ? 5 : cost < 1 ? 4 : 2)}`;
}

/** @param {number} n @param {string} what */
export function many(n, what) {
  return `${n.toLocaleString("en-US")} ${what}${n === 1 ? "" : "s"}`;
}
