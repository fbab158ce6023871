import fc from "fast-check";
import { type Cuts, frameOf } from "../lib/log/frames.ts";
import type { Tape } from "../lib/log/tape.ts";

/** Ways to cut a tape's streams into pieces on the wire, also inside a character. No way may change what the agent sees. */
export function rechunk({ calls }: Tape): fc.Arbitrary<Cuts> {
  const streams = calls.flatMap(({ attempts }) => attempts.map(({ events = [] }) => events.map(frameOf).join("")));
  const longest = Math.max(2, ...streams.map((text) => new TextEncoder().encode(text).length));
  const positions = fc.uniqueArray(fc.integer({ min: 1, max: longest - 1 }), { minLength: 1, maxLength: 60 });
  return fc.oneof(fc.integer({ min: 1, max: 21 }), positions.map((at) => () => at));
}
