import type { Probe } from "../events.ts";
import type { Judged } from "../laws/judged.ts";
import type { Lane } from "./lane.ts";
import type { Probed, Question } from "./probe.ts";
import { importsOwn, type Loaded, type Subject } from "../subject.ts";

/** So many are sent together. */
const ROW = 20;
/** And so many of a module: to look after a row takes as long as to answer it. */
const MODULE_ROW = 100;
/** And so many of a hook that takes its time. */
const SLOW_ROW = 4;
/** Whoever waits as long for most answers would wait for minutes. */
const SLOW_MS = 400;

/** Asks one hook, and keeps count of how long it took. */
export class Asker {
  readonly subject: Subject;
  readonly loaded: Loaded;
  readonly lane: Lane;
  readonly limit: number;
  readonly secrets: readonly string[];
  /** Milliseconds of each call that came back. */
  readonly times: number[] = [];
  /** How many of them took longer than one should have to wait. */
  #long = 0;

  constructor(
    subject: Subject,
    loaded: Loaded,
    lane: Lane,
    { limit, secrets }: { limit: number; secrets: readonly string[] },
  ) {
    this.subject = subject;
    this.loaded = loaded;
    this.lane = lane;
    this.limit = limit;
    this.secrets = secrets;
  }

  /** Milliseconds of most calls so far. */
  get usual(): number {
    return this.times.toSorted((a, b) => a - b)[Math.floor(this.times.length / 2)] ?? 0;
  }

  /** Whether it is to be asked no more than is needed. */
  get slow(): boolean {
    return this.#long > 0 && 2 * this.#long >= this.times.length;
  }

  /** Twice the time, where the hook has it. */
  get #patient(): number {
    return Math.min(2 * this.limit, (this.loaded.timeout ?? Infinity) * 1000);
  }

  /** The hook knows nothing of what it was asked so far. */
  forget(): void {
    if (this.subject.kind !== "module") this.lane.restore();
    else if (hasOtherMemory(this.subject)) this.lane.restart();
    else this.lane.renew();
  }

  async ask(probe: Probe, options: Pick<Question, "keep"> = {}): Promise<Probed> {
    return await this.#heard(probe, await this.#again(probe, options, this.limit), options);
  }

  async #again(probe: Probe, options: Pick<Question, "keep">, limit: number): Promise<Probed> {
    return await this.lane.ask({ ...this.#question(probe), limit, ...options });
  }

  #question({ event, says }: Probe): Question {
    return { event, limit: this.limit, ...(says !== undefined && { says }) };
  }

  /** An answer with what a host makes of it; what may be the machine's doing is asked for again. */
  async #heard(probe: Probe, first: Probed, options: Pick<Question, "keep"> = {}): Promise<Probed> {
    let probed = first;
    // A machine may be busy with something else: nothing is late that was late once.
    if (probed.timedOut && !options.keep) probed = await this.#again(probe, options, this.#patient);
    // Nothing ends itself like this, but a machine out of memory does.
    if (probed.ran?.signal === "SIGKILL" && !probed.timedOut) probed = await this.#again(probe, options, this.limit);
    if (!probed.timedOut) {
      this.times.push(probed.ms);
      if (probed.ms > SLOW_MS) this.#long++;
    }
    if (!probed.ran || probed.timedOut) return probed;
    // What reads the answers of commands is not loaded for others.
    const { opinionOf } = await import("../laws/verdict.ts");
    return { ...probed, opinion: opinionOf(probed.ran, probe.event, this.subject.host, this.lane.place.kept) };
  }

  /** Asks about many, as fast as they can be asked: while some answers are looked at, the next questions are asked. */
  async *askAll(probes: readonly Probe[]): AsyncGenerator<readonly [Probe, Probed]> {
    let at = 0;
    const askRow = () => {
      const row = probes.slice(at, at + (this.slow ? SLOW_ROW : this.subject.kind === "module" ? MODULE_ROW : ROW));
      return { row, asked: this.lane.askRow(row.map((probe) => this.#question(probe))) };
    };
    let ahead: ReturnType<typeof askRow> | undefined;
    try {
      while (at < probes.length) {
        const { row, asked } = ahead ?? askRow();
        ahead = undefined;
        const answers: Probed[] = [];
        for (const [i, probed] of (await asked).entries()) answers.push(await this.#heard(row[i]!, probed));
        at += answers.length;
        const well = answers.length === row.length && answers.every(({ timedOut, failure }) => !timedOut && !failure);
        if (well && !this.slow && at < probes.length) ahead = askRow();
        for (const [i, probed] of answers.entries()) yield [row[i]!, probed];
      }
    } finally {
      // Whoever has seen enough does not want these, but what comes next must not come between them.
      await ahead?.asked.catch(() => {});
    }
  }

  async judge(probe: Probe): Promise<Judged> {
    return this.judged(probe, await this.ask(probe));
  }

  judged(probe: Probe, probed: Probed): Judged {
    const { subject, loaded, limit, secrets } = this;
    return { subject, loaded, probe, probed, limit, secrets };
  }
}

/** Whether it could remember something elsewhere than in its own file, by the looks of it. */
function hasOtherMemory({ text }: Subject): boolean {
  return /globalThis|process\.env\.\w+ *=/.test(text) || importsOwn(text);
}

/** Whether the answer keeps something from happening, or an agent from ending. */
export function refuses({ opinion, inputs }: Probed): boolean {
  return opinion?.decision === "deny" || opinion?.decision === "ask" || (inputs?.length ?? 0) > 0;
}
