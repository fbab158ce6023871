import type { Folded } from "../core/fold.ts";
import type { HookRun } from "../core/hook.ts";
import { wordsOf } from "./_sections.ts";
import type { HookLedger, HookOutcome, LedgerLine, Tone } from "./shape.ts";

/** At most so many rows are linked from one outcome: enough to look at, however long the run. */
const LINKED_ROWS = 40;

/** What became of each hook that was considered at an event. */
export function ledgerLines(event: string, { runs, contexts, inputs }: Folded): LedgerLine[] {
  return runs.map((run) => {
    const spoke = [...contexts, ...inputs].some((said) => said.hook === run.hook);
    return { hook: wordsOf(run.hook), ...outcome(event, run, spoke), ms: Number(run.ms) || 0 };
  });
}

function outcome(event: string, { skipped, failure, opinion = {} }: HookRun, spoke: boolean): Pick<
  LedgerLine,
  "tone" | "did" | "why"
> {
  const said = (tone: Tone, did: string, why: string | undefined) => ({ tone, did, why: wordsOf(why ?? "") });
  if (skipped !== undefined) return said("quiet", "passed over", skipped);
  if (failure !== undefined) return said("bad", "failed", failure);
  if (opinion.abort !== undefined) return said("bad", "ended the run", opinion.abort);
  if (opinion.decision === "deny") return said("denied", event === "stop" ? "sent back" : "denied", opinion.reason);
  if (opinion.halt !== undefined) return said("denied", "halted", opinion.halt);
  if (opinion.value) return said("changed", "rewrote", opinion.reason);
  if (opinion.decision === "ask") return said("changed", "asked", opinion.reason);
  if (opinion.decision === "allow") return said("good", "allowed", opinion.reason);
  return spoke ? said("changed", "spoke to the model", "") : said("plain", "let it pass", "");
}

/** Whether a hook did anything at all. */
export function acted({ tone }: Pick<LedgerLine, "tone">): boolean {
  return tone !== "quiet" && tone !== "plain";
}

interface Open {
  readonly events: Set<string>;
  considered: number;
  ran: number;
  acted: number;
  ms: number;
  readonly outcomes: Map<string, HookOutcome & { count: number; readonly rows: number[] }>;
}

/** Gathers what each hook did over a run. */
export class Ledgers {
  readonly #hooks = new Map<string, Open>();

  add(event: string, lines: readonly LedgerLine[], row: number): void {
    for (const line of lines) {
      let hook = this.#hooks.get(line.hook);
      if (!hook) {
        hook = { events: new Set(), considered: 0, ran: 0, acted: 0, ms: 0, outcomes: new Map() };
        this.#hooks.set(line.hook, hook);
      }
      hook.events.add(event);
      hook.considered++;
      if (line.tone !== "quiet") hook.ran++;
      if (acted(line)) hook.acted++;
      hook.ms += line.ms;
      const { tone, did, why } = line;
      const key = JSON.stringify([event, did, why]);
      const known = hook.outcomes.get(key);
      if (!known) hook.outcomes.set(key, { event, tone, did, why, count: 1, rows: [row] });
      else {
        known.count++;
        if (known.rows.length < LINKED_ROWS) known.rows.push(row);
      }
    }
  }

  all(): HookLedger[] {
    return [...this.#hooks].map(([name, { events, outcomes, ...counts }]) => ({
      name,
      events: [...events],
      ...counts,
      outcomes: [...outcomes.values()].sort((a, b) => Number(acted(b)) - Number(acted(a)) || b.count - a.count),
    }));
  }
}
