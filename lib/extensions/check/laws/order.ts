import { isObject } from "../../../core/json.ts";
import { inputOf, type Probe, withInput } from "../sample-events.ts";
import type { LaneAsker } from "../hook-lane.ts";
import type { Finding, Violation } from "../check-report.ts";
import type { Probed } from "../subject.ts";
import { brief, claudeName, eventName, violationsOf } from "./judged.ts";

export interface Rewrite {
  readonly hook: string;
  /** The event, with its tool: `PreToolUse:Bash`. */
  readonly at: string;
  readonly field: string;
}

function changedFields(before: unknown, after: unknown): string[] {
  if (!isObject(before) || !isObject(after)) return JSON.stringify(before) === JSON.stringify(after) ? [] : [""];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

export function rewritesOf(hook: string, probe: Probe, { opinion }: Probed): Rewrite[] {
  if (!opinion?.value) return [];
  const { tool_name, tool_input, input } = probe.event;
  const at = typeof tool_name === "string" ? `${eventName(probe)}:${tool_name}` : eventName(probe);
  return changedFields(tool_input ?? input, opinion.value.to).map((field) => ({ hook, at, field }));
}

const { warning } = violationsOf("order", "conflict");

const MOST_AGAIN = 20;

/** The first event whose rewriting the hook rewrites again. */
export async function rewritesAgain(
  asker: LaneAsker,
  answers: ReadonlyMap<Probe, Probed>,
): Promise<{ readonly violation: Violation; readonly probe: Probe } | undefined> {
  const rewritings = [...answers].flatMap(([probe, { opinion }]) => {
    const again = opinion?.value && rewrittenEvent(probe, opinion.value.to);
    return again ? [again] : [];
  });
  for await (const [probe, { opinion }] of asker.askAll(rewritings.slice(0, MOST_AGAIN))) {
    const before = probe.event.prompt ?? inputOf(probe);
    const fields = opinion?.value ? changedFields(before, opinion.value.to) : [];
    if (fields.length === 0) continue;
    const [first, second] = [before, opinion!.value!.to].map((value) => brief(JSON.stringify(value), 120));
    const message = `It rewrites its own rewriting: ${first} becomes ${second}`;
    return { violation: warning("not-idempotent", message, LEAVE), probe };
  }
  return undefined;
}

/** The event after a rewriting, as the next hook or the next try sees it; undefined if that is not known. */
function rewrittenEvent(probe: Probe, to: unknown): Probe | undefined {
  const { event } = probe;
  if (typeof event.prompt === "string" && typeof to === "string") return { ...probe, event: { ...event, prompt: to } };
  return claudeName(eventName(probe)) === "PreToolUse" && isObject(to) ? withInput(probe, to, {}) : undefined;
}

const LEAVE = "leave what it has rewritten as it is: a call that is tried again, or asked about twice, grows each time";

/** Order: pairs of hooks that rewrite the same field, reported with the later one. */
export function sameFields(rewrites: readonly Rewrite[], seed: number, reproduce: string): Finding[] {
  const found = new Map<string, Finding>();
  for (const [i, a] of rewrites.entries()) {
    for (const b of rewrites.slice(i + 1)) {
      const pair = `${a.hook}\0${b.hook}`;
      if (a.hook === b.hook || a.at !== b.at || a.field !== b.field || found.has(pair)) continue;
      const what = a.field === "" ? "the value" : `'${a.field}'`;
      found.set(pair, {
        law: "order",
        code: "conflict.same-field",
        severity: "warning",
        hook: b.hook,
        event: a.at.split(":")[0]!,
        message:
          `It rewrites ${what} at ${a.at}, and so does ${a.hook}: here the later hook sees the change of the earlier one, in other hosts the last to finish wins`,
        counterexample: { hooks: [a.hook, b.hook], at: a.at, field: a.field },
        ...{ seed, reproduce },
        fix: "join the two, or let each rewrite another field",
      });
    }
  }
  return [...found.values()];
}
