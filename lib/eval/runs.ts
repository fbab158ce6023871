import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Price } from "../tape/drift/drift.ts";
import { LineLog, readLineLog } from "../transcript/line-log.ts";
import { costOf, gradedAgain, KEPT, type RunLine, type RunPlace } from "./attempt.ts";
import { addPrice, FREE } from "./grade.ts";
import { type EvalPlan, isRunOf, roundOf, running, type Slot, slotName } from "./plan.ts";

/** Where an eval happens, and what it needs. */
export interface EvalPlace extends RunPlace {
  /** Makes a run in a process of its own, as no run may leave something to the next; undefined if it was interrupted. */
  readonly fresh: (slot: Slot) => Promise<RunLine | undefined>;
  readonly atOnce: number;
  /** Called whenever a run has ended. */
  readonly onRun?: (line: RunLine) => void;
}

/** How often a run that is lost is tried. */
const TRIES = 3;
/** The share of runs that may be lost: with more, what is left may be no fair sample. */
const MOST_LOST = 0.1;

/** The runs of an eval: done, under way and to come. */
export class EvalRuns {
  readonly lines: RunLine[];
  readonly #plan: EvalPlan;
  readonly #place: EvalPlace;
  readonly #log: LineLog;
  /** What each run that is under way may cost. */
  readonly #held = new Map<Slot, Price>();

  constructor(plan: EvalPlan, place: EvalPlace) {
    this.#plan = plan;
    this.#place = place;
    const path = join(place.folder, "runs.jsonl");
    this.lines = readLineLog<RunLine>(path)?.values ?? [];
    this.#log = new LineLog(path);
  }

  close(): void {
    this.#log.close();
  }

  /** What all runs have cost, also those that were lost. */
  get spent(): Price {
    return this.lines.reduce((sum, line) => addPrice(sum, costOf(line)), FREE);
  }

  /** Runs that were given up. */
  get lost(): number {
    const counts = new Map<string, number>();
    for (const { run, lost } of this.lines) if (lost !== undefined) counts.set(run, (counts.get(run) ?? 0) + 1);
    return [...counts.values()].filter((tries) => tries >= TRIES).length;
  }

  get tooManyLost(): boolean {
    return this.lost > MOST_LOST * this.#plan.runs * this.#plan.fixtures.length * running(this.#plan).length;
  }

  /**
   * Runs all rounds up to one, and says why it ended. A round begins only if it fits the budget, should each of its
   * runs be as dear as the dearest so far.
   */
  async through(rounds: number): Promise<"done" | "budget" | "lost" | "aborted"> {
    const { signal, atOnce } = this.#place;
    const active = new Set<Promise<void>>();
    let why: "done" | "budget" | "lost" | "aborted" = "done";
    for (let round = 1; round <= rounds && why === "done"; round++) {
      const slots = roundOf(this.#plan, round).filter((slot) => !this.#isDone(slot));
      const needed = slots.map((slot) => this.#dearest(slot)).reduce(addPrice, FREE);
      while (!this.#fits(needed) && active.size > 0) await Promise.race(active);
      if (!this.#fits(needed)) {
        why = "budget";
        break;
      }
      for (const slot of slots) this.#held.set(slot, this.#dearest(slot));
      for (const slot of slots) {
        while (active.size >= atOnce) await Promise.race(active);
        if (signal.aborted || this.tooManyLost) {
          why = "lost";
          break;
        }
        const run = this.#fill(slot).finally(() => active.delete(run));
        active.add(run);
      }
    }
    await Promise.all(active);
    if (signal.aborted) return "aborted";
    return this.tooManyLost ? "lost" : why;
  }

  #isDone(slot: Slot): boolean {
    const lines = this.lines.filter(({ run }) => run === slotName(slot));
    return lines.some(({ pass }) => pass !== undefined) || lines.length >= TRIES;
  }

  #dearest(slot: Slot): Price {
    const costs = this.lines.filter(({ run }) => isRunOf(run, slot)).map(costOf);
    return costs.length === 0 ? slot.fixture.price : costs.reduce(dearer);
  }

  #fits(needed: Price): boolean {
    const { budget } = this.#plan;
    if (!budget) return true;
    const sum = [this.spent, ...this.#held.values(), needed].reduce(addPrice, FREE);
    return "tokens" in budget ? sum.tokens <= budget.tokens : (sum.dollars ?? Infinity) <= budget.dollars + 1e-9;
  }

  /** Runs a slot until it is not lost, or given up. */
  async #fill(slot: Slot): Promise<void> {
    for (let begins = true; begins; begins = !this.#isDone(slot) && this.#fits(this.#dearest(slot))) {
      this.#held.set(slot, this.#dearest(slot));
      const line = await this.#place.fresh(slot);
      this.#held.delete(slot);
      if (!line) return; // aborted
      this.#log.append([line]);
      this.lines.push(line);
      this.#place.onRun?.(line);
    }
  }

  /** Grades the kept runs again, and replaces their lines; what was lost stays lost. */
  async regrade(): Promise<void> {
    const again: RunLine[] = [];
    const slots = new Map(
      Array.from({ length: this.#plan.runs }, (_, i) => roundOf(this.#plan, i + 1)).flat().map((
        slot,
      ) => [slotName(slot), slot]),
    );
    for (const line of this.lines) {
      const slot = slots.get(line.run);
      const folder = join(this.#place.folder, line.run);
      if (!slot || line.pass === undefined || !existsSync(join(folder, KEPT))) again.push(line);
      else again.push(await gradedAgain(line, slot, this.#place));
      if (this.#place.signal.aborted) return;
    }
    this.#log.close();
    const path = join(this.#place.folder, "runs.jsonl");
    const { writeWhole } = await import("../tape/drafts.ts");
    writeWhole(path, again.map((line) => `${JSON.stringify(line)}\n`).join(""), { replace: true });
    this.lines.splice(0, this.lines.length, ...again);
  }
}

function dearer(a: Price, b: Price): Price {
  const dollars = a.dollars === undefined || b.dollars === undefined ? undefined : Math.max(a.dollars, b.dollars);
  return { calls: Math.max(a.calls, b.calls), tokens: Math.max(a.tokens, b.tokens), dollars };
}
