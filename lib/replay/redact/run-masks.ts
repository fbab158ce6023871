import type { Program } from "../match-call.ts";
import { type Mask, mask } from "./mask.ts";
import { placer, placesHere } from "./places.ts";
import { type Redactor, redactor } from "./redact.ts";

interface MasksOptions {
  readonly root: string;
  readonly seed: string;
  readonly program: Program | undefined;
  /** Whether secrets become placeholders on the tape. */
  readonly redact: boolean | undefined;
  /** Whether texts come from outside that no tape had: what they show of ids is taken out. */
  readonly isOpen: boolean;
}

/** What a run on a tape hides: its places, ids and secrets. Each part is made when it is first used. */
export class RunMasks {
  readonly #options: MasksOptions;
  #search: Redactor | undefined;
  #ids: Redactor | undefined;
  #mask: Mask | undefined;

  constructor(options: MasksOptions) {
    this.#options = options;
  }

  /** Adds a value that must not be on the tape. */
  readonly learn: Redactor["learn"] = (...secret) => {
    for (const one of [this.search, this.ids]) one.learn(...secret);
  };

  /** Finds every secret: what it finds is not written, and not shown in a report. */
  get search(): Redactor {
    const { seed, root } = this.#options;
    return this.#search ??= redactor({ seed, root });
  }

  /** Takes out what is never asked about, ids and cookies; every secret if `redact` is set or the tape has placeholders. */
  get ids(): Redactor {
    const { seed, root, program, redact } = this.#options;
    return this.#ids ??= redactor({
      seed,
      root,
      learns: true,
      ...(program && { placeholders: program.placeholders }),
      ...(!redact && !program?.hasSecrets && { kinds: ["cookie", "organisation"] }),
    });
  }

  get mask(): Mask {
    const { root, program, isOpen } = this.#options;
    return this.#mask ??= mask(
      placer(() => placesHere(root), program?.hasUser),
      isOpen || program?.hasSecrets ? this.ids : undefined,
    );
  }
}
