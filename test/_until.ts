import assert from "node:assert/strict";

/** Waits until a condition holds; fails with its words after a minute, which no machine should need. */
export async function until(words: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; performance.now() < end;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`never: ${words}`);
}
