import { after, test } from "node:test";
import { Bases, CASES, expectVerdict } from "./_verdict-cases.ts";

const bases = new Bases();
after(() => bases[Symbol.dispose]());

/** One of each kind; the whole table runs in verdict-cases.more.test.ts. */
const KINDS = ["tool-exits-and-catches", "deny-rule-removed", "tape-deleted-files-left", "stop-hook-throws"];

for (const given of CASES.filter(({ name }) => KINDS.includes(name))) {
  test(`${given.name}: ${given.word}`, { timeout: 600_000 }, () => expectVerdict(given, bases));
}
