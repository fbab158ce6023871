import pc from "picocolors";
import type { RunEvent } from "../core/run-events.ts";

/** Shows a run to a person while it happens: text as it comes, a line for each call and each hook that did something. */
export function terminalView(write: (text: string) => void): (event: RunEvent) => void {
  let midLine = false;
  const line = (text: string) => {
    write(`${midLine ? "\n" : ""}${text}\n`);
    midLine = false;
  };
  return (event) => {
    switch (event.type) {
      case "text":
        write(plainText(event.text));
        midLine = !event.text.endsWith("\n");
        break;
      case "tool_end":
        line(
          `${mark(event.outcome)} ${pc.bold(event.name)} ${pc.dim(firstLine(event.content))} ${
            pc.dim(elapsed(event.ms))
          }`,
        );
        break;
      case "tool_start":
        line(`${pc.cyan("▸")} ${pc.bold(event.name)} ${pc.dim(firstLine(JSON.stringify(event.input)))}`);
        break;
      case "hook_end":
        if (event.decision === "continue") break;
        line(`${pc.magenta("◆")} Hook(${pascal(event.event)}) ${event.hook}: ${sayDecision(event)}`);
        break;
      case "exec":
        showExec(event.exec as ExecShown, line);
        break;
      case "hook_input":
        line(`${pc.magenta("◆")} HookInput: ${plainText(event.text)}`);
        break;
      case "system_message":
        line(`${pc.magenta("◆")} ${event.hook} says: ${plainText(event.text)}`);
        break;
      case "retry":
        line(pc.yellow(`↻ ${plainText(event.reason)}: trying again in ${elapsed(event.wait_ms)}`));
        break;
      case "warning":
        line(pc.yellow(`! ${plainText(event.message)}`));
        break;
      case "end":
        if (midLine) line("");
        break;
      default: // the rest is for logs
    }
  };
}

interface ExecShown {
  readonly type: string;
  readonly title: string;
  readonly command?: readonly string[];
  readonly text?: string;
  readonly status?: string;
  readonly duration_ms?: number;
}

/** A hook's command looks as a person's own would: its begin, what it writes, its end. */
function showExec(exec: ExecShown, line: (text: string) => void): void {
  if (exec.type === "exec_begin") {
    line(`${pc.magenta("◆")} ${exec.title} ${pc.dim(plainText(exec.command!.join(" ")))}`);
  } else if (exec.type === "exec_output") {
    for (const part of plainText(exec.text!).trimEnd().split("\n")) line(pc.dim(`  ${part}`));
  } else if (exec.type === "exec_end") {
    line(`${pc.magenta("◆")} ${exec.title} ${exec.status} ${pc.dim(elapsed(exec.duration_ms!))}`);
  }
}

/** The closing line: how it ended, what it took. */
export function summary(
  result: {
    stop: string;
    iterations: number;
    usage: { input_tokens: number; output_tokens: number };
    cost: number | undefined;
  },
): string {
  const { stop, iterations, usage, cost } = result;
  const tokens = `${usage.input_tokens + usage.output_tokens} tokens`;
  const dollars = cost === undefined ? "cost unknown" : `$${cost.toFixed(4)}`;
  return pc.dim(`${stop} · ${iterations} model ${iterations === 1 ? "call" : "calls"} · ${tokens} · ${dollars}`);
}

function sayDecision(event: { event: string; decision: string; reason?: string; failure?: string }): string {
  if (event.failure !== undefined) return pc.red(`failed: ${plainText(event.failure)}`);
  const words: Record<string, string> = {
    deny: pc.red(event.event === "stop" ? "sent back" : "denied"),
    modify: pc.yellow("rewrote the input"),
    ask: pc.yellow("asks"),
    allow: pc.green("allowed"),
  };
  const decision = words[event.decision] ?? event.decision;
  return event.reason ? `${decision}: ${firstLine(event.reason)}` : decision;
}

function mark(outcome: string): string {
  return outcome === "success" ? pc.green("✓") : outcome === "denied" ? pc.red("⊘") : pc.red("✗");
}

function elapsed(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function firstLine(text: string): string {
  const line = plainText(text).split("\n", 1)[0]!;
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

function pascal(name: string): string {
  return name.replace(/(^|-)(\w)/g, (_, __, c: string) => c.toUpperCase());
}

/** Text of a model, a tool or a hook must not steer the terminal. */
export function plainText(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
