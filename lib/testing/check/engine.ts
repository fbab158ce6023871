import type { Arbitrary } from "fast-check";
import { Asker, refuses } from "./asking/asker.ts";
import { deterministic } from "./laws/deterministic.ts";
import { isWire, type MadeEvents, madeEvents, plainProbes, type Probe } from "./events.ts";
import { Findings } from "./report/findings.ts";
import { cannotLoad, reportOf, slow, SLOW_MS, spread, timingOf } from "./report/hook-report.ts";
import { NoSuchTool } from "../arbitraries/tools.ts";
import { matcherMistake, neverMatches } from "./find/matcher.ts";
import { mayHaveExamples } from "./_may-have-examples.ts";
import { eventName, isGate, type Judge, type Violation } from "./laws/judged.ts";
import { Interrupted, type Lane } from "./asking/lane.ts";
import { lawful } from "./laws/lawful.ts";
import { changedFields, type Rewrite } from "./laws/order.ts";
import { polite } from "./laws/polite.ts";
import type { Probed } from "./asking/probe.ts";
import type { HookReport, Law, Termination } from "./report/report.ts";
import type { Session } from "./session.ts";
import { shrink, slim } from "./_shrink.ts";
import type { Loaded, Subject } from "./subject.ts";
import { keepers } from "./laws/keepers.ts";
import { total } from "./laws/total.ts";
import { soughtInVain, withStandIns } from "./asking/stand-ins.ts";
import { canaries, dangers, laced, unwritten } from "./_tries.ts";

/** What came of one hook, with what only all hooks together tell. */
export interface Checked {
  readonly report: HookReport;
  readonly rewrites: readonly Rewrite[];
}

const JUDGES: readonly (readonly [law: Law, judge: Judge])[] = [["total", total], ["lawful", lawful], [
  "polite",
  polite,
]];
/** So many answers are tried with strange texts in their events. */
const MOST_TELLING = 2;
const MOST_EXITS = 3;
const TWICE = 20;
/** Generated events of a slow hook take no longer, once there were a few. */
const MOST_MS = 10_000;
const FEW = 8;

const INTERRUPTED = { skipped: "the check was interrupted" };

/** A hook whose process is starting. */
export interface Opening {
  readonly lane: Lane;
  /** What it says about itself; an error where it cannot be loaded. */
  readonly loading: Promise<Loaded | Error | undefined>;
}

/** Holds one hook to all laws; none where there is a reason not to ask it. */
export async function holdToLaws(subject: Subject, session: Session, opening: Opening | undefined): Promise<Checked> {
  const findings = new Findings(subject, session);
  for (const seen of subject.seen) findings.add(seen);
  const ended = (more: Partial<HookReport>): Checked => ({
    report: reportOf(subject, session, findings, more),
    rewrites: [],
  });
  if (!opening) return ended({ skipped: subject.skip! });
  const { lane, loading } = opening;
  // Until the process has started there is time to make the events that it will most likely be asked about.
  const expected = subject.loaded?.moments ?? subject.named;
  let made: MadeEvents | undefined;
  try {
    made = expected && madeEvents(subject, expected, lane.place, session);
  } catch (error) {
    return ended(unmatched(error, findings));
  }
  if (expected && keepers(expected).length > 0) void import("./laws/ends.ts");
  const loaded = await loading;
  if (loaded instanceof Interrupted) return ended(INTERRUPTED);
  if (loaded instanceof Error) {
    findings.add(cannotLoad(loaded.message));
    return ended({});
  }
  const told = subject.loaded ?? loaded!;
  for (const { event, matcher } of subject.file === undefined ? [] : told.moments) {
    // An application may have a tool of that name: of a file nobody knows where it is used.
    const mistakes = matcher === undefined ? [] : matcherMistake(event, matcher, subject.host);
    for (const mistake of mistakes) findings.add({ ...mistake, severity: "warning" });
  }
  try {
    return await new Engine(subject, told, lane, session, findings).check(made);
  } catch (error) {
    return ended(error instanceof Interrupted ? INTERRUPTED : unmatched(error, findings));
  }
}

/** There is nothing to ask a hook whose matcher fits no tool, which is its fault alone. */
function unmatched(error: unknown, findings: Findings): Partial<HookReport> {
  if (!(error instanceof NoSuchTool)) throw error;
  findings.add(
    neverMatches(error.matcher, "no tool is called so", "write names with | between them, or an expression"),
  );
  return { skipped: "its matcher never matches" };
}

class Engine {
  readonly #asker: Asker;
  readonly #session: Session;
  readonly #findings: Findings;
  readonly #rewrites: Rewrite[] = [];
  readonly #denied: Probe[] = [];
  readonly #asked: Probe[] = [];
  readonly #answers = new Map<Probe, Probed>();
  /** Events it had something to say to, each for another reason. */
  readonly #telling: Probe[] = [];
  readonly #reasons = new Set<string>();
  #exits = 0;
  /** Whether it took too long, or its process has to be started anew each time: it is not asked again. */
  #late = false;
  #runs = 0;

