import { quietly } from "../../../core/json.ts";
/** One key a person pressed: its name, and for text what was typed or pasted. */
export interface Key {
  readonly name: keyof typeof KEYS | "text" | "paste" | "unknown";
  readonly text: string;
}

/** What terminals send for a key. Some write `O` instead of `[`. */
const KEYS = {
  enter: ["\r"],
  newline: ["\n", "\u001b\r", "\u001b\n", "\u001b[13;2u", "\u001b[27;2;13~"],
  tab: ["\t"],
  escape: ["\u001b"],
  backspace: ["\b", "\u007f"],
  delete: ["\u001b[3~"],
  up: ["\u001b[A", "\u0010"],
  down: ["\u001b[B", "\u000e"],
  left: ["\u001b[D", "\u0002"],
  right: ["\u001b[C", "\u0006"],
  home: ["\u001b[H", "\u001b[1~", "\u001b[7~", "\u0001"],
  end: ["\u001b[F", "\u001b[4~", "\u001b[8~", "\u0005"],
  "word-left": ["\u001b[1;3D", "\u001b[1;5D", "\u001bb"],
  "word-right": ["\u001b[1;3C", "\u001b[1;5C", "\u001bf"],
  "delete-word": ["\u001b\u007f", "\u0017"],
  "delete-before": ["\u0015"],
  "delete-after": ["\u000b"],
  "ctrl-c": ["\u0003"],
  "ctrl-d": ["\u0004"],
} as const;
const NAMES = new Map(
  Object.entries(KEYS).flatMap(([name, all]) =>
    all.map((sent): [string, keyof typeof KEYS] => [sent, name as "enter"])
  ),
);

const PASTE = "\u001b[200~";
const PASTED = "\u001b[201~";
/** A paste, a sequence, a control character, or text. */
const TOKEN =
  // deno-lint-ignore no-control-regex
  /^(?:\u001b\[200~([^]*?)\u001b\[201~|\u001b(?:\[[0-9;?<=>]*[ -/]*[@-~]|O[@-~]|[^\u001b])?|[\u0000-\u001f\u007f]|[^\u0000-\u001f\u007f]+)/;
/** What more may follow. */
// deno-lint-ignore no-control-regex
const BEGUN = /^\u001b(?:\[200~(?![^]*\u001b\[201~)[^]*|\[[0-9;?]*|O)?$/;
const PASTE_MS = 1000;
const SEQUENCE_MS = 40;

/** A sequence may come in pieces: what is incomplete waits, until `flush` makes a lone escape the Esc key. */
export class KeyReader {
  #rest = "";

  /** How long to wait for the end of what has begun, in milliseconds; undefined if nothing has. */
  get waits(): number | undefined {
    return this.#rest === "" ? undefined : this.#rest.startsWith(PASTE) ? PASTE_MS : SEQUENCE_MS;
  }

  feed(text: string): Key[] {
    this.#rest += text;
    const keys: Key[] = [];
    while (this.#rest !== "" && !BEGUN.test(this.#rest)) {
      const [sent, pasted] = TOKEN.exec(this.#rest)!;
      keys.push(keyOf(sent, pasted));
      this.#rest = this.#rest.slice(sent.length);
    }
    return keys;
  }

  flush(): Key[] {
    // A paste without its end must not lock the person out.
    if (this.#rest.startsWith(PASTE)) return this.feed(PASTED);
    const rest = this.#rest;
    this.#rest = "";
    return rest === "" ? [] : [keyOf(rest)];
  }
}

function keyOf(sent: string, pasted?: string): Key {
  if (pasted !== undefined) return { name: "paste", text: cleaned(pasted) };
  const name = NAMES.get(sent.replace("\u001bO", "\u001b["));
  if (name === undefined && sent >= " ") return { name: "text", text: sent };
  return { name: name ?? "unknown", text: "" };
}

/** What was pasted is text: its lines and tabs stay, nothing in it steers. */
function cleaned(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

interface KeyboardOptions {
  readonly onKey: (key: Key) => void;
  /** The terminal went away. */
  readonly onGone: () => void;
  readonly write: (text: string) => void;
}

/** Whether a person can both read what is written and answer it. */
export function hasPerson(tty: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return tty && process.stdin.isTTY === true && env.TERM !== "dumb";
}

/** Brackets around what is pasted, so that a line break in it is not an Enter. */
const BRACKETS_ON = "\u001b[?2004h";
const BRACKETS_OFF = "\u001b[?2004l";

/** Takes the keyboard of the terminal this process runs in; gives what gives it back as it was, and may be called twice. */
export function openKeyboard({ onKey, onGone, write }: KeyboardOptions): () => void {
  const { stdin } = process;
  const reader = new KeyReader();
  const decoder = new TextDecoder();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let open = true;
  const report = (keys: readonly Key[]) => {
    for (const key of keys) if (open) onKey(key);
  };
  const hear = (chunk: Uint8Array | string) => {
    clearTimeout(timer);
    report(reader.feed(typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })));
    if (reader.waits !== undefined) timer = setTimeout(() => report(reader.flush()), reader.waits);
  };
  const gone = () => {
    if (open) onGone();
  };
  const restore = () => {
    // The terminal is gone.
    quietly(() => stdin.setRawMode(false));
  };
  stdin.setRawMode(true);
  stdin.on("data", hear);
  stdin.on("end", gone);
  stdin.on("error", gone);
  stdin.resume();
  process.on("exit", restore);
  write(BRACKETS_ON);
  return () => {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    stdin.off("data", hear);
    stdin.off("end", gone);
    // An error that comes later still has a listener: it is not to end the process.
    stdin.pause();
    restore();
    process.off("exit", restore);
    write(BRACKETS_OFF);
  };
}
