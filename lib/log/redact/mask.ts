import { parsed } from "../../core/json.ts";
import { getOrMake } from "../../core/maps.ts";
import type { ModelEvent } from "../../core/model.ts";
import { onlyEvent } from "../frames.ts";
import { runDelta } from "../call-lines.ts";
import type { Form, Placer, Replacement } from "./places.ts";
import { mapTexts, type Redactor } from "./redact.ts";
import { dataOf, piecesOf } from "../answers.ts";
import type { Attempt, TapeEvent } from "../tape.ts";

/** What stands between an agent's texts and a tape's: secrets are taken out for good, places are put back when served. */
export interface Mask {
  /** A value as a tape has it. */
  on<T>(value: T): T;
  /** A value of a tape as it is here. */
  off<T>(value: T): T;
  attemptOn(attempt: Attempt): Attempt;
  attemptOff(attempt: Attempt): Attempt;
}

type FrameData = { readonly [key: string]: unknown };

/** A text of a frame that is a piece of a longer one. */
export interface Piece {
  /** Pieces of one text have one key. */
  readonly key: string;
  readonly path: readonly (string | number)[];
  readonly text: string;
  readonly form: Form;
}

/** How the frames of a stream are read and written. */
interface Frames {
  /** Undefined for a frame without JSON. */
  data(frame: TapeEvent): FrameData | undefined;
  pieces(data: FrameData): readonly Piece[];
  /** Whether a frame with a piece has no other text. @default false */
  readonly isAlone?: true;
  withData(frame: TapeEvent, data: FrameData): TapeEvent;
}

const MESSAGES: Frames = {
  isAlone: true,
  data: ({ event, raw }) => event ?? onlyEvent(raw!),
  pieces: (data) => {
    const delta = runDelta(data as ModelEvent);
    if (!delta) return [];
    const { index, type, field, text } = delta;
    const form = field === "partial_json" ? "json" : "plain";
    return [{ key: `${index} ${type}`, path: ["delta", field], text, form }];
  },
  withData: ({ ms, pad }, data) => ({ ms, event: data as ModelEvent, ...(pad !== undefined && { pad }) }),
};

function framesOf({ api }: Attempt): Frames {
  return api === undefined ? MESSAGES : {
    data: dataOf,
    pieces: (data) => piecesOf(api, data),
    withData: (frame, data) => {
      if (frame.event) return { ...frame, event: data as unknown as ModelEvent };
      const line = (_: string, blank: string) => `data:${blank}${JSON.stringify(data)}`;
      return { ...frame, raw: frame.raw!.replace(/^data:( ?).*$/m, line) };
    },
  };
}

export function mask(placer: Placer, redactor: Redactor | undefined): Mask {
  // Places first: the name of a temporary folder looks random.
  const on = (text: string, key?: string) => {
    const placed = placer.place(text);
    return redactor ? redactor.text(placed, key) : placed;
  };
  return {
    on: (value) => mapTexts(value, (text, _, key) => on(text, key)),
    off: (value) => mapTexts(value, (text) => placer.restore(text)),
    attemptOn: (attempt) =>
      changeAttempt(attempt, on, (events) => {
        const frames = framesOf(attempt);
        const placed = changeEvents(
          events,
          frames,
          (text, form) => placer.place(text, form),
          (texts, _, form) => placeInPieces(texts, placer, form),
        );
        return changeEvents(placed, frames, (text, form, key) => redacted(text, form, key, redactor), rejoin);
      }),
    // On a tape a placeholder is never cut in pieces.
    attemptOff: (attempt) =>
      changeAttempt(attempt, (text) => placer.restore(text), (events) =>
        changeEvents(
          events,
          framesOf(attempt),
          (text, form) => placer.restore(text, form),
          (texts, _, form) => texts.map((text) => placer.restore(text, form)),
        )),
  };
}

function changeAttempt(
  attempt: Attempt,
  change: (text: string, key?: string) => string,
  changeStream: (events: readonly TapeEvent[]) => readonly TapeEvent[],
): Attempt {
  const { why, body, events } = attempt;
  const changeValue = (value: unknown) => mapTexts(value, (text, _, key) => change(text, key));
  return {
    ...attempt,
    ...(why !== undefined && { why: change(why) }),
    ...(body !== undefined && { body: changeJson(body, changeValue, change) }),
    ...(events && { events: changeStream(events) }),
  };
}

