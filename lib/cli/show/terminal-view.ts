import type { RunEvent } from "../../core/run-events.ts";
import type { Colours } from "./colours.ts";
import { RunView } from "./view.ts";

/** Shows a run to a person while it happens, in rows that stay: text, a line for each call and each hook that did something. */
export function terminalView(write: (text: string) => void, colours: Colours): (event: RunEvent) => void {
  const view = new RunView({
    print: (rows) => write(rows.map((row) => `${row}\n`).join("")),
    colours,
    columns: () => process.stdout.columns || Infinity,
    cwd: process.cwd(),
  });
  return (event) => view.see(event);
}
