import type { ModelEvent } from "../../core/model.ts";
import { type Frames, type Mask, mask } from "../redact/mask.ts";
import { placer, type Places } from "../redact/places.ts";
import type { Redactor } from "../redact/redact.ts";
import type { Attempt, Sent } from "../tape.ts";
import { dataOf, piecesOf } from "./answers.ts";
import type { Api } from "../../log/entry.ts";
import type { Program } from "./compared-program.ts";
import { anonymous } from "./compare-rules.ts";

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
  const { on, off, attemptOn, attemptOff } = mask(placer(places), redactor);
  return {
    on,
    off,
    sentOn: (sent) => on(anonymous(sent)),
    attemptOn: (api, attempt) => attemptOn(attempt, framesOf(api)),
    attemptOff: (api, attempt) => attemptOff(attempt, framesOf(api)),
  };
}

function framesOf(api: Api): Frames | undefined {
  return api === "anthropic" ? undefined : {
    data: dataOf,
    pieces: (data) => piecesOf(api, data),
    withData: (frame, data) => {
      if (frame.event) return { ...frame, event: data as unknown as ModelEvent };
      const line = (_: string, blank: string) => `data:${blank}${JSON.stringify(data)}`;
      return { ...frame, raw: frame.raw!.replace(/^data:( ?).*$/m, line) };
    },
  };
}
