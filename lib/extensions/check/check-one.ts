import { cpSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fastCheck } from "../../testing/fast-check.ts";
import { NoSuchTool } from "./arbitraries/tool-inputs.ts";
import type { CheckSession } from "./check.ts";
import { pascal } from "../../core/names.ts";
import { ownTexts } from "./constants.ts";
import {
  canaries,
  dangers,
  laced,
  plainProbes,
  type Probe,
  probeArbitrary,
  withoutTranscript,
  withOwn,
} from "./sample-events.ts";
import { examplesOf, exampleTexts, playExamples, statesOf } from "./examples/of-hook.ts";
import { Findings } from "./findings.ts";
import { Interrupted, Lane, LaneAsker, Lanes, refuses, type Time } from "./hook-lane.ts";
import { bypassViolation, guardStrength, neverDenies } from "./laws/guard.ts";
import { concurrent } from "./laws/concurrent.ts";
import { deterministic } from "./laws/deterministic.ts";
import { everydayCalls, overBlocking } from "./laws/everyday.ts";
import { claudeName, eventName, type Judge, type Judged, keepers, violationsOf } from "./laws/judged.ts";
import { type Rewrite, rewritesAgain, rewritesOf } from "./laws/order.ts";
import { protocol, safe, slow } from "./laws/protocol.ts";
import { reliable } from "./laws/reliable.ts";
import { OKAY, terminating } from "./laws/terminating.ts";
import { fill } from "./scratch-project.ts";
import type { HookReport, Law, Severity, Termination, Violation } from "./check-report.ts";
import { MATCHER_FIX, matcherMistake, neverMatches, unknownName } from "./static-faults.ts";
import type { Loaded, Probed, Subject } from "./subject.ts";

/** The report of one hook, and what is compared with other hooks. */
export interface Checked {
  readonly report: HookReport;
  readonly rewrites: readonly Rewrite[];
}

const JUDGES: readonly (readonly [law: Law, judge: Judge])[] = [
  ["reliable", reliable],
  ["protocol", protocol],
  ["safe", safe],
];
const MOST_SAME = 20;
const MOST_EXITS = 3;
const SHRINK_MS = 3000;
const INTERRUPTED = "the check was interrupted";

/** Checks one hook in a scratch place and a process of its own, for so long. */
export async function checkSubject(subject: Subject, session: CheckSession, time: Time): Promise<Checked> {
  const findings = new Findings(subject, session);
  for (const seen of subject.seen) findings.add(seen);
  const { name: hook, path, kind } = subject;
  const ended = (more: Partial<HookReport>): Checked => ({
    report: {
      ...{ hook, path, kind, events: [], runs: 0, asked: session.runs },
      laws: [],
      ...more,
      findings: findings.all(),
    },
    rewrites: [],
  });
  if (subject.skip !== undefined) return ended({ skipped: subject.skip });
  const lane = await laneFor(subject, session);
  const interrupt = () => lane.shut();
  session.signal.addEventListener("abort", interrupt, { once: true });
  try {
    const loaded = await lane.open().catch((error: Error) => error);
    if (loaded instanceof Interrupted) return ended({ skipped: INTERRUPTED });
    if (loaded instanceof Error) {
      const said = loaded.message.startsWith("Cannot") ? loaded.message : `It cannot be loaded: ${loaded.message}`;
      findings.add(violationsOf("reliable", "fails").fault("load", said, "correct the error above"));
      return ended({});
    }
    const known = subject.loaded ?? loaded!;
    const [first] = known.moments;
    for (const misnamed of known.warnings ?? []) {
      const found = unknownName(misnamed, first && pascal(first.event), subject.project);
      if (found) findings.add(found);
    }
    for (const { event, matcher } of subject.file === undefined || known.warnings?.length ? [] : known.moments) {
      // An application may have a tool of that name: a hook file does not say where it is used.
      const mistakes = matcherMistake(event, matcher, subject);
      for (const mistake of mistakes) findings.add({ ...mistake, severity: "warning" });
    }
    copyState(known, subject, lane);
    const seconds = Math.min(known.timeout ?? Infinity, session.timeout);
    const asker = new LaneAsker(subject, known, lane, seconds * 1000, time);
    const engine = new Engine(asker, session, findings);
    const more = await engine.check();
    const missing = time.wasOver ? "law" : "mutant";
    const found = session.mutants || session.save
      ? await (await import("./mutants/missing-examples.ts")).missingExamples(asker, session, findings.all())
      : {};
    const { runs = 0, asked = 0 } = more;
    const unchecked = `${runs} of ${asked} events${
      runs < asked ? "" : `, but not every ${missing}`
    }: not checked enough`;
    return { ...ended({ ...more, ...found, ...(time.wasOver && { unchecked }) }), rewrites: engine.rewrites };
  } catch (error) {
    if (error instanceof Interrupted) return ended({ skipped: INTERRUPTED });
    if (!(error instanceof NoSuchTool)) throw error;
    findings.add(neverMatches(error.matcher, "no tool has such a name", MATCHER_FIX));
    return ended({ skipped: "its matcher never matches" });
  } finally {
    session.signal.removeEventListener("abort", interrupt);
    lane.close();
  }
}

