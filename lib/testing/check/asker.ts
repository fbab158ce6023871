import type { Probed, Question } from "./ask-protocol.ts";
import type { Probe } from "./events.ts";
import type { Lane } from "./lane.ts";
import type { Loaded, Subject } from "./subject.ts";

/** Asks one hook, and keeps count of how long it took. */
export class Asker {
  readonly subject: Subject;
  readonly loaded: Loaded;
  readonly lane: Lane;
  /** Milliseconds the hook has for one answer. */
  readonly limit: number;
  /** Milliseconds of each call that came back. */
  readonly times: number[] = [];

  constructor(subject: Subject, loaded: Loaded, lane: Lane, limit: number) {
    this.subject = subject;
    this.loaded = loaded;
    this.lane = lane;
    this.limit = limit;
  }

  /** Milliseconds of most calls so far. */
  get usual(): number {
    return this.times.toSorted((a, b) => a - b)[Math.floor(this.times.length / 2)] ?? 0;
  }

  /** The hook remembers nothing of what it was asked so far. */
  forget(): void {
    if (this.subject.kind === "module") this.lane.restart();
    else this.lane.restore();
  }

  /** The answer, with what a host makes of it. */
  async ask({ event, says }: Probe, { keep = false }: Pick<Question, "keep"> = {}): Promise<Probed> {
    const question = { event, keep, ...(says !== undefined && { says }) };
    let probed = await this.lane.ask({ ...question, limit: this.limit });
    // The machine may have been busy, or out of memory: what happened once is asked again.
    if (!keep && (probed.timedOut || probed.ran?.signal === "SIGKILL")) {
      const patient = Math.min(2 * this.limit, (this.loaded.timeout ?? Infinity) * 1000);
      probed = await this.lane.ask({ ...question, limit: patient });
    }
    if (probed.timedOut) return probed;
    this.times.push(probed.ms);
    if (!probed.ran) return probed;
    const { opinionOf } = await import("./laws/printed.ts");
    return { ...probed, opinion: opinionOf(probed.ran, event, this.subject.host, this.lane.place.kept) };
  }

  /** Asks about each until the time is over; a few are always asked. */
  async *askAll(probes: readonly Probe[], ms: number, few = 8): AsyncGenerator<readonly [Probe, Probed]> {
    const end = performance.now() + ms;
    for (const [i, probe] of probes.entries()) {
      if (i >= few && performance.now() > end) return;
      yield [probe, await this.ask(probe)];
    }
  }
}

/** Whether the answer prevents something, or keeps an agent from ending. */
export function refuses({ opinion, inputs }: Probed): boolean {
  return opinion?.decision === "deny" || opinion?.decision === "ask" || (inputs?.length ?? 0) > 0;
}
