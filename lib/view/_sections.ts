import { isObject } from "../core/json.ts";
import type { Block } from "../core/messages.ts";
import type { DiffHunk, Section, Tone } from "./shape.ts";

type DiffSection = Extract<Section, { as: "diff" }>;

/** A value as a person reads it: a text as it is, anything else as JSON. */
export function shownText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? String(value);
}

/** The tone for the end of a run or an agent: some ends are not failures. */
export function endTone(stop: string): Tone {
  return stop === "done" || stop === "halted" || stop === "waiting" ? "good" : "bad";
}

/** A tool's input, field by field: as JSON, the line breaks of a script would be unreadable. */
export function fieldsSection(title: string, input: unknown): Section {
  const fields = isObject(input)
    ? Object.entries(input).map(([name, value]) => [name, shownText(value)] as const)
    : [["input", shownText(input)] as const];
  return { as: "fields", title, fields };
}

const LINE_LENGTH = 160;
/** Half of a character that takes two code units, left over by a cut. */
const HALF = /[\ud800-\udbff]$/;

/** The first line of a text, cut at 160 characters. */
export function firstLine(text: unknown): string {
  const start = shownText(text).trimStart();
  const end = start.indexOf("\n");
  const line = end < 0 ? start : start.slice(0, end);
  if (line.length <= LINE_LENGTH) return end < 0 ? line : `${line} …`;
  return `${line.slice(0, LINE_LENGTH - 1).replace(HALF, "")}…`;
}

/** The change a call made to a file; if it was not applied, the change it asked for. */
export function diffSection(input: unknown, response: unknown, applied: boolean): DiffSection | undefined {
  const asked = isObject(input) ? input : {};
  const answer = isObject(response) ? response : {};
  const file = [asked.file_path, answer.filePath].find((path) => typeof path === "string");
  if (file === undefined) return undefined;
  const hunks = applied ? patchOf(answer) ?? wantedHunks(asked) : wantedHunks(asked);
  return hunks && hunks.length > 0 ? { as: "diff", file, hunks, applied } : undefined;
}

/** The patch in a tool's response, in the form that the edit tools share with other hosts. */
function patchOf(response: Readonly<Record<string, unknown>>): DiffHunk[] | undefined {
  const { structuredPatch, type, content } = response;
  if (!Array.isArray(structuredPatch)) return undefined;
  const hunks = structuredPatch.filter((hunk) => isObject(hunk) && Array.isArray(hunk.lines)).map((hunk) => ({
    oldStart: Number(hunk.oldStart) || 0,
    newStart: Number(hunk.newStart) || 0,
    lines: hunk.lines.map(String),
  }));
  if (hunks.length === 0 && type === "create" && typeof content === "string") return wholeHunk("", content);
  return hunks;
}

function wantedHunks(input: Readonly<Record<string, unknown>>): DiffHunk[] | undefined {
  const { old_string, new_string, edits, content } = input;
  if (typeof old_string === "string" && typeof new_string === "string") return wholeHunk(old_string, new_string);
  if (Array.isArray(edits)) return edits.flatMap((edit) => isObject(edit) ? wantedHunks(edit) ?? [] : []);
  return typeof content === "string" ? wholeHunk("", content) : undefined;
}

/** All old lines out, all new lines in. A line number of 0 means that it is unknown. */
function wholeHunk(old: string, now: string): DiffHunk[] {
  const marked = (sign: string, text: string) =>
    text === "" ? [] : text.replace(/\n$/, "").split("\n").map((line) => sign + line);
  return [{ oldStart: 0, newStart: old === "" ? 1 : 0, lines: [...marked("-", old), ...marked("+", now)] }];
}

/** How many lines a change adds and removes. */
export function countChanges(hunks: readonly Pick<DiffHunk, "lines">[]): { added: number; removed: number } {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return { added: count("+"), removed: count("-") };
}

/** The text of a tool result's content; a block without text is named by its type. */
export function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return shownText(content);
  return (content as Block[]).map((b) => "text" in b ? String(b.text) : `[${b.type}]`).join("\n");
}

/** How many lines a section has when all of it is shown. */
export function linesOf(section: Section): number {
  switch (section.as) {
    case "fields":
      return section.fields.reduce((sum, [, text]) => sum + screenLines(text), 0);
    case "diff":
      return section.hunks.reduce((sum, { lines }) => sum + lines.length + 1, 1);
    case "ledger":
      return section.runs.length;
    default:
      return screenLines(section.text);
  }
}

/** Lines of about a hundred characters. */
function screenLines(text: string): number {
  let count = 1 + Math.floor(text.length / 100);
  for (let at = text.indexOf("\n"); at >= 0 && count < 400; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
