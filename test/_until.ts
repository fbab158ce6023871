import assert from "node:assert/strict";

/** Waits until a condition holds; fails with its words after three minutes, which even a busy machine does not need. */
export async function until(words: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 180_000; performance.now() < end;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`never: ${words}`);
}
