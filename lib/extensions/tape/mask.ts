import { type Mask, mask } from "../../log/redact/mask.ts";
import { placer, type Places } from "../../log/redact/places.ts";
import type { Redactor } from "../../log/redact/redact.ts";
import type { Sent } from "../../log/tape.ts";
import type { ComparedProgram } from "../../replay/requests/compared-program.ts";
import { anonymous } from "../../replay/requests/compare-rules.ts";

/** What stands between the texts of another program and a tape's. */
interface SentMask extends Mask {
  sentOn(sent: Sent): Sent;
}

/** The mask of a run, with what is known of its program at the time: a replay knows no more either. */
export function sentMasks(places: Places, program: ComparedProgram, redactor: Redactor | undefined): () => SentMask {
  let last: { known: string; mask: SentMask } | undefined;
  return () => {
    const known = JSON.stringify(program.places);
    if (last?.known !== known) {
      const made = mask(placer({ ...places, program: program.places }), redactor);
      last = { known, mask: { ...made, sentOn: (sent) => made.on(anonymous(sent)) } };
    }
    return last.mask;
  };
}
