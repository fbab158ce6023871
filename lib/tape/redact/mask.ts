import type { ModelEvent } from "../../core/model.ts";
import { onlyEvent } from "../frames.ts";
import { runDelta, withText } from "../_pack.ts";
import type { Form, Placer } from "./places.ts";
import { isSignature, mapTexts, type Redactor } from "./redact.ts";
import type { Attempt, TapeEvent } from "../tape.ts";

/** What stands between an agent's texts and a tape's: secrets are taken out for good, places are put back when served. */
export interface Mask {
  /** A value as a tape has it. */
  on<T>(value: T): T;
  /** A value of a tape as it is here. */
  off<T>(value: T): T;
  attemptOn(attempt: Attempt): Attempt;
  eventsOff(events: readonly TapeEvent[]): readonly TapeEvent[];
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
    attemptOn: (attempt) => ({
      ...attempt,
      ...(attempt.why !== undefined && { why: on(attempt.why) }),
      ...(attempt.body !== undefined && { body: bodyOn(attempt.body, on) }),
      ...(attempt.events && {
        events: changeEvents(
          changeEvents(
            attempt.events,
            (text, form) => placer.place(text, form),
            (texts, _, form) => placeInPieces(texts, placer, form),
          ),
          (text, form) => redacted(text, form, redactor),
          rejoin,
        ),
      }),
    }),
    eventsOff: (events) =>
      changeEvents(
        events,
        (text, form) => placer.restore(text, form),
        (texts, _, form) => texts.map((text) => placer.restore(text, form)),
      ),
  };
}

/** In JSON each text is looked at by itself: what stands in it may be written with escapes. */
function redacted(text: string, form: Form, redactor: Redactor | undefined): string {
  if (!redactor) return text;
  if (form === "plain") return redactor.text(text);
  try {
    const value: unknown = JSON.parse(text);
    const clean = redactor.value(value);
    return clean === value ? text : JSON.stringify(clean);
  } catch {
    return redactor.text(text); // it was cut
  }
}

/** A JSON body stays JSON: a path in it may be written with escapes. */
function bodyOn(body: string, on: (text: string, key?: string) => string): string {
  try {
    const value = JSON.parse(body);
    const masked = mapTexts(value, (text, _, key) => on(text, key));
    return masked === value ? body : JSON.stringify(masked);
  } catch {
    return on(body);
  }
}

type Change = (text: string, form: Form) => string;
type ChangePieces = (texts: readonly string[], whole: (text: string) => string, form: Form) => readonly string[];

/** Changes every text of a stream. What is streamed in pieces is looked at in one: a secret may be cut anywhere. */
function changeEvents(events: readonly TapeEvent[], change: Change, pieces: ChangePieces): TapeEvent[] {
  const changed = events.map((e) => ({ ...e }));
  const runs = new Map<string, { at: number[]; texts: string[]; form: Form }>();
  for (const [at, item] of changed.entries()) {
    const event = item.event ?? onlyEvent(item.raw!);
    const delta = event && runDelta(event);
    if (delta && isSignature(delta)) continue;
    if (delta) {
      const key = `${delta.index} ${delta.type}`;
      const form = delta.type === "input_json_delta" ? "json" : "plain";
      const run = runs.get(key) ?? { at: [], texts: [], form };
      run.at.push(at);
      run.texts.push(delta.text);
      runs.set(key, run);
    } else if (event) replaceEvent(changed, at, event, mapTexts(event, (text) => change(text, "plain")));
    else changed[at] = { ...item, raw: change(item.raw!, "json") };
  }
  for (const { at, texts, form } of runs.values()) {
    const after = pieces(texts, (text) => change(text, form), form);
    for (const [i, text] of after.entries()) {
      if (text === texts[i]) continue;
      const item = changed[at[i]!]!;
      const event = item.event ?? onlyEvent(item.raw!)!;
      replaceEvent(changed, at[i]!, event, withText(event, text));
    }
  }
  return changed;
}

function replaceEvent(all: TapeEvent[], at: number, was: ModelEvent, event: ModelEvent): void {
  if (event === was) return;
  const { ms, pad } = all[at]!;
  all[at] = { ms, event, ...(pad !== undefined && { pad }) };
}

/** Changes a text that came in pieces; what changed is in the piece in which it begins. */
export function rejoin(texts: readonly string[], whole: (text: string) => string): readonly string[] {
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

export function placeInPieces(texts: readonly string[], placer: Placer, form: Form): readonly string[] {
  const whole = texts.join("");
  const found: Replacement[] = [];
  for (let next = placer.find(whole, 0, form); next; next = placer.find(whole, next.end, form)) found.push(next);
  return found.length === 0 ? texts : inPieces(texts, found);
}

interface Replacement {
  readonly at: number;
  readonly end: number;
  readonly instead: string;
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
