import { appendStateFile, readStateFile, stateFolder, statePath } from "../../files/state.ts";
import { quietly } from "../../core/json.ts";
import { jsonLines } from "../../log/line-log.ts";
import { EXIT } from "../../cli/kit/io.ts";
import type { Cursor } from "../view/terminal/screen.ts";
import { type Colours, cut, oneLine } from "../../cli/show/text.ts";
import type { Key } from "../view/terminal/keys.ts";
import { LineEditor } from "../view/terminal/line-editor.ts";
import { type ChatDesk, PAUSE_MS } from "../view/terminal/stage.ts";

interface PromptDeskOptions {
  readonly history: History;
  readonly colours: Colours;
  /** Whether the agent works; what is typed then waits for it. */
  readonly busy: () => boolean;
  readonly interrupt: () => void;
  readonly quit: (code: number) => void;
  /** Runs a command that needs no turn of its own; returns whether it did. */
  readonly atOnce: (text: string) => boolean;
}

/** A second Ctrl-C within this time quits. */
const AGAIN_MS = 2000;
const MOST_ROWS = 10;

/** Where a person writes the next prompt, also while the agent works: then it waits in a queue. */
export class PromptDesk implements ChatDesk {
  readonly #options: PromptDeskOptions;
  readonly #editor = new LineEditor();
  readonly #queue: string[] = [];
  #wanted: ((text: string | undefined) => void) | undefined;
  #stoppedAt = -Infinity;
  /** When a key was last pressed while the agent worked. */
  #typedAt = -Infinity;
  #note = "";
  #over = false;

  constructor(options: PromptDeskOptions) {
    this.#options = options;
  }

  get typing(): boolean {
    return this.#editor.text !== "" || performance.now() - this.#typedAt < PAUSE_MS;
  }

  /** The next prompt; undefined once there will be none. */
  next(): Promise<string | undefined> {
    if (this.#over) return Promise.resolve(undefined);
    const waiting = this.#queue.shift();
    return waiting === undefined ? new Promise((resolve) => this.#wanted = resolve) : Promise.resolve(waiting);
  }

  /** What was typed while the agent works, and is not sent yet. */
  get waiting(): readonly string[] {
    return this.#queue;
  }

  /** No more prompts. */
  end(): void {
    this.#over = true;
    this.#wanted?.(undefined);
  }

  /** Puts waiting prompts back into the editor: after an interrupt nothing is sent without the person. */
  takeBack(): void {
    if (this.#queue.length === 0) return;
    this.#editor.set([...this.#queue.splice(0), this.#editor.text].filter((text) => text !== "").join("\n"));
  }

  shown(columns: number): { rows: string[]; cursor: Cursor } {
    const { colours: { dim, cyan }, busy } = this.#options;
    const waiting = this.#queue.map((text) => dim(cut(`  next: ${oneLine(text)}`, columns)));
    const gap = busy() ? [] : [""];
    const { rows, cursor } = this.#editor.shown("› ", columns, MOST_ROWS);
    rows[0] = rows[0]!.replace(/^›/, cyan("›"));
    const above = [...gap, ...waiting];
    const note = this.#note === "" ? [] : [dim(`  ${this.#note}`)];
    return { rows: [...above, ...rows, ...note], cursor: { row: above.length + cursor.row, column: cursor.column } };
  }

  press(key: Key): void {
    const { history, busy, interrupt, quit } = this.#options;
    this.#note = "";
    if (busy()) this.#typedAt = performance.now();
    switch (key.name) {
      case "enter":
        return this.#enter();
      case "escape":
        if (busy()) interrupt();
        return;
      case "ctrl-c":
        return this.#stop();
      case "ctrl-d":
        if (this.#editor.text !== "") break;
        if (!busy()) quit(EXIT.ok);
        else this.#note = "Esc interrupts, /quit leaves";
        return;
      default:
    }
    if (this.#editor.press(key) || (key.name !== "up" && key.name !== "down")) return;
    const past = history.move(key.name === "up" ? -1 : 1, this.#editor.text);
    if (past !== undefined) this.#editor.set(past);
  }

  #enter(): void {
    const { text } = this.#editor;
    if (/(?:^|[^\\])\\$/.test(text)) return this.#editor.set(`${text.slice(0, -1)}\n`);
    if (text.trim() === "") return;
    this.#options.history.add(text);
    this.#editor.set("");
    if (this.#options.atOnce(text)) return;
    const wanted = this.#wanted;
    this.#wanted = undefined;
    if (wanted) wanted(text);
    else this.#queue.push(text);
  }

  /** Ctrl-C ends the turn, or what is being written; twice in a row the chat. */
  #stop(): void {
    const { busy, interrupt, quit } = this.#options;
    const now = performance.now();
    if (now - this.#stoppedAt < AGAIN_MS) return quit(EXIT.interrupted);
    this.#stoppedAt = now;
    if (busy()) interrupt();
    else this.#editor.set("");
    this.#note = "Ctrl-C again quits";
  }
}

/** How many prompts can be reached. */
const MOST = 500;

/** The prompts of a project, appended to a file so that two chats at once lose nothing; if it cannot be written, those of this chat. */
export class History {
  readonly #file: string;
  readonly #place: Parameters<typeof stateFolder>;
  readonly #entries: string[];
  #at: number;
  #draft = "";

  constructor(cwd: string, env: Readonly<Record<string, string | undefined>>) {
    this.#place = [cwd, env, "chat"];
    this.#file = statePath(cwd, env, "chat", "history.jsonl");
    this.#entries = read(this.#file).slice(-MOST);
    this.#at = this.#entries.length;
  }

  add(prompt: string): void {
    if (prompt !== this.#entries.at(-1)) {
      this.#entries.push(prompt);
      // Read-only or full: this chat still has it.
      quietly(() => {
        stateFolder(...this.#place);
        appendStateFile(this.#file, `${JSON.stringify(prompt)}\n`);
      });
    }
    this.#at = this.#entries.length;
    this.#draft = "";
  }

  /** The prompt before or after the one that is shown; what was being written comes back after the newest. */
  move(step: -1 | 1, shown: string): string | undefined {
    const next = this.#at + step;
    if (next < 0 || next > this.#entries.length) return undefined;
    if (this.#at === this.#entries.length) this.#draft = shown;
    this.#at = next;
    return next === this.#entries.length ? this.#draft : this.#entries[next];
  }
}

/** A line that is not a JSON text, such as one torn by a crash, is skipped, and a file that cannot be read is empty. */
function read(file: string): string[] {
  const text = quietly(() => readStateFile(file)) ?? "";
  return jsonLines<unknown>(text).values.filter((entry) => typeof entry === "string");
}
