import { accessSync, constants, existsSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { getOrMake, makeOnce } from "../core/maps.ts";
import { isToolUse, type Json, type Message } from "../core/messages.ts";
import { present, quietly } from "../core/json.ts";
import { blobsOf, readBlob, toBlobs } from "./_blobs.ts";
import { answerLines, headOf, Heads, type WholeHead } from "../log/call-lines.ts";
import { canonical, headText, link, messageText } from "../log/canonical.ts";
import { sweep, writeWhole } from "../files/drafts.ts";
import { type CallFact, type ClockFact, type EntryOf, type Fact, factLine, type Header } from "../log/entry.ts";
import { comparedText, type Normalise, normalisedHead, normaliserOf } from "./normalise.ts";
import { type Finding, type Redactor, redactor } from "../log/redact/redact.ts";
import { scanFacts, whatIs } from "../log/redact/scan.ts";
import { echoOf } from "../log/recorded-reply.ts";
import { itemsOf } from "./requests/api.ts";
import { sentHead, splitSent } from "./requests/request-lines.ts";
import { type Call, lateInbox, MAIN, type Tape } from "../log/tape.ts";

interface WriteOptions {
  /** Writes over a tape that is there. @default false */
  readonly replace?: boolean;
  /** Searches for secrets before anything is written. @default one of this process's environment */
  readonly redactor?: Redactor;
}

/**
 * Writes a tape, whole or not at all. A tape that shows a secret is not written.
 *
 * @throws {Error} if a secret is found, with its place and never with the secret, or if the tape exists
 */
export async function writeTape(path: string, tape: Tape, options: WriteOptions = {}): Promise<void> {
  const { replace = false, redactor: search = redactor() } = options;
  if (!replace && existsSync(path)) throw isThere(path);
  const facts = await factsOf(tape);
  refuseSecrets(path, scanFacts(facts, tape, search));
  const blobs = new Map<string, string>();
  const lines = facts.map((fact) => factLine(toBlobs(fact, (name, text) => blobs.set(name, text))));
  const folder = blobsOf(path);
  if (blobs.size > 0) prepare(folder);
  for (const [name, text] of blobs) {
    // One that was damaged has to be written again.
    if (quietly(() => readBlob(folder, name)) === undefined) writeWhole(join(folder, name), text);
  }
  prepare(dirname(path));
  try {
    writeWhole(path, `${lines.join("\n")}\n`, { replace });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EEXIST" ? isThere(path) : error;
  }
}

function prepare(folder: string): void {
  mkdirSync(folder, { recursive: true });
  sweep(folder);
}

/**
 * Asked before a model is paid: what it said could not be kept. Nothing is made to find out: others may record beside.
 *
 * @throws {Error} if a tape cannot be written at the path
 */
export function checkWritable(path: string): void {
  let folder = dirname(path);
  // Also a link that leads nowhere has the name; it throws if something above is not a folder.
  while (!quietly(() => lstatSync(folder))) folder = dirname(folder);
  if (!existsSync(folder)) {
    throw new Error(`Cannot write tape ${path} as ${folder} is a link that leads nowhere: remove it`);
  }
  if (!statSync(folder).isDirectory()) throw new Error(`Cannot write tape ${path} as ${folder} is not a folder`);
  if (quietly(() => accessSync(folder, constants.W_OK | constants.X_OK) ?? true)) return;
  throw new Error(`Cannot write tape ${path} as ${folder} may not be written to: look at its owner and mode`);
}

function isThere(path: string): Error {
  return new Error(`Cannot write tape ${path} as it exists: replay it with --update, or delete it`);
}

function refuseSecrets(path: string, found: readonly Finding[]): void {
  const [first] = found;
  if (!first) return;
  const more = found.length > 1 ? ` (and ${found.length - 1} more)` : "";
  // A rule is written as it was given: a placeholder in its place would find nothing.
  const fix = first.path.startsWith("line 1.normalise")
    ? "write the rule of --normalise without it"
    : /\.files\..*\.base64$/.test(first.path)
    ? "keep it out of the run, as a binary file cannot be redacted"
    : "keep it out of the run, or record with --redact";
  throw new Error(`Cannot write tape ${path} as ${first.path} shows ${whatIs(first)}${more}: ${fix}`);
}

/** A tape's lines: lane by lane, so that two recordings of one run differ only in what differed. */
export async function factsOf(tape: Tape): Promise<(Header | Fact)[]> {
  const prompts = tape.prompts.map((prompt, i): EntryOf<"prompt"> =>
    present({ prompt: prompt as string, model: tape.models?.[i], resumed: tape.resumed?.[i] ?? undefined })
  );
  const facts: (Header | Fact)[] = [tape.header, ...prompts];
  if (tape.memory) facts.push(tape.memory);
  if (tape.git !== undefined) facts.push({ git: tape.git });
  for (const [file, text] of Object.entries(tape.files ?? {})) facts.push({ file, text });
  facts.push(...tape.answers ?? []);
  const known = new KnownConversations(normaliserOf(tape.header.normalise));
  const heads = new Heads();
  for (const lane of lanesOf(tape)) {
    const clocks = tape.clocks.filter((c) => c.clock === lane).sort((a, b) => a.step - b.step);
    const tools = tape.tools.filter((t) => t.lane === lane);
    const refusals = tape.refusals?.filter((r) => r.lane === lane) ?? [];
    for (const call of tape.calls.filter((c) => c.lane === lane)) {
      facts.push(...takeUntil(clocks, call.at));
      const { head, fresh } = heads.of(...headIn(call));
      facts.push(...fresh);
      // What another program sends back of a reply is written as it was sent.
      const echo = call.sent ? undefined : echoOf(call);
      facts.push(known.add(call, head, echo), ...answerLines(call));
      if (!echo) continue;
      const ids = echo.content.filter(isToolUse).map(({ id }) => id);
      facts.push(...taken(tools, ids, (t) => t.tool), ...taken(refusals, ids, (r) => r.refused));
    }
    const inboxes = [lane, lateInbox(lane)].flatMap((inbox) =>
      (tape.inboxes ?? []).filter((fact) => fact.inbox === inbox).sort((a, b) => a.take - b.take)
    );
    const said = tape.said?.filter((fact) => fact.lane === lane) ?? [];
    facts.push(...clocks, ...tools, ...refusals, ...inboxes, ...said);
  }
  facts.push(...tape.mcp ?? []);
  if (tape.end) facts.push(tape.end);
  return facts;
}

/** The lanes of a tape: the agent's own first, the others by name. */
function lanesOf({ calls, clocks, tools }: Tape): string[] {
  const names = new Set([...calls.map((c) => c.lane), ...clocks.map((c) => c.clock), ...tools.map((t) => t.lane)]);
  return [...names].sort((a, b) => a === MAIN ? -1 : b === MAIN ? 1 : a < b ? -1 : 1);
}

function takeUntil(clocks: ClockFact[], at: number): ClockFact[] {
  const end = clocks.findIndex((c) => c.now > at);
  return clocks.splice(0, end < 0 ? clocks.length : end);
}

/** The first fact of each id: one that was tried again, or whose id comes again, has more. */
function taken<T extends Fact>(facts: T[], ids: readonly string[], idOf: (fact: T) => string): T[] {
  return ids.flatMap((id) => {
    const at = facts.findIndex((fact) => idOf(fact) === id);
    return at < 0 ? [] : facts.splice(at, 1);
  });
}

/** A head, and the text by which it is known. */
function headIn({ request, sent }: Call): [WholeHead, string] {
  if (!sent) return [headOf(request), canonical([headText(request), request.wire ?? null, request.sent ?? null])];
  const head = splitSent(sent);
  return [head, canonical(head)];
}

interface ConversationNode {
  readonly next: Map<string, ConversationNode>;
  /** The chain of hashes up to here, by head. */
  readonly keys: Map<number, string>;
  /** The last call whose request came this far, and the one whose reply ends here. */
  owner?: { readonly id: string; readonly length: number };
  replyOf?: string;
}

/** Every conversation so far, by its messages: finds what a request has in common with an earlier one. */
class KnownConversations {
  readonly #root: ConversationNode = { next: new Map(), keys: new Map() };
  readonly #normalise: Normalise | undefined;
  readonly #echoes = new Map<string, string>();
  readonly #text = makeOnce(messageText);

  constructor(normalise: Normalise | undefined) {
    this.#normalise = normalise;
  }

  add(call: Call, head: number, echo: Message | undefined): CallFact {
    const { id, sent, at, stale } = call;
    const messages = sent ? itemsOf(sent) as unknown as readonly Message[] : call.request.messages;
    const texts = sent ? messages.map(canonical) : messages.map((message) => this.#text(message));
    let [node, depth] = [this.#root, 0];
    for (; depth < texts.length; depth++) {
      const next = node.next.get(texts[depth]!);
      if (!next) break;
      node = next;
    }
    const shared = this.#shared(node, depth);
    const rest = messages.slice(depth).map((message, i) => this.#written(message, texts[depth + i]!));
    const key = this.#insert(call, head, texts, echo);
    return { call: id, head, ...shared.from, add: [...shared.add, ...rest], key, at, ...(stale && { stale }) };
  }

  #shared(node: ConversationNode, depth: number): { from: Pick<CallFact, "parent" | "keep">; add: Json[] } {
    if (depth === 0) return { from: {}, add: [] };
    if (node.replyOf !== undefined) return { from: { parent: node.replyOf }, add: ["$echo"] };
    const { id, length } = node.owner!;
    return { from: { parent: id, ...(depth < length && { keep: depth }) }, add: [] };
  }

  #written(message: Message, text: string): Json {
    const echo = message.role === "assistant" ? this.#echoes.get(text) : undefined;
    return echo === undefined ? message as unknown as Json : { $echo: echo };
  }

  /** Each link of the chain is made once, however often its conversation is continued. */
  #insert({ id, request, sent }: Call, head: number, texts: readonly string[], echo: Message | undefined): string {
    let node = this.#root;
    let key = link(undefined, sent ? sentHead(sent) : headText(normalisedHead(request, this.#normalise)));
    const owner = { id, length: texts.length };
    for (const [i, text] of texts.entries()) {
      node = nextNode(node, text);
      node.owner = owner;
      const known = node.keys.get(head);
      if (known === undefined) {
        const isRead = !sent && this.#normalise;
        const compared = isRead ? comparedText(request.messages[i]!, i, this.#normalise) : text;
        node.keys.set(head, key = link(key, compared));
      } else key = known;
    }
    if (!echo) return key;
    const text = this.#text(echo);
    nextNode(node, text).replyOf = id;
    if (!this.#echoes.has(text)) this.#echoes.set(text, id);
    return key;
  }
}

function nextNode(node: ConversationNode, text: string): ConversationNode {
  return getOrMake(node.next, text, () => ({ next: new Map(), keys: new Map() }));
}
