import { quietly } from "../core/json.ts";
import { countUp, getOrMake } from "../core/maps.ts";
import type { RunEvent } from "../core/run-events.ts";
import { isSame } from "./canonical.ts";
import { MAIN } from "./tape.ts";
import { LineLog, type Seal } from "./line-log.ts";
import type { SessionStore } from "./stores/memory-store.ts";
import { type Entry as Said, type Transcript, transcriptOf } from "./stores/store.ts";
import type { EntryOf, LogEntry, RunLeft, ToolFact } from "./entry.ts";
import { hookEvents } from "./step.ts";
import { type EndedCall, isNoted, LogLines } from "./log-lines.ts";
import type { Past } from "./past.ts";

/** Lines that say of no step that it began or ended: they go to the disk with the next that does. */
const BESIDE: ReadonlySet<string> = new Set(["note", "clock", "spec", "head", "call", "agent", "also"]);

interface RunLogOptions {
  readonly path: string;
  readonly header: EntryOf<"log">;
  /** What was logged before, if a session is resumed. */
  readonly past?: Past | undefined;
  /** What makes it the user's own. */
  readonly seal?: Seal | undefined;
  /** Whether messages survive a power cut, and not only the end of the process. */
  readonly sync: boolean;
  /** Whether every step is on the disk before the run goes on. */
  readonly durable: boolean;
  /** Called once if the disk does not take it, and the log ends there; absent: `flush` throws. */
  readonly lost?: ((error: Error) => void) | undefined;
}

/**
 * The log of one session: everything that comes from outside is a line of one file. Lines are written in one piece: before
 * an effect begins, with the next message, or when the event loop turns, so that a killed process loses only what was in
 * flight.
 */
export class RunLog {
  readonly path: string;
  readonly header: EntryOf<"log">;
  readonly past: Past | undefined;
  readonly epoch: number;
  readonly lines = new LogLines();
  readonly #file: LineLog;
  readonly #sync: boolean;
  readonly #durable: boolean;
  readonly #calls: Map<string, number>;
  /** Lanes by the ids of agents, and what each agent has said, for one that is resumed in this session. */
  readonly #lanes = new Map<string, string>();
  readonly #said = new Map<string, Said[]>();
  known: EntryOf<"also">["also"] = {};
  #waiting: LogEntry[] = [];
  #timer: ReturnType<typeof setImmediate> | undefined;
  #isBegun: boolean;
  #isWanted: boolean;
  #lost: RunLogOptions["lost"];

  constructor({ path, header, past, seal, sync, durable, lost }: RunLogOptions) {
    this.path = path;
    this.header = header;
    this.past = past;
    this.epoch = Date.parse(header.at);
    this.#sync = sync;
    this.#durable = durable;
    this.#lost = lost;
    this.#file = new LineLog(path, seal);
    this.#calls = new Map(past?.callsBefore);
    this.#isBegun = this.#isWanted = past !== undefined;
    this.#lanes.set(header.id, MAIN);
    if (past) this.lines.begins(MAIN, past.messages);
  }

  /** Milliseconds since the log began. */
  now(): number {
    return Math.max(0, Date.now() - this.epoch);
  }

