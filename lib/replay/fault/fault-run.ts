import type { Message } from "../../core/messages.ts";
import type { ModelEvent } from "../../core/model.ts";
import type { Tool } from "../../core/tool.ts";
import { keyOf } from "../canonical.ts";
import { sentKey } from "../server/match-request.ts";
import { callsUnder, isForGood } from "./_apply.ts";
import { blocksOf, checkFault, type Fault, faultText } from "./fault.ts";
import { type KeptSeams, SeamFaults } from "./seam-faults.ts";
import { type Call, MAIN, type Sent, type Tape, type TapeRequest } from "../tape.ts";

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

/** What is known of a run when its process is killed: another goes on with it. */
export interface KeptRun {
  readonly taken: readonly Omit<TakenCall, "call">[];
  readonly said: readonly ServedReply[];
  readonly seams: KeptSeams;
}

interface Pending {
  readonly call: Call;
  readonly key: string;
  /** What is still to be served for it, in order. */
  readonly left: Call[];
  /** Whether the last of it is served forever. */
  readonly forGood: boolean;
}

/**
 * A recorded run on which faults fall. Unlike a replay it answers whatever is asked, as an agent that was hit by a
 * fault asks something else: what was recorded for the request, else what comes next in its lane, else a farewell.
 */
export class FaultRun {
  readonly said: ServedReply[] = [];
  readonly asked: { readonly lane: string; readonly messages: readonly Message[] }[] = [];
  /** Which recorded call answered each request, if one did. */
  readonly taken: TakenCall[] = [];
  /** Whether a tool may change something, by its name, as far as it is known. */
  readonly writes: Map<string, boolean> = new Map();
  /** What falls on tools, hooks and servers, and kills the process. */
  readonly seams: SeamFaults;
  readonly #lanes = new Map<string, Pending[]>();
  readonly #last = new Map<string, { readonly key: string; readonly of: Pending }>();
  readonly #chosen = new Map<string, Pending>();
  readonly #most: number;
  readonly #stuck = new AbortController();

  /**
   * Begins a run, or goes on with one whose process was killed.
   *
   * @throws {TypeError} if a fault is invalid or its place is not on the tape
   */
  constructor(tape: Tape, faults: readonly Fault[], before?: KeptRun) {
    for (const fault of faults) checkFault(fault);
    this.seams = new SeamFaults(faults, before?.seams);
    const onReplies = faults.filter(({ on }) => on === undefined);
    for (const call of tape.calls) {
      const lane = this.#lanes.get(call.lane) ?? [];
      this.#lanes.set(call.lane, lane);
      const number = lane.length + 1;
      const mine = onReplies.filter((fault) => fault.call === number && (fault.lane ?? MAIN) === call.lane);
      for (const fault of mine) checkPlace(fault, call);
      const key = call.sent ? sentKey(call.sent) : keyOf(call.request);
      lane.push({ call, key, left: callsUnder(call, mine), forGood: mine.some(isForGood) });
    }
    for (const fault of onReplies) this.#checkCall(fault);
    const served = [...this.#lanes.values()].flat().reduce((sum, { left }) => sum + left.length, 0);
    this.#most = 50 + 10 * served;
    for (const taken of before?.taken ?? []) this.#take(taken);
    this.said.push(...before?.said ?? []);
  }

  /** What another process must know that goes on with this run; undefined if nothing kills it. */
  get kept(): KeptRun | undefined {
    const { taken, said, seams: { kept: seams } } = this;
    return seams && { taken: taken.map(({ call: _, ...rest }) => rest), said, seams };
  }

  #checkCall(fault: Fault): void {
    const { lane = MAIN, call } = fault;
    const calls = this.#lanes.get(lane)?.length ?? 0;
    if (call <= calls) return;
    const known = calls > 0
      ? `it has ${calls === 1 ? "1 call" : `${calls} calls`}`
      : `its lanes are ${[...this.#lanes.keys()].join(", ")}`;
    throw new TypeError(`Cannot place fault '${faultText(fault)}' as the tape has no such call: ${known}`);
  }

  /** Aborted when the agent has asked so often that it will not end. */
  get stuck(): AbortSignal {
    return this.#stuck.signal;
  }

  /** Learns the tools of an agent before it begins. */
  meet(tools: readonly Tool[]): void {
    for (const { name, effect } of tools) this.writes.set(name, effect === "write" || this.writes.get(name) === true);
  }

  /** The call that answers a request; `onTape` is the request as the tape would have it. */
  take(lane: string, request: TapeRequest, onTape: TapeRequest, sent?: Sent): Call {
    const call = this.#take({ lane, request, key: sent ? sentKey(sent) : keyOf(onTape), sent });
    return { ...call, request: onTape };
  }

  #take({ lane, request, key, sent }: Omit<TakenCall, "call">): Call {
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
    return (pending && next(pending)) ?? farewell(lane, request);
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

function checkPlace(fault: Fault, call: Call): void {
  const { block, delta = 0, what } = fault;
  if (block === undefined || block === "end") return;
  const blocks = blocksOf(call);
  const refuse = (why: string) => new TypeError(`Cannot place fault '${faultText(fault)}' as ${why}`);
  const found = blocks.find((named) => named.block === block);
  if (!found) {
    const has = blocks.length > 0 ? `it has ${blocks.map((named) => named.block).join(", ")}` : "it has no blocks";
    throw refuse(`the reply has no such block: ${has}`);
  }
  // It would change nothing, and count as survived.
  if (!what.startsWith("json ") || delta < found.input) return;
  if (found.input === 0) throw refuse("the call has no input that could be lost: take another fault");
  throw refuse(`all of the input has come by then: the last delta it can stand behind is ${found.input - 1}`);
}

/** What is next for a call; what was answered once is answered again without faults. */
function next({ call, left, forGood }: Pending): Call {
  if (forGood && left.length === 1) return left[0]!;
  return left.shift() ?? callsUnder(call, []).at(-1)!;
}

/** Ends a conversation that has left the tape behind. */
function farewell(lane: string, request: TapeRequest): Call {
  const events: ModelEvent[] = [
    { type: "message_start", message: { id: "msg_farewell", model: request.model } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "The tape is over" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null } },
    { type: "message_stop" },
  ];
  const attempts = [{ status: 200, events: events.map((event) => ({ ms: 0, event })), took: 0 }];
  return { id: `${lane}#farewell`, lane, request, attempts, at: 0 };
}