/** In JSON each text is looked at by itself: what stands in it may be written with escapes. */
function redacted(text: string, form: Form, key: string, redactor: Redactor | undefined): string {
  if (!redactor) return text;
  if (form === "plain") return redactor.text(text, key);
  return changeJson(text, (value) => redactor.value(value), (cut) => redactor.text(cut));
}

/** JSON stays JSON: a path in it may be written with escapes. What is not JSON is changed as a text. */
function changeJson(json: string, change: (value: unknown) => unknown, changeText: (text: string) => string): string {
  const value = parsed(json);
  if (value === undefined) return changeText(json);
  const changed = change(value);
  return changed === value ? json : JSON.stringify(changed);
}

type Change = (text: string, form: Form, key: string) => string;

/** Changes every text of a stream. What is streamed in pieces is looked at in one: a secret may be cut anywhere. */
function changeEvents(
  events: readonly TapeEvent[],
  frames: Frames,
  change: Change,
  changePieces: (texts: readonly string[], whole: (text: string) => string, form: Form) => readonly string[],
): TapeEvent[] {
  const before = events.map((frame) => frames.data(frame));
  const runs = new Map<string, (Piece & { at: number })[]>();
  const after = before.map((data, at) => {
    if (!data) return undefined;
    const found = frames.pieces(data);
    for (const piece of found) getOrMake(runs, piece.key, () => []).push({ ...piece, at });
    return found.length > 0 && frames.isAlone ? data : changeOthers(data, found, change);
  });
  for (const run of runs.values()) {
    const { form } = run[0]!;
    const texts = changePieces(run.map(({ text }) => text), (text) => change(text, form, ""), form);
    for (const [i, { at, path, text }] of run.entries()) {
      if (texts[i] !== text) after[at] = withText(after[at], path, texts[i]!) as FrameData;
    }
  }
  return events.map((frame, at) => {
    const data = after[at];
    if (!data) return { ...frame, raw: change(frame.raw!, "json", "") };
    return data === before[at] ? frame : frames.withData(frame, data);
  });
}

/** Changes all texts of a frame but those that are pieces of longer ones; the frame itself if nothing changes. */
function changeOthers(data: FrameData, pieces: readonly Piece[], change: Change): FrameData {
  const set = (all: FrameData, textOf: (piece: Piece) => string) =>
    pieces.reduce((one, piece) => withText(one, piece.path, textOf(piece)) as FrameData, all);
  const others = set(data, () => "");
  const changed = mapTexts(others, (text, _, key) => change(text, "plain", key));
  return changed === others ? data : set(changed, ({ text }) => text);
}

function withText(value: unknown, [key, ...rest]: readonly (string | number)[], text: string): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...value as object }) as { [key: string | number]: unknown };
  copy[key!] = rest.length === 0 ? text : withText(copy[key!], rest, text);
  return copy;
}

/** Changes a text that came in pieces; what changed is in the piece in which it begins. */
function rejoin(texts: readonly string[], whole: (text: string) => string): readonly string[] {
  const before = texts.join("");
  const after = whole(before);
  if (after === before) return texts;
  let start = 0;
  while (before[start] === after[start] && start < before.length) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++;
  return inPieces(texts, [{ at: start, end: before.length - end, instead: after.slice(start, after.length - end) }]);
}

function placeInPieces(texts: readonly string[], placer: Placer, form: Form): readonly string[] {
  const whole = texts.join("");
  const found: Replacement[] = [];
  for (let next = placer.find(whole, 0, form); next; next = placer.find(whole, next.end, form)) found.push(next);
  return found.length === 0 ? texts : inPieces(texts, found);
}

function inPieces(texts: readonly string[], replacements: readonly Replacement[]): string[] {
  let start = 0;
  let next = 0;
  return texts.map((text, i) => {
    const end = i === texts.length - 1 ? Infinity : start + text.length;
    let out = "";
    let from = start;
    for (; next < replacements.length; next++) {
      const { at, end: until, instead } = replacements[next]!;
      if (at >= end) break;
      if (at >= start) out += text.slice(from - start, at - start) + instead;
      from = Math.min(until, end);
      if (until > end) break; // the rest of it is in the next piece
    }
    out += text.slice(from - start);
    start += text.length;
    return out;
  });
}