  /** Writes a line, unless a run that goes on has written it before. */
  line(entry: LogEntry): void {
    if (!this.past?.has(entry)) this.#waiting.push(entry);
    // A session in which nothing was asked leaves no log.
    this.#isWanted ||= "begin" in entry;
    if (this.#durable && !BESIDE.has(Object.keys(entry)[0]!)) this.flush(true);
    else this.#timer ??= setImmediate(() => quietly(() => this.flush())); // an error is said by the next message, which waits for the disk
  }

  /** @throws {Error} if the disk does not take it */
  flush(sync = false): void {
    clearImmediate(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0 || !this.#isWanted) return;
    const lines = this.#waiting;
    this.#waiting = [];
    try {
      this.#file.append(this.#isBegun ? lines : [this.header, ...lines], sync);
      this.#isBegun = true;
    } catch (error) {
      this.#waiting = [...lines, ...this.#waiting];
      if (!this.#lost) throw error;
      this.#lost(error as Error);
      // A log with a gap would mislead.
      this.flush = () => void (this.#waiting = []);
    }
  }

  /** What is known of the run by now that a tape has in its first line. */
  also(known: RunLog["known"]): void {
    const fresh = Object.entries(known).filter(([key, value]) =>
      JSON.stringify(this.known[key as keyof typeof known]) !== JSON.stringify(value)
    );
    if (fresh.length === 0) return;
    this.known = { ...this.known, ...known };
    this.line({ also: Object.fromEntries(fresh) });
  }

  nextCall(lane: string): string {
    return `${lane}#${countUp(this.#calls, lane)}`;
  }

  called(call: EndedCall): void {
    for (const line of this.lines.call(call)) this.line(line);
  }

  tool(fact: ToolFact): void {
    const line = this.lines.tool(fact);
    // A run that goes on has begun its calls in notes of before.
    this.line(this.past?.open ? fact : line);
  }

  /** What hooks of an agent said. It says as well that they began and ended: notes do only while one takes its time. */
  hooks(agent_id: string, entry: Omit<EntryOf<"hook">, "noted" | "at">): void {
    const said = hookEvents(entry.event, entry.folded.runs ?? []);
    let noted = said.length;
    for (; noted > 0; noted--) {
      const last = this.#waiting.at(-1);
      const one = this.lines.note(entry.lane, { agent_id, ...said[noted - 1]! });
      if (!last || !("note" in last) || !isSame(last.note, one)) break;
      this.#waiting.pop();
    }
    this.line({ ...entry, ...(noted > 0 && { noted }), at: this.now() });
  }

  agent(id: string, lane: string): void {
    this.#lanes.set(id, lane);
    this.lines.begins(lane, this.#transcript(id)?.messages ?? []);
    this.line({ agent: lane, id });
  }

  laneOf(id: string): string {
    return this.#lanes.get(id) ?? id;
  }

  /** Notes what a run reports, as far as no other line says it. */
  note(event: RunEvent): void {
    if (!isNoted(event.type)) return;
    const lane = this.laneOf(event.agent_id);
    if (event.type === "compact") this.lines.begins(lane, event.messages);
    this.line({ note: this.lines.note(lane, event), at: this.now() });
  }

  #transcript(id: string): Transcript | undefined {
    const said = [...this.past?.before.transcript(id) ?? [], ...this.#said.get(id) ?? []];
    const isThere = said.length > 0 || (this.past !== undefined && id === this.header.id);
    return isThere ? transcriptOf(said, this.path) : undefined;
  }

  /** The log as what a session keeps its transcripts in. `left`: where the session stands. */
  store(claim: SessionStore["lock"], left: () => RunLeft): SessionStore {
    return {
      load: async (id) => this.#transcript(id),
      append: async (id, entries) => {
        const lane = this.laneOf(id);
        const said = getOrMake(this.#said, id, () => []);
        for (const entry of entries) {
          if (id !== this.header.id) said.push(entry);
          this.#say(lane, entry, left);
        }
        this.flush(this.#sync);
      },
      lock: claim,
      pathOf: () => this.path,
    };
  }

  #say(lane: string, entry: Said, left: () => RunLeft): void {
    if (entry.type === "about") {
      const id = [...this.#lanes].find(([, name]) => name === lane)?.[0] ?? lane;
      this.line({ agent: lane, id, about: entry.about });
    } else if (entry.type === "message") {
      this.line(this.lines.message(lane, entry.index, entry.message, this.now()));
    } else if (entry.type === "end") {
      const { type: _, ...ending } = entry;
      this.line({ ended: lane, ending, ...(lane === MAIN && { left: left() }), at: this.now() });
    }
  }

  close(): void {
    this.flush(this.#sync);
    this.#file.close();
  }
}
