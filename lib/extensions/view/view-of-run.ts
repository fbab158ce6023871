import type { LoggedRun } from "../../log/logged-run.ts";
import type { Fixture } from "../../replay/fixture.ts";
import { readTape } from "../../replay/read-tape.ts";
import { type OpenAgent, type OpenRow, RunRows } from "./rows.ts";
import { firstLine, shownText } from "./calls.ts";
import { hookLedgers } from "./ledger.ts";
import type { AgentLane, SpentTokens, Totals, WholeView } from "./shape.ts";

/** A run to look at, with a name for the file it is drawn into. */
export interface Viewed {
  readonly name: string;
  readonly view: WholeView;
}

/** A fixture is drawn from its tape alone: looking at a recording runs none of its code. */
export async function viewOfFixture({ name, tape }: Fixture): Promise<Viewed> {
  const { runOnTape } = await import("./from-tape.ts");
  return { name, view: viewOf(runOnTape(await readTape(tape)), `fixture ${name}`) };
}

/** A run as a page shows it, from its log alone. A damaged line is left out and noted; the others are shown. */
export function viewOf({ events, notes }: Pick<LoggedRun, "events" | "notes">, source: string): WholeView {
  const run = new RunRows();
  let began: number | undefined;
  let now = 0;
  let damaged = 0;
  for (const event of events) {
    const at = Date.parse(event.at);
    if (!Number.isNaN(at)) {
      began ??= at;
      // A clock that was set back must not draw a run backwards.
      now = Math.max(now, at - began);
    }
    try {
      run.take(event, now);
    } catch {
      damaged++;
    }
  }
  closeOpen(run, now);
  const [main] = run.agents;
  const prompt = run.rows.find((row) => row.kind === "prompt");
  return {
    source,
    notes: damaged === 0 ? notes : [...notes, `Lines left out because their fields are damaged: ${damaged}`],
    title: prompt?.line || firstLine(main?.prompt ?? "") || "A run",
    began: began ?? 0,
    ms: now,
    stop: main?.stop ?? null,
    models: [...run.models].map(shownText),
    agents: run.agents.map((agent) => laneOf(agent, run.agents)),
    rows: run.rows.map(({ sections: _, ...row }) => ({
      ...row,
      name: shownText(row.name),
      line: firstLine(row.line),
      ...(row.result !== undefined && { result: firstLine(row.result) }),
    })),
    hooks: hookLedgers(run.rows),
    totals: totalsOf(run.rows),
    sections: run.rows.map((row) => row.sections),
  };
}

/** A call or a hook without an end: the log, or the run, ended before it. */
function closeOpen(run: RunRows, now: number): void {
  for (const { outcome, row } of run.calls.values()) {
    if (outcome !== undefined) continue;
    row.tone = "bad";
    row.open = true;
    row.sections.push({ as: "output", title: "No result", text: "The log ends before the call did", bad: true });
  }
  for (const { agent, hook, event } of run.pending.values()) {
    run.row("note", agent, now, { name: event, line: `${hook} had not answered when the log ended`, tone: "bad" });
  }
}

function laneOf({ id, name, parent }: OpenAgent, agents: readonly OpenAgent[]): AgentLane {
  let depth = 0;
  for (let at = parent; at >= 0 && depth < agents.length; at = agents[at]!.parent) depth++;
  return { id, name, parent, depth };
}

function totalsOf(rows: readonly OpenRow[]): Totals {
  const many = (test: (row: OpenRow) => boolean) => rows.filter(test).length;
  const spent = rows.flatMap((row) => row.spent ?? []);
  const total = (kind: keyof SpentTokens) => spent.reduce((sum, one) => sum + (one[kind] ?? 0), 0);
  return {
    calls: many((row) => row.kind === "call"),
    tools: many((row) => row.kind === "tool"),
    problems: many((row) => row.tone === "bad"),
    denied: many((row) => row.kind === "fire" && row.tone === "denied"),
    edits: many((row) => row.edit?.applied === true),
    fires: many((row) => row.kind === "fire"),
    spent: {
      ...{ fresh: total("fresh"), cacheRead: total("cacheRead"), cacheWrite: total("cacheWrite") },
      output: total("output"),
      cost: spent.some(({ cost }) => cost === null) ? null : total("cost"),
    },
  };
}
