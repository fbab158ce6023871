import { addUsage, NO_USAGE, type Usage } from "../../core/messages.ts";
import type { Result, RunEvent } from "../../core/run-events.ts";
import { type Colours, count, dollars, elapsed, several } from "./text.ts";

/** All tokens of a call: the prompt, cached or not, and the reply. */
function tokensOf(usage: Usage): number {
  return usage.input_tokens + usage.output_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
}

/** What a closing line shows. */
interface RunCost {
  readonly calls: number;
  readonly tokens: number;
  readonly cost: number | undefined;
}

/** What one run cost. */
export function takenBy({ iterations: calls, usage, cost }: Pick<Result, "iterations" | "usage" | "cost">): RunCost {
  return { calls, tokens: tokensOf(usage), cost };
}

/** What the model calls of all agents of a session cost together. */
export class Tally {
  calls = 0;
  usage: Usage = NO_USAGE;
  /** Undefined once a call had no known price. */
  cost: number | undefined = 0;
  readonly byModel = new Map<string, { calls: number; usage: Usage; cost: number | undefined }>();

  see(event: RunEvent): void {
    if (event.type !== "usage") return;
    const { usage, cost, model } = event;
    this.calls++;
    this.usage = addUsage(this.usage, usage);
    this.cost = sum(this.cost, cost);
    const of = this.byModel.get(model) ?? { calls: 0, usage: NO_USAGE, cost: 0 };
    this.byModel.set(model, { calls: of.calls + 1, usage: addUsage(of.usage, usage), cost: sum(of.cost, cost) });
  }

  get tokens(): number {
    return tokensOf(this.usage);
  }

  get taken(): RunCost {
    return { calls: this.calls, tokens: this.tokens, cost: this.cost };
  }
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

const QUIET: ReadonlySet<string> = new Set(["done", "all together"]);

/** How a run ended and what it cost, as one line. */
export function closing(
  stop: string,
  taken: RunCost & { readonly ms?: number },
  { dim, yellow }: Colours,
): string {
  const parts = [
    several(taken.calls, "model call"),
    `${count(taken.tokens)} tokens`,
    dollars(taken.cost),
    ...(taken.ms === undefined ? [] : [elapsed(taken.ms)]),
  ];
  const how = QUIET.has(stop) ? dim(stop) : yellow(stop.replaceAll("_", " "));
  return `${how}${dim(` · ${parts.join(" · ")}`)}`;
}
