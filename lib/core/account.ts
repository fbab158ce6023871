import { spend } from "./limits.ts";
import { addUsage } from "./messages.ts";
import type { Reply } from "./model.ts";
import type { Run } from "./run.ts";

/** Counts what a reply took, for the run and for the budget it shares. */
export function account(run: Run, reply: Reply): void {
  const model = reply.model || run.modelName;
  const cost = run.agent.price?.(model, reply.usage);
  run.usage = addUsage(run.usage, reply.usage);
  run.cost = run.cost === undefined || cost === undefined ? undefined : run.cost + cost;
  spend(run.life.spent, reply.usage, cost);
  run.emit({ type: "usage", usage: reply.usage, model, cost });
}
