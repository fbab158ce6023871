import { el, many } from "./dom.js";

/**
 * Text of a model or a user: line breaks as they are, with code, headings and emphasis. Only text nodes and plain
 * elements are made, never a link: what a model writes must not be one click from the network.
 *
 * @param {string} text
 * @returns {HTMLElement}
 */
export function drawWords(text) {
  const box = el("div", { class: "words" });
  if (text.length > LONG_WORDS) {
    const rest = el(
      "button",
      { type: "button", class: "more", click: () => box.replaceChildren(...drawParts(text)) },
      `Show all ${many(text.length, "character")}`,
    );
    box.append(...drawParts(text.slice(0, LONG_WORDS)), rest);
  } else box.append(...drawParts(text));
  return box;
}

/** A prompt may be a whole file: its beginning is shown until the user clicks for the rest. */
const LONG_WORDS = 20_000;

/**
 * @param {string} text
 * @returns {Node[]}
 */
function drawParts(text) {
  const box = el("div");
  const parts = text.split(/^(?:```|~~~)(.*)$/m);
  // Between the fences: text, language, code, rest of the fence, text …
  for (let i = 0; i < parts.length; i += 4) {
    drawLines(box, (parts[i] ?? "").replace(/^\n|\n$/g, ""));
    if (i + 2 < parts.length) {
      const language = (parts[i + 1] ?? "").trim();
      box.append(
        el(
          "pre",
          { class: "code", "data-language": language || undefined },
          (parts[i + 2] ?? "").replace(/^\n|\n$/g, ""),
        ),
      );
    }
  }
  return [...box.childNodes];
}

/**
 * @param {HTMLElement} box
 * @param {string} text
 */
function drawLines(box, text) {
  if (text === "") return;
  // A table keeps its columns.
  for (const part of text.split(/((?:^\|.*\|[ \t]*(?:\n|$))+)/m)) {
    const words = part.replace(/^\n|\n$/g, "");
    if (words === "") continue;
    box.append(words.startsWith("|") ? el("pre", { class: "code" }, words) : drawParagraph(words));
  }
}

/** @param {string} text */
function drawParagraph(text) {
  const paragraph = el("p");
  for (const [i, line] of text.split("\n").entries()) {
    if (i > 0) paragraph.append("\n");
    const heading = /^#{1,6}\s+(.*)$/.exec(line);
    if (heading) paragraph.append(el("strong", { class: "heading" }, heading[1]));
    else drawSpans(paragraph, line.replace(/^(\s*)[-*]\s+/, "$1• "));
  }
  return paragraph;
}

/**
 * @param {HTMLElement} box
 * @param {string} line
 */
function drawSpans(box, line) {
  for (const part of line.split(/(`[^`]+`|\*\*[^*]+\*\*)/)) {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) box.append(el("code", {}, part.slice(1, -1)));
    else if (part.length > 4 && part.startsWith("**")) box.append(el("strong", {}, part.slice(2, -2)));
    else if (part !== "") box.append(part);
  }
}
