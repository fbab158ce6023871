import type { Json } from "../core/messages.ts";
import type { ModelEvent } from "../core/model.ts";
import type { EventsFact, PackedRaw, PackedRun } from "./entry.ts";
import type { TapeEvent } from "../replay/tape.ts";

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

/** The same delta with another text. */
export function withText(event: ModelEvent, text: string): ModelEvent {
  const { field } = runDelta(event)!;
  return { ...event, delta: { ...(event as { delta: object }).delta, [field]: text } } as ModelEvent;
}

function trimmed(numbers: readonly number[]): number[] {
  let length = numbers.length;
  while (length > 0 && numbers[length - 1] === 0) length--;
  return numbers.slice(0, length);
}
