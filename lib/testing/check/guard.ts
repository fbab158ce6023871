import { type Asker, refuses } from "./asker.ts";
import { isWire, type Probe } from "./events.ts";
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
/** Longer texts are none a person would guard against. */
const MOST_CHARACTERS = 200;

/** Guard strength: tries what was refused in other words. */
export async function guardStrength(asker: Asker, denied: readonly Probe[]): Promise<Bypass[]> {
  const found: Bypass[] = [];
  for (const probe of chosen(denied)) {
    const { field, text } = guarded(probe)!;
    const others = field === "command" ? commandRewritings(text) : pathRewritings(text, asker.lane.place);
    // The links they lead through belong to the project from here on.
    if (field === "file_path") asker.lane.adopt();
    const passes: Rewriting[] = [];
    const tried = others.map((other) => withText(probe, field, other.text, asker));
    let i = 0;
    for await (const [, probed] of asker.askAll(tried)) {
      const other = others[i++]!;
      if (!refuses(probed) && !probed.timedOut && !probed.failure && !probed.skipped) passes.push(other);
    }
    if (passes.length > 0) found.push({ denied: text, passes });
  }
  return found;
}

/** Few, short and different ones. */
function chosen(denied: readonly Probe[]): Probe[] {
  const byText = new Map<string, Probe>();
  for (const probe of denied) {
    const { text } = guarded(probe) ?? { text: "" };
    if (text.trim() !== "" && text.length <= MOST_CHARACTERS && !/[\n\0]/.test(text)) byText.set(text, probe);
  }
  const sorted = [...byText].sort(([a], [b]) => simplicity(a) - simplicity(b));
  const begins = new Set<string>();
  return sorted.filter(([text]) => {
    const first = text.trim().split(/\s+/)[0]!;
    return !begins.has(first) && begins.add(first);
  }).slice(0, MOST_DENIED).map(([, probe]) => probe);
}

/** One plain command comes before several in one line. */
function simplicity(text: string): number {
  return text.length + 100 * (text.match(/[;&|$`'"]|[^\x20-\x7e]/g)?.length ?? 0);
}

function withText(probe: Probe, field: string, text: string, { subject }: Asker): Probe {
  const input = { ...inputOf(probe), [field]: text };
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
