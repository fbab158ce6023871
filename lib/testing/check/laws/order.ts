import { isObject } from "../../../core/json.ts";
import type { Finding } from "../report.ts";

export interface Rewrite {
  readonly hook: string;
  /** The event, with its tool: `PreToolUse:Bash`. */
  readonly at: string;
  readonly field: string;
}

export function changedFields(before: unknown, after: unknown): string[] {
  if (!isObject(before) || !isObject(after)) return JSON.stringify(before) === JSON.stringify(after) ? [] : [""];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

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
