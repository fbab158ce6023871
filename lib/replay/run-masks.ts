import { present } from "../core/json.ts";
import type { Program } from "./match-call.ts";
import { once } from "../core/maps.ts";
import { mask } from "../log/redact/mask.ts";
import { placer, placesHere } from "../log/redact/places.ts";
import { type Redactor, redactor } from "../log/redact/redact.ts";

interface MasksOptions {
  readonly root: string;
  readonly seed: string;
  readonly program: Program | undefined;
  /** Whether secrets become placeholders on the tape. */
  readonly redact: boolean | undefined;
  /** Whether texts come from outside that no tape had: what they show of ids is taken out. */
  readonly isOpen: boolean;
}

export type RunMasks = ReturnType<typeof runMasks>;

/** What a run on a tape hides: its places, ids and secrets. Each part is made when it is first used. */
export function runMasks({ root, seed, program, redact, isOpen }: MasksOptions) {
  const search = once(() => redactor({ seed, root }));
  const ids = once(() => {
    const kinds = redact || program?.hasSecrets ? undefined : ["cookie", "organisation"] as const;
    return redactor({ seed, root, learns: true, ...present({ placeholders: program?.placeholders, kinds }) });
  });
  const hasIds = isOpen || program?.hasSecrets;
  const learn: Redactor["learn"] = (...secret) => [search(), ids()].forEach((one) => one.learn(...secret));
  return {
    /** Adds a value that must not be on the tape. */
    learn,
    /** Finds every secret: what it finds is not written, and not shown in a report. */
    search,
    /** Takes out what is never asked about, ids and cookies; every secret if `redact` is set or the tape has placeholders. */
    ids,
    mask: once(() => mask(placer(() => placesHere(root), program?.hasUser), hasIds ? ids() : undefined)),
  };
}
