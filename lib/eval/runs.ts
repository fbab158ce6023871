import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { totalTokens } from "../core/messages.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import { thrownWords } from "../core/thrown.ts";
import { hashFiles, readFiles } from "../tape/workspace.ts";
import type { Price } from "../tape/drift/drift.ts";
import { type Fixture, fixtureAt, inScratch, scriptOnTape } from "../tape/fixture.ts";
import { readTape } from "../tape/read.ts";
import { redactor } from "../tape/redact/redact.ts";
import { type FixtureRun, observedOn, runFixture } from "../tape/run-fixture.ts";
import type { Replayable } from "../tape/run-on-tape.ts";
import { withRootNamed } from "../tape/seen.ts";
import type { Tape } from "../tape/tape.ts";
import { BUILT_IN } from "../files/importing.ts";
import { LineLog, readLineLog } from "../transcript/line-log.ts";
import { type LiveRun, runCommandLive } from "./command-run.ts";
import { addPrice, FREE, type Grade, gradeRun, JudgeLog } from "./grade.ts";
import {
  type EvalPlan,
  isRunOf,
  type PlannedFixture,
  roundOf,
  running,
  type Slot,
  slotName,
  type Variant,
} from "./plan.ts";

/** A line of `runs.jsonl`: a run that has ended, or was lost. */
export interface RunLine {
  readonly run: string;
  /** Absent if it was lost: then it neither passed nor failed. */
  readonly pass?: boolean;
  readonly lost?: string;
  readonly grades?: readonly Grade[];
  readonly stop?: string;
  readonly calls: number;
  readonly tokens: number;
  /** Absent if the price of a model is unknown. */
  readonly dollars?: number;
  readonly ms: number;
}

/** What runs a fixture for a variant. */
interface EvalAgent {
  readonly agent: Replayable;
  /** Its script; undefined for the built-in agent. */
  readonly script: string | undefined;
}

/** Where an eval happens, and what it needs. */
export interface EvalPlace {
  readonly project: string;
  /** The folder of this eval. */
  readonly folder: string;
  readonly agentOf: (fixture: Fixture, variant: Variant) => Promise<EvalAgent>;
  /** Makes a run of a git ref in a process of its own. */
  readonly elsewhere?: (slot: Slot) => Promise<RunLine | undefined>;
  readonly atOnce: number;
  readonly signal: AbortSignal;
  /** Called whenever a run has ended. */
  readonly onRun?: (line: RunLine) => void;
}

/** How often a run that is lost is tried. */
const TRIES = 3;
/** The share of runs that may be lost: with more, what is left may be no fair sample. */
const MOST_LOST = 0.1;

/** The API answered these because of what the agent sent: the run has failed, and is not lost. */
const OWN_FAULT = new Set(["invalid_request_error", "request_too_large"]);
/** What a model call can end with, apart from the API's own names of errors. */
const LOST = /^([a-z_]+_error|network|timeout|cut|stalled|grammar|not_a_stream|no_key|no_sdk)$/;

/** Whether a run says nothing about its agent, as the API failed. */
function isLost({ stop, error }: Pick<Result, "stop" | "error">): boolean {
  return stop === "error" && error !== undefined && LOST.test(error.type) && !OWN_FAULT.has(error.type);
}

/** The runs of an eval: done, under way and to come. */
export class EvalRuns {
  readonly lines: RunLine[];
  readonly #plan: EvalPlan;
  readonly #place: EvalPlace;
  readonly #log: LineLog;
  readonly #judged: JudgeLog;
  readonly #tapes = new Map<string, Promise<Tape>>();
  /** What each run that is under way may cost. */
  readonly #held = new Map<Slot, Price>();

  constructor(plan: EvalPlan, place: EvalPlace) {
    this.#plan = plan;
    this.#place = place;
    const path = join(place.folder, "runs.jsonl");
    this.lines = readLineLog<RunLine>(path)?.values ?? [];
    this.#log = new LineLog(path);
    this.#judged = new JudgeLog(join(place.folder, "judge.jsonl"));
  }

  close(): void {
    this.#log.close();
    this.#judged.close();
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
      const line = await (slot.variant.kind === "ref" && this.#place.elsewhere?.(slot) || this.attempt(slot));
      this.#held.delete(slot);
      if (!line) return; // aborted
      this.#log.append([line]);
      this.lines.push(line);
      this.#place.onRun?.(line);
    }
  }

