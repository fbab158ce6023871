import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../../hooks/file/places.ts";
import { stateDir } from "../../files/state-dir.ts";
import { privateDir } from "../_project.ts";

/** How many prompts are remembered. */
const MOST = 500;

/**
 * The prompts of a project, the newest last, kept in its state folder: one JSON text a line, appended, so that two
 * chats at once lose nothing. If it cannot be written, the history is for this chat only.
 */
export class History {
  readonly #file: string;
  readonly #entries: string[];
  #at: number;
  #draft = "";

  constructor(cwd: string, env: Readonly<Record<string, string | undefined>>) {
    this.#file = join(stateDir(cwd, env), "chat", "history.jsonl");
    const entries = read(this.#file);
    this.#entries = entries.slice(-MOST);
    this.#at = this.#entries.length;
    if (entries.length > 2 * MOST) this.#shorten();
  }

  add(prompt: string): void {
    if (prompt !== this.#entries.at(-1)) {
      this.#entries.push(prompt);
      try {
        privateDir(join(this.#file, ".."));
        appendFileSync(this.#file, `${JSON.stringify(prompt)}\n`, { mode: 0o600 });
      } catch {
        // Read-only or full: this chat still has it.
      }
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

  #shorten(): void {
    try {
      writeWhole(this.#file, this.#entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    } catch {
      // It stays long.
    }
  }
}

/** A line that is not a JSON text, such as one torn by a crash, is skipped. */
function read(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line) => {
    try {
      const entry: unknown = JSON.parse(line);
      return typeof entry === "string" ? [entry] : [];
    } catch {
      return [];
    }
  });
}
