import type { Message } from "../core/messages.ts";
import { headText, messageText } from "./canonical.ts";
import { comparedText, type Normalise, normalisedHead, normaliserOf } from "./normalise.ts";
import { isRedacted } from "./redact.ts";
import type { Call, Tape, TapeRequest } from "./tape.ts";

/** Where a conversation stands: one node for each chain of head and messages that was recorded. */
interface Node {
  readonly next: Map<string, Node>;
  /** The calls of exactly this request, by lane, in the order they were recorded. */
  queues: Map<string, Queue> | undefined;
}

/** Calls of one key and lane: first in, first out. */
export interface Queue {
  readonly calls: Call[];
}

/** A tape made ready to be asked. Texts stand for their hashes: what is equal is the same node. */
export interface Program {
  readonly tape: Tape;
  readonly normalise: Normalise | undefined;
  readonly heads: ReadonlyMap<string, Node>;
  /** Whether texts of requests must be masked to be found. */
  readonly hasPlaces: boolean;
  readonly hasUser: boolean;
  readonly hasSecrets: boolean;
}

const PLACE = /\{=*(?:ROOT|HOME|TMP|USER)\}/;
const programs = new WeakMap<Tape, Program>();

/** Compiles a tape, once. */
export function programOf(tape: Tape): Program {
  let program = programs.get(tape);
  if (!program) programs.set(tape, program = compile(tape));
  return program;
}

function compile(tape: Tape): Program {
  const normalise = normaliserOf(tape.header.normalise);
  const heads = new Map<string, Node>();
  const texts = new Map<Message, { readonly at: number; readonly text: string }>();
  let [hasPlaces, hasUser, hasSecrets] = [false, false, false];
  const seen = (text: string) => {
    if (!text.includes("{")) return;
    hasPlaces ||= PLACE.test(text);
    hasUser ||= text.includes("{USER}");
    hasSecrets ||= isRedacted(text);
  };
  for (const call of tape.calls) {
    const head = headText(normalisedHead(call.request, normalise));
    seen(head);
    let node = heads.get(head) ?? newNode();
    heads.set(head, node);
    for (const [at, message] of call.request.messages.entries()) {
      let known = texts.get(message);
      if (known?.at !== at) {
        known = { at, text: comparedText(call.request, at, normalise) ?? messageText(message) };
        texts.set(message, known);
      }
      const next: Node = node.next.get(known.text) ?? newNode();
      if (!node.next.has(known.text)) {
        seen(known.text);
        node.next.set(known.text, next);
      }
      node = next;
    }
    node.queues ??= new Map();
    const queue = node.queues.get(call.lane);
    if (queue) queue.calls.push(call);
    else node.queues.set(call.lane, { calls: [call] });
  }
  return { tape, normalise, heads, hasPlaces, hasUser, hasSecrets };
}

function newNode(): Node {
  return { next: new Map(), queues: undefined };
}

/** What a request was found to be. */
export type Match =
  | { readonly call: Call }
  /** It is on the tape, but all such calls of this lane were served, or are in other lanes. */
  | { readonly spent: readonly Call[] }
  | undefined;

/** Which calls of a tape were served. */
export class Served {
  readonly #counts = new Map<Queue, number>();
  readonly calls = new Set<Call>();

  next(queue: Queue): Call | undefined {
    const count = this.#counts.get(queue) ?? 0;
    const call = queue.calls[count];
    if (!call) return undefined;
    this.#counts.set(queue, count + 1);
    this.calls.add(call);
    return call;
  }
}

/** Gives a request as the tape would have it written. */
export type ToTape = <T>(value: T) => T;

/**
 * Finds the requests of one lane. Conversations grow at their end, so a lane remembers how far it came: only what is
 * new is looked at. A request is found whole or not at all.
 */
export class LaneMatcher {
  readonly #program: Program;
  readonly #lane: string;
  readonly #toTape: ToTape | undefined;
  #head: { readonly of: TapeRequest; readonly node: Node | undefined } | undefined;
  #messages: readonly Message[] = [];
  /** `#nodes[i]` is where message `i` leads. */
  #nodes: Node[] = [];

  constructor(program: Program, lane: string, toTape: ToTape | undefined) {
    this.#program = program;
    this.#lane = lane;
    this.#toTape = toTape;
  }

  find(request: TapeRequest, served: Served): Match {
    const node = this.#walk(request);
    if (!node?.queues) return undefined;
    const mine = node.queues.get(this.#lane);
    const call = mine && served.next(mine);
    return call ? { call } : { spent: [...node.queues.values()].flatMap((queue) => queue.calls) };
  }

  #walk(request: TapeRequest): Node | undefined {
    const start = this.#headNode(request);
    if (!start) return undefined;
    const { messages } = request;
    const nodes: Node[] = [];
    let node = start.node;
    let known = start.known;
    for (let i = 0; i < messages.length; i++) {
      known &&= messages[i] === this.#messages[i] && i < this.#nodes.length;
      const next: Node | undefined = known ? this.#nodes[i] : node.next.get(this.#text(request, i));
      if (!next) {
        this.#messages = messages.slice(0, i);
        this.#nodes = nodes;
        return undefined;
      }
      nodes.push(next);
      // A message that was made anew and says the same leads where the old one led.
      if (!known && next === this.#nodes[i]) known = true;
      node = next;
    }
    this.#messages = messages;
    this.#nodes = nodes;
    return node;
  }

  /** `known`: the head is the last one's, so the last one's nodes hold. */
  #headNode(request: TapeRequest): { node: Node; known: boolean } | undefined {
    const last = this.#head;
    if (last && sameHead(last.of, request)) return last.node && { node: last.node, known: true };
    const asTape = this.#toTape ? this.#toTape(withoutMessages(request)) : request;
    const node = this.#program.heads.get(headText(normalisedHead(asTape, this.#program.normalise)));
    this.#head = { of: request, node };
    return node && { node, known: false };
  }

  #text({ messages }: TapeRequest, at: number): string {
    const message = this.#toTape ? this.#toTape(messages[at]!) : messages[at]!;
    const { normalise } = this.#program;
    if (!normalise) return messageText(message);
    const alone: Message[] = [];
    alone[at] = message;
    return comparedText({ messages: alone }, at, normalise)!;
  }
}

function withoutMessages(request: TapeRequest): TapeRequest {
  return { ...request, messages: [] };
}

function sameHead(a: TapeRequest, b: TapeRequest): boolean {
  return a.model === b.model && sameText(a.system, b.system) && a.tools === b.tools &&
    Object.keys(a.params).length === Object.keys(b.params).length &&
    Object.keys(a.params).every((key) => a.params[key] === b.params[key]);
}

function sameText(a: TapeRequest["system"], b: TapeRequest["system"]): boolean {
  return a === b ||
    (a.length === b.length &&
      a.every((block, i) => block === b[i] || (isText(block) && isText(b[i]!) && block.text === b[i]!.text)));
}

function isText(block: { readonly type: string }): block is { readonly type: "text"; readonly text: string } {
  return block.type === "text" && Object.keys(block).length === 2;
}
