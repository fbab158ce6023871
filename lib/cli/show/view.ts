import { isToolUse } from "../../core/messages.ts";
import type { RunEvent } from "../../core/run-events.ts";
import { hunksOf, outcomeOf, subjectOf } from "./calls.ts";
import type { Colours } from "./colours.ts";
import { diffRows } from "./diff.ts";
import { decisionLine, HOOK, HookOutput, hookTitle, inputLines } from "./hook-lines.ts";
import { Tally } from "./tally.ts";
import { clock, count, elapsed, lastLine, oneLine, plainText } from "./text.ts";
import { TextFlow } from "./text-flow.ts";
import { cut, displayWidth, wrap } from "./width.ts";

interface ViewOptions {
  /** Prints rows for good. */
  readonly print: (rows: readonly string[]) => void;
  readonly colours: Colours;
  /** How many columns there are; asked each time, as windows change. */
  readonly columns: () => number;
  /** Paths are shown from here. */
  readonly cwd: string;
}

interface Running {
  readonly agent: string;
  readonly name: string;
  readonly subject: string;
  readonly since: number;
  output: string;
}

const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
/** What takes less than this is not worth a look. */
const SOON_MS = 300;

/**
 * A run as a person watches it: text as it comes, one line for each call and each hook that did something, and below
 * them what is going on right now.
 */
export class RunView {
  readonly #options: ViewOptions;
  readonly #flow = new TextFlow();
  readonly #output = new HookOutput();
  readonly #inputs = new Map<string, unknown>();
  readonly #calls = new Map<string, Running>();
  readonly #hooks = new Map<string, { readonly title: string; readonly since: number }>();
  #root: string | undefined;
  #began: number | undefined;
  #lasted = 0;
  #streamed = 0;
  /** What went wrong in this run and was said. */
  readonly #told: string[] = [];
  /** A hook's line that says why stands right above. */
  #justDenied = false;
  /** What was printed last: a change of kind is parted by an empty row. */
  #last: "text" | "line" | undefined;
  tally = new Tally();

  constructor(options: ViewOptions) {
    this.#options = options;
  }

