import type { AgentSpec } from "../../core/run.ts";
import type { HookSaid, SaidFact } from "../../log/entry.ts";
import type { RunMasks } from "../run-masks.ts";
import { differs } from "./difference.ts";
import type { Divergence } from "./drift-report.ts";

export interface HookDrift extends Pick<SaidFact, "lane" | "event"> {
  readonly hook: string;
  readonly fact?: SaidFact | undefined;
  readonly was: HookSaid | undefined;
  readonly is: HookSaid | undefined;
}

/** The first hook that says something else at an event than the tape has. */
export function hookDrift(
  at: Omit<SaidFact, "said">,
  now: readonly HookSaid[],
  known: readonly SaidFact[],
): HookDrift | undefined {
  const { lane, step, event, about } = at;
  // What says nothing has no line.
  const fact = known.find((one) => one.step === step && one.event === event && one.about === about);
  for (const { hook } of [...fact?.said ?? [], ...now]) {
    const [was, is] = [fact?.said ?? [], now].map((all) => all.find((one) => one.hook === hook));
    if (differs(was, is, "") !== undefined) return { lane, event, hook, fact, was, is };
  }
  return undefined;
}

/** The first hook that says something else, or is gone: what differs after it differs for that. */
export async function hookCause(
  said: readonly SaidFact[],
  drifts: readonly HookDrift[],
  hooks: AgentSpec["hooks"] | undefined,
  masks: RunMasks,
): Promise<Divergence[]> {
  if (said.length + drifts.length === 0) return [];
  // Hooks that do not load have ended the run, and are not gone.
  const now = await (async () => await hooks?.())().catch(() => undefined);
  const isGone = (hook: string) => now !== undefined && !now.records.some(({ name }) => name === hook);
  const gone = said.flatMap(({ lane, event, said: all }, nth) =>
    all.filter(({ hook }) => isGone(hook)).map((was) => ({ lane, event, hook: was.hook, was, is: undefined, nth }))
  );
  // What was never said has no place.
  const placed = drifts.map((one) => ({ ...one, nth: one.fact ? said.indexOf(one.fact) : Infinity }));
  const [first] = [...gone, ...placed].sort((a, b) => a.nth - b.nth);
  if (!first) return [];
  const { lane, event, hook, was, is } = first;
  const words = !was
    ? `${hook} says something at ${event}, and did not`
    : isGone(hook)
    ? `${hook} is gone, which said something at ${event}`
    : `${hook} ${is ? "does not say" : "says nothing, and not"} at ${event} what it said`;
  const [expected, actual] = [was, is].map((one) => one && masks.search().value(sayingOf(one)));
  return [{ cause: "hook", lane, path: hook, words, expected, actual }];
}

/** What a hook said, in its words if that is all. */
function sayingOf({ hook: _, ...said }: HookSaid): unknown {
  const { reason, contexts = [] } = said as { reason?: unknown; contexts?: readonly string[] };
  const texts = [...(typeof reason === "string" ? [reason] : []), ...contexts];
  return texts.length === 1 ? texts[0] : said;
}
