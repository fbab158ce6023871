import type { Probed } from "../ask-protocol.ts";
import type { Asker } from "../asker.ts";
import type { Probe } from "../events.ts";
import type { Violation } from "../report.ts";
import { brief, keepers, violationsOf } from "./judged.ts";
import { isSandboxed } from "./reliable.ts";

const { fault, warning } = violationsOf("deterministic", "nondeterministic");

const MOST_MS = 4000;

/**
 * Deterministic: the same event in the same state gets the same verdict. All are asked again in the other order, so that
 * a verdict that depends on the time or on the order has occasion to change.
 */
export async function deterministic(
  asker: Asker,
  probes: readonly Probe[],
  before: (probe: Probe) => Probed,
): Promise<{ readonly violation: Violation; readonly probe: Probe } | undefined> {
  // A Stop hook may remember a turn; it is asked twice from the beginning.
  const remembers = asker.subject.kind === "module" && keepers(asker.loaded.moments).length > 0;
  const round = async (order: readonly Probe[]) => {
    if (remembers) asker.forget();
    const answers = new Map<Probe, Probed>();
    for await (const [probe, probed] of asker.askAll(order, MOST_MS, 3)) answers.set(probe, probed);
    return answers;
  };
  const first = remembers ? await round(probes) : undefined;
  const second = await round(remembers ? probes : probes.toReversed());
  let texts: { violation: Violation; probe: Probe } | undefined;
  for (const [probe, b] of second) {
    const a = first ? first.get(probe) : before(probe);
    if (!a || a.timedOut || b.timedOut) continue;
    if (verdictOf(a) !== verdictOf(b)) {
      return { violation: differing(fault, "verdict", verdictOf(a), verdictOf(b)), probe };
    }
    const [was, is] = [wordsOf(a), wordsOf(b)];
    if (was !== is && !differsOnlyInTime(was, is)) texts ??= { violation: differing(warning, "text", was, is), probe };
  }
  return texts;
}

/** What a host does because of it. */
function verdictOf({ opinion = {}, failure, ran }: Probed): string {
  const { decision = "no objection", value, halt, abort } = opinion;
  const failed = failure
    ? "fails"
    : ran && ran.code !== 0 && ran.code !== 2
    ? `exits with code ${ran.code}`
    : undefined;
  return [
    failed ?? decision,
    ...(value ? [`changes it to ${JSON.stringify(value.to)}`] : []),
    ...(halt !== undefined ? ["halts"] : []),
    ...(abort !== undefined ? ["aborts"] : []),
  ].join(", ");
}

/** What the model reads. */
function wordsOf({ opinion = {}, inputs = [], ran }: Probed): string {
  if (ran) return [ran.stdout, ...(ran.code === 2 ? [ran.stderr] : [])].join("\n");
  return [opinion.reason ?? "", ...(opinion.contexts ?? []).map(({ text }) => text), ...inputs].join("\n");
}

const DATED =
  /\b(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|[AP]M)[a-z]*\b|[0-9a-f]*\d[0-9a-f]*/g;

/** Times, ids and durations are meant to differ. */
function differsOnlyInTime(a: string, b: string): boolean {
  return a.replaceAll(DATED, "0") === b.replaceAll(DATED, "0") || isSandboxed(a);
}

function differing(as: typeof fault, what: "verdict" | "text", first: string, then: string): Violation {
  let same = 0;
  while (same < first.length && first[same] === then[same]) same++;
  const [a, b] = [first, then].map((answer) => brief(same > 30 ? `…${answer.slice(same - 12)}` : answer, 60));
  const fix =
    "decide by the event and the project alone, or declare it: `# crochet: nondeterministic`, or config.nondeterministic";
  return as(what, `The same event got two ${what}s: first '${a}', then '${b}'`, fix);
}
