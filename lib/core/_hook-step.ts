import { account, type HookCall } from "./account.ts";
import type { EventName, Fired } from "./events.ts";
import { type Folded, IN_BACKGROUND } from "./fold.ts";
import type { Late } from "./hook.ts";
import type { Run } from "./run.ts";

/** What hooks said, and what they left behind for others. */
interface Told {
  readonly folded: Folded;
  /** The number of the session's next event. */
  readonly next: number;
  /** What hooks share, where they changed it. */
  readonly values?: readonly (readonly [string, unknown])[];
  /** What they took away of it. */
  readonly gone?: readonly string[];
  /** The model calls they made. */
  readonly calls?: readonly HookCall[];
}

/** Asks the hooks of one event as a step: what they once said still holds when the run is run again, and they are not asked. */
export async function hookStep<N extends EventName>(
  run: Run,
  fired: Fired<N>,
  ask: () => Promise<Folded>,
): Promise<Folded> {
  const { life } = run;
  const { tool_use_id } = fired as { tool_use_id?: string };
  let asked = false;
  const before = JSON.stringify(plain(life.values));
  const had = [...life.values.keys()];
  const told = await run.step(
    "hook",
    tool_use_id === undefined ? fired.event : `${fired.event}:${tool_use_id}`,
    async () => {
      asked = true;
      const made = run.hookCalls.length;
      const folded = await ask();
      const calls = run.hookCalls.slice(made);
      const values = plain(life.values);
      const changed = JSON.stringify(values) !== before;
      const gone = had.filter((key) => !life.values.has(key));
      return {
        folded,
        next: life.sequence.next,
        ...(changed && { values }),
        ...(gone.length > 0 && { gone }),
        ...(calls.length > 0 && { calls }),
      } satisfies Told as Told;
    },
  );
  if (!asked) {
    for (const [key, value] of told.values ?? []) life.values.set(key, value);
    for (const key of told.gone ?? []) life.values.delete(key);
    for (const call of told.calls ?? []) {
      life.spent.calls++;
      account(run, call.used, call);
    }
    life.sequence.next = Math.max(life.sequence.next, told.next);
  }
  run.listensLate ||= told.folded.runs.some(({ skipped, opinion }) => skipped === IN_BACKGROUND || opinion?.later);
  return told.folded;
}

/** Takes what hooks have said from the background, at a moment that is the same when the run is run again. */
export function takeLate(run: Run): void | Promise<void> {
  const { life, agent } = run;
  const heard = (said: readonly (readonly Late[])[]) => void life.waiting.push(...said.flat());
  if (agent.engine) {
    if (!run.listensLate) return;
    return run.step("late", String(run.count.iterations), async () => await life.late.take(false)).then(heard);
  }
  if (!agent.lane) return;
  const taken = life.late.take(false);
  return taken instanceof Promise ? run.interruptible(taken).then(heard) : heard(taken);
}

/** What can be written down of what hooks share. */
function plain(values: ReadonlyMap<string, unknown>): [string, unknown][] {
  return [...values].filter(([, value]) => isPlain(value));
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined && typeof value !== "function";
  const proto = Object.getPrototypeOf(value);
  return (proto === Object.prototype || proto === Array.prototype) && Object.values(value).every(isPlain);
}
