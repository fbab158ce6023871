import type { Probe } from "../sample-events.ts";
import type { LaneAsker } from "../hook-lane.ts";
import type { Violation } from "../check-report.ts";
import type { Probed } from "../subject.ts";
import { brief, keepers, violationsOf } from "./judged.ts";

const { fault } = violationsOf("deterministic", "nondeterministic");

/** Deterministic: asked again in the other order, a verdict that depends on the time or the order can change. */
export async function deterministic(
  asker: LaneAsker,
  probes: readonly Probe[],
  before: (probe: Probe) => Probed,
): Promise<{ readonly violation: Violation; readonly probe: Probe } | undefined> {
  // A Stop hook may remember a turn; it is asked twice from the beginning.
  const remembers = asker.subject.kind === "module" && keepers(asker.loaded.moments).length > 0;
  const round = async (order: readonly Probe[]) => {
    if (remembers) asker.forget();
    const answers = new Map<Probe, Probed>();
    for await (const [probe, probed] of asker.askAll(order)) answers.set(probe, probed);
    return answers;
  };
  const first = remembers ? await round(probes) : undefined;
  const second = await round(remembers ? probes : probes.toReversed());
  for (const [probe, b] of second) {
    const a = first ? first.get(probe) : before(probe);
    if (!a || a.timedOut || b.timedOut) continue;
    const [was, is] = [verdictOf(a), verdictOf(b)];
    const message = `The same event got two verdicts: first '${was}', then '${is}'`;
    if (was !== is) return { violation: fault("verdict", message, FIX), probe };
  }
  return undefined;
}

const FIX =
  "decide by the event and the project alone, or declare it: `# crochet: nondeterministic`, or config.nondeterministic";

export function verdictOf({ opinion = {}, failure, ran }: Probed): string {
  const { decision = "no objection", value, halt, abort } = opinion;
  const failed = failure
    ? "fails"
    : ran && ran.code !== 0 && ran.code !== 2
    ? `exits with code ${ran.code}`
    : undefined;
  return [
    failed ?? decision,
    ...(value ? [`changes it to ${brief(JSON.stringify(value.to), 200)}`] : []),
    ...(halt !== undefined ? ["halts"] : []),
    ...(abort !== undefined ? ["aborts"] : []),
  ].join(", ");
}
