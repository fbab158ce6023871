import type { Message } from "../core/messages.ts";
import { countUp, getOrMake } from "../core/maps.ts";
import type { Call } from "./tape.ts";
import { resumable, transcriptOf } from "./stores/store.ts";
import { isObject } from "../core/json.ts";
import type { AnswerFact, ClockFact, EntryOf, LogEntry, ToolFact } from "./entry.ts";
import type { HookStep } from "./step.ts";
import { takesOf } from "./lane.ts";
import { isWhole, Log } from "./read-log.ts";
import { answerOf, SeamAnswer } from "./tape-answer.ts";
import type { LaneClock } from "./tape-clock.ts";

/** What the log of a session that is resumed has: where it stands, and the steps of a run that was cut off. */
export class Past {
  readonly log: Log;
  /** The run that began and did not end, if it is continued: its steps are served. */
  readonly open: EntryOf<"begin"> | undefined;
  /** The conversation as the next run begins with it. */
  readonly messages: readonly Message[];
  readonly callsBefore: ReadonlyMap<string, number>;
  readonly left: EntryOf<"ended">["left"];
  readonly runs: number;
  /** What a person answered in the run that goes on; of another run only about tools that have results. */
  readonly answers: readonly AnswerFact[];
  readonly calls = new Map<string, Call>();
  readonly did = new Map<string, EntryOf<"did">>();
  /** Calls that change something and had begun, by lane and id. */
  readonly begun = new Set<string>();
  readonly #hooks = new Map<string, EntryOf<"hook">>();
  readonly #tools = new Map<string, ToolFact[]>();
  readonly #known = new Map<string, number>();
  /** The log up to the run that goes on. */
  readonly before: Log;
  /** Which reports were taken at a look, counted in the run that goes on. */
  readonly takes: ReturnType<typeof takesOf>;

  /** Whether what is served is written again: the log of a fork begins with it. */
  readonly isCopied: boolean;

  /** Whether the very run goes on, from a log of this user: only then a verdict counts for a call that has no result. */
  readonly #isSameRun: boolean;
  /** The calls whose results were served last. */
  readonly #served = new Set<string>();

  /**
   * `continues`: the run that was cut off goes on; else the session goes on as the messages stand. `isOwn`: nothing of the
   * log was written by others.
   */
  constructor(log: Log, continues: boolean, { isCopied = false, isOwn = false } = {}) {
    this.log = log;
    this.isCopied = isCopied;
    this.#isSameRun = isOwn && !isCopied;
    const begin = log.begins.at(-1);
    const end = log.ends.at(-1);
    const isOpen = continues && begin !== undefined && (end === undefined || end.index < begin.index);
    this.open = isOpen ? begin : undefined;
    // The prompt stands in the line before the one that begins its run.
    this.before = isOpen ? new Log(log.entries.slice(0, Math.max(1, begin.index - 1)), log.where) : log;
    const { messages } = transcriptOf(this.before.transcript() ?? [], log.where);
    this.messages = isOpen ? messages : resumable(messages);
    this.left = this.before.ends.at(-1)?.left;
    this.runs = this.before.ends.length;
    const counts = new Map<string, number>();
    for (const { lane } of this.before.calls) countUp(counts, lane);
    this.callsBefore = counts;
    const results = new Set(log.parts.tool.map(({ name }) => name));
    this.answers = !isOpen
      ? []
      : log.parts.asked.slice(this.before.parts.asked.length).filter(({ asked }) =>
        this.#isSameRun || (isObject(asked) && results.has(String(asked.permission)))
      );
    this.takes = takesOf(isOpen ? log.parts.inbox : []);
    if (isOpen) this.#serve(log.entries.slice(begin.index - 1));
  }

  #serve(entries: readonly LogEntry[]): void {
    for (const call of this.log.calls.slice(this.before.calls.length)) {
      // How a call ended that was cut off with its run is not known.
      if (isWhole(call) && call.attempts.at(-1)!.ended !== "aborted") this.calls.set(call.id, call);
    }
    const last = entries.findLastIndex((entry) => "call" in entry || "tool" in entry);
    for (const [i, entry] of entries.entries()) {
      const key = keyOf(entry);
      if (!this.isCopied) countUp(this.#known, key);
      // What hooks said of no call counts if it led to something.
      if ("hook" in entry && (this.#isSameRun || i < last)) this.#hooks.set(hookKey(entry.lane, entry), entry);
      else if ("did" in entry) this.did.set(entry.did, entry);
      else if ("begun" in entry) this.begun.add(`${entry.lane} ${entry.begun}`);
    }
    for (const fact of this.log.parts.tool.slice(this.before.parts.tool.length)) {
      if (!fact.aborted) getOrMake(this.#tools, `${fact.lane} ${fact.tool}`, () => []).push(fact);
    }
  }

  /** Here, as a run that never was cut off loads nothing of tapes. */
  answer(call: Call, signal: AbortSignal, clock: LaneClock): SeamAnswer {
    clock.advance(call.at);
    return new SeamAnswer(answerOf(call), { signal, clock, isWatched: true });
  }

  /** Whether the log has a line; each counts once. */
  has(entry: LogEntry): boolean {
    const key = keyOf(entry);
    const count = this.#known.get(key) ?? 0;
    if (count > 0) this.#known.set(key, count - 1);
    return count > 0;
  }

  hook(lane: string, step: HookStep): EntryOf<"hook"> | undefined {
    return step.about === undefined || this.counts(lane, step.about) ? this.#hooks.get(hookKey(lane, step)) : undefined;
  }

  /** Whether what hooks and a person said of a call counts: it led to the result that is served. Of no call: never. */
  counts(lane: string, id?: string): boolean {
    const name = `${lane} ${id}`;
    const [next] = this.#tools.get(name) ?? [];
    return this.#isSameRun || (next !== undefined && !next.spawned) || this.#served.has(name);
  }

  /** What came of the next call of an id in a lane. */
  tool(lane: string, id: string): ToolFact | undefined {
    const name = `${lane} ${id}`;
    const fact = this.#tools.get(name)?.shift();
    if (fact && !fact.spawned) this.#served.add(name);
    else this.#served.delete(name);
    return fact;
  }

  /** What the clock of a lane said: of a lane that goes on after runs that have ended, from there. */
  clocks(lane: string): { readonly facts: readonly ClockFact[]; readonly from: number } {
    const facts = this.log.parts.clock.filter(({ clock }) => clock === lane);
    const before = this.before.parts.clock.filter(({ clock }) => clock === lane);
    return { facts: this.open ? facts : before, from: before.at(-1)?.step ?? 0 };
  }
}

function hookKey(lane: string, { hook, event, about }: HookStep): string {
  return JSON.stringify([lane, hook, event, about]);
}

/** What a line is about: a run that goes on says again what it had said. */
function keyOf(entry: LogEntry): string {
  const [kind, first] = Object.entries(entry)[0]!;
  const { lane, step, take, note } = entry as { lane?: string; step?: number; take?: number; note?: Noted };
  if ("hook" in entry) return hookKey(entry.lane, entry);
  if (!note) return JSON.stringify([kind, first, lane, step, take]);
  return JSON.stringify([kind, note.agent_id, note.type, note.id, note.hook, note.event]);
}

type Noted = EntryOf<"note">["note"];
