import { mayHaveExamples } from "../_may-have-examples.ts";
import { Asker } from "../asking/asker.ts";
import type { Probe } from "../events.ts";
import type { Findings } from "../report/findings.ts";
import { type Keeper, keepers } from "./keepers.ts";
import { Lane } from "../asking/lane.ts";
import type { Termination } from "../report/report.ts";
import type { Session } from "../session.ts";
import { holdsUntried, untried } from "./_untried.ts";
import { wireName } from "./_lacking.ts";
import type { State } from "./starts.ts";
import { type Terminated, terminating } from "./terminating.ts";

/** Plays a hook at each moment at which it can keep an agent going. The worst counts. */
export async function ends(
  asker: Asker,
  session: Session,
  { blocked, findings }: { readonly blocked: readonly Probe[]; readonly findings: Findings },
): Promise<Termination | undefined> {
  const { loaded } = asker;
  if (loaded.mode !== "gate") return undefined;
  let worst: Termination | undefined;
  for (const name of keepers(loaded.moments)) {
    const plain = await played(asker, name, session, blocked);
    const { termination, violations } = plain.termination.letsGo === "never blocks"
      ? await switchedOn(asker, name, session) ?? plain
      : plain;
    for (const { trace, event, ...violation } of violations) {
      // What it lacks at every event was told with one.
      const known = violation.law !== "terminating" &&
        (findings.has(violation.code) || findings.has("total.missing"));
      if (!known) findings.addPlay(violation, event, trace);
    }
    if (termination.letsGo === "never blocks" && violations.length === 0 && holdsUntried(asker.subject)) {
      findings.addPlay(untried(name), wireName(name), []);
    }
    if (worst === undefined || termination.verdict === "refuted") worst = termination;
  }
  return worst;
}

async function played(asker: Asker, name: Keeper, session: Session, blocked: readonly Probe[]): Promise<Terminated> {
  const { rounds, seed } = session;
  const examples = mayHaveExamples(asker) ? await import("../_examples.ts") : undefined;
  return await terminating(asker, name, {
    rounds,
    seed,
    blocked,
    fix: await examples?.fixOf(asker),
    states: [...await examples?.statesOf(asker) ?? [], ...await statesFor(asker, name, session)],
  });
}

/** Files that would make it hold on to an agent, as far as its text tells. */
async function statesFor({ subject, lane }: Asker, name: Keeper, { cwd }: Session): Promise<readonly State[]> {
  if (subject.kind !== "command") return [];
  const { statesFor } = await import("./_state-files.ts");
  return statesFor(subject, { place: lane.place, cwd, session: `check-${name}`, event: name });
}

/** The same with the variables set that its text asks for; nothing where that changes nothing. */
async function switchedOn(asker: Asker, name: Keeper, session: Session): Promise<Terminated | undefined> {
  const { subject, loaded, limit, secrets } = asker;
  if (subject.target.type !== "command") return undefined;
  const { switchesIn } = await import("./_switches.ts");
  const switches = switchesIn(subject.text);
  const set = Object.entries(switches).map(([variable, value]) => `${variable}=${value}`).join(" ");
  if (set === "") return undefined;
  const { options } = asker.lane;
  const lane = new Lane({ ...options, more: { ...options.more, ...switches } });
  try {
    await lane.open();
    const other = new Asker(subject, loaded, lane, { limit, secrets });
    const found = await played(other, name, session, []);
    if (found.termination.letsGo === "never blocks") return undefined;
    return {
      ...found,
      violations: found.violations.map((one) => ({
        ...one,
        message: one.message.replace(/: refuted$/, `; tried with ${set}: refuted`),
      })),
    };
  } finally {
    lane.close();
  }
}
