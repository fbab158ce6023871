import { OBSERVED_FILE } from "../../replay/fixture.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Price } from "../../replay/drift/drift-report.ts";
import { writeWhole } from "../../files/drafts.ts";
import { appendLine, readLineLog } from "../../log/line-log.ts";
import { costOf, gradedAgain, type RunLine, type RunPlace } from "./attempt.ts";
import { addPrice, FREE, type Graded, OVER } from "./grade.ts";
import {
  areContinued,
  type Budget,
  type EvalPlan,
  isContinued,
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
export class BrokenGrader extends Error {}

/** How often a run that is lost is tried. */
const TRIES = 3;
/** The share of runs that may be lost: with more, what is left may be no fair sample. */
const MOST_LOST = 0.1;

/** The runs of an eval: done, under way and to come. */
export class EvalRuns {
  readonly lines: RunLine[];
  readonly #plan: EvalPlan;
  readonly #place: EvalPlace;
  /** The file of these lines. */
  readonly #path: string;
  readonly #rehearsed: Rehearsed[];
  readonly #then: readonly KeptLine[];
  /** Whether the budget does not even allow a rehearsal. */
  #isOver = false;
  /** What each run that is under way may cost. */
  readonly #held = new Map<Slot, Price>();

  /** `then`: the runs of a kept eval that these are compared with. */
  constructor(plan: EvalPlan, place: EvalPlace, then: readonly KeptLine[] = []) {
    this.#plan = plan;
    this.#then = then;
    this.#place = place;
    this.#path = join(place.folder, "runs.jsonl");
    this.lines = readLineLog<RunLine>(this.#path)?.values ?? [];
    this.#rehearsed = readLineLog<Rehearsed>(join(place.folder, "rehearsed.jsonl"))?.values ?? [];
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
    return this.#plan.fixtures.map((fixture) => this.#rehearsalOf(fixture)?.each ?? FREE).reduce(addPrice, FREE);
  }

  #rehearsalOf({ name, graders }: PlannedFixture): Rehearsed | undefined {
    return this.#rehearsed.findLast((one) => one.fixture === name && isDeepStrictEqual(one.graders, graders));
  }

  /** Whether its graders, as they are, were never rehearsed. */
  #isNew(fixture: PlannedFixture): boolean {
    return Object.keys(fixture.graders).length > 0 && !this.#rehearsalOf(fixture);
  }

  #keepRehearsal({ name: fixture, graders }: PlannedFixture, { judged, each = judged }: Omit<Graded, "grades">): void {
    const line: Rehearsed = { fixture, graders, judged, each };
    appendLine(join(this.#place.folder, "rehearsed.jsonl"), line);
    this.#rehearsed.push(line);
  }

  /** Has a run count as the rehearsal of its graders, unless they said nothing of it. */
  #rehearsedBy({ lost, stop, ungraded, judged: each = FREE }: RunLine, { fixture }: Slot): void {
    if (lost === undefined && stop !== "error" && ungraded !== OVER) {
      this.#keepRehearsal(fixture, { judged: FREE, each });
    }
  }

  /** Rehearses graders on the recorded runs, before any other is made. @throws {BrokenGrader} if one crashes there */
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

  /** Runs all rounds up to one that fit the budget, should each run be as dear as the dearest so far; says why it ended. */
  async through(rounds: number): Promise<"done" | "budget" | "lost" | "aborted"> {
    const { signal } = this.#place;
    const active = new Set<Promise<void>>();
    let why: "done" | "budget" = "done";
    const isOver = () => signal.aborted || this.tooManyLost;
    // Without a recorded run, the first one is the rehearsal, and goes alone.
    for (let [slot] = this.#unrehearsed(); slot && !isOver(); [slot] = this.#unrehearsed()) {
      if (this.#isOver || !this.#fits(this.dearest(slot))) return "budget";
      await this.#fill(slot);
    }
    for (let round = 1; round <= rounds && !isOver(); round++) {
      const slots = roundOf(this.#plan, round).filter((slot) => !this.#isDone(slot));
      const needed = slots.map((slot) => this.dearest(slot)).reduce(addPrice, FREE);
      while (!this.#fits(needed) && active.size > 0) await Promise.race(active);
      if (!this.#fits(needed)) {
        why = "budget";
        break;
      }
      for (const slot of slots) this.#held.set(slot, this.dearest(slot));
      // A run that continues another comes after it.
      for (
        const [, ways] of Map.groupBy(slots, (slot) => isContinued(this.#plan, slot.fixture) ? slot.fixture : slot)
      ) {
        while (active.size >= this.#place.atOnce) await Promise.race(active);
        if (isOver()) break;
        const run = this.#fillAll(ways, isOver).finally(() => active.delete(run));
        active.add(run);
      }
    }
    await Promise.all(active);
    const areLeft = () => this.#slots().some((slot) => slot.round <= rounds && !this.#isDone(slot));
    if (why === "done" && !isOver() && this.areMoved && areLeft()) return await this.through(rounds);
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
    // It takes something: where nothing is left, a run of unknown price does not fit. Logs are free.
    const isUnknown = slot.fixture.case && this.#plan.sessions === undefined;
    const least = isUnknown ? { calls: 1, tokens: 1, dollars: 1e-6 } : FREE;
    const run = lines.length === 0 ? dearer(slot.fixture.price, least) : lines.map(costOf).reduce(dearer, least);
    return addPrice(run, judged.reduce(dearer, this.#rehearsalOf(slot.fixture)?.each ?? FREE));
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

  async #fillAll(slots: readonly Slot[], isOver: () => boolean): Promise<void> {
    for (const slot of slots) if (!isOver()) await this.#fill(slot);
  }

  /** A slot with the run that it continues, or why it continues none. */
  #continuing(slot: Slot): Slot {
    const { variants: [now, then] } = this.#plan;
    if (slot.variant !== now || !areContinued(this.#plan)) return slot;
    if (slot.fixture.alone !== undefined) return { ...slot, anew: slot.fixture.alone };
    const run = slotName({ ...slot, variant: then! });
    const line = [...this.lines, ...this.#then].findLast((one) => one.run === run);
    if (!line) return slot;
    const why = whyAnew(line);
    if (why !== undefined) return { ...slot, anew: why };
    const { folder = join(this.#place.folder, run) } = line as KeptLine;
    return { ...slot, continues: folder, moved: this.#moved };
  }

  /** Models whose name another answers by now: live replies say so, and replies that were kept say what it was. */
  get #moved(): string[] {
    const all = this.lines.flatMap(({ answered }) => answered ?? []);
    const kept = all.flatMap((one) => Object.entries(one.kept));
    return kept.flatMap(([asked, then]) => all.some(({ live }) => (live[asked] ?? then) !== then) ? [asked] : []);
  }

  /** Whether runs that kept what another model said are not made anew yet. */
  get areMoved(): boolean {
    return this.lines.some(({ run, moved }) => moved && !this.lines.some((one) => one.run === run && !one.moved));
  }

  /** Has runs made anew that kept replies of a model whose name another answers by now. */
  #dropMoved(): void {
    const moved = this.#moved;
    if (moved.length === 0) return;
    for (const [i, { pass: _, ...line }] of this.lines.entries()) {
      const model = moved.find((asked) => line.answered?.kept[asked] !== undefined);
      if (model === undefined || line.lost !== undefined) continue;
      this.lines[i] = { ...line, moved: true, lost: `${model} answers under another name now` };
    }
    this.#rewrite();
  }

  /** Runs a slot until it is not lost, or given up. */
  async #fill(slot: Slot): Promise<void> {
    for (let begins = true; begins; begins = !this.#isDone(slot) && this.#fits(this.dearest(slot))) {
      this.#held.set(slot, this.dearest(slot));
      const isRehearsal = this.#isNew(slot.fixture);
      const line = await this.#place.fresh(this.#continuing(slot), isRehearsal ? { left: this.#left() } : undefined);
      this.#held.delete(slot);
      if (!line) return; // aborted
      appendLine(this.#path, line);
      this.lines.push(line);
      if (line.broken !== undefined) throw broken(slot, line.broken, `its first run, ${line.run}`);
      if (isRehearsal) this.#rehearsedBy(line, slot);
      this.#place.onRun?.(line);
      this.#dropMoved();
    }
  }

  /** Grades kept runs again; what was lost stays lost. @throws {BrokenGrader} if a grader that was not rehearsed crashes */
  async regrade(which: "all" | "what is new"): Promise<void> {
    const changed = this.#plan.fixtures.filter((fixture) => this.#isNew(fixture));
    const slots = new Map(this.#slots().map((slot) => [slotName(slot), slot]));
    for (const [i, line] of this.lines.entries()) {
      const slot = slots.get(line.run);
      const isKept = line.lost === undefined && existsSync(join(this.#place.folder, line.run, OBSERVED_FILE));
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
    this.#rewrite();
  }

  #rewrite(): void {
    writeWhole(this.#path, this.lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}

/** A run of a kept eval, under the name that it has here, and the folder that has its tape. */
export interface KeptLine extends RunLine {
  readonly folder?: string;
}

/** Why a run is not continued; undefined if it is. Whether it passed does not count: only what is continued whatever came of it is a fair sample. */
export function whyAnew(line: RunLine): string | undefined {
  return line.lost === undefined ? undefined : "its earlier run was lost";
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
