/** Runs before the tests: laws try the same values each time, but in `test:long`, which looks for new ones. */
import fc from "fast-check";

const isLong = Boolean(process.env.CROCHET_TEST_LONG);
if (!isLong) fc.configureGlobal({ seed: 2026 });
if (!("Deno" in globalThis)) await liftLimit(isLong ? 3_600_000 : 600_000);

/** Bun ends a test after 5 s, and heeds no `timeout` of bunfig.toml; what is set here it forgets with the first file. */
async function liftLimit(ms: number): Promise<void> {
  const { mock, setDefaultTimeout } = await import("bun:test");
  const own = await import("node:test");
  const test = new Proxy(own.test, {
    apply(add, self, given) {
      setDefaultTimeout(ms);
      return Reflect.apply(add, self, given);
    },
  });
  await mock.module("node:test", () => ({ ...own, default: test, test }));
}
