import { type Hashing, sha256 } from "../runtime/sha256.ts";
import { present } from "../core/json.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import type { Spent } from "../core/limits.ts";
import type { ClockFact } from "./entry.ts";

interface LaneClockOptions {
  readonly lane: string;
  readonly epoch: number;
  readonly seed: string;
  /** What the tape says of this lane. */
  readonly recorded?: readonly ClockFact[];
  /** Whether time passes by itself: a recording. */
  readonly live: boolean;
  /** The lane whose agent waits for this one. */
  readonly above?: LaneClock;
  /** The step in which a session that goes on begins. @default 0 */
  readonly from?: number;
  /** Whether time that passed since it was recorded is left out, once it goes live. @default true */
  readonly lags?: boolean;
  /** Called with what it says in each step it comes to, also if that was recorded. */
  readonly noted?: (fact: ClockFact) => void;
}

/**
 * The clock of one lane. It moves in steps, so that what hooks read does not depend on how fast things went or on
 * what other lanes do: all reads of a step give the time at which it began. On replay no wait takes real time.
 */
export class LaneClock implements Clock {
  readonly #options: LaneClockOptions;
  readonly #recorded: ReadonlyMap<number, ClockFact>;
  #times: Map<number, number>;
  /** What was spent when its agent looked, by step. */
  readonly #spent: Map<number, Pick<Spent, "tokens" | "dollars">>;
  readonly #sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();
  #live = false;
  #step = 0;
  /** How often each has drawn in this step. */
  #drawn = new Map<string, number>();
  /** Milliseconds since the epoch, as far as the tape has come. */
  #time = 0;
  /** What the real clock said when this one went live. */
  #since = 0;
  /** How much later it is than in this run: an updated run continues in the time of its tape, which has no gap. */
  #lag = 0;

  constructor(options: LaneClockOptions) {
    this.#options = options;
    this.#step = options.from ?? 0;
    const { recorded = [] } = options;
    this.#recorded = new Map(recorded.map((fact) => [fact.step, fact]));
    this.#times = new Map(recorded.map(({ step, now }) => [step, now]));
    this.#spent = new Map(
      recorded.flatMap(({ step, spent }) => spent ? [[step, { dollars: undefined, ...spent }]] : []),
    );
    if (options.live) {
      this.#lag = options.above ? options.above.#lag : 0;
      this.goLive();
    } else this.#time = this.#times.get(this.#step) ?? 0; // alarms of an agent count from when it began
  }

  get isLive(): boolean {
    return this.#live;
  }

  /** From here on time passes by itself, and what is read is noted. */
  goLive(): void {
    if (this.#live) return;
    const { live, lags = true } = this.#options;
    if (!live && lags) this.#lag = Math.max(0, this.#real() - this.#time);
    this.#live = true;
    for (const known of [this.#times, this.#spent]) {
      for (const step of known.keys()) if (step > this.#step) known.delete(step);
    }
    this.#since = systemClock.tick();
    this.#begin();
  }

  nextStep(): void {
    this.#step++;
    this.#drawn = new Map();
    if (this.#live) return this.#begin();
    const known = this.#recorded.get(this.#step);
    if (known) this.#options.noted?.(known);
    this.advance(this.#times.get(this.#step) ?? 0);
  }

  #begin(): void {
    const { lane: clock, noted } = this.#options;
    if (this.#times.has(this.#step)) return;
    const now = this.elapsed();
    this.#times.set(this.#step, now);
    noted?.({ clock, step: this.#step, now });
  }

  /** Milliseconds since the tape began. */
  elapsed(): number {
    return this.#live ? Math.max(0, this.#real() - this.#lag) : this.#time;
  }

  #real(): number {
    return Date.now() - this.#options.epoch;
  }

  /** Moves a replay on to a time of the tape; sleepers whose time has come wake. */
  advance(time: number): void {
    if (this.#live || time <= this.#time) return;
    this.#time = time;
    for (const sleeper of this.#sleepers) if (sleeper.until <= time) sleeper.wake();
    this.#options.above?.advance(time);
  }

  /** Whether no alarm rings if the time moves on to this. */
  isQuietUntil(time: number): boolean {
    for (const sleeper of this.#sleepers) if (sleeper.until <= time) return false;
    return this.#options.above?.isQuietUntil(time) ?? true;
  }

  now(): number {
    const { epoch } = this.#options;
    for (let step = this.#step; step >= 0; step--) {
      const known = this.#times.get(step);
      if (known !== undefined) return epoch + (step === this.#step ? known : Math.max(known, this.#time));
    }
    return epoch + this.#time;
  }

  tick(): number {
    return this.#live ? this.#time + systemClock.tick() - this.#since : this.#time;
  }

  uuid(who = ""): string {
    const hex = this.#draw(who).digest("hex");
    const variant = (parseInt(hex[16]!, 16) & 0x3 | 0x8).toString(16);
    const [a, b, c, d, e] = [[0, 8], [8, 12], [13, 16], [17, 20], [20, 32]].map(([from, to]) => hex.slice(from, to));
    return `${a}-${b}-4${c}-${variant}${d}-${e}`;
  }

  random(who = ""): number {
    return this.#draw(who).digest().subarray(0, 6).reduce((sum, byte) => sum * 256 + byte, 0) / 2 ** 48;
  }

  #draw(who: string): Hashing {
    const { seed, lane } = this.#options;
    const n = this.#drawn.get(who) ?? 0;
    this.#drawn.set(who, n + 1);
    return sha256().update(`${seed}:${lane}:${this.#step}:${who}:${n}`);
  }

  /** An alarm: on replay it rings when the tape has come that far, or when that much time really passed. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#live) return systemClock.sleep(ms, signal);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return resolve();
      const over = new AbortController();
      const sleeper = {
        until: this.#time + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener("abort", sleeper.wake);
          over.abort();
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", sleeper.wake, { once: true });
      systemClock.sleep(ms, over.signal).then(sleeper.wake, reject);
    });
  }

  /** What the run has spent in this step, as it was when it was recorded; the same for every reader. */
  spent({ tokens, dollars }: Spent): Pick<Spent, "tokens" | "dollars"> {
    const known = this.#spent.get(this.#step);
    if (known) return known;
    const { lane: clock, epoch, noted } = this.#options;
    const spent = { tokens, dollars };
    this.#spent.set(this.#step, spent);
    noted?.({ clock, step: this.#step, now: this.now() - epoch, spent: present(spent) });
    return spent;
  }

  /** A clock that stays in this step. Its time does not move the lane's. */
  apart(): LaneClock {
    const { lane, epoch, seed } = this.#options;
    const clock = new LaneClock({ lane, epoch, seed, live: false });
    clock.#times = new Map([[this.#step, this.now() - epoch]]);
    clock.#step = this.#step;
    clock.#drawn = this.#drawn;
    clock.#time = this.#time;
    clock.#since = this.#since;
    clock.#live = this.#live;
    return clock;
  }

  /** A wait in which nothing happens: on replay it is over at once. */
  pass(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#live) return systemClock.sleep(ms, signal);
    this.advance(this.#time + ms);
    return Promise.resolve();
  }
}
