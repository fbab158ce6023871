import { NOTHING } from "../core/fold.ts";
import { replyFrom } from "../core/reply.ts";
import { contentText, isToolUse, type Json, type Message, type Prompt, textOf } from "../core/messages.ts";
import type { Reply } from "../core/model.ts";
import type { RunEvent } from "../core/run-events.ts";
import { isObject, present } from "../core/json.ts";
import { getOrMake, once } from "../core/maps.ts";
import { joined, readHead, unpackEvents } from "./call-lines.ts";
import { seamEvents } from "./frames.ts";
import { type Call, MAIN, type Tape, type TapeEvent, tapeOf, type TapeRequest } from "./tape.ts";
import { readLineLog } from "./line-log.ts";
import type { Entry as Said } from "./stores/store.ts";
import { hookEvents, hooksSaid } from "./step.ts";
import { Conversation, later } from "./lazily.ts";
import { AS_IT_BEGAN } from "./log-lines.ts";
import { type ENTRIES, type EntryOf, kindOf, type LogEntry, unknownFact } from "./entry.ts";
import type { TimedEvent } from "./logged-run.ts";

export const LOG_VERSION = 2;

/** What is kept of one agent while its log is read. */
interface Speaker {
  readonly id: string;
  /** As requests name parts of it. */
  messages: Conversation;
  readonly said: (() => Said)[];
}

/** Kinds of line that are kept as they are. */
const PARTS = [
  ...["prompt", "tool", "clock", "inbox", "refused", "asked", "memory", "git", "file"] as const,
  ...["hook", "did", "begun"] as const,
];
type Part = { readonly [kind in typeof PARTS[number]]: EntryOf<kind>[] };

/** A log as its readers have it: a tape, transcripts, the events of the run, and what a run that goes on is given. */
export class Log {
  readonly header: EntryOf<"log">;
  readonly calls: Call[] = [];
  readonly parts = Object.fromEntries(PARTS.map((kind) => [kind, []])) as unknown as Part;
  readonly secrets: EntryOf<"secret">[] = [];
  /** The runs that began and ended, of the agent that no other started. */
  readonly begins: (EntryOf<"begin"> & { readonly index: number })[] = [];
  readonly ends: (EntryOf<"ended"> & { readonly index: number })[] = [];
  readonly #also: EntryOf<"also">["also"] = {};
  readonly #lanes = new Map<string, Speaker>();
  readonly #speakers = new Map<string, Speaker>();
  readonly #specs = new Map<string, EntryOf<"spec">["tool"]>();
  readonly #heads = new Map<number, Omit<TapeRequest, "messages">>();
  /** What makes the message of a call's last attempt. */
  readonly #replies = new Map<string, () => Message>();
  readonly #results = new Map<string, EntryOf<"tool">["result"]>();
  readonly #began = new Map<string, () => { readonly input?: unknown }>();
  /** What answered last in each lane. */
  readonly #answered = new Map<string, { readonly reply: () => Reply; readonly model: string }>();
  readonly #heard: { readonly event: EventMaker; readonly agent_id: string; readonly at: number }[] = [];
  #events: TimedEvent[] | undefined;
  #at = 0;

  readonly entries: readonly LogEntry[];
  readonly where: string;

  /** @throws {Error} that names `where` and the line, if one is not a log's */
  constructor(entries: readonly LogEntry[], where = "the log") {
    this.entries = entries;
    this.where = where;
    const [header] = entries;
    if (!header || !("log" in header)) throw this.#damaged(1, "is not the header of a log");
    if (header.log !== LOG_VERSION) {
      throw new Error(`Cannot read ${where} as its version is ${header.log}: update crochet`);
    }
    this.header = header;
    for (const [index, entry] of entries.entries()) {
      const why = unknownFact(entry, "log");
      if (why !== undefined) throw this.#damaged(index + 1, `is not a log's: ${why}`);
      this.#take(entry, index);
    }
  }

