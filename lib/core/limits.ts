import type { Stop } from "./events.ts";
import { addUsage, NO_USAGE, totalTokens, type Usage } from "./messages.ts";

/** What bounds an agent's run. Every run ends: these are on by default and only a person's new prompt resets them. */
export interface Limits {
  /** Model calls per run. @default 100 */
  readonly iterations: number;
  /** Continuations per run; unlimited if absent. */
  readonly continuations?: number;
  /** Continuations in a row without an executed tool between them; 0 means unlimited. @default 8 */
  readonly stalls: number;
  /** Tokens in and out, shared with sub-agents. */
  readonly tokens?: number;
  /** Cost in US dollars, shared with sub-agents. */
  readonly dollars?: number;
  /** Wall time, shared with sub-agents. */
  readonly seconds?: number;
  /** Model calls of a run over all its agents, with those of prompt hooks and summaries. @default 500 */
  readonly calls: number;
  /** How deep sub-agents may nest. @default 3 */
  readonly depth: number;
}

/** The limits of an agent that sets none. */
export const DEFAULT_LIMITS: Limits = { iterations: 100, stalls: 8, calls: 500, depth: 3 };

/** What one agent has used in one run. Counts only grow, but for `stalled`. */
export interface Count {
  iterations: number;
  continuations: number;
  /** Continuations since a tool was executed, the one thing that counts as progress. */
  stalled: number;
}

/** What a run has spent, with all its sub-agents. */
export interface Spent {
  calls: number;
  /** Calls whose reply was counted: as many as there are `usage` events. */
  replies: number;
  usage: Usage;
  tokens: number;
  /** Undefined once any call's price is unknown: an unknown cost is never taken for zero. */
  dollars: number | undefined;
  /** The first model whose price is unknown. */
  unpriced?: string;
}

export function newSpent(): Spent {
  return { calls: 0, replies: 0, usage: NO_USAGE, tokens: 0, dollars: 0 };
}

export function spend(spent: Spent, usage: Usage, dollars: number | undefined): void {
  spent.replies++;
  spent.usage = addUsage(spent.usage, usage);
  spent.tokens += totalTokens(usage);
  spent.dollars = spent.dollars === undefined || dollars === undefined ? undefined : spent.dollars + dollars;
}

/** The limit that forbids one more model call; without a count, one of a hook, which is not an iteration. */
export function forbidsCall(limits: Limits, spent: Spent, count?: Count): Stop | undefined {
  if (spent.calls >= limits.calls || (count && count.iterations >= limits.iterations)) return "max_iterations";
  if (limits.tokens !== undefined && spent.tokens >= limits.tokens) return "budget";
  if (limits.dollars !== undefined && (spent.dollars === undefined || spent.dollars >= limits.dollars)) return "budget";
  return undefined;
}

/** Counts one continuation, or gives the limit that forbids it. */
export function countContinuation(limits: Limits, count: Count): Stop | undefined {
  if (limits.continuations !== undefined && count.continuations >= limits.continuations) return "max_continuations";
  if (limits.stalls > 0 && count.stalled >= limits.stalls) return "stop_hook_stalled";
  count.continuations++;
  count.stalled++;
  return undefined;
}

/** Idle continuations that will still be honoured; null: no limit. */
export function remaining(limits: Limits, count: Count): number | null {
  const idle = limits.stalls > 0 ? limits.stalls - count.stalled : Infinity;
  const all = limits.continuations === undefined ? Infinity : limits.continuations - count.continuations;
  const least = Math.min(idle, all);
  return least === Infinity ? null : Math.max(0, least);
}

/** Where a run stands when a limit ends it. */
export interface AtLimit {
  readonly limits: Limits;
  readonly spent: Spent;
  /** The hooks that kept it going. */
  readonly keepers: Iterable<string>;
  /** Whether they did so by HookInputs. */
  readonly byInput?: boolean;
}

/** Thrown to end a run now; it never leaves the loop. */
export class Ended extends Error {
  readonly stop: Stop;
  constructor(stop: Stop, message: string) {
    super(message);
    this.stop = stop;
  }
}
