import type { RunEvent } from "../../../core/run-events.ts";
import type { Io } from "../../../cli/kit/io.ts";
import { Screen } from "./screen.ts";
import { type Colours, coloursFor } from "../../../cli/show/text.ts";
import { RunView } from "./terminal-view.ts";
import { type Key, openKeyboard } from "./keys.ts";
import type { Widget } from "./widgets.ts";

interface StageOptions {
  readonly io: Io;
  readonly cwd: string;
  /** Esc or Ctrl-C while something is asked. */
  readonly onInterrupt: (key: Key) => void;
  readonly onGone: () => void;
}

/** What has the keys while nothing is asked, and its rows below what is going on. */
export interface ChatDesk extends Widget {
  /** Whether the person is in the middle of typing: a question must not take their next keys for answers. */
  readonly typing: boolean;
}

const FRAME_MS = 100;
/** A person who was typing has seen a question once they pause for this long. */
export const PAUSE_MS = 800;

/** The terminal of a run: what happens, what is asked, and what a person types, on one screen. */
export class Stage {
  readonly view: RunView;
  readonly colours: Colours;
  readonly #screen: Screen;
  readonly #options: StageOptions;
  readonly #desk: ChatDesk | undefined;
  #closeKeyboard: (() => void) | undefined;
  #widget: Widget | undefined;
  #dialogue: Promise<unknown> = Promise.resolve();
  #typedAt = 0;
  #typing = false;
  #drawnAt = -Infinity;
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #resized = () => this.refresh();

  /** With a desk the keyboard is heard all the time, without one only while something is asked. */
  constructor(options: StageOptions, desk?: ChatDesk) {
    this.#options = options;
    this.#desk = desk;
    const { io, cwd } = options;
    this.colours = coloursFor(true, io.env);
    const columns = () => process.stdout.columns || 80;
    this.#screen = new Screen({ write: io.draw ?? io.out, columns, rows: () => process.stdout.rows || 24 });
    this.view = new RunView({ print: (rows) => this.#screen.print(rows), colours: this.colours, columns, cwd });
  }

  get columns(): number {
    return this.#screen.columns;
  }

  open(): void {
    process.stdout.on("resize", this.#resized);
    this.#timer = setInterval(() => this.refresh(), FRAME_MS);
    if (this.#desk) this.#closeKeyboard = this.#listen();
    this.refresh();
  }

  see(event: RunEvent): void {
    this.view.see(event);
    // A command that prints a lot reports every piece; the timer shows what is skipped here.
    if (performance.now() - this.#drawnAt > FRAME_MS / 3) this.refresh();
  }

  print(rows: readonly string[]): void {
    this.#screen.print(rows);
  }

  refresh(): void {
    this.#drawnAt = performance.now();
    const width = this.columns - 1;
    const rows = this.view.live(this.#desk && !this.#widget ? "Esc interrupts" : "");
    const below = this.#widget?.shown(width) ?? this.#desk?.shown(width) ?? { rows: [] };
    const gap = this.#widget && rows.length > 0 ? [""] : [];
    const cursor = below.cursor && { ...below.cursor, row: rows.length + gap.length + below.cursor.row };
    this.#screen.show([...rows, ...gap, ...below.rows], cursor);
  }

  /** One conversation with the person after the other: agents that work side by side may all want something. */
  async dialogue<T>(talk: () => Promise<T>): Promise<T> {
    const turn = this.#dialogue.then(talk);
    this.#dialogue = turn.catch(() => {});
    return await turn;
  }

  /** Puts one thing to the person, in a dialogue; undefined if the signal came first. */
  ask<T>(make: (done: (value: T) => void) => Widget, signal: AbortSignal): Promise<T | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    this.#typing = this.#desk?.typing ?? false;
    this.#typedAt = Date.now();
    const close = this.#closeKeyboard ? undefined : this.#listen();
    return new Promise<T | undefined>((resolve) => {
      const end = (value: T | undefined) => {
        signal.removeEventListener("abort", aborted);
        this.#widget = undefined;
        resolve(value);
      };
      const aborted = () => end(undefined);
      signal.addEventListener("abort", aborted, { once: true });
      this.#widget = make(end);
      this.refresh();
    }).finally(() => {
      close?.();
      this.refresh();
    });
  }

  #listen(): () => void {
    const { io, onGone } = this.#options;
    return openKeyboard({ onKey: (key) => this.#press(key), onGone, write: io.draw ?? io.out });
  }

  #press(key: Key): void {
    const paused = Date.now() - this.#typedAt > PAUSE_MS;
    this.#typedAt = Date.now();
    if (this.#widget && (key.name === "escape" || key.name === "ctrl-c")) this.#options.onInterrupt(key);
    else if (this.#widget && (paused || !this.#typing)) {
      this.#typing = false;
      this.#widget.press(key);
    } else if (!this.#widget || key.name !== "enter") this.#desk?.press(key);
    this.refresh();
  }

  /** Wipes what changes and gives the terminal back. */
  close(): void {
    clearInterval(this.#timer);
    process.stdout.off("resize", this.#resized);
    this.#closeKeyboard?.();
    this.#screen.clear();
  }
}
