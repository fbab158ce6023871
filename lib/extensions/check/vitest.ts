/**
 * The matchers, their types and `recorded()` for vitest: `setupFiles: ["crochet/vitest"]` in its configuration is all.
 *
 * @example
 * ```ts
 * // hooks.test.ts
 * import { expect, test } from "vitest";
 * import { testExamples } from "crochet/vitest";
 *
 * await testExamples("hooks"); // a test for each example of each hook
 * test("answers", () => expect({ action: "deny", reason: "No" }).toDeny("No"));
 * ```
 */
// @ts-ignore: an optional peer, which this package does not install for its own tests
import { expect, test } from "vitest";
import { type ExampleOptions, testExamples as testWith } from "./examples/run-examples.ts";
import type { CallMatchers } from "../../testing/call-matchers.ts";
import { type HookMatchers, matchers } from "../../testing/matchers.ts";
import "../tape/preload.ts";

// @ts-ignore: as above
declare module "vitest" {
  // deno-lint-ignore no-explicit-any -- as vitest declares it
  interface Matchers<T = any> extends HookMatchers, CallMatchers {}
}

expect.extend(matchers as unknown as Parameters<typeof expect.extend>[0]);

/** As `testExamples` of `crochet/testing`, with vitest's own `test`. */
export function testExamples(path: string | URL, options?: ExampleOptions): Promise<void> {
  return testWith(path, test, options);
}
