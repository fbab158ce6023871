import { pascal } from "../../../core/names.ts";
import type { ExecRecord } from "../../../hooks/toml.ts";
import type { ViewEvent } from "../calls.ts";
import { hasActed, hookOutcome } from "../ledger.ts";
import { type Colours, elapsed, firstLine, plainText } from "../../../cli/show/text.ts";

/** Marks every line about a hook. */
export const HOOK = "◆";
/** How many lines of a hook's output are shown. */
const MOST_LINES = 40;
/** A line that grows longer than this is shown before its end. */
const MOST_WAITING = 10_000;

/** `Hook(Stop) tests-pass`: the event, and the label in the name of the hook file. */
export function hookTitle({ event, hook }: { readonly event: string; readonly hook: string }): string {
  const [, label = hook] = /^(?:\d+-)?[a-z-]+(?:@[\w+]+)?\.(.+?)(?:\.\w+){1,2}$/.exec(hook) ?? [];
  return `Hook(${pascal(event)}) ${plainText(label)}`;
}

/** `Hook(Stop) tests-pass: sent back: 2 tests fail`; undefined if the hook did nothing. */
export function decisionLine(
  event: ViewEvent<"hook_end">,
  { magenta, red, yellow, green }: Colours,
): string | undefined {
  const outcome = hookOutcome(event.event, event.decision, event.failure ?? event.reason);
  if (!hasActed(outcome)) return undefined;
  const { tone, did, why } = outcome;
  const words = tone === "changed" ? yellow(did) : tone === "good" ? green(did) : red(did);
  return `${magenta(HOOK)} ${hookTitle(event)}: ${words}${why === "" ? "" : `: ${firstLine(why)}`}`;
}

/** `HookInput: …` with its whole text, as the model reads it (S1.19). */
export function inputLines(event: ViewEvent<"hook_input">, { magenta }: Colours): string[] {
  const [head = "", ...rest] = plainText(event.text).trimEnd().split("\n");
  return [`${magenta(HOOK)} HookInput: ${head}`, ...rest.map((line) => `  ${line}`)];
}

interface HookWriting {
  readonly title: string | undefined;
  rest: string;
  lines: number;
  /** Whether it is a verdict in JSON, which is not shown. */
  verdict: boolean | undefined;
}

/** The output of hooks while they run, in whole lines under a title. */
export class HookOutput {
  readonly #writing = new Map<string, HookWriting>();

  /** A command of a hook is shown like a command of a user: its begin, its output, its end (S1.18). */
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

  take({ agent_id, hook, event, stream, text }: ViewEvent<"hook_output">, colours: Colours): string[] {
    const title = `${colours.magenta(HOOK)} ${hookTitle({ hook, event })}`;
    return this.#write(`${agent_id} ${hook} ${event} ${stream}`, title, text, colours);
  }

  end({ agent_id, hook, event }: ViewEvent<"hook_end">, colours: Colours): string[] {
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

  #shown(writing: HookWriting, lines: readonly string[], { dim }: Colours): string[] {
    if (writing.verdict || lines.length === 0) return [];
    const begun = writing.lines > 0;
    const room = Math.max(0, MOST_LINES - writing.lines);
    const over = writing.lines <= MOST_LINES && writing.lines + lines.length > MOST_LINES;
    writing.lines += lines.length;
    return [
      ...(begun || writing.title === undefined ? [] : [writing.title]),
      ...lines.slice(0, room).map((line) => dim(`  ${plainText(line).replaceAll("\t", "    ")}`)),
      ...(over ? [dim("  … more output is not shown")] : []),
    ];
  }
}