  constructor(subject: Subject, loaded: Loaded, lane: Lane, session: Session, findings: Findings) {
    const limit = Math.min(loaded.timeout ?? Infinity, session.timeout) * 1000;
    this.#asker = new Asker(subject, loaded, lane, { limit, secrets: Object.values(session.secrets) });
    this.#session = session;
    this.#findings = findings;
  }

  async check(expected: MadeEvents | undefined): Promise<Checked> {
    const { subject, loaded, lane } = this.#asker;
    const { laws } = this.#session;
    const { moments } = loaded;
    const plain = plainProbes(subject, moments, lane.place);
    const traps = canaries(plain, lane.place);
    // A hook that runs what it is given must not be given the rest.
    for (const probe of [...plain, ...traps]) if (!this.#late) await this.#judge(probe);
    await this.#standIn(traps);
    const safe = !this.#findings.has("polite.executes");
    // One that came too late is late again with every question of a row.
    if (safe && !this.#late) {
      const fits = expected && JSON.stringify(expected.moments) === JSON.stringify(moments);
      await this.#generated(fits ? expected : madeEvents(subject, moments, lane.place, this.#session));
    }
    let termination: Termination | undefined;
    if (safe && !this.#late) {
      await this.#provoke(plain);
      const telling = new Set([...plain.slice(0, 2), ...this.#telling, ...shortest(this.#denied)]);
      for await (
        const [probe, probed] of this.#asker.askAll([...telling].slice(0, this.#asker.slow ? 1 : 9).flatMap(laced))
      ) {
        this.#take(probe, probed);
        if (this.#late) break;
      }
      for (const probe of unwritten(plain, lane.place)) await this.#judge(probe, "warning");
      if (laws.has("deterministic")) await this.#twice();
      if (laws.has("terminating")) termination = await this.#ends();
      if (laws.has("guard")) await this.#guards();
      if (laws.has("examples") && mayHaveExamples(this.#asker)) {
        await (await import("./_examples.ts")).playExamples(this.#asker, this.#findings);
      }
    }
    const timing = timingOf(this.#asker.times);
    if (timing && timing.p50 > SLOW_MS) this.#findings.add(slow(timing));
    return {
      report: reportOf(subject, this.#session, this.#findings, {
        runs: this.#runs,
        events: [...new Set(this.#asked.map(eventName))],
        ...(timing && { timing }),
        ...(termination && { termination }),
      }),
      rewrites: this.#rewrites,
    };
  }

  /** A hook that looks for a program and stops without it has run nothing yet: with one in its place it may. */
  async #standIn(traps: readonly Probe[]): Promise<void> {
    const { subject, lane } = this.#asker;
    const names = soughtInVain(subject.text, this.#session.env.PATH);
    if (names.length === 0 || this.#late || !this.#session.laws.has("polite")) return;
    await withStandIns(names, lane.place, async () => {
      for (const probe of traps) {
        const found = polite(await this.#asker.judge(probe)).find(({ code }) => code === "polite.executes");
        if (!found) continue;
        const message = `${found.message} (seen with a stand-in for ${names.join(" and ")}, not installed here)`;
        this.#findings.add({ ...found, message }, probe);
        return;
      }
    });
  }

  /** Asks about each, and looks for the smallest event that shows what was found. */
  async #generated({ arbitrary, made }: MadeEvents): Promise<void> {
    const { fc, seed, tick } = this.#session;
    const began = performance.now();
    let i = -1;
    for await (const [probe, probed] of this.#asker.askAll(made)) {
      if (this.#late || this.#session.signal.aborted) return;
      i++;
      const fresh = this.#take(probe, probed);
      this.#runs++;
      tick?.(this.#asker.subject.name, this.#runs);
      for (const violation of fresh) await this.#smallest(violation, probe, { arbitrary, fc, seed, path: String(i) });
      if (i >= FEW && performance.now() - began > MOST_MS && this.#asker.slow) return;
    }
  }

  /** Looks for the smallest event that shows the same, and leaves out what has nothing to do with it. */
  async #smallest({ code, severity }: Violation, probe: Probe, { arbitrary, fc, ...from }: Shrinking): Promise<void> {
    if (severity !== "fault" || code === "total.late" || code === "total.leaves") return;
    const shows = async (tried: Probe) => this.#violations(await this.#asker.judge(tried)).find((v) => v.code === code);
    const fails = async (tried: Probe) => await shows(tried) !== undefined;
    const small = this.#asker.slow ? probe : await shrink(fc, arbitrary, { ...from, fails }) ?? probe;
    for (const candidate of [slim(small), small]) {
      const shown = candidate && await shows(candidate);
      if (shown) return this.#findings.replace(shown, candidate);
    }
  }

  async #judge(probe: Probe, most: Violation["severity"] = "fault"): Promise<readonly Violation[]> {
    return this.#take(probe, await this.#asker.ask(probe), most);
  }

  /** Judges an answer, and keeps what other laws ask about. */
  #take(probe: Probe, probed: Probed, most: Violation["severity"] = "fault"): readonly Violation[] {
    const judged = this.#asker.judged(probe, probed);
    if (probed.skipped !== undefined) return [];
    this.#asked.push(probe);
    this.#answers.set(probe, probed);
    if (probed.timedOut) this.#late = true;
    if (probed.failure?.at === "exit" && ++this.#exits >= MOST_EXITS) this.#late = true;
    if (refuses(probed)) this.#denied.push(probe);
    this.#listen(probe, probed);
    this.#remember(probe, probed.opinion?.value);
    const all = this.#violations(judged).map((one) => most === "fault" ? one : { ...one, severity: most });
    return all.filter((violation) => this.#findings.add(violation, probe));
  }

  /** Where a hook says something, more of its text is in play. */
  #listen(probe: Probe, { opinion, ran }: Probed): void {
    const said = `${opinion?.decision ?? ""}${ran?.stdout.slice(0, 12) ?? ""}${ran?.code}${
      opinion?.reason?.slice(0, 12) ?? ""
    }`;
    const speaks = opinion?.decision !== undefined || (opinion?.contexts?.length ?? 0) > 0 ||
      opinion?.value !== undefined;
    if (!speaks || this.#reasons.has(said) || this.#telling.length >= MOST_TELLING) return;
    this.#reasons.add(said);
    this.#telling.push(probe);
  }

  #violations(judged: Parameters<Judge>[0]): Violation[] {
    if (judged.probed.skipped !== undefined) return [];
    return JUDGES.flatMap(([law, judge]) => this.#session.laws.has(law) ? judge(judged) : []);
  }

  #remember(probe: Probe, value: { readonly to: unknown } | undefined): void {
    if (!value) return;
    const { tool_name, tool_input, input } = probe.event;
    const at = typeof tool_name === "string" ? `${eventName(probe)}:${tool_name}` : eventName(probe);
    const { name: hook, path } = this.#asker.subject;
    for (const field of changedFields(tool_input ?? input, value.to)) {
      const known = this.#rewrites.some((one) => one.at === at && one.field === field);
      if (!known) this.#rewrites.push({ hook, path, at, field });
    }
  }

  async #twice(): Promise<void> {
    if (this.#asker.loaded.nondeterministic || this.#asked.length === 0) return;
    // Refusals first: those are the verdicts that matter.
    const others = this.#asked.filter((probe) => !this.#denied.includes(probe));
    const half = this.#asker.slow ? 3 : Math.ceil(Math.min(TWICE, Math.max(8, this.#session.runs / 5)) / 2);
    const few = [...spread(this.#denied, half), ...spread(others, half)];
    const found = await deterministic(this.#asker, few, (probe) => this.#answers.get(probe)!);
    if (found) this.#findings.add(found, found.probe);
  }

  async #ends(): Promise<Termination | undefined> {
    if (keepers(this.#asker.loaded.moments).length === 0) return undefined;
    const { ends } = await import("./laws/ends.ts");
    return await ends(this.#asker, this.#session, { blocked: this.#denied.slice(0, 2), findings: this.#findings });
  }

  /** What refuses nothing so far is asked about what guards are there for: its refusals are to be judged too. */
  async #provoke(plain: readonly Probe[]): Promise<void> {
    const { subject, lane, loaded } = this.#asker;
    if (loaded.mode !== "gate" || subject.kind === "prompt") return;
    if (this.#asker.slow && !plain.some((probe) => isGate(eventName(probe)))) return;
    const { isTelling } = await import("./laws/guard.ts");
    const most = this.#asker.slow ? 8 : Math.max(30, this.#session.runs / 4);
    const enough = () => this.#late || this.#denied.filter(isTelling).length >= 2;
    if (enough()) return;
    const tried = dangers(plain, lane.place, { wire: isWire(subject), text: subject.text }).slice(0, most);
    for await (const [probe, probed] of this.#asker.askAll(tried)) {
      this.#take(probe, probed);
      if (enough()) return;
    }
  }

  async #guards(): Promise<void> {
    const { mode } = this.#asker.loaded;
    // Of a hook that answers now so, now so, nothing passes or is refused.
    if (mode !== "gate" || this.#asker.subject.kind === "prompt" || this.#findings.has("deterministic.verdict")) return;
    if (keepers(this.#asker.loaded.moments).length === this.#asker.loaded.moments.length) return;
    const { bypassViolation, guarded, guardStrength } = await import("./laws/guard.ts");
    for (const bypass of await guardStrength(this.#asker, this.#denied.filter(guarded))) {
      this.#findings.addBypass(bypassViolation(bypass), bypass);
    }
  }
}

interface Shrinking {
  readonly arbitrary: Arbitrary<Probe>;
  readonly fc: Session["fc"];
  readonly seed: number;
  readonly path: string;
}

/** The plainest of them: in others something else may be in the way. */
function shortest(probes: readonly Probe[]): Probe[] {
  const size = ({ event }: Probe) => JSON.stringify(event).length;
  return probes.toSorted((a, b) => size(a) - size(b)).slice(0, 1);
}
