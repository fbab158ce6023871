import type { Stop } from "../../core/events.ts";
import { isToolUse, type Message, toolResult, type Usage, user } from "../../core/messages.ts";
import type { Result } from "../../core/run-events.ts";

/** What an agent was when its transcript was written, to compare with what it is now. */
export interface About {
  readonly agent_type: string;
  readonly model: string;
  /** A hash of the system prompt, not its text. */
  readonly system: string;
  readonly tools: readonly string[];
  /** The session and agent that started this one. */
  readonly parent?: string;
  /** The first prompt, for listings. */
  readonly prompt: string;
  readonly cwd: string;
  readonly created: string;
}

interface Checkpoint {
  readonly id: string;
  /** How many messages the transcript had. */
  readonly at: number;
  readonly kind: "auto" | "manual" | "periodic";
  readonly time: string;
}

/** How a run ended; a transcript has one for each run. */
export interface Ending {
  readonly stop: Stop;
  readonly usage: Usage;
  readonly cost: number | null;
  readonly time: string;
  /** The rest of its Result, but for the messages and words that the transcript has. */
  readonly result?: Partial<Pick<Result, "text" | "turns" | "iterations" | "modelCalls" | "denials" | "error">>;
}

/** One fact of a transcript. A transcript is the list of its facts in order; facts are never rewritten. */
export type Entry =
  | { readonly type: "about"; readonly about: About }
  /** A message at its index; if the index is taken, it replaces the message there. */
  | { readonly type: "message"; readonly index: number; readonly message: Message }
  /** The conversation continues from these messages; earlier ones stay in the log. */
  | { readonly type: "compact"; readonly messages: readonly Message[] }
  | { readonly type: "model"; readonly model: string }
  | ({ readonly type: "checkpoint" } & Checkpoint)
  | ({ readonly type: "end" } & Ending);

/** What is kept of a session. */
export interface Transcript {
  readonly about: About | undefined;
  /** The conversation as the next request would send it. */
  readonly messages: readonly Message[];
  /** Every message ever, compacted ones too. */
  readonly full: readonly Message[];
  readonly model: string | undefined;
  readonly checkpoints: readonly Checkpoint[];
  readonly endings: readonly Ending[];
  /** It is a part of the log of the agent above it. */
  readonly isElsewhere?: true;
}

export interface Listed {
  readonly id: string;
  readonly about: About | undefined;
  readonly messages: number;
  readonly ending: Ending | undefined;
  readonly problem?: string;
}

/**
 * Where transcripts are kept. An agent also takes a store of `save` and `load` alone.
 * A write returns when it would survive the process.
 */
export interface TranscriptStore {
  /** Writes a whole conversation and replaces what was there. */
  save(id: string, messages: readonly Message[], about?: About): Promise<void>;
  /** Reads a transcript; an unknown id is undefined, not an error. */
  load(id: string): Promise<Transcript | undefined>;
  /** Adds facts; the time does not depend on the length of the transcript. */
  append(id: string, entries: readonly Entry[]): Promise<void>;
  list(): Promise<Listed[]>;
  delete(id: string): Promise<boolean>;
  /** Claims an id until the returned function is called; throws if it is claimed, here or in another process. */
  lock(id: string): Promise<() => Promise<void>>;
  /** The file of a transcript, if it has one of its own: hooks get it. */
  pathOf?(id: string): string;
}

/** Builds a transcript from its facts. @throws {Error} that names `where` and the line, if a fact is damaged */
export function transcriptOf(entries: Iterable<Entry>, where = "the transcript"): Transcript {
  let about: About | undefined;
  let model: string | undefined;
  let messages: Message[] = [];
  const past: Message[] = [];
  const checkpoints: Checkpoint[] = [];
  const endings: Ending[] = [];
  let line = 0;
  for (const entry of entries) {
    line++;
    const damage = factDamage(entry, messages.length);
    if (damage) throw new Error(`Cannot read ${where} as its line ${line} ${damage}: it was changed from outside`);
    if (entry.type === "about") {
      about = entry.about;
      model ??= entry.about.model;
    } else if (entry.type === "message") messages[entry.index] = entry.message;
    else if (entry.type === "compact") {
      past.push(...messages);
      messages = [...entry.messages];
    } else if (entry.type === "model") model = entry.model;
    else {
      const { type, ...fact } = entry;
      if (type === "checkpoint") checkpoints.push(fact as Checkpoint);
      else endings.push(fact as Ending);
    }
  }
  return { about, messages, full: past.length > 0 ? [...past, ...messages] : messages, model, checkpoints, endings };
}

