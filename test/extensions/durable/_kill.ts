import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OUR_RUNTIME } from "../../_runtime.ts";
import type { Effect } from "./_family.ts";

/** The command that runs a script of this folder on the runtime of the test. */
export function command(script: string): [program: string, ...args: string[]] {
  const net = "Deno" in globalThis ? ["--unstable-net"] : [];
  return [...OUR_RUNTIME, ...net, fileURLToPath(new URL(script, import.meta.url))];
}

export function effects(dir: string): Effect[] {
  const path = join(dir, "effects.jsonl");
  if (!existsSync(path)) return [];
  // What follows the last line break is still being written.
  return readFileSync(path, "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line) as Effect);
}

/** What was known to have ended when somebody died. */
export interface Death {
  readonly finished: ReadonlySet<string>;
  readonly at: number;
  /** When another stood in its place: until then a worker may begin what it can tell no server of. @default at */
  readonly over?: number;
}

/** Every finished step ran once; one that ran again had begun before a death and not ended; keys stay the same. */
export function assertOnce(
  dir: string,
  deaths: readonly Death[],
): { again: string[]; steps: number } {
  const starts = new Map<string, number[]>();
  const keys = new Map<string, Set<string>>();
  for (const effect of effects(dir)) {
    if ("call" in effect) {
      keys.set(
        effect.call,
        (keys.get(effect.call) ?? new Set()).add(effect.key),
      );
    } else if (effect.phase === "start") {
      starts.set(effect.step, [...starts.get(effect.step) ?? [], effect.at]);
    }
  }
  for (const { finished, at } of deaths) {
    for (const name of finished) {
      const again = starts.get(name)?.find((start) => start > at);
      const when = () =>
        effects(dir).filter((e) => "step" in e && e.step === name).map((e) =>
          `${"phase" in e && e.phase} ${e.at - at} by ${e.pid}`
        );
      assert.ok(
        again === undefined,
        `step ${name} had finished and ran again: ${when().join(", ")} ms after a death`,
      );
    }
  }
  const again = [...starts].filter(([, times]) => times.length > 1);
  for (const [name, times] of again) {
    assert.ok(
      times.length <= deaths.length + 1,
      `step ${name} ran ${times.length} times`,
    );
    for (const [i, time] of times.slice(1).entries()) {
      const between = deaths.some(({ at, over = at }) => times[i]! <= over && at <= time);
      assert.ok(between, `step ${name} ran again although nobody died between`);
    }
  }
  for (const [call, seen] of keys) {
    assert.equal(seen.size, 1, `call ${call} had several keys`);
  }
  return { again: again.map(([name]) => name), steps: starts.size };
}
