import { type EventName, EVENTS } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { HookRun } from "../../core/hook.ts";
import { actionOf } from "../../core/verdict.ts";
import { shownText } from "./calls.ts";
import type { HookLedger, HookOutcome, LedgerLine, Section, Tone } from "./shape.ts";

/** At most this many rows are linked from one outcome; the rest are counted. */
const LINKED_ROWS = 12;

/** Command hooks put their name before their reason; beside the name of the hook it would be there twice. */
const SPEAKER = /^\s*\[[^\]\n]*\]: /;

const OUTCOMES: Readonly<Record<string, readonly [Tone, string]>> = {
  failed: ["bad", "failed"],
  abort: ["bad", "ended the run"],
  deny: ["denied", "denied"],
  halt: ["denied", "halted the run"],
  modify: ["changed", "rewrote it"],
  ask: ["changed", "asked"],
  allow: ["good", "allowed"],
};

type Outcome = Pick<LedgerLine, "tone" | "did" | "why">;

/** What a hook's decision did, in words; `decision` is as in the `hook_end` event of a run. */
export function hookOutcome(event: string, decision: string, why: string | undefined): Outcome {
  const [tone, did] = OUTCOMES[decision] ?? ["plain", "did nothing"];
  const words = event === "stop" && decision === "deny" ? "sent back" : did;
  return { tone, did: words, why: shownText(why ?? "").replace(SPEAKER, "") };
}

/** What each hook that was considered at an event did. */
export function ledgerLines(event: string, { runs, contexts, inputs }: Folded): LedgerLine[] {
  return runs.map((run) => {
    const outcome = outcomeOf(event, run);
    const spoke = [...contexts, ...inputs].some((said) => said.hook === run.hook);
    return {
      hook: shownText(run.hook),
      ...(outcome.tone === "plain" && spoke ? { ...outcome, tone: "changed", did: "added context" } : outcome),
      ms: Number(run.ms) || 0,
    };
  });
}

function outcomeOf(event: string, { skipped, failure, opinion }: HookRun): Outcome {
  if (skipped !== undefined) return { tone: "quiet", did: "skipped", why: shownText(skipped) };
  if (failure !== undefined) return hookOutcome(event, "failed", failure);
  if (opinion?.abort !== undefined) return hookOutcome(event, "abort", opinion.abort);
  const decision = actionOf(opinion);
  if (decision === "deny" && EVENTS[event as EventName]?.deny === "ignored") return hookOutcome(event, "ignored", "");
  return hookOutcome(event, decision, decision === "halt" ? opinion?.halt : opinion?.reason);
}

/** Whether a hook did anything at all. */
export function hasActed({ tone }: Pick<Outcome, "tone">): boolean {
  return tone !== "quiet" && tone !== "plain";
}

/** What each hook did over a run, by the rows of its events. */
export function hookLedgers(rows: readonly { readonly sections: readonly Section[] }[]): HookLedger[] {
  const all = rows.flatMap(({ sections }, row) =>
    sections.flatMap((one) => one.as === "ledger" ? one.runs.map((line) => ({ ...line, event: one.event, row })) : [])
  );
  return [...Map.groupBy(all, ({ hook }) => hook)].map(([name, lines]) => ({
    name,
    events: [...new Set(lines.map(({ event }) => event))],
    considered: lines.length,
    ran: lines.filter(({ tone }) => tone !== "quiet").length,
    acted: lines.filter(hasActed).length,
    ms: lines.reduce((sum, { ms }) => sum + ms, 0),
    outcomes: [...Map.groupBy(lines, ({ event, did, why }) => JSON.stringify([event, did, why])).values()]
      .map((same): HookOutcome => {
        const { event, tone, did, why } = same[0]!;
        return { event, tone, did, why, count: same.length, rows: same.slice(0, LINKED_ROWS).map(({ row }) => row) };
      })
      .sort((a, b) => Number(hasActed(b)) - Number(hasActed(a)) || b.count - a.count),
  }));
}
