import { totalTokens } from "../../../core/messages.ts";
import type { RunEvent } from "../../../core/run-events.ts";
import { type OpenRow, RunRows } from "../rows.ts";
import { diffRows } from "./diff-rows.ts";
import { decisionLine, HOOK, HookOutput, hookTitle, inputLines } from "./hook-lines.ts";
import { Tally } from "./tally.ts";
import {
  chop,
  clock,
  type Colours,
  count,
  cut,
  displayWidth,
  elapsed,
  harmlessRow,
  lastLine,
  oneLine,
  openText,
  plainText,
  wrap,
} from "../../../cli/show/text.ts";

interface RunViewOptions {
  /** Prints rows that stay. */
  readonly print: (rows: readonly string[]) => void;
  readonly colours: Colours;
  /** The current width: windows change. */
  readonly columns: () => number;
  /** Paths are shown relative to this directory. */
  readonly cwd: string;
}

const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
/** A hook that takes less time is not shown while it runs. */
const SOON_MS = 300;

/** Shows a run while it happens, in rows that stay: text, and one line for each call and each hook that did something. */
export function terminalView(write: (text: string) => void, colours: Colours): (event: RunEvent) => void {
  const view = new RunView({
    print: (rows) => write(rows.map((row) => `${harmlessRow(row)}\n`).join("")),
    colours,
    columns: () => process.stdout.columns || Infinity,
    cwd: process.cwd(),
  });
  return (event) => view.see(event);
}

/** The rows of a run as a terminal shows them while it happens, and below them what is going on right now. */
export class RunView {
  readonly #options: RunViewOptions;
  readonly #flow = new TextFlow();
  readonly #output = new HookOutput();
  #run: RunRows;
  /** The last line that each running call printed. */
  readonly #progress = new Map<OpenRow, string>();
  #began: number | undefined;
  /** How long the last run took. */
  lasted = 0;
  #streamed = 0;
  /** Failures and warnings of this run that were shown. */
  readonly #shown: string[] = [];
  /** What was printed last: text and lines are separated by an empty row. */
  #last: "text" | "line" | undefined;
  tally = new Tally();

  constructor(options: RunViewOptions) {
    this.#options = options;
    this.#run = new RunRows(options.cwd);
  }

