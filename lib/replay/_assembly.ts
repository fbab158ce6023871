import { isObject } from "../core/json.ts";
import { isContent, type Message } from "../core/messages.ts";
import { canonical, headText, link } from "../log/canonical.ts";
import { type CallError, type EntryOf, type Fact, type Header, kindOf } from "../log/entry.ts";
import { comparedText, type Normalise, normalisedHead, normaliserOf } from "./normalise.ts";
import { readHead, unpackEvents } from "../log/call-lines.ts";
import { echoOf } from "../log/recorded-reply.ts";
import { type Attempt, type Call, isImported, type Tape, tapeOf } from "../log/tape.ts";

/** A small tape whose calls unpack to more than this was made to fill the memory. */
const MOST_MESSAGES = 20_000_000;

/** A conversation up to a reply, with its chain of hashes. */
interface Conversation {
  readonly head: number;
  readonly messages: readonly Message[];
  readonly keys: readonly string[];
  readonly echo: Message | undefined;
}

/** Makes the error for what is wrong in a line. */
type Refuse = (why: string, line?: number) => Error;

/** Puts a tape together from its lines, in their order: what `write.ts` does, undone. */
export class Assembly {
  readonly #header: Header;
  readonly #refuse: Refuse;
  readonly #lacks: boolean;
  readonly #normalise: Normalise | undefined;
  readonly #specs = new Map<string, EntryOf<"spec">["tool"]>();
  readonly #heads = new Map<number, Omit<Call["request"], "messages">>();
  /** Heads of requests that other programs sent. */
  readonly #sentHeads = new Map<number, EntryOf<"head">>();
  readonly #conversations = new Map<string, Conversation>();
  readonly #calls: Call[] = [];
  /** How many messages the calls have so far, each with its whole conversation. */
  #unpacked = 0;
  #open: { fact: EntryOf<"call">; line: number; attempts: Attempt[]; error?: CallError } | undefined;

  /** `lacks` if texts are missing: then keys are not checked. */
  constructor(header: Header, refuse: Refuse, lacks = false) {
    this.#header = header;
    this.#refuse = refuse;
    this.#lacks = lacks;
    try {
      this.#normalise = normaliserOf(header.normalise);
    } catch (error) {
      throw refuse((error as Error).message, 1);
    }
  }

