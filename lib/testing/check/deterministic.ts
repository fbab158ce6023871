import type { Asker } from "./asker.ts";
import type { Probe } from "./events.ts";
import { brief, type Violation } from "./judged.ts";
import type { Probed } from "./probe.ts";

export interface Differing extends Violation {
  readonly probe: Probe;
  readonly answers: readonly [string, string];
}

/**
 * Deterministic: the same event in the same state gets the same verdict. All are asked once and then all again, so that
 * a verdict that hangs on the time has time to change; what a module remembers is forgotten between.
 */
export async function deterministic(asker: Asker, probes: readonly Probe[]): Promise<Differing | undefined> {
  const round = async () => {
    if (asker.subject.kind === "module") asker.lane.restart();
    const answers: Probed[] = [];
    for (const probe of probes) answers.push(await asker.ask(probe));
    return answers;
  };
  const [first, second] = [await round(), await round()];
  let words: Differing | undefined;
  for (const [i, probe] of probes.entries()) {
    const [a, b] = [first[i]!, second[i]!];
    if (a.timedOut || b.timedOut) continue;
    const verdicts = [verdictOf(a), verdictOf(b)] as const;
    if (verdicts[0] !== verdicts[1]) return differing("verdict", probe, verdicts);
    const said = [wordsOf(a), wordsOf(b)] as const;
    if (said[0] !== said[1]) words ??= differing("words", probe, said);
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
function wordsOf({ opinion = {}, inputs = [] }: Probed): string {
  return [opinion.reason ?? "", ...(opinion.contexts ?? []).map(({ text }) => text), ...inputs].join("\n");
}

function differing(what: "verdict" | "words", probe: Probe, answers: readonly [string, string]): Differing {
  const [a, b] = answers.map((answer) => brief(answer, 60));
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
