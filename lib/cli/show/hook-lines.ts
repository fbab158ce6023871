import { pascal } from "../../core/names.ts";
import type { RunEvent } from "../../core/run-events.ts";
import type { ExecRecord } from "../../hooks/toml.ts";
import type { Colours } from "./colours.ts";
import { elapsed, firstLine, plainText } from "./text.ts";

type Event<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

/** The sign of everything that is a hook's. */
export const HOOK = "◆";
/** How many lines of one run of a hook are shown. */
const MOST_LINES = 40;
/** How long a line may be before it is shown although it has no end yet. */
const MOST_WAITING = 10_000;

/** Command hooks put who speaks before their reason; here the line says it already. */
const SPEAKER = /^\s*\[[^\]\n]*\]: /;

/** `Hook(Stop) tests-pass`: the event, and of a file's name what tells it from others. */
export function hookTitle({ event, hook }: { readonly event: string; readonly hook: string }): string {
  const [, label = hook] = /^(?:\d+-)?[a-z-]+(?:@[\w+]+)?\.(.+?)(?:\.\w+){1,2}$/.exec(hook) ?? [];
  return `Hook(${pascal(event)}) ${plainText(label)}`;
}

/** `Hook(Stop) tests-pass: sent back: 2 tests fail`; nothing where the hook let things be. */
export function decisionLine(event: Event<"hook_end">, { magenta, red, yellow, green }: Colours): string | undefined {
  if (event.decision === "continue") return undefined;
  const title = `${magenta(HOOK)} ${hookTitle(event)}:`;
  if (event.failure !== undefined) return `${title} ${red("failed")}: ${firstLine(event.failure)}`;
  const words: Record<string, string> = {
    deny: red(event.event === "stop" ? "sent back" : "denied"),
    modify: yellow("rewrote it"),
    ask: yellow("asks"),
    allow: green("allowed"),
    halt: yellow("ends the run"),
  };
  const decision = words[event.decision] ?? event.decision;
  return `${title} ${event.reason ? `${decision}: ${firstLine(event.reason.replace(SPEAKER, ""))}` : decision}`;
}

/** `HookInput: …` with all it says: the model reads it, so may the person (S1.19). */
export function inputLines(event: Event<"hook_input">, { magenta }: Colours): string[] {
  const [head = "", ...rest] = plainText(event.text).trimEnd().split("\n");
  return [`${magenta(HOOK)} HookInput: ${head}`, ...rest.map((line) => `  ${line}`)];
}

interface Writing {
  readonly title: string | undefined;
  rest: string;
  lines: number;
  /** A verdict in JSON is for us, not for a person. */
  verdict: boolean | undefined;
}

/** What hooks write while they run: whole lines, each run under its title. */
export class HookOutput {
  readonly #writing = new Map<string, Writing>();

  /** A hook's command looks as a person's own would: its begin, what it writes, its end (S1.18). */
  exec(given: unknown, colours: Colours): string[] {
    const { magenta, dim, green, red } = colours;
    const exec = given as ExecRecord;
    const key = `exec ${exec.id}`;
    switch (exec.type) {
      case "exec_begin":
        this.#writing.delete(key);
        return [`${magenta(HOOK)} ${exec.title} ${dim(plainText(exec.command.join(" ")))}`];
      case "exec_output":
        return this.#write(key, undefined, exec.text, colours);
      case "exec_end": {
        const status = exec.status === "ok" ? green("ok") : red(exec.status);
        return [
          ...this.#flush(key, colours),
          `${magenta(HOOK)} ${exec.title} ${status} ${dim(elapsed(exec.duration_ms))}`,
        ];
      }
      default:
        return [];
    }
  }

  /** What a command hook writes. */
  take({ agent_id, hook, event, stream, text }: Event<"hook_output">, colours: Colours): string[] {
    const title = `${colours.magenta(HOOK)} ${hookTitle({ hook, event })}`;
    return this.#write(`${agent_id} ${hook} ${event} ${stream}`, title, text, colours);
  }

  /** What is left of a hook that has ended. */
  end({ agent_id, hook, event }: Event<"hook_end">, colours: Colours): string[] {
    const keys = ["stdout", "stderr"].map((stream) => `${agent_id} ${hook} ${event} ${stream}`);
    return keys.flatMap((key) => this.#flush(key, colours));
  }

  #write(key: string, title: string | undefined, text: string, colours: Colours): string[] {
    let writing = this.#writing.get(key);
    if (!writing) this.#writing.set(key, writing = { title, rest: "", lines: 0, verdict: undefined });
    writing.rest += text;
    if (title !== undefined && writing.verdict === undefined && writing.rest.trim() !== "") {
      writing.verdict = key.endsWith("stdout") && writing.rest.trimStart().startsWith("{");
    }
    const lines = writing.rest.split("\n");
    writing.rest = lines.at(-1)!.length > MOST_WAITING ? "" : lines.pop()!;
    return this.#shown(writing, lines, colours);
  }

  #flush(key: string, colours: Colours): string[] {
    const writing = this.#writing.get(key);
    this.#writing.delete(key);
    return writing && writing.rest.trim() !== "" ? this.#shown(writing, [writing.rest], colours) : [];
  }

  #shown(writing: Writing, lines: readonly string[], { dim }: Colours): string[] {
    if (writing.verdict || lines.length === 0) return [];
    const begun = writing.lines > 0;
    const room = Math.max(0, MOST_LINES - writing.lines);
    const over = writing.lines <= MOST_LINES && writing.lines + lines.length > MOST_LINES;
    writing.lines += lines.length;
    return [
      ...(begun || writing.title === undefined ? [] : [writing.title]),
      ...lines.slice(0, room).map((line) => dim(`  ${plainText(line).replaceAll("\t", "    ")}`)),
      ...(over ? [dim("  … it goes on writing")] : []),
    ];
  }
}
