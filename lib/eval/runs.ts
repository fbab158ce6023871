import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Price } from "../replay/drift/drift-report.ts";
import { LineLog, readLineLog } from "../transcript/line-log.ts";
import { costOf, gradedAgain, KEPT, type RunLine, type RunPlace } from "./attempt.ts";
import { addPrice, FREE, type Graded, OVER } from "./grade.ts";
import {
  type Budget,
  type EvalPlan,
  isRunOf,
  type PlannedFixture,
  roundOf,
  running,
  type Slot,
  slotName,
} from "./plan.ts";

/** Where an eval happens, and what it needs. */
export interface EvalPlace extends RunPlace {
  /** Makes a run in a process of its own, as no run may leave something to the next; undefined if it was interrupted. */
  readonly fresh: (slot: Slot, rehearsal?: { readonly left: Budget | undefined }) => Promise<RunLine | undefined>;
  /** Rehearses the graders of a fixture on its recorded run; undefined if that cannot be made again. */
  readonly rehearse: (slot: Slot, left: Budget | undefined) => Promise<Graded | undefined>;
  readonly atOnce: number;
  /** Called whenever a run has ended. */
  readonly onRun?: (line: RunLine) => void;
}

/** A line of `rehearsed.jsonl`: graders that did not crash before there were runs. */
interface Rehearsed {
  readonly fixture: string;
  readonly graders: PlannedFixture["graders"];
  /** What judges took, and will take for each run. */
  readonly judged: Price;
  readonly each: Price;
}

/** A grader that is broken: it would fail runs for its own mistake. */
export class BrokenGrader extends Error {
  override name = "BrokenGrader";
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
  readonly #rehearsed: Rehearsed[];
  /** Whether the budget does not even allow a rehearsal. */
  #isOver = false;
  /** What each run that is under way may cost. */
  readonly #held = new Map<Slot, Price>();

  constructor(plan: EvalPlan, place: EvalPlace) {
    this.#plan = plan;
    this.#place = place;
    const path = join(place.folder, "runs.jsonl");
    this.lines = readLineLog<RunLine>(path)?.values ?? [];
    this.#log = new LineLog(path);
    this.#rehearsed = readLineLog<Rehearsed>(join(place.folder, "rehearsed.jsonl"))?.values ?? [];
  }

  close(): void {
    this.#log.close();
  }

  /** What everything has cost: runs, also those that were lost, judges, and what these took in rehearsals. */
  get spent(): Price {
    return [...this.lines.map(costOf), this.judged].reduce(addPrice, FREE);
  }

  /** What judges have taken. */
  get judged(): Price {
    return [...this.#rehearsed, ...this.lines].map(({ judged = FREE }) => judged).reduce(addPrice, FREE);
  }

  /** What the judges of one run of each fixture take. */
  get judges(): Price {
    return this.#plan.fixtures.map((fixture) => this.#judgesOf(fixture)).reduce(addPrice, FREE);
  }

  #judgesOf(fixture: PlannedFixture): Price {
    return this.#rehearsalOf(fixture)?.each ?? FREE;
  }

