import { getOrMake, makeOnce } from "../core/maps.ts";
import type { Message } from "../core/messages.ts";
import type { ModelRequest } from "../core/model.ts";
import { comparable, headText, isSame } from "../log/canonical.ts";
import type { ToolFact } from "../log/entry.ts";
import { comparedText, type Normalise, normalisedHead, normaliserOf } from "./normalise.ts";
import { namesPlace } from "../log/redact/places.ts";
import { placeholdersIn } from "../log/redact/redact.ts";
import { type Call, fromModel, isSameHead, type Tape } from "../log/tape.ts";

/** A position in a conversation: one node for each chain of head and messages that was recorded. */
interface TapeNode {
  readonly next: Map<string, TapeNode>;
  /** The first message from here and the node it leads to: mostly the only one. */
  first: { readonly message: Message; readonly node: TapeNode } | undefined;
  /** The calls of exactly this request, by lane, in the order they were recorded. */
  queues: Map<string, Call[]> | undefined;
}

/** A tape made ready to be asked. Texts stand for their hashes: what is equal is the same node. */
export interface Program {
  readonly tape: Tape;
  readonly normalise: Normalise | undefined;
  readonly heads: ReadonlyMap<string, TapeNode>;
  /** Whether texts of requests must be masked to be found. */
  readonly hasPlaces: boolean;
  readonly hasUser: boolean;
  readonly hasSecrets: boolean;
  /** What stands in requests for secrets that were taken out. */
  readonly placeholders: ReadonlySet<string>;
}

function compile(tape: Tape): Program {
  const normalise = normaliserOf(tape.header.normalise);
  const heads = new Map<string, TapeNode>();
  const texts = new Map<Message, { readonly at: number; readonly text: string }>();
  let [hasPlaces, hasUser] = [false, false];
  const placeholders = new Set<string>();
  const seen = (text: string) => {
    if (!text.includes("{")) return;
    hasPlaces ||= namesPlace(text);
    hasUser ||= text.includes("{USER}");
    for (const one of placeholdersIn(text)) placeholders.add(one);
  };
  for (const call of tape.calls) {
    const head = headText(normalisedHead(call.request, normalise));
    seen(head);
    let node = getOrMake(heads, head, newNode);
    for (const [at, message] of call.request.messages.entries()) {
      let known = texts.get(message);
      if (known?.at !== at) {
        known = { at, text: comparedText(message, at, normalise) };
        texts.set(message, known);
      }
      const next: TapeNode = node.next.get(known.text) ?? newNode();
      if (!node.next.has(known.text)) {
        seen(known.text);
        node.next.set(known.text, next);
        if (!normalise) node.first ??= { message: comparable(message), node: next };
      }
      node = next;
    }
    getOrMake(node.queues ??= new Map(), call.lane, () => []).push(call);
  }
  return { tape, normalise, heads, hasPlaces, hasUser, hasSecrets: placeholders.size > 0, placeholders };
}

export const programOf: (tape: Tape) => Program = makeOnce(compile);

function newNode(): TapeNode {
  return { next: new Map(), first: undefined, queues: undefined };
}

export type Match =
  | { readonly call: Call }
  /** It is on the tape, but all such calls of this lane were served, or are in other lanes. */
  | { readonly spent: readonly Call[] }
  | undefined;

type Changes = NonNullable<ToolFact["files"]>;

/** Which calls of a tape were served, and which changes of files. */
export class Served {
  readonly #counts = new Map<readonly Call[], number>();
  readonly #changed = new Map<string, number>();
  #changing = Promise.resolve();
  readonly calls: Set<Call> = new Set();

  /**
   * Makes those changes of a tool call that no later one has made already, one call at a time: lanes may come in any
   * order, what they leave may not.
   */
  change({ files = {}, nth = Infinity }: ToolFact, apply: (files: Changes) => Promise<void>): Promise<void> {
    const changing = this.#changing.then(async () => {
      const fresh = Object.entries(files).filter(([path]) => nth >= (this.#changed.get(path) ?? 0));
      for (const [path] of fresh) this.#changed.set(path, nth);
      await apply(Object.fromEntries(fresh));
    });
    this.#changing = changing.catch(() => {}); // its own call reports the error
    return changing;
  }

  /** The next of the calls of one key and lane: first in, first out. */
  next(queue: readonly Call[]): Call | undefined {
    const count = this.#counts.get(queue) ?? 0;
    const call = queue[count];
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
  #head: { readonly of: ModelRequest; readonly node: TapeNode | undefined } | undefined;
  #messages: readonly Message[] = [];
  /** `#nodes[i]` is where message `i` leads. */
  #nodes: TapeNode[] = [];

  constructor(program: Program, lane: string, toTape: ToTape | undefined) {
    this.#program = program;
    this.#lane = lane;
    this.#toTape = toTape;
  }

  find(request: ModelRequest, served: Served): Match {
    const node = this.#walk(request);
    if (!node?.queues) return undefined;
    const mine = node.queues.get(this.#lane);
    const call = mine && served.next(mine);
    return call ? { call } : { spent: [...node.queues.values()].flat() };
  }

  #walk(request: ModelRequest): TapeNode | undefined {
    const start = this.#headNode(request);
    if (!start) return undefined;
    const { messages } = request;
    const nodes = this.#nodes;
    let node = start.node;
    let known = start.known;
    for (let i = 0; i < messages.length; i++) {
      known &&= i < nodes.length && messages[i] === this.#messages[i];
      if (known) {
        node = nodes[i]!;
        continue;
      }
      const next: TapeNode | undefined = this.#next(node, messages[i]!, i);
      if (!next) {
        nodes.length = Math.min(i, nodes.length);
        this.#messages = messages.slice(0, nodes.length);
        return undefined;
      }
      // A new message object with the same content leads to the same node.
      known = next === nodes[i];
      nodes[i] = node = next;
    }
    this.#messages = messages;
    nodes.length = messages.length;
    return node;
  }

  /** `known`: the head is the last one's, so the last one's nodes hold. */
  #headNode(request: ModelRequest): { node: TapeNode; known: boolean } | undefined {
    const last = this.#head;
    if (last && isSameHead(last.of, request)) return last.node && { node: last.node, known: true };
    const head = { ...fromModel(request), messages: [] };
    const asTape = this.#toTape ? this.#toTape(head) : head;
    const node = this.#program.heads.get(headText(normalisedHead(asTape, this.#program.normalise)));
    this.#head = { of: request, node };
    return node && { node, known: false };
  }

  /** Where a message leads. To compare it with the recorded one is cheaper than to write it out. */
  #next(from: TapeNode, given: Message, at: number): TapeNode | undefined {
    const message = this.#toTape ? this.#toTape(given) : given;
    const { first } = from;
    if (first && isSame(first.message, message)) return first.node;
    return from.next.get(comparedText(message, at, this.#program.normalise));
  }
}
