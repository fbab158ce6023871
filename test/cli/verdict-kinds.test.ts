import { after, test } from "node:test";
import { rows } from "../_counts.ts";
import { Bases, CASES, expectVerdict } from "./_verdict-cases.ts";

const bases = new Bases();
after(() => bases[Symbol.dispose]());

/** One of each kind that verdict-cases.test.ts does not have. */
const KINDS = rows(2, ["program-unchanged", "guard-tool-misspelt", "attack-too-short"]);

for (const given of CASES.filter(({ name }) => KINDS.includes(name))) {
  test(`${given.name}: ${given.word}`, { timeout: 600_000 }, () => expectVerdict(given, bases));
}
