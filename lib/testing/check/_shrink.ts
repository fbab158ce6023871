import type { Arbitrary } from "fast-check";
import type { FastCheck } from "../arbitraries/fast-check.ts";
import type { Probe } from "./events.ts";

/** What a smaller example is worth: so many questions, and so long. */
const MOST_TRIES = 30;
const MOST_MS = 4000;

/** The smallest event that fast-check finds to fail in the same way; undefined where it does not fail again. */
export async function shrink(
  fc: FastCheck,
  arbitrary: Arbitrary<Probe>,
  { seed, path, fails }: { seed: number; path: string; fails: (probe: Probe) => Promise<boolean> },
): Promise<Probe | undefined> {
  let tries = 0;
  const property = fc.asyncProperty(
    arbitrary,
    async (probe) => ++tries > MOST_TRIES || !(await fails(probe).catch(() => false)),
  );
  const result = await fc.check(property, { seed, path, interruptAfterTimeLimit: MOST_MS, numRuns: 1 });
  return result.counterexample?.[0];
}

/** What is around an event and seldom matters. */
const AROUND = ["transcript_path", "prompt_id", "permission_mode", "effort", "agent_id", "agent_type", "tool_use_id"];

/** A host's event without what is around it; undefined for one of ours. */
export function slim(probe: Probe): Probe | undefined {
  if (probe.event.hook_event_name === undefined) return undefined;
  const kept = Object.entries(probe.event).filter(([field]) => !AROUND.includes(field));
  return { ...probe, event: Object.fromEntries(kept) };
}
