import { isObject, type JsonObject, present } from "../core/json.ts";
import type { Json } from "../core/messages.ts";
import type { ModelEvent } from "../core/model.ts";
import { hashOf } from "../runtime/sha256.ts";
import { canonical } from "./canonical.ts";
import type { Call, TapeEvent, TapeRequest } from "./tape.ts";
import type { EventsFact, Fact, HeadFact, PackedRaw, PackedRun, SpecFact } from "./entry.ts";

/** A head as its line has it, but for its number, and with whole tools. */
export type WholeHead = Omit<HeadFact, "head" | "tools"> & { readonly tools?: readonly JsonObject[] };

export function headOf({ model, params, system, tools, wire, sent }: Omit<TapeRequest, "messages">): WholeHead {
  const [only] = system;
  const plain = system.length === 1 && only!.type === "text" && Object.keys(only!).length === 2;
  const words = plain ? (only as { text: string }).text : system as readonly Json[];
  return present({ model, params, system: words.length > 0 ? words : undefined, tools, wire, sent }) as WholeHead;
}

/** The heads of a file, each written once, after the tools that it names. */
export class Heads {
  readonly #numbers = new Map<string, number>();
  readonly #specs = new Set<string>();

  /** The number of a head, and the lines that are not there yet; `text` is what it is known by. */
  of({ tools = [], ...rest }: WholeHead, text: string): { readonly head: number; readonly fresh: readonly Fact[] } {
    const known = this.#numbers.get(text);
    if (known !== undefined) return { head: known, fresh: [] };
    const head = this.#numbers.size + 1;
    this.#numbers.set(text, head);
    const named = tools.map((tool) => {
      return { spec: `${toolName(tool)}@${hashOf(canonical(tool), 8)}`, tool } as SpecFact;
    });
    const unseen = named.filter(({ spec }) => !this.#specs.has(spec));
    for (const { spec } of unseen) this.#specs.add(spec);
    const specs = named.length > 0 ? { tools: named.map(({ spec }) => spec) } : {};
    return { head, fresh: [...unseen, { head, ...rest, ...specs }] };
  }
}

function toolName(tool: JsonObject): string {
  const { name, function: called, type } = tool;
  return String(name ?? (isObject(called) ? called.name : undefined) ?? type ?? Object.keys(tool)[0]);
}

/** What is read of a head; `lacks` makes the error for a tool that was not described before it. */
export function readHead(
  { model, params, system = [], tools = [], wire, sent }: HeadFact,
  specs: ReadonlyMap<string, SpecFact["tool"]>,
  lacks: (tool: string) => Error,
): Omit<TapeRequest, "messages"> {
  return {
    model,
    params,
    system: typeof system === "string" ? [{ type: "text", text: system }] : system as unknown as TapeRequest["system"],
    tools: tools.map((name) => {
      const spec = specs.get(name);
      if (!spec) throw lacks(name);
      return spec;
    }),
    ...present({ wire, sent }),
  };
}

export function answerLines({ id, attempts, error }: Pick<Call, "id" | "attempts" | "error">): Fact[] {
  const lines: Fact[] = attempts.map(({ api: _, events, ...attempt }, i) => ({
    events: id,
    attempt: i + 1,
    ...attempt,
    ...(events && packEvents(events)),
  }));
  return error ? [...lines, { error: id, ...error }] : lines;
}

/** Texts longer than this many bytes are kept beside the tape, named by their hash and shared by all tapes there. */
export const LONGEST = 16 * 1024;

/** The one text of each kind of delta that comes in runs. */
const RUN_FIELDS: { readonly [type: string]: string } = {
  text_delta: "text",
  thinking_delta: "thinking",
  input_json_delta: "partial_json",
};

type Packed = NonNullable<EventsFact["list"]>[number];

/** Events as a line has them: deltas of one block in one piece, so that a reader sees the text. */
export function packEvents(events: readonly TapeEvent[]): Pick<EventsFact, "ms" | "pad" | "list"> {
  const list: Packed[] = [];
  let run: { run: string; index: number; of: string[] } | undefined;
  for (const { event, raw } of events) {
    const delta = raw === undefined && event ? runDelta(event) : undefined;
    if (delta && run?.run === delta.type && run.index === delta.index) run.of.push(delta.text);
    else if (delta) list.push(run = { run: delta.type, index: delta.index, of: [delta.text] });
    else {
      run = undefined;
      list.push(raw !== undefined ? { raw } : event as unknown as { [key: string]: Json });
    }
  }
  for (const item of list) if (isRun(item) && isLong(item.of)) (item as { of: unknown }).of = JSON.stringify(item.of);
  const ms = trimmed(events.map((e) => e.ms));
  const pad = trimmed(events.map((e) => e.pad ?? 0));
  return { ...(ms.length > 0 && { ms }), ...(pad.length > 0 && { pad }), list };
}

/** A list whose runs are one delta each: it gives the same reply. */
export function joined(list: readonly Packed[]): Packed[] {
  return list.map((item) => isRun(item) && typeof item.of !== "string" ? { ...item, of: [item.of.join("")] } : item);
}

/** Servers pad an event with a few dozen. */
const MOST_BLANKS = 65_536;

/** @throws {TypeError} if a list was not made by `packEvents` */
export function unpackEvents({ ms = [], pad = [], list = [] }: Pick<EventsFact, "ms" | "pad" | "list">): TapeEvent[] {
  const events: TapeEvent[] = [];
  const add = (what: { event: ModelEvent } | { raw: string }) => {
    const at = events.length;
    const blanks = pad[at] ?? 0;
    if (!(blanks >= 0 && blanks <= MOST_BLANKS)) {
      throw new TypeError(`Cannot pad an event as ${blanks} is not a number of spaces`);
    }
    events.push({ ms: ms[at] ?? 0, ...what, ...(blanks > 0 && { pad: blanks }) });
  };
  for (const item of list) {
    if (isRun(item)) {
      const field = RUN_FIELDS[item.run];
      if (field === undefined) throw new TypeError(`Cannot read a run of '${item.run}' as it is not a kind of delta`);
      const texts: string[] = typeof item.of === "string" ? JSON.parse(item.of) : item.of;
      for (const text of texts) {
        const delta = { type: item.run, [field]: text };
        add({ event: { type: "content_block_delta", index: item.index, delta } });
      }
    } else if (isRaw(item)) add({ raw: item.raw });
    else if (typeof item === "object" && item !== null && typeof item.type === "string") {
      add({ event: item as unknown as ModelEvent });
    } else throw new TypeError(`Cannot read an event as it has no type: ${JSON.stringify(item).slice(0, 80)}`);
  }
  return events;
}

function isRun(item: Packed): item is PackedRun {
  const { run, of } = (item ?? {}) as Partial<PackedRun>;
  return typeof run === "string" && (Array.isArray(of) || typeof of === "string");
}

/** Whether texts belong into a blob although none of them does. */
function isLong(texts: PackedRun["of"]): boolean {
  return typeof texts !== "string" && texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > LONGEST;
}

function isRaw(item: Packed): item is PackedRaw {
  return typeof (item as PackedRaw)?.raw === "string" && !("type" in item);
}

/** The text of a delta that has nothing beside it. */
export function runDelta(event: ModelEvent): { type: string; index: number; text: string; field: string } | undefined {
  if (event.type !== "content_block_delta") return undefined;
  const { index, delta } = event;
  const field = RUN_FIELDS[delta?.type];
  if (field === undefined || Object.keys(event).length !== 3 || Object.keys(delta).length !== 2) return undefined;
  const text = delta[field];
  return typeof text === "string" && typeof index === "number" ? { type: delta.type, index, text, field } : undefined;
}

export function withText(event: ModelEvent, text: string): ModelEvent {
  const { field } = runDelta(event)!;
  return { ...event, delta: { ...(event as { delta: object }).delta, [field]: text } } as ModelEvent;
}

function trimmed(numbers: readonly number[]): number[] {
  let length = numbers.length;
  while (length > 0 && numbers[length - 1] === 0) length--;
  return numbers.slice(0, length);
}
