import type { Stop } from "./events.ts";
import { type Count, Ended, forbidsCall, type Limits, limitWarning, spend, type Spent } from "./limits.ts";
import { addUsage, type Usage } from "./messages.ts";
import { type Model, ModelError, type Reply } from "./model.ts";
import type { RunEvent } from "./run-events.ts";

/** What of a run is needed to count what it takes. */
interface Spending {
  readonly agent: {
    readonly limits: Limits;
    readonly price?: (model: string, usage: Usage, asked?: Model) => number | undefined;
    readonly around?: { spent?(now: Spent): Pick<Spent, "tokens" | "dollars"> };
  };
  readonly state: { readonly spent: Spent };
  readonly count: Count;
  readonly keepers: Iterable<string>;
  readonly modelName: string;
  usage: Usage;
  cost: number | undefined;
  emit(event: Omit<Extract<RunEvent, { type: "usage" }>, "agent_id">): void;
}

/** The limit that forbids this run one more model call. */
export function forbidden(run: Spending): Stop | undefined {
  return forbidsCall(run.agent.limits, spentBy(run), run.count);
}

/** The limit that forbids a hook of this run one more model call. */
export function forbidsHookCall(run: Spending): Stop | undefined {
  return forbidsCall(run.agent.limits, spentBy(run));
}

export function limitWords(run: Spending, stop: Stop, byInput = false): string {
  return limitWarning(stop, { limits: run.agent.limits, keepers: run.keepers, spent: spentBy(run), byInput });
}

/** What the run has spent; a replay has tokens and dollars as they were recorded, and counts the calls itself. */
function spentBy({ agent, state: { spent } }: Spending): Spent {
  return agent.around?.spent ? { ...spent, ...agent.around.spent(spent), calls: spent.calls } : spent;
}

/** Counts a model call before it is made; of agents that run side by side, one may have taken the last call. */
export function countCall(run: Spending): void {
  const limit = forbidden(run);
  if (limit) throw new Ended(limit, limitWords(run, limit));
  run.count.iterations++;
  run.state.spent.calls++;
}

/** What a reply took, or as much of it as came. */
export type Used = Pick<Reply, "model" | "usage" | "cost">;

/** A model call that a hook made. */
export interface HookCall {
  readonly hook: string;
  readonly used: Used;
  readonly cost?: number | undefined;
}

/** What a reply cost: what its server says, or by the price of its model; undefined if neither is known. */
export function costOf({ agent }: Pick<Spending, "agent">, { model, usage, cost }: Used, asked?: Model) {
  return cost === null ? undefined : cost ?? agent.price?.(model, usage, asked);
}

/**
 * Counts what a reply took, for the run and for the budget it shares.
 *
 * @throws {ModelError} if the server counts nothing, and a limit needs that
 */
export function account(run: Spending, used: Used, by?: HookCall): void {
  const { usage } = used;
  const model = used.model || run.modelName;
  const cost = by ? by.cost : costOf(run, { ...used, model });
  if (cost === undefined) run.state.spent.unpriced ??= model;
  run.usage = addUsage(run.usage, usage);
  run.cost = run.cost === undefined || cost === undefined ? undefined : run.cost + cost;
  spend(run.state.spent, usage, cost);
  run.emit({ type: "usage", usage, model, cost, ...(by && { hook: by.hook }) });
  if (used.cost === null) checkCounted(run.agent.limits, model);
}

function checkCounted({ tokens, dollars }: Limits, model: string): void {
  if (tokens === undefined && dollars === undefined) return;
  const limit = tokens === undefined ? "limits.dollars" : "limits.tokens";
  throw new ModelError(
    `Cannot keep ${limit} as the server of model '${model}' sends no usage: use limits.iterations or limits.seconds`,
    { code: "no_usage" },
  );
}