/** A transcript in a list: one that cannot be read must not hide the others. */
export async function listed(
  id: string,
  read: () => Transcript | undefined | Promise<Transcript | undefined>,
): Promise<Listed> {
  try {
    const found = await read();
    return { id, about: found?.about, messages: found?.full.length ?? 0, ending: found?.endings.at(-1) };
  } catch (error) {
    return { id, about: undefined, messages: 0, ending: undefined, problem: (error as Error).message };
  }
}

/** The facts of a whole conversation. */
export function entriesOf(messages: readonly Message[], about: About | undefined): Entry[] {
  return [
    ...(about ? [{ type: "about", about } as const] : []),
    ...messages.map((message, index) => ({ type: "message", index, message }) as const),
  ];
}

/** Refuses an id that could name something other than a transcript. */
export function checkId(id: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/.test(id) && !id.includes("..")) return;
  throw new TypeError(`Cannot use '${id}' as a transcript id: expected letters, digits, '_', '-', '.' or ':'`);
}

type FactFields = Readonly<Record<string, unknown>>;

/** What each type of fact must have, and what is said of one that lacks it. */
const FACTS: { readonly [type: string]: readonly [damage: string, isWhole: (fact: FactFields) => boolean] } = {
  about: ["does not describe the agent", ({ about }) => isAbout(Object(about))],
  message: ["has no message", ({ message }) => isMessage(message)],
  compact: ["has no messages", ({ messages }) => Array.isArray(messages) && messages.every(isMessage)],
  model: ["has no model", ({ model }) => typeof model === "string"],
  checkpoint: ["has no checkpoint", ({ id, at }) => typeof id === "string" && Number.isInteger(at)],
  end: ["does not say how a run ended", ({ stop, usage }) => typeof stop === "string" && isUsage(usage)],
};

/** What is wrong with a fact of a stored transcript that has `count` messages so far; undefined if nothing is. */
function factDamage(fact: unknown, count: number): string | undefined {
  if (typeof fact !== "object" || fact === null || !("type" in fact)) return "is not a fact";
  const { type, index } = fact as FactFields;
  if (typeof type !== "string" || !Object.hasOwn(FACTS, type)) return `has the unknown type ${JSON.stringify(type)}`;
  const [damage, isWhole] = FACTS[type]!;
  if (!isWhole(fact as FactFields)) return damage;
  const isPlaced = type !== "message" || (Number.isInteger(index) && index as number >= 0 && index as number <= count);
  return isPlaced ? undefined : `has a message at index ${JSON.stringify(index)} of ${count}`;
}

function isAbout({ agent_type, model, system, tools, prompt, cwd, created }: Partial<About>): boolean {
  const texts = [agent_type, model, system, prompt, cwd, created];
  return [...texts, ...Array.isArray(tools) ? tools : [undefined]].every((text) => typeof text === "string");
}

function isUsage(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every(Number.isFinite);
}

function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as Partial<Message>;
  return (role === "user" || role === "assistant") && Array.isArray(content) && content.every(isBlock);
}

function isBlock(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { type, text, id, name, tool_use_id } = value as FactFields;
  if (type === "text") return typeof text === "string";
  if (type === "tool_use") return typeof id === "string" && typeof name === "string";
  if (type === "tool_result") return typeof tool_use_id === "string";
  return typeof type === "string";
}

/**
 * The conversation from which a stored one can continue: a tool_use without a result gets an error result, so that the
 * model knows that the call may or may not have happened.
 */
export function resumable(messages: readonly Message[]): Message[] {
  const open = messages.at(-1)?.role === "assistant" ? messages.at(-1)!.content.filter(isToolUse) : [];
  if (open.length === 0) return [...messages];
  const closing = open.map((call) =>
    toolResult(call.id, "The run was ended before this call's result was written: it may have happened or not", true)
  );
  return [...messages, user(closing)];
}

/** How the agent that continues a transcript differs from the one that wrote it, in sentences. */
export function changesSince(stored: Transcript, now: Pick<About, "system" | "tools">): string[] {
  const was = stored.about;
  if (!was) return [];
  const beyond = (these: About["tools"], those: About["tools"]) => these.filter((t) => !those.includes(t)).join(", ");
  const [added, gone] = [beyond(now.tools, was.tools), beyond(was.tools, now.tools)];
  return [
    ...(added === "" ? [] : [`tools added since: ${added}`]),
    ...(gone === "" ? [] : [`tools removed since: ${gone}`]),
    ...(was.system === now.system ? [] : ["the system prompt has changed since"]),
  ];
}