async function laneFor(subject: Subject, { scratch, env, secrets, sandbox }: CheckSession): Promise<Lane> {
  const place = scratch.place();
  await fill(place, subject);
  const more = { ...secrets, ...subject.env };
  const data = "CLAUDE_PLUGIN_DATA" in subject.env ? { CLAUDE_PLUGIN_DATA: place.tmp } : {};
  const { target, host, visible } = subject;
  return new Lane({ target, place, host, env, more: { ...more, ...data }, sandbox, visible });
}

/** Files that the hook's config names come from the project. */
function copyState({ state = [] }: Loaded, { project }: Subject, lane: Lane): void {
  for (const path of state) {
    const to = join(lane.place.project, path);
    if (!existsSync(join(project, path))) continue;
    mkdirSync(dirname(to), { recursive: true });
    cpSync(join(project, path), to, { recursive: true, dereference: true });
  }
  if (state.length > 0) lane.adopt();
}

class Engine {
  readonly #asker: LaneAsker;
  readonly #session: CheckSession;
  readonly #findings: Findings;
  readonly rewrites: Rewrite[] = [];
  readonly #answers = new Map<Probe, Probed>();
  #everyday: readonly Probe[] = [];
  #exits = 0;
  /** It timed out or ended its process: every further question would cost as much. */
  #over = false;
  #runs = 0;
  #asked = 0;

  constructor(asker: LaneAsker, session: CheckSession, findings: Findings) {
    this.#asker = asker;
    this.#session = session;
    this.#findings = findings;
  }

