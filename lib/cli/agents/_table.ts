import { basename } from "node:path";
import type { Standing } from "../../monitor/standing.ts";
import type { Colours } from "../show/colours.ts";
import { oneLine } from "../show/text.ts";
import { cut, displayWidth } from "../show/width.ts";

interface TableOptions {
  readonly columns: number;
  readonly colours: Colours;
  /** @default the time now */
  readonly now?: number;
}

/** Agents as rows: id, state, since when, and what each asks or works on; a narrow terminal loses the end of a row. */
export function agentsTable(all: readonly Standing[], { columns, colours, now = Date.now() }: TableOptions): string {
  const rows = all.map((one) => [shortId(one.id), stateWords(one), age(one.since, now), about(one)]);
  const head = ["agent", "state", "since", "asks"];
  const widths = head.slice(0, -1).map((title, i) =>
    Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[i]!)))
  );
  const line = (cells: readonly string[], paint: (text: string, i: number) => string) => {
    let room = columns;
    const parts = cells.map((cell, i) => {
      const text = cut(cell, Math.max(0, room));
      const padding = i < widths.length ? Math.min(widths[i]! - displayWidth(text) + 2, room - displayWidth(text)) : 0;
      room -= displayWidth(text) + Math.max(0, padding);
      return paint(text, i) + " ".repeat(Math.max(0, padding));
    });
    return `${parts.join("").trimEnd()}\n`;
  };
  const colourOf = ({ state }: Standing) =>
    ({
      working: colours.green,
      waiting: colours.yellow,
      prompting: colours.magenta,
      stopped: colours.dim,
      failed: colours.red,
    })[state];
  return line(head, (text) => colours.dim(text)) +
    rows.map((row, n) =>
      line(row, (text, i) => i === 0 ? colours.bold(text) : i === 1 ? colourOf(all[n]!)(text) : text)
    ).join("");
}

/** A session's id by its beginning, as `git` shows a commit; a name that a person chose is whole. */
function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? id.slice(0, 8) : oneLine(id);
}

function stateWords(one: Standing): string {
  return one.state === "prompting" ? `prompting(${one.prompt_type})` : one.state;
}

function about(one: Standing): string {
  if (one.state === "prompting") return oneLine(one.message);
  const where = one.workspace === undefined ? "" : basename(one.workspace);
  return oneLine([one.name, where && `in ${where}`].filter(Boolean).join(" "));
}

/** How long ago, in its largest unit. */
function age(since: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
