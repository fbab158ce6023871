/**
 * The matchers, their types and `recorded()` for `bun test`: `[test] preload = ["crochet/bun"]` in bunfig.toml is all.
 *
 * @example
 * ```ts
 * // hooks.test.ts
 * import { expect, test } from "bun:test";
 * import { testExamples } from "crochet/bun";
 *
 * await testExamples("hooks"); // a test for each example of each hook
 * test("answers", () => expect({ action: "deny", reason: "No" }).toDeny("No"));
 * ```
 */
import { expect, test } from "bun:test";
import { type ExampleOptions, testExamples as testWith } from "./examples/run-examples.ts";
import type { CallMatchers } from "../../testing/call-matchers.ts";
import { type HookMatchers, matchers } from "../../testing/matchers.ts";
import "../tape/preload.ts";

// @ts-ignore: Deno, which checks types here too, does not know it
declare module "bun:test" {
  interface Matchers<T> extends HookMatchers, CallMatchers {}
}

expect.extend(matchers as unknown as Parameters<typeof expect.extend>[0]);

/** As `testExamples` of `crochet/testing`, with Bun's own `test`. */
export function testExamples(path: string | URL, options?: ExampleOptions): Promise<void> {
  return testWith(path, test, options);
}
