import type { ModelEvent } from "../../core/model.ts";
import { type Mask, mask, placeInPieces, rejoin } from "../redact/mask.ts";
import { type Form, type Placer, placer, type Places } from "../redact/places.ts";
import type { Redactor } from "../redact/redact.ts";
import type { Attempt, TapeEvent } from "../tape.ts";
import type { Api, Fields, Sent } from "./api.ts";
import { dataOf, type Piece, piecesOf } from "./answers.ts";
import type { Program } from "./program.ts";
import { anonymous } from "./rules.ts";

/** What stands between the texts of another program and a tape's. */
export interface SentMask extends Pick<Mask, "on" | "off"> {
  sentOn(sent: Sent): Sent;
  attemptOn(api: Api, attempt: Attempt): Attempt;
  attemptOff(api: Api, attempt: Attempt): Attempt;
}

/** The mask of a run, with what is known of its program at the time: a replay knows no more either. */
export function sentMasks(places: Places, program: Program, redactor: Redactor | undefined): () => SentMask {
  let last: { known: string; mask: SentMask } | undefined;
  return () => {
    const known = JSON.stringify(program.places);
    if (last?.known !== known) last = { known, mask: sentMask({ ...places, program: program.places }, redactor) };
    return last.mask;
  };
}

function sentMask(places: Places, redactor: Redactor | undefined): SentMask {
  const place: Placer = placer(places, true);
  const { on, off, attemptOn, eventsOff } = mask(place, redactor);
  const clean = (text: string) => redactor ? redactor.text(text) : text;
  return {
    on,
    off,
    sentOn: (sent) => on(anonymous(sent)),
    attemptOn: (api, attempt) => {
      if (api === "anthropic" || !attempt.events) return attemptOn(attempt);
      const placed = changeFrames(api, attempt.events, on, (texts, form) => placeInPieces(texts, place, form));
      return { ...attempt, events: changeFrames(api, placed, (data) => data, (texts) => rejoin(texts, clean)) };
    },
    attemptOff: (api, attempt) => {
      if (attempt.body !== undefined) return { ...attempt, body: bodyOff(attempt.body, off) };
      if (!attempt.events) return attempt;
      if (api === "anthropic") return { ...attempt, events: eventsOff(attempt.events) };
      const back = (texts: readonly string[], form: Form) => texts.map((text) => place.restore(text, form));
      return { ...attempt, events: changeFrames(api, attempt.events, off, back) };
    },
  };
}

function bodyOff(body: string, off: Mask["off"]): string {
  try {
    const value = JSON.parse(body);
    const here = off(value);
    return here === value ? body : JSON.stringify(here);
  } catch {
    return off(body);
  }
}

/** Changes every text of a stream: those that come in pieces as one, all others by themselves. */
function changeFrames(
  api: Api,
  events: readonly TapeEvent[],
  change: <T>(value: T) => T,
  pieces: (texts: readonly string[], form: Form) => readonly string[],
): TapeEvent[] {
  const all: (Fields | undefined)[] = events.map(dataOf);
  const runs = new Map<string, { at: number; path: readonly (string | number)[]; text: string; form: Form }[]>();
  const changed = all.map((data, at) => {
    const found = data ? piecesOf(api, data) : [];
    for (const { key, ...piece } of found) {
      const run = runs.get(key);
      if (run) run.push({ at, ...piece });
      else runs.set(key, [{ at, ...piece }]);
    }
    return data && changeOthers(data, found, change);
  });
  for (const run of runs.values()) {
    const texts = pieces(run.map(({ text }) => text), run[0]!.form);
    for (const [i, { at, path, text }] of run.entries()) {
      if (texts[i] !== text) changed[at] = withText(changed[at], path, texts[i]!) as Fields;
    }
  }
  return events.map((item, at) => {
    const data = changed[at];
    if (data === all[at]) return item;
    if (item.event) return { ...item, event: data as unknown as ModelEvent };
    return { ...item, raw: item.raw!.replace(/^data:( ?).*$/m, (_, blank) => `data:${blank}${JSON.stringify(data)}`) };
  });
}

/** Changes all texts of a frame but those that are pieces of longer ones; the frame itself if nothing changes. */
function changeOthers(data: Fields, pieces: readonly Piece[], change: <T>(value: T) => T): Fields {
  const set = (all: Fields, textOf: (piece: Piece) => string) =>
    pieces.reduce((one, piece) => withText(one, piece.path, textOf(piece)) as Fields, all);
  const others = set(data, () => "");
  const changed = change(others);
  return changed === others ? data : set(changed, ({ text }) => text);
}

function withText(value: unknown, [key, ...rest]: readonly (string | number)[], text: string): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...value as object }) as { [key: string | number]: unknown };
  copy[key!] = rest.length === 0 ? text : withText(copy[key!], rest, text);
  return copy;
}