  async read(facts: readonly Fact[]): Promise<Tape> {
    const lines: { [kind: string]: any[] } = {};
    for (const [i, fact] of facts.entries()) {
      const line = i + 2;
      if (lines.end) throw this.#refuse("it comes after the line that ends the tape", line);
      if ("events" in fact) this.#attempt(fact, line);
      else if ("error" in fact && !("mcp" in fact)) this.#failed(fact, line);
      else {
        await this.#close();
        if ("spec" in fact) this.#specs.set(fact.spec, fact.tool);
        else if ("head" in fact && !("call" in fact)) this.#head(fact, line);
        else if ("call" in fact) this.#open = { fact, line, attempts: [] };
        else {
          if ("prompt" in fact && !isContent(fact.prompt)) {
            throw this.#refuse("'prompt' is neither a text nor blocks", line);
          }
          (lines[kindOf(fact)!] ??= []).push(fact);
        }
      }
    }
    await this.#close();
    if (!lines.end && !isImported(this.#header)) {
      throw this.#refuse("its last line is not an 'end' line, so it was cut off");
    }
    return tapeOf(this.#header, this.#calls, lines);
  }

  #head(fact: EntryOf<"head">, line: number): void {
    const { head, system = [] } = fact;
    if (fact.api) this.#sentHeads.set(head, fact);
    if (typeof system !== "string" && !system.every(isObject)) {
      throw this.#refuse("'system' is neither a text nor blocks", line);
    }
    const lacks = (tool: string) => this.#refuse(`tool '${tool}' is not described before it`, line);
    this.#heads.set(head, readHead(fact, this.#specs, lacks));
  }

  #attempt(fact: EntryOf<"events">, line: number): void {
    if (this.#open?.fact.call !== fact.events || fact.attempt !== this.#open.attempts.length + 1) {
      throw this.#refuse(`attempt ${fact.attempt} of '${fact.events}' does not follow its call`, line);
    }
    const { events: _, attempt: __, ms: ___, pad: ____, list, ...attempt } = fact;
    const api = this.#sentHeads.get(this.#open.fact.head)?.api;
    try {
      this.#open.attempts.push({
        ...attempt,
        ...(api && api !== "anthropic" && { api }),
        ...(list && { events: unpackEvents(fact) }),
      });
    } catch (error) {
      throw this.#refuse((error as Error).message, line);
    }
  }

  #failed(fact: EntryOf<"error">, line: number): void {
    if (this.#open?.fact.call !== fact.error) {
      throw this.#refuse(`the error of '${fact.error}' does not follow its call`, line);
    }
    const { error: _, ...error } = fact;
    this.#open.error = error;
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    const { fact, line, attempts, error } = this.#open;
    this.#open = undefined;
    const head = this.#heads.get(fact.head);
    if (!head) throw this.#refuse(`head ${fact.head} is not described before it`, line);
    const messages = this.#messages(fact, line);
    const sentHead = this.#sentHeads.get(fact.head);
    const ofOthers = sentHead && await (requests ??= import("./requests/request-lines.ts"));
    const sent = ofOthers?.joinSent(sentHead!, head.tools, messages);
    const call: Call = {
      id: fact.call,
      lane: fact.call.slice(0, fact.call.lastIndexOf("#")),
      request: sent ? ofOthers!.readable(sent) : { ...head, messages },
      ...(sent && { sent }),
      attempts,
      ...(error && { error }),
      at: fact.at,
      ...(fact.stale && { stale: fact.stale }),
    };
    const keys = this.#keys(fact, call, messages, sent && ofOthers!.sentHead(sent));
    if (!this.#lacks && keys.at(-1) !== fact.key) {
      throw this.#refuse("the call does not fit its key, so it was changed by hand", line);
    }
    const echo = sent ? undefined : echoOf(call);
    this.#conversations.set(fact.call, { head: fact.head, messages, keys, echo });
    this.#calls.push(call);
  }

  #messages({ head, parent, keep, add }: EntryOf<"call">, line: number): Message[] {
    const isSent = this.#sentHeads.has(head);
    const before = parent === undefined ? undefined : this.#conversations.get(parent);
    if (parent !== undefined && !before) throw this.#refuse(`there is no call '${parent}' before it`, line);
    const messages = (before?.messages ?? []).slice(0, keep);
    this.#unpacked += messages.length + add.length;
    if (this.#unpacked > MOST_MESSAGES) {
      throw this.#refuse(`its calls unpack to more than ${MOST_MESSAGES} messages`, line);
    }
    for (const item of add) {
      const from = isSent ? undefined : item === "$echo" ? parent : isEcho(item) ? item.$echo : undefined;
      const message = from === undefined ? item as unknown as Message : this.#conversations.get(from)?.echo;
      if (!isObject(message) || !(isSent || (Array.isArray(message.content) && message.content.every(isObject)))) {
        throw this.#refuse(`it adds something that is not a message: ${JSON.stringify(item).slice(0, 80)}`, line);
      }
      messages.push(message);
    }
    return messages;
  }

  /** The chain of hashes, continued from the parent's if that has the same head. */
  #keys(
    { head, parent, keep }: EntryOf<"call">,
    { request, sent }: Call,
    messages: readonly Message[],
    sentHead: string | undefined,
  ): string[] {
    const before = parent === undefined ? undefined : this.#conversations.get(parent)!;
    const keys = before?.head === head ? before.keys.slice(0, (keep ?? before.messages.length) + 1) : [];
    if (keys.length === 0) {
      keys.push(link(undefined, sentHead ?? headText(normalisedHead(request, this.#normalise))));
    }
    for (let i = keys.length - 1; i < messages.length; i++) {
      const text = sent ? canonical(messages[i]) : comparedText(messages[i]!, i, this.#normalise);
      keys.push(link(keys.at(-1)!, text));
    }
    return keys;
  }
}

/** Loaded by the first tape of another program. */
let requests: Promise<typeof import("./requests/request-lines.ts")> | undefined;

function isEcho(item: unknown): item is { $echo: string } {
  return typeof (item as { $echo?: unknown } | null)?.$echo === "string";
}
