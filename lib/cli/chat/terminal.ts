import { type Key, KeyReader } from "./keys.ts";

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
