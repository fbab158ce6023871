/** Runs before the tests: laws try the same values each time, but in `test:long`, which looks for new ones. */
import fc from "fast-check";

const isLong = Boolean(process.env.CROCHET_TEST_LONG);
if (!isLong) fc.configureGlobal({ seed: 2026 });
if (!("Deno" in globalThis)) await liftLimit(isLong ? 3_600_000 : 600_000);

/**
 * Bun ends a test, and what runs before or after it, after 5 s. It heeds no `timeout` of bunfig.toml, and what is set here
 * it forgets with the first file: so it is set again with each that is added.
 */
async function liftLimit(ms: number): Promise<void> {
  const { mock, setDefaultTimeout } = await import("bun:test");
  const own = await import("node:test");
  const lifted = <Add extends (...given: never[]) => unknown>(add: Add): Add =>
    new Proxy(add, {
      apply(add, self, given) {
        setDefaultTimeout(ms);
        return Reflect.apply(add, self, given);
      },
    });
  const [test, before, after] = [lifted(own.test), lifted(own.before), lifted(own.after)];
  await mock.module("node:test", () => ({ ...own, default: test, test, before, after }));
}
