import { COMMANDS } from "../../arbitraries/commands.ts";
import { type Asker, refuses } from "../asking/asker.ts";
import { isWire, type Probe } from "../events.ts";
import { claudeName, eventName, type Violation } from "./judged.ts";
import { commandRewritings, pathRewritings, type Rewriting } from "./_rewritings.ts";

/** A refusal that the same thing in other words gets around. */
export interface Bypass {
  readonly denied: string;
  readonly passes: readonly Rewriting[];
}

/** Whether an event is a call that a guard of commands or files is there for, and its text. */
export function guarded(probe: Probe): { readonly field: "command" | "file_path"; readonly text: string } | undefined {
  if (claudeName(eventName(probe)) !== "PreToolUse") return undefined;
  const { tool_name } = probe.event;
  const input = inputOf(probe);
  if ((tool_name === "Bash" || tool_name === "run_shell_command") && typeof input.command === "string") {
    return { field: "command", text: input.command };
  }
  const files = ["Edit", "Write", "MultiEdit", "NotebookEdit", "write_file", "replace"];
  return files.includes(String(tool_name)) && typeof input.file_path === "string"
    ? { field: "file_path", text: input.file_path }
    : undefined;
}

function inputOf({ event }: Probe): { readonly [field: string]: unknown } {
  return (event.tool_input ?? event.input ?? {}) as { readonly [field: string]: unknown };
}

/** A refusal is tried with so many inputs. */
const MOST_DENIED = 2;
const MOST_CHOSEN = 6;
/** Longer texts are none a person would guard against. */
const MOST_CHARACTERS = 200;

/** Guard strength: tries what was refused in other words. */
export async function guardStrength(asker: Asker, denied: readonly Probe[]): Promise<Bypass[]> {
  const found: Bypass[] = [];
  let tried = 0;
  for (const given of chosen(denied)) {
    const { field, text } = guarded(given)!;
    const probe = field === "command" ? await bare(given, text, asker) : given;
    if (!probe) continue;
    if (++tried > MOST_DENIED) break;
    const { subject, lane: { place } } = asker;
    const resolves = subject.host === "claude" && isWire(subject);
    const others = field === "command" ? commandRewritings(text) : pathRewritings(text, place, resolves);
    // The links they lead through belong to the project from here on.
    if (field === "file_path") asker.lane.adopt();
    const passes: Rewriting[] = [];
    let i = 0;
    for await (const [, probed] of asker.askAll(others.map((other) => withText(probe, field, other.text, asker)))) {
      const other = others[i++]!;
      if (!refuses(probed) && !probed.timedOut && !probed.failure && !probed.skipped) passes.push(other);
    }
    if (passes.length > 0) found.push({ denied: text, passes });
  }
  return found;
}

/** The call with nothing beside its command, where that is refused: what stands elsewhere is not what is rewritten. */
async function bare(probe: Probe, text: string, asker: Asker): Promise<Probe | undefined> {
  const alone = withInput(probe, { command: text }, asker);
  return refuses(await asker.ask(alone)) ? alone : undefined;
}

/** Few, short and different ones. */
function chosen(denied: readonly Probe[]): Probe[] {
  const byText = new Map<string, Probe>();
  for (const probe of denied) {
    const { text } = guarded(probe) ?? { text: "" };
    if (text.trim() !== "" && text.length <= MOST_CHARACTERS && !/[\n\0]/.test(text)) byText.set(text, probe);
  }
  // What was refused for its description, and not for what it runs, would take the place of a call that is guarded.
  const telling = [...byText].filter(([, probe]) => isTelling(probe));
  const calls = telling.length > 0 ? telling : [...byText].filter(([text]) => isCall(text));
  const sorted = (calls.length > 0 ? calls : [...byText]).sort(([a], [b]) => simplicity(a) - simplicity(b));
  const begins = new Map<string, string>();
  return sorted.filter(([text]) => {
    const first = text.trim().split(/\s+/)[0]!;
    const known = [...begins.values()].some((one) => text.includes(one));
    return !begins.has(first) && !known && begins.set(first, text);
  }).slice(0, MOST_CHOSEN).map(([, probe]) => probe);
}

const PROGRAMS = new Set(COMMANDS.map((line) => line.split(" ")[0]!));

/** Whether a refused call tells what a guard is there for: some look for words, wherever they stand. */
export function isTelling(probe: Probe): boolean {
  const { description } = inputOf(probe);
  return isCall(guarded(probe)?.text ?? "/") && /^[\w ]*$/.test(String(description ?? ""));
}

/** Whether a text is something that somebody would run, or a path. */
function isCall(text: string): boolean {
  return PROGRAMS.has(text.split(" ")[0]!) || text.startsWith("/");
}

/** One plain command comes before several in one line, and what people write before what was put together. */
function simplicity(text: string): number {
  const strange = text.match(/[;&|$`'"%]|[^\x20-\x7e]/g)?.length ?? 0;
  return text.length + 100 * strange - (COMMANDS.includes(text) ? 1000 : 0);
}

function withText(probe: Probe, field: string, text: string, asker: Asker): Probe {
  return withInput(probe, { ...inputOf(probe), [field]: text }, asker);
}

function withInput(probe: Probe, input: object, { subject }: Asker): Probe {
  const changed = isWire(subject) ? { tool_input: input } : { input, original_input: input };
  return { ...probe, event: { ...probe.event, ...changed } };
}

export function bypassViolation({ denied, passes }: Bypass): Violation {
  const [first] = passes;
  const more = passes.length > 1 ? `, and ${passes.length - 1} more` : "";
  return {
    law: "guard",
    code: "guard.bypass",
    severity: "warning",
    message: `It denies \`${denied}\` and lets \`${first!.text.replaceAll("\n", "⏎")}\` pass (${first!.how}${more})`,
    mend:
      "a text cannot be guarded by its looks alone: resolve paths, split command lines, deny what it cannot read, or use a sandbox",
  };
}
