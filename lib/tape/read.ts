import { readFileSync } from "node:fs";
import type { Message } from "../core/messages.ts";
import { blobsOf, fromBlobs, readBlob } from "./_blobs.ts";
import { headText, link, messageText } from "./canonical.ts";
import {
  type CallFact,
  type ClockFact,
  type EndFact,
  type ErrorFact,
  type EventsFact,
  type Fact,
  type Header,
  type HeadFact,
  type InboxFact,
  type PromptFact,
  type SpecFact,
  TAPE_VERSION,
  type ToolFact,
  unknownFact,
} from "./format.ts";
import { comparedText, type Normalise, normalisedHead, normaliserOf } from "./normalise.ts";
import { unpackEvents } from "./_pack.ts";
import { type Redactor, redactor } from "./redact/redact.ts";
import { echoOf } from "./reply.ts";
import { isSuspect, scanFacts, whatIs } from "./redact/scan.ts";
import type { Attempt, Call, Tape } from "./tape.ts";

/** A tape that cannot be used, with the reason. */
export class TapeError extends Error {
  override name = "TapeError";
}

/** A tape comes from anywhere: one that is small and unpacks to more than this was made to fill the memory. */
const MOST_CHARACTERS = 512 * 1024 * 1024;
const MOST_MESSAGES = 20_000_000;

export interface ReadOptions {
  /** Searches for secrets in what is read. @default one of this process's environment */
  readonly redactor?: Redactor;
}

/**
 * Reads a tape.
 *
 * @throws {TapeError} where there is none, a line is not known, a key does not fit its call, or a secret shows
 */
export async function readTape(path: string, options: ReadOptions = {}): Promise<Tape> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new TapeError(`Cannot read tape ${path} as ${(error as { code?: string }).code ?? error}`);
  }
  const folder = blobsOf(path);
  return await parseTape(text, path, options, (name) => readBlob(folder, name));
}

/** The first line of a tape, without looking at the rest. @throws {TapeError} where it is no header of this version */
export function readHeader(path: string): Header {
  const text = readFileSync(path, "utf8");
  const [line = ""] = text.split("\n", 1);
  const refuse = (why: string) => new TapeError(`Cannot read tape ${path} as ${why}`);
  refuseTorn(text, refuse);
  const header = readFact(line, () => "", refuse) as Header;
  checkVersion(header, refuse);
  return header;
}

function checkVersion({ tape }: Header, refuse: (why: string) => TapeError): void {
  if (tape === TAPE_VERSION) return;
  const version = tape === undefined ? "its first line is no header" : `its version is ${tape}`;
  throw refuse(`${version}: this release reads version ${TAPE_VERSION}`);
}

/** Reads the text of a tape; `path` is for messages. */
export async function parseTape(
  text: string,
  path: string,
  options: ReadOptions = {},
  blob: (name: string) => string = (name) => {
    throw new Error(`Cannot read blob ${name} as there is no folder to look in`);
  },
): Promise<Tape> {
  const refuse = (why: string, line?: number) =>
    new TapeError(`Cannot read tape ${path} as ${line === undefined ? "" : `line ${line}: `}${why}`);
  refuseTorn(text, refuse);
  const texts = [text];
  let unpacked = text.length;
  const kept = (name: string) => {
    const long = blob(name);
    unpacked += long.length;
    if (unpacked > MOST_CHARACTERS) throw refuse(`it unpacks to more than ${MOST_CHARACTERS} characters`);
    texts.push(long);
    return long;
  };
  const facts = text.slice(0, -1).split("\n").map((line, i) => readFact(line, kept, (why) => refuse(why, i + 1)));
  const [header, ...rest] = facts as [Header, ...Fact[]];
  checkVersion(header, refuse);
  const tape = await new Assembly(header, refuse).read(rest);
  const search = options.redactor ?? redactor();
  if (isSuspect(texts, tape, search)) {
    const [found, ...more] = scanFacts(facts, tape, search);
    const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
    if (found) {
      throw refuse(`${found.path} shows ${whatIs(found)}${others}: take it out of the repository and record again`);
    }
  }
  return tape;
}

function refuseTorn(text: string, refuse: (why: string) => TapeError): void {
  if (text === "") throw refuse(`it is empty: ${RENEW}`);
  if (!text.endsWith("\n")) throw refuse(`its last line is torn: ${RENEW}`);
}

const RENEW = "take it from version control, or delete it and record again";

function readFact(line: string, blob: (name: string) => string, refuse: (why: string) => TapeError): Header | Fact {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    if (/^(?:<{7}|={7}|>{7})/.test(line)) {
      throw refuse("it is the mark of a merge: take one side whole, or record again");
    }
    throw refuse(`it is not JSON: ${(error as Error).message}`);
  }
  try {
    value = fromBlobs(value, blob);
  } catch (error) {
    if (error instanceof TapeError) throw error;
    throw refuse(`a long text of it is missing: ${(error as Error).message}`);
  }
  const why = unknownFact(value);
  if (why !== undefined) throw refuse(why);
  return value as Header | Fact;
}

/** A conversation up to a reply, with its chain of hashes by head. */
interface Conversation {
  readonly messages: readonly Message[];
  readonly keys: ReadonlyMap<number, readonly string[]>;
  readonly echo: Message | undefined;
}

/** Puts a tape together from its lines, in their order. */
class Assembly {
  readonly #header: Header;
  readonly #refuse: (why: string, line?: number) => TapeError;
  readonly #normalise: Normalise | undefined;
  readonly #specs = new Map<string, SpecFact["tool"]>();
  readonly #heads = new Map<number, Omit<Call["request"], "messages">>();
  readonly #conversations = new Map<string, Conversation>();
  readonly #calls: Call[] = [];
  #held = 0;
  #open: { fact: CallFact; line: number; attempts: Attempt[]; error?: ErrorFact } | undefined;

