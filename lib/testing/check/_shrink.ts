import type { Arbitrary } from "fast-check";
import type { FastCheck } from "../arbitraries/fast-check.ts";
import type { Probe } from "./events.ts";

/** What a smaller example is worth: so many questions, and so long. */
const MOST_TRIES = 40;
const MOST_MS = 4000;

/** The smallest event that fast-check finds to fail in the same way; undefined where it does not fail again. */
export async function shrink(
  fc: FastCheck,
  arbitrary: Arbitrary<Probe>,
  { seed, path, fails }: { seed: number; path: string; fails: (probe: Probe) => Promise<boolean> },
): Promise<Probe | undefined> {
  let tries = 0;
  const property = fc.asyncProperty(arbitrary, async (probe) => ++tries > MOST_TRIES || !(await fails(probe)));
  const result = await fc.check(property, { seed, path, interruptAfterTimeLimit: MOST_MS, numRuns: 1 });
  return result.counterexample?.[0];
}
