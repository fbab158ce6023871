import assert from "node:assert/strict";

/** The least processor time of a few tries, in ms: what else the machine does then counts little. */
async function processorTime(work: () => unknown, tries = 4): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < tries; i++) {
    const start = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/**
 * Fails where eight times the size takes far more than eight times as long: the square would be 64 times. A time under
 * 2 ms is too short to compare with.
 */
export async function assertLinear(size: number, work: (size: number) => () => unknown): Promise<void> {
  const small = await processorTime(work(size / 8));
  const large = await processorTime(work(size));
  assert.ok(large < 30 * Math.max(small, 2), `${small.toFixed(2)} ms, then ${large.toFixed(2)} ms`);
}
