import { after, test } from "node:test";
import { Bases, CASES, expectVerdict } from "./_verdict-cases.ts";

const bases = new Bases();
after(() => bases[Symbol.dispose]());

for (const given of CASES) {
  test(`${given.name}: ${given.word}`, () => expectVerdict(given, bases));
}
