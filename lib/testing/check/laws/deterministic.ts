import type { Asker } from "../asking/asker.ts";
import type { Probe } from "../events.ts";
import { brief, type Violation } from "./judged.ts";
import type { Probed } from "../asking/probe.ts";
import { keepers } from "./keepers.ts";
import { isSandboxed } from "./total.ts";

export interface Differing extends Violation {
  readonly probe: Probe;
  readonly answers: readonly [string, string];
}

/**
 * Deterministic: the same event in the same state gets the same verdict. All are asked once and then all again in the
 * other order, so that a verdict that hangs on the time or on the order has occasion to change.
 */
export async function deterministic(
  asker: Asker,
  probes: readonly Probe[],
  before: (probe: Probe) => Probed,
): Promise<Differing | undefined> {
  // What a stop hook remembers of a turn is its own affair; elsewhere a module has to answer the same each time.
  const forgets = asker.subject.kind === "module" && keepers(asker.loaded.moments).length > 0;
  const round = async (order: readonly Probe[]) => {
    if (forgets) asker.forget();
    const answers: Probed[] = [];
    for await (const [, probed] of asker.askAll(order)) answers.push(probed);
    return answers;
  };
  // A command remembers nothing: what it answered before is as good as what it would answer now.
  const rounds = [asker.subject.kind === "module" ? await round(probes) : probes.map(before)];
  if (forgets) rounds.push(await round(probes));
  else rounds.push((await round(probes.toReversed())).reverse());
  // A module may count its calls: another number of them between two makes that show.
  if (asker.subject.kind === "module" && !forgets) rounds.push((await round([probes[0]!, ...probes])).slice(1));
  return firstDifference(probes, rounds);
}

function firstDifference(probes: readonly Probe[], rounds: readonly (readonly Probed[])[]): Differing | undefined {
  let words: Differing | undefined;
  for (const [i, probe] of probes.entries()) {
    const a = rounds[0]![i]!;
    for (const b of rounds.slice(1).map((answers) => answers[i]!)) {
      if (a.timedOut || b.timedOut) continue;
      const verdicts = [verdictOf(a), verdictOf(b)] as const;
      if (verdicts[0] !== verdicts[1]) return differing("verdict", probe, verdicts);
      const said = [wordsOf(a), wordsOf(b)] as const;
      if (said[0] !== said[1] && !onlyTime(said)) words ??= differing("words", probe, said);
    }
  }
  return words;
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

/** The time of day, an id, a count of milliseconds: what tells them differs each time, and is meant to. */
function onlyTime([a, b]: readonly [string, string]): boolean {
  const plain = (text: string) => text.replaceAll(DATED, "0");
  return plain(a) === plain(b) || isSandboxed(a);
}

function differing(what: "verdict" | "words", probe: Probe, answers: readonly [string, string]): Differing {
  const same = sameStart(answers);
  const [a, b] = answers.map((answer) => brief(same > 30 ? `…${answer.slice(same - 12)}` : answer, 60));
  return {
    law: "deterministic",
    code: `deterministic.${what}`,
    severity: what === "verdict" ? "fault" : "warning",
    message: what === "verdict"
      ? `The same event got two verdicts: first '${a}', then '${b}'`
      : `The same event got two texts: first '${a}', then '${b}'`,
    mend:
      "decide by the event and the project alone, or say so: `# crochet: nondeterministic`, or config.nondeterministic",
    probe,
    answers,
  };
}

/** How many characters both begin with. */
function sameStart([a, b]: readonly [string, string]): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return i;
}
