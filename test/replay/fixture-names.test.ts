import assert from "node:assert/strict";
import { test } from "node:test";
import { nameFor } from "../../lib/replay/fixture.ts";

const NAMES: readonly [prompt: string, name: string][] = [
  ["Fix the typo", "fix-the-typo"],
  ["  fix it:\nnow! ", "fix-it-now"],
  ["mende die Übersicht für später", "mende-die-ubersicht-fur-spater"],
  ["corrige le numéro ２", "corrige-le-numero-2"],
  ["修正错字", "run"],
  ["", "run"],
  [`${"word ".repeat(7)}four of`, "word-word-word-word-word-word-word-four"],
];

for (const [prompt, name] of NAMES) {
  test(`a fixture without a name is called by its prompt: ${name} of ${JSON.stringify(prompt)}`, () => {
    assert.equal(nameFor(prompt), name);
  });
}