  see(event: RunEvent): void {
    const { colours } = this.#options;
    this.tally.see(event);
    switch (event.type) {
      case "start":
        if (event.agent_id !== event.session_id) break;
        this.#root = event.agent_id;
        this.#begin();
        break;
      case "text":
        if (this.#isRoot(event)) this.#text(event.text);
        break;
      case "thinking":
        this.#streamed += event.text.length;
        break;
      case "usage":
        if (event.hook === undefined) this.#streamed = 0;
        break;
      case "message":
        for (const block of event.message.content) if (isToolUse(block)) this.#inputs.set(block.id, block.input);
        break;
      case "tool_start":
        this.#calls.set(event.id, {
          agent: event.agent_id,
          name: event.name,
          subject: this.#subject(event.name, event.input, event.id),
          since: now(),
          output: "",
        });
        break;
      case "tool_progress": {
        const running = this.#calls.get(event.id);
        if (running) running.output = lastLine(event.text) || running.output;
        break;
      }
      case "tool_end":
        this.#toolEnd(event);
        break;
      case "hook_start":
        this.#hooks.set(`${event.agent_id} ${event.hook} ${event.event}`, {
          title: hookTitle(event),
          since: now(),
        });
        break;
      case "hook_output":
        this.#rows(this.#output.take(event, colours));
        break;
      case "hook_end": {
        this.#hooks.delete(`${event.agent_id} ${event.hook} ${event.event}`);
        const said = decisionLine(event, colours);
        if (event.failure !== undefined) this.#told.push(event.failure);
        this.#rows([...this.#output.end(event, colours), ...(said === undefined ? [] : this.#wrapped(said))]);
        this.#justDenied = event.event === "pre-tool-use" && event.decision === "deny";
        break;
      }
      case "exec":
        this.#rows(this.#output.exec(event.exec, colours));
        break;
      case "hook_input":
        this.#rows(inputLines(event, colours).flatMap((line) => this.#wrapped(line)));
        break;
      case "system_message":
        this.#rows(this.#wrapped(`${colours.magenta(HOOK)} ${plainText(event.hook)}: ${oneLine(event.text)}`));
        break;
      case "retry":
        this.#rows(
          this.#wrapped(colours.yellow(`↻ ${oneLine(event.reason)}: trying again in ${elapsed(event.wait_ms)}`)),
        );
        break;
      case "model":
        this.#rows([
          colours.dim(`model ${event.was} → ${event.model}${event.reason ? `: ${oneLine(event.reason)}` : ""}`),
        ]);
        break;
      case "compact":
        this.#rows([colours.dim("the conversation so far was summarised to make room")]);
        break;
      case "warning":
        this.warn(event.message);
        break;
      case "end":
        if (event.agent_id === this.#root) this.#end();
        break;
      default: // the rest is for logs
    }
  }

  /** What is odd, where a person sees it; once, where a hook's line or a warning has said it already. */
  warn(message: string): void {
    if (this.#told.some((words) => message.includes(words))) return;
    this.#told.push(message);
    const { yellow } = this.#options.colours;
    const lines = plainText(message).split("\n").map((line, i) => yellow(`${i === 0 ? "!" : " "} ${line}`));
    this.#rows(lines.flatMap((line) => this.#wrapped(line)));
  }

  /** A person has said something: what follows begins anew. */
  anew(): void {
    this.#last = undefined;
  }

  /** Something else prints between: a prompt, an answer. */
  say(rows: readonly string[]): void {
    this.#rows(rows);
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
    for (const { agent, name, subject, since, output } of this.#calls.values()) {
      const indent = agent === this.#root ? "" : "  ";
      const time = at - since < 1000 ? "" : clock(at - since);
      const room = width - displayWidth(`${indent}${name} ${time}`) - 4;
      what.push(`${indent}${cyan("▸")} ${bold(name)} ${cut(subject, Math.max(0, room))} ${dim(time)}`.trimEnd());
      if (output !== "") what.push(dim(cut(`${indent}  ${output}`, width)));
    }
    for (const { title, since } of this.#hooks.values()) {
      if (at - since > SOON_MS) what.push(`${magenta(HOOK)} ${cut(title, width - 12)} ${dim(clock(at - since))}`);
    }
    const tokens = this.tally.tokens + Math.round(this.#streamed / 4);
    const parts = [
      clock(at - this.#began),
      ...(tokens > 0 ? [`${count(tokens)} tokens`] : []),
      ...(hint ? [hint] : []),
    ];
    if (rows.length + what.length > 0 || this.#last !== undefined) rows.push("");
    return [...rows, ...what, `${cyan(frame)} ${dim(cut(parts.join(" · "), width - 2))}`];
  }

  /** How long the last run took. */
  get lasted(): number {
    return this.#lasted;
  }

  #begin(): void {
    this.#told.length = 0;
    this.#began = now();
    this.tally = new Tally();
    this.#streamed = 0;
    this.#last = undefined;
  }

  #end(): void {
    this.#rows([]);
    this.#lasted = this.#began === undefined ? 0 : now() - this.#began;
    this.#began = undefined;
    this.#calls.clear();
    this.#hooks.clear();
    this.#inputs.clear();
  }

  #wrapped(row: string): string[] {
    return wrap(row, this.#options.columns() - 1, 2);
  }

  #isRoot({ agent_id }: RunEvent): boolean {
    return this.#root === undefined || agent_id === this.#root;
  }

  #subject(name: string, input: unknown, id: string): string {
    return subjectOf(name, input, this.#options.cwd, this.#inputs.get(id));
  }

  #text(text: string): void {
    this.#streamed += text.length;
    const { columns, colours } = this.#options;
    this.#print("text", this.#flow.take(text, columns() - 1, colours));
  }

  /** Prints lines; the text that is being written comes first, as it came first. */
  #rows(rows: readonly string[]): void {
    if (rows.length > 0 || this.#began !== undefined) {
      this.#print("text", this.#flow.end(this.#options.columns() - 1, this.#options.colours));
    }
    this.#print("line", rows);
  }

  #print(kind: "text" | "line", rows: readonly string[]): void {
    if (rows.length === 0) return;
    const parted = this.#last !== undefined && this.#last !== kind;
    this.#last = kind;
    this.#options.print(parted ? ["", ...rows] : rows);
  }

  #toolEnd(event: Extract<RunEvent, { type: "tool_end" }>): void {
    const { colours, columns } = this.#options;
    const subject = this.#calls.get(event.id)?.subject ??
      this.#subject(event.name, this.#inputs.get(event.id), event.id);
    this.#calls.delete(event.id);
    this.#inputs.delete(event.id);
    const indent = this.#isRoot(event) ? "" : "  ";
    const isToldAbove = event.outcome === "denied" && this.#justDenied;
    const note = isToldAbove ? "denied" : outcomeOf(event.name, event.outcome, event.content, event.response);
    const ran = event.outcome !== "denied" && event.outcome !== "invalid";
    const width = columns() - 1 - indent.length;
    const row = callRow({ ...event, subject, note, time: ran ? elapsed(event.ms) : "" }, width, colours);
    const diff = event.outcome === "success" ? diffRows(hunksOf(event.response), { columns: width, colours }) : [];
    this.#rows([row, ...diff].map((line) => `${indent}${line}`));
  }
}

/** One call on one row: what is longest gives way first. */
function callRow(
  call: { outcome: string; name: string; subject: string; note: string; time: string },
  columns: number,
  { green, red, yellow, bold, dim }: Colours,
): string {
  const { name, outcome, time } = call;
  const mark = outcome === "success"
    ? green("✓")
    : outcome === "denied"
    ? red("⊘")
    : outcome === "interrupted"
    ? yellow("◼")
    : red("✗");
  const room = Math.min(columns, 160) - displayWidth(name) - displayWidth(time) - 5;
  const least = Math.floor(room * 0.45);
  const note = cut(plainText(call.note), Math.max(least, room - displayWidth(call.subject) - 2));
  const subject = cut(call.subject, Math.max(0, room - displayWidth(note) - 2));
  const end = [note, time].filter((part) => part !== "").join(" · ");
  const toned = outcome === "success" || outcome === "interrupted"
    ? dim(end)
    : `${red(note)}${time === "" ? "" : dim(` · ${time}`)}`;
  return `${mark} ${bold(name)}${subject === "" ? "" : ` ${subject}`}  ${toned}`;
}

const now = () => performance.now();