  see(event: RunEvent): void {
    this.tally.see(event);
    if (event.type === "start" && event.agent_id === event.session_id) this.#begin();
    const row = this.#run.take(event, now());
    const isSub = this.#run.agentOf(event.agent_id, now()).index > 0;
    const { colours } = this.#options;
    switch (event.type) {
      case "text":
        if (!isSub) this.#text(event.text);
        break;
      case "thinking":
        this.#streamed += event.text.length;
        break;
      case "usage":
        if (event.hook === undefined) this.#streamed = 0;
        break;
      case "tool_progress": {
        const call = this.#run.callOf(event);
        if (call) this.#progress.set(call.row, lastLine(event.text) || (this.#progress.get(call.row) ?? ""));
        break;
      }
      case "tool_end":
        return this.#toolEnd(row!, event.outcome);
      case "hook_output":
        return this.say(this.#output.take(event, colours));
      case "hook_end": {
        const line = decisionLine(event, colours);
        if (event.failure !== undefined) this.#shown.push(event.failure);
        return this.say([...this.#output.end(event, colours), ...(line === undefined ? [] : this.#wrapped(line))]);
      }
      case "exec":
        return this.say(this.#output.exec(event.exec, colours));
      case "hook_input":
        return this.say(inputLines(event, colours).flatMap((line) => this.#wrapped(line)));
      case "system_message":
        return this.say(this.#wrapped(`${colours.magenta(HOOK)} ${plainText(event.hook)}: ${oneLine(event.text)}`));
      case "retry":
        return this.say(this.#wrapped(colours.yellow(`↻ ${oneLine(row!.line)}`)));
      case "model":
        return this.say([colours.dim(`model ${oneLine(row!.line)}`)]);
      case "compact":
        return this.say([colours.dim(row!.line)]);
      case "warning":
        return this.warn(event.message);
      case "end":
        if (!isSub) this.#end();
        break;
      default: // rows of the page that a terminal does not show
    }
  }

  /** Shows a warning, unless a hook's line or an earlier warning says the same. */
  warn(message: string): void {
    if (this.#shown.some((words) => message.includes(words))) return;
    this.#shown.push(message);
    const { yellow } = this.#options.colours;
    const lines = plainText(message).split("\n").map((line, i) => yellow(`${i === 0 ? "!" : " "} ${line}`));
    this.say(lines.flatMap((line) => this.#wrapped(line)));
  }

  /** The user has entered something: no empty row separates what follows. */
  anew(): void {
    this.#last = undefined;
  }

  /** What is going on now, as rows of their own: the line being written, what runs, how long it takes. */
  live(hint = ""): string[] {
    const { colours: { dim, cyan, bold, magenta }, columns } = this.#options;
    const width = columns() - 1;
    const rows = this.#flow.now(width, 8, this.#options.colours);
    if (rows.length > 0 && this.#last === "line") rows.unshift("");
    if (this.#began === undefined) return rows;
    const at = now();
    const frame = SPINNER[Math.floor((at - this.#began) / 100) % SPINNER.length]!;
    const what: string[] = [];
    for (const { row, ran, outcome } of this.#run.calls.values()) {
      if (ran === undefined || outcome !== undefined) continue;
      const indent = row.agent === 0 ? "" : "  ";
      const name = plainText(row.name);
      const time = at - row.at < 1000 ? "" : clock(at - row.at);
      const room = width - displayWidth(`${indent}${name} ${time}`) - 4;
      const subject = cut(callText(row.line), Math.max(0, room));
      what.push(`${indent}${cyan("▸")} ${bold(name)} ${subject} ${dim(time)}`.trimEnd());
      const output = this.#progress.get(row);
      if (output) what.push(dim(cut(`${indent}  ${output}`, width)));
    }
    for (const { since, ...hook } of this.#run.pending.values()) {
      if (at - since < SOON_MS) continue;
      what.push(`${magenta(HOOK)} ${cut(hookTitle(hook), width - 12)} ${dim(clock(at - since))}`);
    }
    const tokens = totalTokens(this.tally.all.usage) + Math.round(this.#streamed / 4);
    const parts = [
      clock(at - this.#began),
      ...(tokens > 0 ? [`${count(tokens)} tokens`] : []),
      ...(hint ? [hint] : []),
    ];
    if (rows.length + what.length > 0 || this.#last !== undefined) rows.push("");
    return [...rows, ...what, `${cyan(frame)} ${dim(cut(parts.join(" · "), width - 2))}`];
  }

  #begin(): void {
    this.#shown.length = 0;
    this.#began = now();
    this.#run = new RunRows(this.#options.cwd);
    this.#progress.clear();
    this.tally = new Tally();
    this.#streamed = 0;
    this.#last = undefined;
  }

  #end(): void {
    this.say([]);
    this.lasted = this.#began === undefined ? 0 : now() - this.#began;
    this.#began = undefined;
  }

  #wrapped(row: string): string[] {
    return wrap(row, this.#options.columns() - 1, 2);
  }

  #text(text: string): void {
    this.#streamed += text.length;
    const { columns, colours } = this.#options;
    this.#print("text", this.#flow.take(text, columns() - 1, colours));
  }

  /** Prints lines, after the text that is being written. */
  say(rows: readonly string[]): void {
    if (rows.length > 0 || this.#began !== undefined) {
      this.#print("text", this.#flow.end(this.#options.columns() - 1, this.#options.colours));
    }
    this.#print("line", rows);
  }

  #print(kind: "text" | "line", rows: readonly string[]): void {
    if (rows.length === 0) return;
    const isOther = this.#last !== undefined && this.#last !== kind;
    this.#last = kind;
    this.#options.print(isOther ? ["", ...rows] : rows);
  }

  #toolEnd(row: OpenRow, outcome: string): void {
    const { colours, columns } = this.#options;
    this.#progress.delete(row);
    const indent = row.agent === 0 ? "" : "  ";
    const width = columns() - 1 - indent.length;
    const diff = row.sections.find((section) => section.as === "diff");
    // Of a new file, the number of lines is enough.
    const hunks = diff?.applied ? diff.hunks.filter(({ oldStart }) => oldStart > 0) : [];
    const lines = diffRows(hunks, { columns: width, colours });
    this.say([callRow(row, outcome, width, colours), ...lines].map((line) => `${indent}${line}`));
  }
}

/** What a call is about, on one line, with hidden characters written out: a person must see what ran. */
function callText(line: string): string {
  return openText(line).replace(/\s+/g, " ").trim();
}

/** One call on one row: the longest part is cut first. */
function callRow(row: OpenRow, outcome: string, columns: number, colours: Colours): string {
  const { green, red, yellow, bold, dim } = colours;
  const marks: Record<string, string> = { success: green("✓"), denied: red("⊘"), interrupted: yellow("◼") };
  const name = plainText(row.name);
  const time = outcome === "denied" || outcome === "invalid" ? "" : elapsed(row.ms);
  const line = callText(row.line);
  const room = Math.min(columns, 160) - displayWidth(name) - displayWidth(time) - 5;
  const least = Math.floor(room * 0.45);
  const note = cut(oneLine(row.result ?? ""), Math.max(least, room - displayWidth(line) - 2));
  const subject = cut(line, Math.max(0, room - displayWidth(note) - 2));
  const isQuiet = outcome === "success" || outcome === "interrupted";
  const end = [isQuiet ? dim(note) : red(note), dim(time)].filter((part) => plainText(part) !== "").join(dim(" · "));
  return `${marks[outcome] ?? red("✗")} ${bold(name)}${subject === "" ? "" : ` ${subject}`}  ${end}`;
}

const now = () => performance.now();

/** The text of a model while it streams: prose is wrapped between words, code stays as it is, to be copied. */
class TextFlow {
  #rest = "";
  #fenced = false;
  /** Empty lines are held back until something follows them. */
  #empty = 0;
  #hasText = false;

  /** Takes more text; returns the rows that are complete. */
  take(text: string, columns: number, colours: Colours): string[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    return lines.flatMap((line) => this.#line(line, columns, colours));
  }

  /** The rest as rows, at the end of the text. */
  end(columns: number, colours: Colours): string[] {
    const rows = this.#rest === "" ? [] : this.#line(this.#rest, columns, colours);
    this.#rest = "";
    this.#fenced = false;
    this.#empty = 0;
    this.#hasText = false;
    return rows;
  }

  /** The last rows of the line that is being written, at most `most`. */
  now(columns: number, most: number, colours: Colours): string[] {
    const line = shown(this.#rest);
    if (line.trim() === "") return [];
    const rows = this.#fenced ? chop(line, columns) : wrap(line, columns).map((row) => styled(row, colours));
    return [...Array<string>(this.#empty).fill(""), ...rows].slice(-most);
  }

  #line(given: string, columns: number, colours: Colours): string[] {
    const line = shown(given).trimEnd();
    if (line === "") {
      if (this.#hasText) this.#empty++;
      return [];
    }
    const before = Array<string>(this.#empty).fill("");
    this.#empty = 0;
    this.#hasText = true;
    if (/^\s*(```|~~~)/.test(line)) {
      this.#fenced = !this.#fenced;
      return [...before, colours.dim(line)];
    }
    return this.#fenced ? [...before, line] : [...before, ...wrap(line, columns).map((row) => styled(row, colours))];
  }
}

function shown(line: string): string {
  return plainText(line).replaceAll("\t", "    ");
}

/** A little Markdown: only marks that a colour can replace. */
function styled(row: string, { coloured, bold, cyan }: Colours): string {
  if (!coloured) return row;
  if (/^#{1,6} /.test(row)) return bold(row.replace(/^#+ /, ""));
  return row.replace(/`([^`]+)`|\*\*(\S(?:[^*]*\S)?)\*\*/g, (_, code, strong) => code ? cyan(code) : bold(strong));
}