  #rehearsalOf({ name, graders }: PlannedFixture): Rehearsed | undefined {
    return this.#rehearsed.findLast((one) => one.fixture === name && isDeepStrictEqual(one.graders, graders));
  }

  /** Whether its graders, as they are, were never rehearsed. */
  #isNew(fixture: PlannedFixture): boolean {
    return Object.keys(fixture.graders).length > 0 && !this.#rehearsalOf(fixture);
  }

  #keepRehearsal(
    { name: fixture, graders }: PlannedFixture,
    { judged, each = judged }: Pick<Graded, "judged" | "each">,
  ) {
    const line: Rehearsed = { fixture, graders, judged, each };
    const log = new LineLog(join(this.#place.folder, "rehearsed.jsonl"));
    log.append([line]);
    log.close();
    this.#rehearsed.push(line);
  }

  /** Has a run count as the rehearsal of its graders, unless they said nothing of it. */
  #rehearsedBy({ lost, stop, ungraded, judged: each = FREE }: RunLine, { fixture }: Slot): void {
    if (lost === undefined && stop !== "error" && ungraded !== OVER) {
      this.#keepRehearsal(fixture, { judged: FREE, each });
    }
  }

  /**
   * Rehearses graders on the recorded runs, before any other is made.
   *
   * @throws {BrokenGrader} if one crashes there
   */
  async rehearse(): Promise<void> {
    for (const slot of this.#unrehearsed().filter(({ fixture }) => !fixture.case)) {
      const graded = await this.#place.rehearse(slot, this.#left());
      if (graded?.broken !== undefined) throw broken(slot, graded.broken, "the recorded run");
      if (graded?.ungraded === OVER) this.#isOver = true;
      else if (graded) this.#keepRehearsal(slot.fixture, graded);
    }
  }

  /** A run of each fixture whose graders were not rehearsed. */
  #unrehearsed(): Slot[] {
    const first = new Set<PlannedFixture>();
    return this.#slots().filter((slot) => {
      const { fixture } = slot;
      return this.#isNew(fixture) && !first.has(fixture) && !this.#isDone(slot) && first.add(fixture);
    });
  }

  /** Runs that were given up, or are not graded. */
  get lost(): number {
    const counts = new Map<string, number>();
    for (const { run, lost } of this.lines) if (lost !== undefined) counts.set(run, (counts.get(run) ?? 0) + 1);
    const ungraded = this.lines.filter(({ ungraded }) => ungraded !== undefined).length;
    return [...counts.values()].filter((tries) => tries >= TRIES).length + ungraded;
  }

  get tooManyLost(): boolean {
    return this.lost > MOST_LOST * this.#plan.runs * this.#plan.fixtures.length * running(this.#plan).length;
  }

  /** Whether every run that was planned is there. */
  get isComplete(): boolean {
    return this.#slots().every((slot) => this.#isDone(slot));
  }

  #slots(): Slot[] {
    return Array.from({ length: this.#plan.runs }, (_, i) => roundOf(this.#plan, i + 1)).flat();
  }

  /**
   * Runs all rounds up to one, and says why it ended. A round begins only if it fits the budget, should each of its
   * runs be as dear as the dearest so far.
   */
  async through(rounds: number): Promise<"done" | "budget" | "lost" | "aborted"> {
    const { signal } = this.#place;
    const active = new Set<Promise<void>>();
    let why: "done" | "budget" | "lost" | "aborted" = "done";
    // Without a recorded run, the first one is the rehearsal, and goes alone.
    for (let [slot] = this.#unrehearsed(); slot && !signal.aborted && !this.tooManyLost; [slot] = this.#unrehearsed()) {
      if (this.#isOver || !this.#fits(this.dearest(slot))) return "budget";
      await this.#fill(slot);
    }
    for (let round = 1; round <= rounds && why === "done"; round++) {
      const slots = roundOf(this.#plan, round).filter((slot) => !this.#isDone(slot));
      const needed = slots.map((slot) => this.dearest(slot)).reduce(addPrice, FREE);
      while (!this.#fits(needed) && active.size > 0) await Promise.race(active);
      if (!this.#fits(needed)) {
        why = "budget";
        break;
      }
      for (const slot of slots) this.#held.set(slot, this.dearest(slot));
      for (const slot of slots) {
        while (active.size >= this.#place.atOnce) await Promise.race(active);
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
    return lines.some(({ lost }) => lost === undefined) || lines.length >= TRIES;
  }

  /** What a run may cost with its judges: as much as the dearest so far. */
  dearest(slot: Slot): Price {
    const own = this.lines.filter(({ run }) => isRunOf(run, slot));
    // No tape says what a case costs.
    const lines = own.length === 0 && slot.fixture.case ? this.lines : own;
    const judged = lines.flatMap(({ judged }) => judged ?? []);
    const run = lines.length === 0 ? slot.fixture.price : lines.map(costOf).reduce(dearer);
    return addPrice(run, judged.reduce(dearer, this.#judgesOf(slot.fixture)));
  }

  #fits(needed: Price): boolean {
    return whyNot(this.#left(), [...this.#held.values(), needed].reduce(addPrice, FREE)) === undefined;
  }

  /** What is left of the budget. */
  #left(): Budget | undefined {
    const { budget } = this.#plan;
    const { tokens, dollars = Infinity } = this.spent;
    return budget && ("tokens" in budget ? { tokens: budget.tokens - tokens } : { dollars: budget.dollars - dollars });
  }

  /** Runs a slot until it is not lost, or given up. */
  async #fill(slot: Slot): Promise<void> {
    for (let begins = true; begins; begins = !this.#isDone(slot) && this.#fits(this.dearest(slot))) {
      this.#held.set(slot, this.dearest(slot));
      const isRehearsal = this.#isNew(slot.fixture);
      const line = await this.#place.fresh(slot, isRehearsal ? { left: this.#left() } : undefined);
      this.#held.delete(slot);
      if (!line) return; // aborted
      this.#log.append([line]);
      this.lines.push(line);
      if (line.broken !== undefined) throw broken(slot, line.broken, `its first run, ${line.run}`);
      if (isRehearsal) this.#rehearsedBy(line, slot);
      this.#place.onRun?.(line);
    }
  }

  /**
   * Grades kept runs again, and replaces their lines; what was lost stays lost.
   *
   * @throws {BrokenGrader} if a grader that was not rehearsed crashes on the first of them
   */
  async regrade(which: "all" | "what is new"): Promise<void> {
    const changed = this.#plan.fixtures.filter((fixture) => this.#isNew(fixture));
    const slots = new Map(this.#slots().map((slot) => [slotName(slot), slot]));
    for (const [i, line] of this.lines.entries()) {
      const slot = slots.get(line.run);
      const isKept = line.lost === undefined && existsSync(join(this.#place.folder, line.run, KEPT));
      if (!slot || !isKept) continue;
      if (which !== "all" && line.ungraded === undefined && !changed.includes(slot.fixture)) continue;
      const rehearsal = this.#isNew(slot.fixture);
      const refuses = (about: Price) => whyNot(this.#left(), about);
      const next = await gradedAgain(line, slot, this.#place, { rehearsal, refuses });
      if (this.#place.signal.aborted) return;
      if (next.broken !== undefined) throw broken(slot, next.broken, line.run);
      if (rehearsal) this.#rehearsedBy(next, slot);
      this.lines[i] = next;
    }
    this.#log.close();
    const path = join(this.#place.folder, "runs.jsonl");
    const { writeWhole } = await import("../files/drafts.ts");
    writeWhole(path, this.lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}

function broken({ fixture }: Slot, why: string, on: string): BrokenGrader {
  return new BrokenGrader(`Cannot evaluate ${fixture.name} as its grader ${why}, on ${on}: correct the grader`);
}

/** Why something is not to be paid from what is left of a budget. */
export function whyNot(left: Budget | undefined, { tokens, dollars }: Price): string | undefined {
  if (!left) return undefined;
  if ("tokens" in left) return tokens > left.tokens ? OVER : undefined;
  if (dollars === undefined) return "the price of its model is unknown, and the budget is in dollars: --budget 500k";
  return dollars > left.dollars + 1e-9 ? OVER : undefined;
}

function dearer(a: Price, b: Price): Price {
  const dollars = a.dollars === undefined || b.dollars === undefined ? undefined : Math.max(a.dollars, b.dollars);
  return { calls: Math.max(a.calls, b.calls), tokens: Math.max(a.tokens, b.tokens), dollars };
}