  constructor(header: Header, refuse: (why: string, line?: number) => TapeError) {
    this.#header = header;
    this.#refuse = refuse;
    this.#normalise = normaliserOf(header.normalise);
  }

  async read(facts: readonly Fact[]): Promise<Tape> {
    const prompts: string[] = [];
    const tools: ToolFact[] = [];
    const clocks: ClockFact[] = [];
    const inboxes: InboxFact[] = [];
    let end: EndFact | undefined;
    for (const [i, fact] of facts.entries()) {
      const line = i + 2;
      if ("events" in fact) this.#attempt(fact, line);
      else if ("error" in fact) this.#failed(fact, line);
      else {
        await this.#close();
        if ("prompt" in fact) prompts.push((fact as PromptFact).prompt);
        else if ("spec" in fact) this.#specs.set(fact.spec, fact.tool);
        else if ("call" in fact) this.#open = { fact, line, attempts: [] };
        else if ("tool" in fact) tools.push(fact);
        else if ("clock" in fact) clocks.push(fact);
        else if ("inbox" in fact) inboxes.push(fact);
        else if ("end" in fact) end = fact;
        else this.#head(fact, line);
      }
    }
    await this.#close();
    return { header: this.#header, prompts, calls: this.#calls, tools, clocks, inboxes, ...(end && { end }) };
  }

  #head({ head, model, params, system = [], tools = [], wire }: HeadFact, line: number): void {
    this.#heads.set(head, {
      model,
      params,
      system: typeof system === "string" ? [{ type: "text", text: system }] : system as Call["request"]["system"],
      tools: tools.map((name) => {
        const spec = this.#specs.get(name);
        if (!spec) throw this.#refuse(`tool '${name}' is not described before it`, line);
        return spec;
      }),
      ...(wire && { wire }),
    });
  }

  #attempt(fact: EventsFact, line: number): void {
    if (this.#open?.fact.call !== fact.events || fact.attempt !== this.#open.attempts.length + 1) {
      throw this.#refuse(`attempt ${fact.attempt} of '${fact.events}' does not follow its call`, line);
    }
    const { status, headers, ended, why, waited, took, list, body } = fact;
    try {
      this.#open.attempts.push({
        ...(status !== undefined && { status }),
        ...(headers && { headers }),
        ...(list && { events: unpackEvents(fact) }),
        ...(body !== undefined && { body }),
        ...(ended && { ended }),
        ...(why !== undefined && { why }),
        ...(waited !== undefined && { waited }),
        took,
      });
    } catch (error) {
      throw this.#refuse((error as Error).message, line);
    }
  }

  #failed(fact: ErrorFact, line: number): void {
    if (this.#open?.fact.call !== fact.error) {
      throw this.#refuse(`the error of '${fact.error}' does not follow its call`, line);
    }
    this.#open.error = fact;
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    const { fact, line, attempts, error } = this.#open;
    this.#open = undefined;
    const head = this.#heads.get(fact.head);
    if (!head) throw this.#refuse(`head ${fact.head} is not described before it`, line);
    const messages = this.#messages(fact, line);
    const { error: _, ...failure } = error ?? { error: "", code: "", message: "" };
    const call: Call = {
      id: fact.call,
      lane: laneOf(fact.call),
      request: { ...head, messages },
      attempts,
      ...(error && { error: failure }),
      at: fact.at,
    };
    const keys = this.#keys(fact, call);
    if ((keys.at(-1) ?? "") !== fact.key) {
      throw this.#refuse("the call does not fit its key: it was changed by hand, record it again", line);
    }
    const echo = await echoOf(call);
    this.#conversations.set(fact.call, { messages, keys: new Map([[fact.head, keys]]), echo });
    this.#calls.push(call);
  }

  #messages({ parent, keep, add }: CallFact, line: number): Message[] {
    const before = parent === undefined ? undefined : this.#conversations.get(parent);
    if (parent !== undefined && !before) throw this.#refuse(`there is no call '${parent}' before it`, line);
    const messages = (before?.messages ?? []).slice(0, keep);
    this.#held += messages.length + add.length;
    if (this.#held > MOST_MESSAGES) throw this.#refuse(`its calls unpack to more than ${MOST_MESSAGES} messages`, line);
    for (const item of add) {
      const from = item === "$echo" ? parent : isEcho(item) ? item.$echo : undefined;
      const message = from === undefined ? item as unknown as Message : this.#conversations.get(from)?.echo;
      if (!message || typeof message !== "object" || !Array.isArray(message.content)) {
        throw this.#refuse(`it adds what is no message: ${JSON.stringify(item).slice(0, 80)}`, line);
      }
      messages.push(message);
    }
    return messages;
  }

  /** The chain of hashes, going on from the parent's where that has the same head. */
  #keys({ head, parent, keep }: CallFact, { request }: Call): string[] {
    const before = parent === undefined ? undefined : this.#conversations.get(parent)!;
    const known = before?.keys.get(head);
    const keys = known ? known.slice(0, (keep ?? before!.messages.length) + 1) : [];
    if (keys.length === 0) keys.push(link(undefined, headText(normalisedHead(request, this.#normalise))));
    for (let i = keys.length - 1; i < request.messages.length; i++) {
      keys.push(link(keys.at(-1)!, comparedText(request, i, this.#normalise) ?? messageText(request.messages[i]!)));
    }
    return keys;
  }
}

function isEcho(item: unknown): item is { $echo: string } {
  return typeof (item as { $echo?: unknown } | null)?.$echo === "string";
}

/** The lane of a call's id. */
function laneOf(id: string): string {
  return id.slice(0, id.lastIndexOf("#"));
}
