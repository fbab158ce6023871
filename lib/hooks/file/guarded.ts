import { EVENTS } from "../../core/events.ts";
import type { HookRecord } from "../../core/hook.ts";

/** Stands for the answer of a hook that was not run. */
class Refused {
  readonly why: string;
  constructor(why: string) {
    this.why = why;
  }
}

/**
 * A hook that is run only while nothing speaks against it. Where it is not run, what it would have judged is
 * refused: whoever changes a hook must not open the gate by that.
 */
export function guarded(record: HookRecord, why: () => string | undefined): HookRecord {
  return {
    ...record,
    run: (event, ctx) => {
      const reason = why();
      return reason === undefined ? record.run(event, ctx) : new Refused(reason);
    },
    read: (raw, event) => {
      if (!(raw instanceof Refused)) return record.read(raw, event);
      if (EVENTS[event.event].deny !== "prevents") throw new Error(raw.why);
      return { decision: "deny", reason: raw.why };
    },
  };
}
