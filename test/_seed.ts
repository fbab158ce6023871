/** Runs before the tests: laws try the same values each time, but in `test:long`, which looks for new ones. */
import fc from "fast-check";

if (!process.env.CROCHET_TEST_LONG) fc.configureGlobal({ seed: 2026 });
