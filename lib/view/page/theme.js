import { byId } from "./dom.js";

const KEPT = "crochet-theme";

/** Follows the system until the user chooses; the choice is stored if the browser allows it for files. */
export function startTheme() {
  try {
    apply(localStorage.getItem(KEPT) ?? "");
  } catch {
    apply("");
  }
  byId("theme").addEventListener("click", switchTheme);
}

export function switchTheme() {
  const now = isDark() ? "light" : "dark";
  apply(now);
  try {
    localStorage.setItem(KEPT, now);
  } catch {
    // The choice holds until the page is closed.
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** @param {string} theme */
function apply(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  byId("theme").textContent = isDark() ? "☀" : "☾";
}