  /** Makes one run; undefined if it was interrupted. */
  async attempt(slot: Slot): Promise<RunLine | undefined> {
    const run = slotName(slot);
    const folder = join(this.#place.folder, run);
    const began = performance.now();
    let cost = FREE;
    const line = (came: Pick<RunLine, "pass" | "lost" | "grades" | "stop">): RunLine => {
      const { calls, tokens, dollars } = cost;
      const ms = Math.round(performance.now() - began);
      return { run, ...came, calls, tokens, ...(dollars !== undefined && { dollars }), ms };
    };
    try {
      rmSync(folder, { recursive: true, force: true }); // what an ended attempt left
      let graded: RunLine | undefined;
      await this.#run(slot, folder, async (root, { lost, price, ...done }) => {
        cost = price;
        const { stop } = done.results.at(-1)!;
        if (this.#place.signal.aborted) return;
        if (lost !== undefined) return void (graded = line({ lost, stop }));
        const fixture = this.#fixture(slot.fixture);
        const observed = observedOn(done.tape, { root, files: done.files, ...keepRun(folder, root, done, fixture) });
        const run = { observed, root, folder, signal: this.#place.signal };
        const said = await gradeRun(fixture, run, { recorded: slot.fixture.stop, asked: this.#judged });
        cost = addPrice(cost, { ...said.price, calls: 0 });
        graded = line({ pass: said.grades.every(({ pass }) => pass), grades: said.grades, stop });
      });
      return graded;
    } catch (error) {
      return this.#place.signal.aborted ? undefined : line({ lost: thrownWords(error) });
    }
  }

  /** Runs a slot live; `left` sees what it came to while its workspace is there. */
  async #run(slot: Slot, folder: string, left: (root: string, run: LiveRun) => Promise<void>): Promise<void> {
    const { agentOf, signal } = this.#place;
    const fixture = this.#fixture(slot.fixture);
    const known = this.#tapes.get(fixture.tape) ?? readTape(fixture.tape);
    this.#tapes.set(fixture.tape, known);
    const like = await known;
    const into = fixtureAt(folder);
    if (like.header.command) return await runCommandLive(fixture, into, like, signal, left);
    const { agent, script } = await agentOf(fixture, slot.variant);
    mkdirSync(folder, { recursive: true });
    // With the files it began with beside it, a run is a fixture that can be replayed.
    if (fixture.files !== undefined) symlinkSync(fixture.files, join(folder, "files"));
    await runFixture({ ...into, files: fixture.files }, agent, {
      mode: "record",
      like,
      tools: true,
      redact: true,
      agent: script === undefined ? BUILT_IN : scriptOnTape(folder, script),
      ...(slot.variant.model !== undefined && { model: slot.variant.model }),
      signal,
      left: async (root, { results, events, files }) => {
        const { error } = results.at(-1)!;
        const lost = isLost(results.at(-1)!) ? { lost: error!.message } : {};
        await left(root, { tape: await readTape(into.tape), results, events, files, price: costIn(events), ...lost });
      },
    });
  }

  #fixture({ folder, name, copies }: PlannedFixture): Fixture {
    const fixture = fixtureAt(join(this.#place.project, folder));
    return { ...fixture, name, ...(copies && { files: join(this.#place.folder, "files") }) };
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
      else again.push(await this.#gradedAgain(line, slot, folder));
      if (this.#place.signal.aborted) return;
    }
    this.#log.close();
    const path = join(this.#place.folder, "runs.jsonl");
    const { writeWhole } = await import("../tape/drafts.ts");
    writeWhole(path, again.map((line) => `${JSON.stringify(line)}\n`).join(""), { replace: true });
    this.lines.splice(0, this.lines.length, ...again);
  }

  async #gradedAgain(line: RunLine, slot: Slot, folder: string): Promise<RunLine> {
    const fixture = this.#fixture(slot.fixture);
    const tape = await readTape(fixtureAt(folder).tape);
    return await inScratch(fixture.files, async (root) => {
      if (existsSync(join(folder, "left"))) cpSync(join(folder, "left"), root, { recursive: true });
      const { files = {} } = tape.end ?? {};
      for (const path of Object.keys(tape.end?.files ? hashFiles(root) : {})) {
        if (!Object.hasOwn(files, path)) rmSync(join(root, path));
      }
      const kept: KeptRun = JSON.parse(readFileSync(join(folder, KEPT), "utf8"));
      const observed = observedOn(tape, { root, files: readFiles(root), ...kept });
      const run = { observed, root, folder, signal: this.#place.signal };
      const { grades, price } = await gradeRun(fixture, run, { recorded: slot.fixture.stop, asked: this.#judged });
      const { tokens, dollars } = addPrice(costOf(line), { ...price, calls: 0 });
      const pass = grades.every(({ pass }) => pass);
      return { ...line, pass, grades, tokens, ...(dollars !== undefined && { dollars }) };
    });
  }
}

/** The file with what is not on a run's tape: what its hooks said, and how each prompt ended. */
export const KEPT = "observed.json";

type KeptRun = Pick<FixtureRun, "events" | "results">;

/** Keeps what a run did and the files that it changed. Its workspace is `{ROOT}`, and secrets are placeholders. */
function keepRun(folder: string, root: string, done: KeptRun, { files }: Fixture): KeptRun {
  const search = redactor();
  const shown = withRootNamed(root);
  const kept = shown(search.value({ events: done.events.filter(isKept), results: done.results })) as KeptRun;
  writeFileSync(join(folder, KEPT), JSON.stringify(kept), { mode: 0o600 });
  const before = files === undefined ? {} : hashFiles(files);
  for (const [path, hash] of Object.entries(hashFiles(root))) {
    if (before[path] === hash) continue;
    mkdirSync(dirname(join(folder, "left", path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, "left", path));
  }
  return kept;
}

function isKept({ type }: RunEvent): boolean {
  return !["text", "thinking", "tool_progress", "hook_output"].includes(type);
}

/** What a run cost with all its agents and hooks. */
function costIn(events: readonly RunEvent[]): Price {
  return events.flatMap((event) => event.type === "usage" ? [event] : [])
    .map(({ usage, cost }): Price => ({ calls: 1, tokens: totalTokens(usage), dollars: cost }))
    .reduce(addPrice, FREE);
}

export function costOf({ calls, tokens, dollars }: RunLine): Price {
  return { calls, tokens, dollars };
}

function dearer(a: Price, b: Price): Price {
  const dollars = a.dollars === undefined || b.dollars === undefined ? undefined : Math.max(a.dollars, b.dollars);
  return { calls: Math.max(a.calls, b.calls), tokens: Math.max(a.tokens, b.tokens), dollars };
}
