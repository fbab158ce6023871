import type { Clock } from "../core/clock.ts";
import { getOrMake } from "../core/maps.ts";
import type { Message } from "../core/messages.ts";
import type { ModelEvent } from "../core/model.ts";
import type { AgentSpec } from "../core/run.ts";
import type { Tool } from "../core/tool.ts";
import { keyOf } from "../log/canonical.ts";
import { eventsOf } from "../log/recorded-reply.ts";
import type { Attempt, Call, Sent, Tape, TapeEvent, TapeRequest } from "../log/tape.ts";
import { sentKey } from "./requests/match-request.ts";

/** What a model said in one lane, as the agent was given it. */
export interface ServedReply {
  readonly lane: string;
  readonly events: readonly ModelEvent[];
}

/** A request, and the recorded call that answered it. */
export interface TakenCall {
  readonly lane: string;
  readonly call: Call | undefined;
  readonly request: TapeRequest;
  /** What tells the request from others. */
  readonly key: string;
  /** The request of another program, as the tape would have it. */
  readonly sent?: Sent | undefined;
}

/** What is served for a recorded call. */
interface Served {
  /** What is still to be served for it, in order. */
  readonly left: Call[];
  /** Whether the last of it is served forever. */
  readonly forGood: boolean;
}

interface Pending extends Served {
  readonly call: Call;
  readonly key: string;
}

/**
 * A recorded run in which whatever is asked is answered, as an agent that has changed asks something else: what was
 * recorded for the request, else what comes next in its lane, else a farewell.
 */
export class FreeRun {
  readonly said: ServedReply[] = [];
  readonly asked: { readonly lane: string; readonly messages: readonly Message[] }[] = [];
  /** Which recorded call answered each request, if one did. */
  readonly taken: TakenCall[] = [];
  /** Whether a tool may change something, by its name, as far as it is known. */
  readonly writes: Map<string, boolean> = new Map();
  /** What comes between the agent and its tools and hooks, if anything does. */
  readonly seams?: {
    tool(tool: Tool, lane: string, clock: Clock): Tool;
    hooks(hooks: AgentSpec["hooks"]): AgentSpec["hooks"];
  };
  readonly #lanes = new Map<string, Pending[]>();
  readonly #last = new Map<string, { readonly key: string; readonly of: Pending }>();
  readonly #chosen = new Map<string, Pending>();
  readonly #most: number;
  readonly #stuck = new AbortController();
  /** Aborted when the agent has asked so often that it will not end. */
  readonly stuck: AbortSignal = this.#stuck.signal;

  /** `serve` says what is served for a call, by its number in its lane. */
  constructor(tape: Tape, serve = (call: Call, _number: number): Served => ({ left: [clean(call)], forGood: false })) {
    for (const call of tape.calls) {
      const lane = getOrMake(this.#lanes, call.lane, () => []);
      const key = call.sent ? sentKey(call.sent) : keyOf(call.request);
      lane.push({ call, key, ...serve(call, lane.length + 1) });
    }
    const served = [...this.#lanes.values()].flat().reduce((sum, { left }) => sum + left.length, 0);
    this.#most = 50 + 10 * served;
  }

  /** Learns the tools of an agent before it begins. */
  meet(tools: readonly Tool[]): void {
    for (const { name, effect } of tools) this.writes.set(name, effect === "write" || this.writes.get(name) === true);
  }

  /** The call that answers a request; `onTape` is the request as the tape would have it. */
  take(lane: string, request: TapeRequest, onTape: TapeRequest, sent?: Sent): Call {
    const call = this.again({ lane, request, key: sent ? sentKey(sent) : keyOf(onTape), sent });
    return { ...call, request: onTape };
  }

  /** Takes the call for a request whose key is known. */
  protected again({ lane, request, key, sent }: Omit<TakenCall, "call">): Call {
    this.asked.push({ lane, messages: request.messages });
    if (this.asked.length > this.#most) this.#stuck.abort();
    const last = this.#last.get(lane);
    // An agent that asks something else has accepted what it got: the rest of that call is not needed.
    if (last && last.key !== key) last.of.left.length = 0;
    const pending = this.#pendingFor(lane, key);
    this.taken.push({ lane, call: pending?.call, request, key, sent });
    if (pending) {
      this.#last.set(lane, { key, of: pending });
      this.#chosen.set(`${lane} ${key}`, pending);
    }
    return pending ? next(pending) : farewell(lane, request);
  }

  #pendingFor(lane: string, key: string): Pending | undefined {
    const calls = this.#lanes.get(lane) ?? [];
    const same = calls.filter((pending) => pending.key === key);
    const waits = ({ left }: Pending) => left.length > 0;
    // The same question again, though it was answered: the model would answer the same.
    const before = this.#chosen.get(`${lane} ${key}`);
    if (before || same.length > 0) return same.find(waits) ?? before ?? same.at(-1);
    return calls.find(waits) ?? (lane.endsWith(":hook") ? calls.at(-1) : undefined);
  }

  /** Notes what is served, as it is served. */
  async *listen(lane: string, events: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent> {
    const heard: ModelEvent[] = [];
    this.said.push({ lane, events: heard });
    for await (const event of events) {
      heard.push(event);
      yield event;
    }
  }
}

/** What is next for a call; what was answered once is answered again without faults. */
function next({ call, left, forGood }: Pending): Call {
  if (forGood && left.length === 1) return left[0]!;
  return left.shift() ?? clean(call);
}

/** A recorded call with nothing but the answer that it came to. */
function clean(call: Call): Call {
  if (call.sent && call.sent.api !== "anthropic") return withAttempts(call, call.attempts.slice(-1));
  const events = replyEvents(call);
  return withAttempts(call, events.length === 0 ? call.attempts : [streamed(events)]);
}

/** The events of a recorded reply; none if there was none. */
export function replyEvents({ attempts, error }: Pick<Call, "attempts" | "error">): readonly ModelEvent[] {
  const last = attempts.at(-1);
  return !last || error || last.ended ? [] : eventsOf(last).events;
}

/** The error for the agent follows from the attempts; a recorded error stays if they are those that were recorded. */
export function withAttempts({ error, ...call }: Call, attempts: readonly Attempt[]): Call {
  const untouched = error !== undefined && attempts === call.attempts;
  return { ...call, attempts, ...(untouched && { error }) };
}

export function streamed(events: readonly ModelEvent[]): Attempt {
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    events: events.map((event): TapeEvent => ({ ms: 0, event })),
    took: 0,
  };
}

/** Ends a conversation that has left the tape behind. */
function farewell(lane: string, request: TapeRequest): Call {
  const attempts = [streamed([
    { type: "message_start", message: { id: "msg_farewell", model: request.model } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "The tape is over" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null } },
    { type: "message_stop" },
  ])];
  return { id: `${lane}#farewell`, lane, request, attempts, at: 0 };
}
