import { duration, el } from "./dom.js";

/** @import { DiffHunk, Section } from "../shape.ts" */

/** Of longer texts the beginning is shown until the reader opens the rest. */
const SHOWN_LINES = 14;
const SHOWN_LENGTH = 1500;

/** @param {Section} section @returns {HTMLElement} */
export function drawSection(section) {
  switch (section.as) {
    case "words":
      return drawWords(section.text);
    case "thinking":
      return el("details", { class: "thinking" }, el("summary", {}, "Thinking"), drawWords(section.text));
    case "output":
      return titled(section.title, section.bad ? "output failed" : "output", printed(section.text));
    case "fields":
      return drawFields(section);
    case "diff":
      return drawDiff(section);
    case "ledger":
      return drawLedger(section, true);
  }
}

/** @param {string} title @param {string} kind @param {Node} content */
function titled(title, kind, content) {
  return el("section", { class: kind }, title && el("h4", {}, title), content);
}

/** An input that the row's line shows is closed at first. @param {Extract<Section, { as: "fields" }>} section */
function drawFields({ title, fields }) {
  const content = fields.length === 0
    ? printed("")
    : el("dl", {}, ...fields.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, printed(text))]));
  const isShown = title === "Input" && fields.every(([, text]) => text.length < 160 && !text.includes("\n"));
  return isShown
    ? el("details", { class: "fields" }, el("summary", {}, title), content)
    : titled(title, "fields", content);
}

/** Terminal colours and cursor moves, which are not text. */
const CONTROLS =
  // deno-lint-ignore no-control-regex
  /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])|[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** A text as it was printed. @param {string} raw */
function printed(raw) {
  const text = raw.replace(CONTROLS, "");
  if (text === "") return el("pre", {}, el("i", {}, "nothing"));
  const isLong = text.length > SHOWN_LENGTH || text.split("\n", SHOWN_LINES + 1).length > SHOWN_LINES;
  return clipped(el("pre", {}, text), isLong);
}

/** The style cuts it, for the browser to find all of it. @param {HTMLElement} content @param {boolean} isLong */
function clipped(content, isLong) {
  if (!isLong) return content;
  return el("div", { class: "clipped" }, content, el("details", {}, el("summary", {}, "Show all")));
}

/** @param {Extract<Section, { as: "diff" }>} diff */
function drawDiff({ file, hunks, applied }) {
  return el("section", { class: applied ? "diff" : "diff wanted" }, el("h4", {}, file), ...hunks.map(drawHunk));
}

/** A change of more lines is cut like any other long text. */
const SHOWN_CHANGES = 60;

/** @param {DiffHunk} hunk @param {number} index */
function drawHunk({ oldStart, newStart, lines }, index) {
  const box = el("div", { class: index > 0 ? "hunk next" : "hunk" });
  let old = oldStart, now = newStart;
  for (const line of lines) {
    const sign = line[0] ?? " ";
    const kind = sign === "+" ? "added good" : sign === "-" ? "removed bad" : sign === "\\" ? "about" : "kept";
    const number = sign === "+" ? now : old;
    if (sign !== "+") old++;
    if (sign !== "-") now++;
    const shown = (sign === "+" ? newStart : oldStart) > 0 && sign !== "\\" ? String(number) : "";
    box.append(el("div", { class: kind, "data-line": shown, "data-sign": sign }, line.slice(1) || "\u200b"));
  }
  return clipped(box, lines.length > SHOWN_CHANGES);
}

/** What each hook did. @param {Extract<Section, { as: "ledger" }>} section @param {boolean} open */
export function drawLedger({ event, runs }, open) {
  const ran = runs.filter(({ tone }) => tone !== "quiet").length;
  return el(
    "details",
    { class: "ledger", open },
    el("summary", {}, `Hooks at ${event}: ${ran} ran, ${runs.length - ran} skipped`),
    el(
      "ul",
      {},
      ...runs.map(({ hook, tone, did, why, ms }) =>
        el(
          "li",
          { class: tone },
          el("b", {}, hook),
          el("span", { class: "did" }, did),
          el("span", { class: "why" }, why),
          ms >= 1 && el("span", { class: "ms" }, duration(ms)),
        )
      ),
    ),
  );
}

/** Code and emphasis, but never a link: what a model writes must not lead to the network. @param {string} text */
function drawWords(text) {
  const box = el("div", { class: "words" });
  const parts = text.split(/^(?:```|~~~)(.*)$/m);
  // Between the fences: text, language, code, rest of the fence, text …
  for (let i = 0; i < parts.length; i += 4) {
    drawLines(box, (parts[i] ?? "").replace(/^\n|\n$/g, ""));
    const code = parts[i + 2];
    if (code !== undefined) box.append(el("pre", { class: "code" }, code.replace(/^\n|\n$/g, "")));
  }
  return clipped(box, text.length > LONG_WORDS);
}

/** A prompt may be a whole file. */
const LONG_WORDS = 20_000;

/** @param {HTMLElement} box @param {string} text */
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
    if (heading) paragraph.append(el("strong", {}, heading[1]));
    else drawSpans(paragraph, line.replace(/^(\s*)[-*]\s+/, "$1• "));
  }
  return paragraph;
}

/** @param {HTMLElement} box @param {string} line */
function drawSpans(box, line) {
  for (const part of line.split(/(`[^`]+`|\*\*[^*]+\*\*)/)) {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) box.append(el("code", {}, part.slice(1, -1)));
    else if (part.length > 4 && part.startsWith("**")) box.append(el("strong", {}, part.slice(2, -2)));
    else if (part !== "") box.append(part);
  }
}
