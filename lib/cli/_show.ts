import type { Stop } from "../core/events.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { Usage } from "../core/messages.ts";
import pc from "picocolors";
import { closing, tokensOf } from "./show/tally.ts";
import { RunView } from "./show/view.ts";

export { plainText } from "./show/text.ts";

/** Shows a run to a person while it happens, in rows that stay: text, a line for each call and each hook that did something. */
export function terminalView(write: (text: string) => void): (event: RunEvent) => void {
  const view = new RunView({
    print: (rows) => write(rows.map((row) => `${row}\n`).join("")),
    colours: pc,
    columns: () => process.stdout.columns || Infinity,
    cwd: process.cwd(),
  });
  return (event) => view.see(event);
}

/** The closing line: how it ended, what it took. */
export function summary(
  { stop, iterations: calls, usage, cost }: { stop: Stop; iterations: number; usage: Usage; cost: number | undefined },
): string {
  return closing(stop, { calls, tokens: tokensOf(usage), cost }, pc);
}