  async check(): Promise<Partial<HookReport>> {
    const { subject, loaded, lane: { place } } = this.#asker;
    const plain = plainProbes(subject, loaded.moments, place);
    const first = [...plain, ...canaries(plain, place)];
    const dangerous = this.#isGuard() ? dangers(plain, place) : [];
    this.#everyday = this.#isGuard() ? everydayCalls(plain, place) : [];
    const own = [...dangerous, ...this.#everyday, ...withOwn(plain, ownTexts(subject), place)];
    const { runs } = this.#session;
    const generated = Math.max(runs - first.length - own.length, Math.ceil(runs / 2));
    this.#asked = first.length + own.length + generated;
    // A hook that runs text of its events must not get the dangerous ones.
    await this.#play(first);
    using lanes = new Lanes(this.#asker.lane);
    let termination: Termination | undefined;
    if (!this.#findings.has("unsafe.shell-injection")) {
      // Before anything else: a slow hook has no time for it later.
      termination = await this.#ends(lanes, affordable(this.#asker, this.#session.rounds));
      await this.#play(own);
      await this.#generated(generated);
      await this.#askAll([...new Set([...plain.slice(0, 2), ...this.#telling()])].flatMap(laced));
      await this.#askAll(withoutTranscript(plain, place), "warning");
      if (!this.#over) termination = await this.#whole(lanes, termination);
    }
    const timing = this.#asker.timing();
    const late = timing && slow(timing);
    if (late) this.#findings.add(late);
    return {
      ...{ runs: this.#runs, asked: this.#asked },
      events: [...new Set([...this.#answers.keys()].map(eventName))],
      laws: await this.#judged(termination),
      ...(timing && { timing }),
      ...(termination && { termination }),
    };
  }

  async #whole(lanes: Lanes, first: Termination | undefined): Promise<Termination | undefined> {
    const { laws, rounds } = this.#session;
    if (laws.has("deterministic")) await this.#twice();
    if (laws.has("concurrent")) await this.#atOnce(lanes);
    const termination = first?.verdict === "refuted" ? first : await this.#ends(lanes, rounds, first);
    if (laws.has("guard")) await this.#guards(lanes);
    const again = laws.has("order") ? await rewritesAgain(this.#asker, this.#answers) : undefined;
    if (again) this.#findings.add(again.violation, again.probe);
    if (laws.has("examples")) await playExamples(this.#asker, lanes, this.#findings);
    return termination;
  }

  /** The laws that it was held to: not what says nothing of it, nor what its own faults left no time or reason to ask. */
  async #judged(termination: Termination | undefined): Promise<readonly Law[]> {
    if (this.#over || this.#runs === 0 || this.#findings.has("unsafe.shell-injection")) return [];
    const { loaded: { nondeterministic = false }, subject } = this.#asker;
    const examples = await examplesOf(this.#asker);
    const isGuarding = [...this.#answers.keys()].some((probe) => claudeName(eventName(probe)) === "PreToolUse");
    const isJudged: { readonly [law in Law]?: boolean } = {
      terminating: termination !== undefined,
      deterministic: !nondeterministic,
      concurrent: !nondeterministic && subject.kind !== "prompt",
      guard: this.#isGuard() && isGuarding && !this.#isExplained(),
      examples: examples instanceof Error || examples.length > 0,
    };
    return [...this.#session.laws].filter((law) => isJudged[law] ?? true);
  }

  /** What a fault of its answers explains is not said again; if verdicts are not deterministic, a pass means nothing. */
  #isExplained(): boolean {
    return this.#findings.has("nondeterministic.verdict") ||
      this.#findings.all().some(({ law, severity }) =>
        severity === "fault" && (law === "protocol" || law === "reliable")
      );
  }

  /** Whether it may refuse something, by a rule that does not change. */
  #isGuard(): boolean {
    const { loaded, subject } = this.#asker;
    return loaded.mode === "gate" && subject.kind !== "prompt";
  }

  async #play(probes: readonly Probe[]): Promise<void> {
    const before = this.#answers.size;
    await this.#askAll(probes);
    this.#runs += this.#answers.size - before;
  }

  async #askAll(probes: readonly Probe[], most: Severity = "fault"): Promise<void> {
    if (this.#over) return;
    for await (const [probe, probed] of this.#asker.askAll(probes)) {
      this.#take(probe, probed, most);
      if (this.#over) return;
    }
  }

  /** Asks about generated events, and looks for the smallest one that shows what was found. */
  async #generated(count: number): Promise<void> {
    if (this.#over) return;
    const { subject, loaded, lane } = this.#asker;
    const { seed, onProgress, signal } = this.#session;
    const fc = fastCheck();
    const words = await exampleTexts(this.#asker);
    const arbitrary = probeArbitrary(fc, subject, loaded.moments, lane.place, words);
    const made = fc.sample(arbitrary, { seed, numRuns: count });
    let index = 0;
    for await (const [probe, probed] of this.#asker.askAll(made)) {
      if (signal.aborted) return;
      const path = String(index++);
      this.#runs++;
      const fresh = this.#take(probe, probed);
      onProgress?.(subject.name, this.#runs);
      for (const { code, severity } of fresh) {
        if (severity !== "fault" || /timeout|leftover|ends-process/.test(code)) continue;
        let last: Promise<Violation | undefined> | undefined;
        const shows = (tried: Probe) =>
          last = this.#asker.ask(tried).then((probed) =>
            this.#violations(probed, tried).find((one) => one.code === code)
          );
        const property = fc.asyncProperty(arbitrary, async (tried) => !await shows(tried));
        const limits = { interruptAfterTimeLimit: SHRINK_MS, numRuns: 1 };
        const { counterexample: [small = probe] = [] } = await fc.check(property, { seed, path, ...limits }) as {
          counterexample?: [Probe?];
        };
        // Shrinking ends at its time limit, perhaps while the hook is still answering.
        await last;
        const shown = await shows(small);
        if (shown) this.#findings.replace(shown, small);
      }
      if (this.#over) return;
    }
  }

  /** Judges an answer and keeps it; gives what is new. */
  #take(probe: Probe, probed: Probed, most: Severity = "fault"): readonly Violation[] {
    if (probed.skipped !== undefined) return [];
    this.#answers.set(probe, probed);
    if (probed.timedOut || (probed.failure?.at === "exit" && ++this.#exits >= MOST_EXITS)) this.#over = true;
    for (const rewrite of rewritesOf(this.#asker.subject.name, probe, probed)) {
      if (!this.rewrites.some(({ at, field }) => at === rewrite.at && field === rewrite.field)) {
        this.rewrites.push(rewrite);
      }
    }
    return this.#violations(probed, probe).filter((one) =>
      this.#findings.add(most === "fault" ? one : { ...one, severity: most }, probe)
    );
  }

  #violations(probed: Probed, probe: Probe): readonly Violation[] {
    const { subject, loaded, limit } = this.#asker;
    const { secrets, laws } = this.#session;
    const judged: Judged = { subject, loaded, probe, probed, limit, secrets: Object.values(secrets) };
    return probed.skipped === undefined ? JUDGES.flatMap(([law, judge]) => laws.has(law) ? judge(judged) : []) : [];
  }

  #denied(): Probe[] {
    return [...this.#answers].filter(([, probed]) => refuses(probed)).map(([probe]) => probe);
  }

  /** The shortest events that the hook had something to say to, each with another kind of answer. */
  #telling(): Probe[] {
    const kinds = new Map<string, Probe>();
    const size = ({ event }: Probe) => JSON.stringify(event).length;
    for (const [probe, { opinion, ran }] of this.#answers) {
      const { decision, contexts, value } = opinion ?? {};
      if (decision === undefined && !contexts?.length && value === undefined) continue;
      const kind = `${decision} ${ran?.code} ${contexts?.length} ${value === undefined}`;
      const known = kinds.get(kind);
      if (!known || size(probe) < size(known)) kinds.set(kind, probe);
    }
    return [...kinds.values()].slice(0, 3);
  }

  async #twice(): Promise<void> {
    if (this.#asker.loaded.nondeterministic || this.#answers.size === 0) return;
    const denied = this.#denied();
    const others = [...this.#answers.keys()].filter((probe) => !denied.includes(probe));
    const few = [...spread(denied, MOST_SAME / 2), ...spread(others, MOST_SAME / 2)];
    const found = await deterministic(this.#asker, few, (probe) => this.#answers.get(probe)!);
    if (found) this.#findings.add(found.violation, found.probe);
  }

  /** Asks copies at once about one event of each moment, if possible one at which it writes something. */
  async #atOnce(lanes: Lanes): Promise<void> {
    if (this.#asker.loaded.nondeterministic || this.#asker.subject.kind === "prompt") return;
    const events = Map.groupBy(this.#answers, ([probe]) => eventName(probe));
    const probes = [...events.values()].map((all) => (all.find(([, { changed }]) => changed) ?? all[0]!)[0]);
    const found = await concurrent(this.#asker, lanes, probes, this.#session);
    if (found) this.#findings.add(found.violation, found.probe);
  }

  /** The worst play at any event that keeps an agent going; what is `known` is played again only with new texts. */
  async #ends(lanes: Lanes, rounds: number, known?: Termination): Promise<Termination | undefined> {
    if (this.#over || this.#asker.loaded.mode !== "gate" || !this.#session.laws.has("terminating")) return undefined;
    const said = this.#denied().map(({ event }) => event.last_assistant_message ?? event.prompt_response);
    const others = said.filter((text): text is string => typeof text === "string" && ![OKAY, ""].includes(text));
    const texts = [...(known ? [] : [OKAY]), ...new Set(others)].slice(0, 3);
    if (texts.length === 0) return known;
    const isShort = rounds < this.#session.rounds;
    let worst = known;
    for (const name of keepers(this.#asker.loaded.moments)) {
      const states = known ? { states: [] } : await statesOf(this.#asker, lanes);
      // Its answer in a state of the play's own is not one to compare others with.
      const judge = (probe: Probe, probed: Probed) => {
        for (const one of this.#violations(probed, probe)) this.#findings.add(one, probe);
      };
      const played = await terminating(this.#asker, name, { ...states, texts, rounds, isShort, judge });
      if (!played) return known;
      const { termination, violation } = played;
      if (violation) {
        const { trace, event, ...rest } = violation;
        this.#findings.addShown(rest, event, { event, trace, counterexample: trace });
      }
      if (worst?.letsGo === "never blocks" || termination.verdict === "refuted") worst = termination;
      worst ??= termination;
    }
    return worst;
  }

  async #guards(lanes: Lanes): Promise<void> {
    if (!this.#isGuard() || this.#findings.has("nondeterministic.verdict")) return;
    const examples = await examplesOf(this.#asker);
    const known = examples instanceof Error ? [] : examples;
    const found = this.#asker.time.wasOver || this.#isExplained() ? [] : [
      await neverDenies(this.#asker, lanes, this.#answers, this.#runs),
      overBlocking(this.#everyday, this.#answers, known, this.#asker.lane.place),
    ];
    for (const one of found) if (one) this.#findings.add(one);
    for (const bypass of await guardStrength(this.#asker, this.#denied())) {
      const trace = bypass.passes.map(({ how, text }) => `${how}: ${text.replaceAll("\n", "⏎")}`);
      const shown = { event: "PreToolUse", trace, counterexample: bypass };
      this.#findings.addShown(bypassViolation(bypass), bypass.denied, shown);
    }
  }
}

const LEAST_ROUNDS = 8;

function affordable(asker: LaneAsker, rounds: number): number {
  const { p50 = 0 } = asker.timing() ?? {};
  return Math.min(rounds, Math.max(LEAST_ROUNDS, Math.floor(asker.time.ms / 5 / p50)));
}

function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]!);
}
