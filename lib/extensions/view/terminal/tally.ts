import { addUsage, NO_USAGE, totalTokens, type Usage } from "../../../core/messages.ts";
import type { RunEvent } from "../../../core/run-events.ts";
import { type Colours, count, dollars, elapsed, several } from "../../../cli/show/text.ts";

export interface CallsCost {
  readonly calls: number;
  readonly usage: Usage;
  /** Undefined once a call had no known price. */
  readonly cost: number | undefined;
}

const NOTHING: CallsCost = { calls: 0, usage: NO_USAGE, cost: 0 };

/** What the model calls of all agents of a session cost. */
export class Tally {
  all = NOTHING;
  readonly byModel = new Map<string, CallsCost>();

  see(event: RunEvent): void {
    if (event.type !== "usage") return;
    const add = ({ calls, usage, cost }: CallsCost): CallsCost => ({
      calls: calls + 1,
      usage: addUsage(usage, event.usage),
      cost: cost === undefined || event.cost === undefined ? undefined : cost + event.cost,
    });
    this.all = add(this.all);
    this.byModel.set(event.model, add(this.byModel.get(event.model) ?? NOTHING));
  }
}

const QUIET: ReadonlySet<string> = new Set(["done", "all together"]);

/** How a run ended and what it cost, as one line. */
export function closing(
  stop: string,
  { calls, usage, cost }: CallsCost,
  { dim, yellow }: Colours,
  ms?: number,
): string {
  const parts = [
    several(calls, "model call"),
    `${count(totalTokens(usage))} tokens`,
    dollars(cost),
    ...(ms === undefined ? [] : [elapsed(ms)]),
  ];
  const how = QUIET.has(stop) ? dim(stop) : yellow(stop.replaceAll("_", " "));
  return `${how}${dim(` · ${parts.join(" · ")}`)}`;
}
