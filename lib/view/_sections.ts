import { isObject } from "../core/json.ts";
import type { Block } from "../core/messages.ts";
import type { DiffHunk, Section, Tone } from "./shape.ts";

type Fields = Readonly<Record<string, unknown>>;
type Diff = Extract<Section, { as: "diff" }>;

/** A value as a person reads it: a text as it is, anything else as JSON. */
export function wordsOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? String(value);
}

/** One line, two lines. */
export function several(n: number, one: string): string {
  return `${n} ${one}${n === 1 ? "" : "s"}`;
}

/** How the end of a run or an agent is to be seen: some ends are nobody's failure. */
export function endTone(stop: string): Tone {
  return stop === "done" || stop === "halted" || stop === "waiting" ? "good" : "bad";
}

/** A tool's input, field by field: in JSON the line breaks of a script could not be read. */
export function fieldsSection(title: string, input: unknown): Section {
  const fields = isObject(input)
    ? Object.entries(input).map(([name, value]) => [name, wordsOf(value)] as const)
    : [["input", wordsOf(input)] as const];
  return { as: "fields", title, fields };
}

/** The field that says most about a call, best first. */
const TELLING = ["command", "file_path", "pattern", "description", "url", "query", "path", "prompt", "question"];

/** A call in one line. */
export function callLine(input: unknown): string {
  if (!isObject(input)) return firstLine(wordsOf(input));
  const name = TELLING.find((field) => typeof input[field] === "string") ??
    Object.keys(input).find((field) => typeof input[field] === "string");
  if (name !== undefined) return firstLine(input[name] as string);
  return Object.keys(input).length === 0 ? "" : firstLine(JSON.stringify(input));
}

const LINE_LENGTH = 160;
/** What a cut leaves of a character that takes two code units. */
const HALF = /[\ud800-\udbff]$/;

export function firstLine(text: unknown): string {
  const start = wordsOf(text).trimStart();
  const end = start.indexOf("\n");
  const line = end < 0 ? start : start.slice(0, end);
  if (line.length <= LINE_LENGTH) return end < 0 ? line : `${line} …`;
  return `${line.slice(0, LINE_LENGTH - 1).replace(HALF, "")}…`;
}

/** The change a call made to a file; where it made none, the one it wanted. */
export function diffSection(input: unknown, response: unknown, applied: boolean): Diff | undefined {
  const asked = isObject(input) ? input : {};
  const told = isObject(response) ? response : {};
  const file = [asked.file_path, told.filePath].find((path) => typeof path === "string");
  if (file === undefined) return undefined;
  const hunks = applied ? patchOf(told) ?? wantedOf(asked) : wantedOf(asked);
  return hunks && hunks.length > 0 ? { as: "diff", file, hunks, applied } : undefined;
}

/** The patch in a tool's response, in the form the edit tools share with other hosts. */
function patchOf({ structuredPatch, type, content }: Fields): DiffHunk[] | undefined {
  if (!Array.isArray(structuredPatch)) return undefined;
  const hunks = structuredPatch.filter((hunk) => isObject(hunk) && Array.isArray(hunk.lines)).map((hunk) => ({
    oldStart: Number(hunk.oldStart) || 0,
    newStart: Number(hunk.newStart) || 0,
    lines: hunk.lines.map(String),
  }));
  if (hunks.length === 0 && type === "create" && typeof content === "string") return whole("", content);
  return hunks;
}

function wantedOf({ old_string, new_string, edits, content }: Fields): DiffHunk[] | undefined {
  if (typeof old_string === "string" && typeof new_string === "string") return whole(old_string, new_string);
  if (Array.isArray(edits)) return edits.flatMap((edit) => isObject(edit) ? wantedOf(edit) ?? [] : []);
  return typeof content === "string" ? whole("", content) : undefined;
}

/** All old lines out, all new lines in; a line number of 0 says that it is not known. */
function whole(old: string, now: string): DiffHunk[] {
  const marked = (sign: string, text: string) =>
    text === "" ? [] : text.replace(/\n$/, "").split("\n").map((line) => sign + line);
  return [{ oldStart: 0, newStart: old === "" ? 1 : 0, lines: [...marked("-", old), ...marked("+", now)] }];
}

export function countChanges({ hunks }: Diff): { added: number; removed: number } {
  let added = 0, removed = 0;
  for (const { lines } of hunks) {
    for (const line of lines) {
      if (line.startsWith("+")) added++;
      else if (line.startsWith("-")) removed++;
    }
  }
  return { added, removed };
}

/** The text of a tool result's content; what is no text is named. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return wordsOf(content);
  return (content as Block[]).map((b) => "text" in b ? String(b.text) : `[${b.type}]`).join("\n");
}

/** How many lines a section has when it is shown whole. */
export function linesOf(section: Section): number {
  switch (section.as) {
    case "words":
    case "thinking":
    case "output":
      return rows(section.text);
    case "fields":
      return section.fields.reduce((sum, [, text]) => sum + rows(text), 0);
    case "diff":
      return section.hunks.reduce((sum, { lines }) => sum + lines.length + 1, 1);
    case "ledger":
      return section.runs.length;
  }
}

/** Lines of about a hundred characters. */
function rows(text: string): number {
  let count = 1 + Math.floor(text.length / 100);
  for (let at = text.indexOf("\n"); at >= 0 && count < 400; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
