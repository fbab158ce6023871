/** One key a person pressed: its name, and for text what was typed or pasted. */
export interface Key {
  readonly name: KeyName;
  readonly text: string;
}

type KeyName =
  | ("text" | "paste" | "enter" | "newline" | "tab" | "escape" | "backspace" | "delete")
  | ("left" | "right" | "up" | "down" | "home" | "end" | "word-left" | "word-right" | "delete-word")
  | (`ctrl-${string}` | "unknown");

const CONTROLS: { readonly [char: string]: KeyName } = {
  "\r": "enter",
  "\n": "newline",
  "\t": "tab",
  "\b": "backspace",
  "\u007f": "backspace",
};

/** What a control character is: those without a name of their own are Ctrl and a letter. */
function controlName(char: string): KeyName {
  return CONTROLS[char] ?? `ctrl-${String.fromCharCode(char.charCodeAt(0) + 96)}`;
}

/** What follows an escape. Some terminals write `O` instead of `[`. */
const SEQUENCES: { readonly [sequence: string]: KeyName } = {
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  "[H": "home",
  "[F": "end",
  "[1~": "home",
  "[4~": "end",
  "[7~": "home",
  "[8~": "end",
  "[3~": "delete",
  "[1;3C": "word-right",
  "[1;3D": "word-left",
  "[1;5C": "word-right",
  "[1;5D": "word-left",
  "[13;2u": "newline",
  "[27;2;13~": "newline",
  "\r": "newline",
  "\n": "newline",
  "b": "word-left",
  "f": "word-right",
  "\u007f": "delete-word",
};

const PASTE = "[200~";
const PASTED = "\u001b[201~";
const PASTE_MS = 1000;
const SEQUENCE_MS = 40;

/**
 * Reads keys out of what a terminal sends. A sequence may come in pieces: what is incomplete waits for more, and
 * `flush` says that no more is coming, which makes a lone escape the Esc key.
 */
export class KeyReader {
  #rest = "";

  /** How long to wait for the end of what has begun, in milliseconds; undefined if nothing has. */
  get waits(): number | undefined {
    return this.#rest === "" ? undefined : this.#pasting ? PASTE_MS : SEQUENCE_MS;
  }

  get #pasting(): boolean {
    return this.#rest.startsWith(`\u001b${PASTE}`);
  }

  feed(text: string): Key[] {
    this.#rest += text;
    const keys: Key[] = [];
    for (let taken = this.#next(keys); taken > 0; taken = this.#next(keys)) this.#rest = this.#rest.slice(taken);
    return keys;
  }

  flush(): Key[] {
    // A paste without its end must not lock the person out.
    if (this.#pasting) return this.feed(PASTED);
    const rest = this.#rest;
    this.#rest = "";
    return rest === "\u001b" ? [key("escape")] : rest === "\u001b\u001b" ? [key("escape"), key("escape")] : [];
  }

  /** Takes one key from the front; how many characters it was, 0 if more must come first. */
  #next(keys: Key[]): number {
    const text = this.#rest;
    if (text === "") return 0;
    if (text[0] === "\u001b") return this.#escaped(text, keys);
    // deno-lint-ignore no-control-regex
    const [typed] = /^[^\u0000-\u001f\u007f]+/.exec(text) ?? [];
    if (typed === undefined) {
      keys.push(key(controlName(text[0]!)));
      return 1;
    }
    // Half of a character outside the basic plane waits for its other half.
    const whole = /[\ud800-\udbff]$/.test(typed) ? typed.slice(0, -1) : typed;
    if (whole !== "") keys.push({ name: "text", text: whole });
    return whole.length;
  }

  #escaped(text: string, keys: Key[]): number {
    const after = text.slice(1);
    if (after.startsWith(PASTE)) {
      const end = text.indexOf(PASTED);
      if (end < 0) return 0;
      const pasted = text.slice(1 + PASTE.length, end);
      keys.push({ name: "paste", text: cleaned(pasted) });
      return end + PASTED.length;
    }
    if (after === "" || after === "\u001b" || /^(?:\[[0-9;?]*|O)$/.test(after)) return 0;
    if (after[0] === "\u001b") {
      keys.push(key("escape"));
      return 1;
    }
    const [sequence] = /^(?:\[[0-9;?<=>]*[ -/]*[@-~]|O[@-~]|[\s\S])/.exec(after)!;
    keys.push(key(SEQUENCES[sequence.replace(/^O/, "[")] ?? "unknown"));
    return 1 + sequence.length;
  }
}

function key(name: KeyName): Key {
  return { name, text: "" };
}

/** What was pasted is text: its lines and tabs stay, nothing in it steers. */
function cleaned(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** The keyboard of the terminal this process runs in, key by key, for as long as it is open. */
export interface Keyboard {
  /** Gives the terminal back as it was; may be called twice. */
  close(): void;
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

export function openKeyboard({ onKey, onGone, write }: KeyboardOptions): Keyboard {
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
    try {
      stdin.setRawMode(false);
    } catch {
      // The terminal is gone.
    }
  };
  stdin.setRawMode(true);
  stdin.on("data", hear);
  stdin.on("end", gone);
  stdin.on("error", gone);
  stdin.resume();
  process.on("exit", restore);
  write(BRACKETS_ON);
  return {
    close() {
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
    },
  };
}
