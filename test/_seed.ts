/** Runs before the tests: laws try the same values each time, but in `test:long`, which looks for new ones. */
import fc from "fast-check";

const isLong = Boolean(process.env.CROCHET_TEST_LONG);
if (!isLong) fc.configureGlobal({ seed: 2026 });
// Bun ends a test after 5 s, and heeds no `timeout` of bunfig.toml; Deno has no such limit.
if (!("Deno" in globalThis)) (await import("bun:test")).setDefaultTimeout(isLong ? 3_600_000 : 600_000);
