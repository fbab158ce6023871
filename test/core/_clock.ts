import { setImmediate } from "node:timers";
import type { Clock } from "../../lib/core/clock.ts";

export interface FakeClock extends Clock {
  /** How many sleepers there are. */
  readonly sleeping: number;
}

/**
 * A clock that stands still while anything happens and jumps to its next sleeper when nothing does: long waits cost
 * no time, and two runs of one script see the same moments.
 */
export function fakeClock(): FakeClock {
  const EPOCH = Date.UTC(2026, 0, 1);
  const sleepers = new Set<{ at: number; wake: () => void }>();
  let time = 0;
  let ids = 0;
  let jumping = false;

  const jumpWhenIdle = () => {
    if (jumping || sleepers.size === 0) return;
    jumping = true;
    setImmediate(() => {
      jumping = false;
      const [next] = [...sleepers].sort((a, b) => a.at - b.at);
      if (next) {
        time = Math.max(time, next.at);
        next.wake();
      }
      jumpWhenIdle();
    });
  };

  return {
    now: () => EPOCH + time,
    tick: () => time,
    uuid: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`,
    random: () => 0.5,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const wake = () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const sleeper = { at: time + ms, wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", wake);
        jumpWhenIdle();
      }),
    get sleeping() {
      return sleepers.size;
    },
  };
}