  #damaged(line: number, why: string): Error {
    return new Error(`Cannot read ${this.where} as its line ${line} ${why}: it was changed from outside`);
  }

  #take(entry: LogEntry, index: number): void {
    if ("at" in entry && typeof entry.at === "number") this.#at = entry.at;
    const kind = kindOf(entry) as keyof Part;
    const read = this.#readers[kind] as ((entry: LogEntry, index: number) => void) | undefined;
    if (read) read(entry, index);
    else (this.parts[kind] as LogEntry[]).push(entry);
  }

  /** How lines are read that are not kept as they are. */
  readonly #readers: { readonly [Kind in keyof typeof ENTRIES]?: (entry: EntryOf<Kind>, index: number) => void } = {
    log: () => {},
    also: ({ also }) => void Object.assign(this.#also, also),
    begin: (entry, index) => void this.begins.push({ ...entry, index }),
    secret: (entry) => void this.secrets.push(entry),
    agent: (entry) => this.#agent(entry),
    spec: ({ spec, tool }) => void this.#specs.set(spec, tool),
    head: (entry, index) => {
      const lacks = (tool: string) =>
        this.#damaged(index + 1, `names tool '${tool}', which is not described before it`);
      this.#heads.set(entry.head, readHead(entry, this.#specs, lacks));
    },
    call: (entry, index) => this.#call(entry, index),
    events: (entry, index) => {
      const { events: _, attempt: __, ms: ___, pad: ____, list, ...attempt } = entry;
      const open = this.calls.at(-1)!;
      const read = list ? later(attempt, "events", () => this.#unpacked(entry, index)) : attempt;
      (open.attempts as unknown[]).push(read);
      if (!list || attempt.ended) return;
      const reply = once(() => replyFrom(seamEvents(unpackEvents({ list: joined(list) })).events, () => {}));
      this.#replies.set(open.id, () => reply().message);
      this.#answered.set(open.lane, { reply, model: open.request.model });
    },
    error: ({ error: _, ...error }) => void Object.assign(this.calls.at(-1)!, { error }),
    message: (entry, index) => this.#message(entry, index),
    tool: (entry) => {
      const { input, ...fact } = entry;
      const name = `${fact.lane} ${fact.tool}`;
      this.#results.set(name, fact.result);
      const began = input === AS_IT_BEGAN ? this.#began.get(name) : undefined;
      this.parts.tool.push(began ? later(fact, "input", () => began().input as Json) : entry);
    },
    note: (entry) => this.#note(entry),
    hook: (entry) => {
      const { event, folded: { runs = [] }, folded, about, lane, noted } = entry;
      this.parts.hook.push(entry);
      if (runs.length === 0) return;
      this.#event(lane, () => [
        ...hookEvents(event, runs).slice(noted),
        { type: "fired", event, folded: { ...NOTHING, ...folded }, ...present({ tool_use_id: about }) },
      ]);
    },
    ended: (entry, index) => this.#ended(entry, index),
  };

  get prompts(): readonly Prompt[] {
    return this.parts.prompt.map(({ prompt }) => prompt as Prompt);
  }

  #agent({ agent: lane, id, about }: EntryOf<"agent">): void {
    const speaker = getOrMake(this.#speakers, id, () => ({ id, messages: new Conversation(), said: [] }));
    this.#lanes.set(lane, speaker);
    if (about) speaker.said.push(() => ({ type: "about", about }));
  }

  #speaker(lane: string): Speaker {
    const known = this.#lanes.get(lane);
    if (known) return known;
    this.#agent({ agent: lane, id: lane === MAIN ? this.header.id : lane });
    return this.#lanes.get(lane)!;
  }

  #call({ call: id, head, add, at }: EntryOf<"call">, index: number): void {
    const lane = id.slice(0, id.lastIndexOf("#"));
    const asked = this.#heads.get(head);
    if (!asked) throw this.#damaged(index + 1, `names head ${head}, which is not described before it`);
    const own = this.#speaker(lane).messages;
    const parts = add.map((item) => {
      if (typeof item !== "string") return item as unknown as Message;
      const [, from, to] = /^@(\d+)-(\d+)$/.exec(item) ?? [];
      if (from === undefined || Number(to) > own.length) throw this.#damaged(index + 1, `names messages ${item}`);
      return { from: Number(from), to: Number(to) };
    });
    const messages = () => parts.flatMap((part) => "from" in part ? own.slice(part.from, part.to) : [part]);
    // One that was cut off in the midst of its lines was made again.
    const cut = this.calls.findLastIndex((call) => call.lane === lane);
    if (cut >= 0 && this.calls[cut]!.id === id) this.calls.splice(cut, 1);
    this.calls.push({ id, lane, request: later({ ...asked }, "messages", messages), attempts: [], at });
  }

  #unpacked(packed: EntryOf<"events">, index: number): TapeEvent[] {
    try {
      return unpackEvents(packed);
    } catch (error) {
      throw this.#damaged(index + 1, `has events that are none (${(error as Error).message})`);
    }
  }

  #message({ message: index, lane, of, role, content = [] }: EntryOf<"message">, line: number): void {
    const speaker = this.#speaker(lane);
    if (index > speaker.messages.length) {
      throw this.#damaged(line + 1, `has message ${index} of ${speaker.messages.length}`);
    }
    const blocks = content.map((block) => this.#block(lane, block));
    const written = once(() => ({ role: role!, content: blocks.map((block) => block()) }));
    const message = of === undefined ? written : this.#replies.get(of);
    if (!message) throw this.#damaged(line + 1, `names reply ${of}, which does not stand before it`);
    speaker.messages = speaker.messages.with(index, message);
    speaker.said.push(() => ({ type: "message", index, message: message() }));
    this.#event(lane, () => ({ type: "message", message: message(), index }));
  }

  #block(lane: string, block: Json): () => Message["content"][number] {
    if (!isObject(block) || typeof block.$of !== "string") return () => block as unknown as Message["content"][number];
    const { $of: tool_use_id, ...rest } = block;
    const { content } = this.#results.get(`${lane} ${tool_use_id}`)!;
    return () => ({ type: "tool_result", tool_use_id, content, ...rest }) as Message["content"][number];
  }

  #note({ note }: EntryOf<"note">): void {
    const lane = note.agent_id === undefined ? MAIN : this.#laneOf(note.agent_id);
    const speaker = this.#speaker(lane);
    const event = note as unknown as RunEvent;
    if (event.type === "compact") {
      speaker.messages = new Conversation(event.messages.map((message) => () => message));
      speaker.said.push(() => ({ type: "compact", messages: event.messages }));
    } else if (event.type === "model") speaker.said.push(() => ({ type: "model", model: event.model }));
    else if (event.type === "checkpoint") {
      const { id, at, kind } = event;
      const time = this.#time();
      speaker.said.push(() => ({ type: "checkpoint", id, at, kind, time }));
    }
    const whole = this.#whole(lane, event);
    if (event.type === "tool_start") this.#began.set(`${lane} ${event.id}`, () => whole() as typeof event);
    this.#event(lane, whole);
  }

  /** Makes an event with what was left out of its line. */
  #whole(lane: string, event: RunEvent): () => RunEvent {
    if (event.type === "tool_start" && event.input === undefined) {
      const { messages, messages: { length } } = this.#speaker(lane);
      return () => {
        const use = messages.slice(length - 1, length)[0]?.content.find((block) =>
          isToolUse(block) && block.id === event.id
        );
        return { ...event, input: (use as { input?: unknown } | undefined)?.input };
      };
    }
    const answered = event.type === "usage" && event.usage === undefined ? this.#answered.get(lane) : undefined;
    if (answered) {
      const { reply, model } = answered;
      return () => ({ ...event, usage: reply().usage, model: reply().model || model }) as RunEvent;
    }
    const known = event.type === "tool_end" && this.#results.get(`${lane} ${event.id}`);
    if (!known) return () => event;
    return () => {
      const { content = contentText(known.content as string), response = known.response ?? known.content } = event;
      return { ...event, content, response };
    };
  }

  #ended(entry: EntryOf<"ended">, index: number): void {
    const { ended: lane, ending } = entry;
    const speaker = this.#speaker(lane);
    speaker.said.push(() => ({ type: "end", ...ending }));
    const { messages, messages: { length } } = speaker;
    this.#event(lane, () => {
      const last = messages.slice(0, length).findLast(({ role }) => role === "assistant");
      return { type: "end", stop: ending.stop, text: ending.result?.text ?? textOf(last) };
    });
    if (lane === MAIN) this.ends.push({ ...entry, index });
  }

  #laneOf(id: string): string {
    for (const [lane, speaker] of [...this.#lanes].reverse()) if (speaker.id === id) return lane;
    return id === this.header.id ? MAIN : id;
  }

  #time(at = this.#at): string {
    return new Date(Date.parse(this.header.at) + at).toISOString();
  }

  #event(lane: string, event: EventMaker): void {
    this.#heard.push({ event, agent_id: this.#speaker(lane).id, at: this.#at });
  }

  get events(): readonly TimedEvent[] {
    return this.#events ??= this.#heard.flatMap(({ event, agent_id, at }) =>
      [event()].flat().map((one) => ({ ...one, at: this.#time(at), agent_id }) as TimedEvent)
    );
  }

  /** The facts of an agent's transcript: that of the session, or of an agent below it. */
  transcript(id = this.header.id): readonly Said[] | undefined {
    return this.#speakers.get(id)?.said.map((one) => one());
  }

  /** The log as a tape, with the texts of this machine. */
  get tape(): Tape {
    const { id: _, cwd: __, from: ___, log: ____, ...header } = this.header;
    const { source = "model", ...also } = this.#also;
    const stop = this.ends.at(-1)?.ending.stop;
    return tapeOf({ tape: 1, source, ...header, ...also, tools: true }, this.calls, {
      ...this.parts,
      prompt: this.parts.prompt.map((fact, i) => {
        const { trigger, opens } = this.begins[i] ?? {};
        return trigger === "resume" ? { ...fact, resumed: opens ? "opens" : "follows" } : fact;
      }),
      tool: this.parts.tool.filter(({ spawned }) => !spawned),
      said: this.parts.hook.flatMap(({ hook: step, lane, event, about, folded }) => {
        const said = hooksSaid(folded);
        return said.length === 0 ? [] : [present({ said, lane, step, event, about })];
      }),
      end: stop === undefined ? [] : [{ end: stop }],
    });
  }
}

/** Whether all lines of a call are there. */
export function isWhole({ attempts, error }: Call): boolean {
  const last = attempts.at(-1);
  return last !== undefined && (last.ended === undefined || error !== undefined);
}

type EventMaker = () => Anonymous<RunEvent> | readonly Anonymous<RunEvent>[];
type Anonymous<T> = T extends unknown ? Omit<T, "agent_id"> : never;

/** Reads a log, without the last line if that is not whole; undefined if there is none. */
export function readLog(path: string): Log | undefined {
  const lines = readLineLog<LogEntry>(path);
  return lines && lines.values.length > 0 ? new Log(lines.values, path) : undefined;
}
