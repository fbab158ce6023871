import type { Stop } from "./events.ts";
import { totalTokens, type Usage } from "./messages.ts";

/** What bounds an agent's run. Every run ends: these are on by default and only a person's new prompt resets them. */
export interface Limits {
  /** Model calls per run. @default 100 */
  readonly iterations: number;
  /** Continuations per run; unlimited if absent. */
  readonly continuations?: number;
  /** Continuations in a row without an executed tool between them; 0 is no limit. @default 8 */
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

export const DEFAULT_LIMITS: Limits = { iterations: 100, stalls: 8, calls: 500, depth: 3 };

const NAMES = ["iterations", "continuations", "stalls", "tokens", "dollars", "seconds", "calls", "depth"] as const;

/** Completes and checks the limits a user gave. */
export function limitsOf(given: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(given)) {
    if (!(NAMES as readonly string[]).includes(name)) {
      throw new TypeError(`Cannot set limit '${name}' as there is no such limit: expected one of ${NAMES.join(", ")}`);
    }
    if (value === undefined) continue;
    const whole = name !== "dollars" && name !== "seconds";
    if (typeof value !== "number" || !(value >= 0) || (whole && value !== Infinity && !Number.isInteger(value))) {
      throw new TypeError(
        `Cannot set limit '${name}' as it must be a ${whole ? "whole " : ""}number of 0 or more: current value is ${
          JSON.stringify(value)
        }`,
      );
    }
  }
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined)) };
}

/** What one agent has used in one run. Counts only grow, but for `stalled`. */
export interface Count {
  iterations: number;
  continuations: number;
  stalled: number;
}

/** What a run has spent, with all its sub-agents. */
export interface Spent {
  calls: number;
  tokens: number;
  /** Undefined once any call's price is unknown: an unknown cost is never taken for zero. */
  dollars: number | undefined;
  /** The first model whose price is unknown. */
  unpriced?: string;
}

export function newCount(): Count {
  return { iterations: 0, continuations: 0, stalled: 0 };
}

export function newSpent(): Spent {
  return { calls: 0, tokens: 0, dollars: 0 };
}

export function spend(spent: Spent, usage: Usage, dollars: number | undefined): void {
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

/** An executed tool is the one thing that counts as progress. */
export function countTool(count: Count): void {
  count.stalled = 0;
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

/** What a person reads when a limit ended a run: which one, who kept it going, and what to do. */
export function limitWarning(stop: Stop, { limits, spent, keepers, byInput }: AtLimit): string {
  const hooks = [...keepers];
  const who = hooks.length > 0 ? ` (kept going by ${hooks.join(", ")})` : "";
  switch (stop) {
    case "max_iterations":
      return spent.calls >= limits.calls
        ? `The run ended at its limit of ${limits.calls} model calls over all its agents${who}: raise limits.calls if the work needs more`
        : `The run ended at its limit of ${limits.iterations} model calls${who}: raise limits.iterations if the work needs more`;
    case "max_continuations":
      return `The run ended at its limit of ${limits.continuations} continuations${who}: raise limits.continuations or let the hook let go`;
    case "stop_hook_stalled":
      return `The run ended after ${limits.stalls} continuations without a tool between them${who}: ` +
        (byInput
          ? "let the hook give no HookInput (a command: write nothing to stderr) when nothing is left to do, "
          : "let the hook look at 'stop_hook_active' or 'remaining', ") +
        "or raise limits.stalls";
    case "budget":
      if (limits.dollars !== undefined && spent.dollars === undefined) {
        return `The run ended as the price of model '${spent.unpriced}' is unknown, so limits.dollars cannot be kept${who}: set it in the option prices`;
      }
      return `The run ended at its budget${who}: raise limits.tokens or limits.dollars`;
    case "deadline":
      return `The run ended at its limit of ${limits.seconds} seconds${who}: raise limits.seconds`;
    default:
      return `The run ended: ${stop}`;
  }
}

/** Thrown to end a run now; it never leaves the loop. */
export class Ended extends Error {
  readonly stop: Stop;
  constructor(stop: Stop, message: string) {
    super(message);
    this.stop = stop;
  }
}
