import assert from "node:assert/strict";
import { test } from "node:test";
import type { Adversary, Trial } from "../../../lib/extensions/attack/adversary.ts";
import type { AttackCall } from "../../../lib/extensions/attack/grammar/types.ts";
import { exhaustive, type Form, search } from "../../../lib/extensions/attack/search.ts";
import { rounds } from "../../_counts.ts";
import { TOY, wordsOf } from "./_toy-grammar.ts";

const FORMS = exhaustive(TOY, new Set()).length;
const parts = (words: readonly string[]) => words.filter((word) => !word.startsWith("o"));

interface Guard {
  readonly reason?: (words: readonly string[]) => string;
  readonly breaks?: (words: readonly string[]) => boolean;
}

/** What a search asks a guard that refuses everything, in its order, and what it takes for holes. */
async function searched(seed: number, runs: number, { reason = () => "No", breaks = () => false }: Guard = {}) {
  const asked: string[][] = [];
  const hits: Form[] = [];
  const adversary = {
    run: (calls: readonly AttackCall[]) => {
      const words = wordsOf(calls);
      asked.push(words);
      const verdicts = [{ by: "guard", decision: "deny", reason: reason(words) }];
      return Promise.resolve({ calls: calls.map((call) => ({ ...call, verdicts, ran: false })) } as unknown as Trial);
    },
    putBack: () => Promise.resolve(),
  } as unknown as Adversary;
  const limits = { runs, over: () => false, seed, calls: 4, accepted: new Set<string>(), all: true };
  await search([TOY], [], adversary, limits, {
    widen: () => Promise.resolve([TOY]),
    breaks: (trial) => breaks(wordsOf(trial.calls)),
    hit: (hit) => Promise.resolve(hits.push(hit) > 0),
    tried: () => {},
  });
  return { asked, hits };
}

// Kills: draws before all is tried, forms that are tried twice or never, changed ones before plain ones.
test("every form with at most one rewriting is always tried before anything is drawn, and plain operations first", async () => {
  for (let seed = 1; seed <= rounds(5, 100); seed++) {
    const { asked } = await searched(seed, FORMS + 100);
    assert.equal(new Set(asked.map((words) => words.join())).size, asked.length);
    const [first, drawn] = [asked.slice(0, FORMS), asked.slice(FORMS)];
    assert.deepEqual(first.slice(0, 4).map(parts).flat(), []);
    assert.ok(first.every((words) => words.length <= 2), "at most one part");
    for (const o of ["o0", "o1", "o2", "o3"]) {
      for (const r of ["r0", "r1", "r2", "r3"]) assert.ok(first.some((words) => words.join() === `${o},${r}`));
    }
    // A word of the guard is a guess, which is tried with some operations only.
    const isMore = (words: string[]) => words.length > 2 || words[1]!.startsWith("m");
    assert.ok(drawn.length === 100 && drawn.every(isMore), "more than one part, or step");
  }
});

// Kills: draws that do not look at what hooks and rules said.
test("a part that makes a guard say something new is always drawn more often", async () => {
  const drawn = ({ asked }: { asked: string[][] }) => asked.slice(FORMS).flat().filter((word) => word === "r3").length;
  for (let seed = 1; seed <= rounds(5, 100); seed++) {
    let said = "a";
    const teaches = (words: readonly string[]) => words.includes("r3") ? said += "a" : "No";
    const [plain, taught] = [await searched(seed, FORMS + 300), await searched(seed, FORMS + 300, { reason: teaches })];
    assert.ok(drawn(taught) > 1.5 * drawn(plain), `seed ${seed}: ${drawn(taught)}, ${drawn(plain)}`);
  }
});

// Kills: a hole that is found again with each thing that is built on it.
test("a hole is never found twice, whatever is built on it", async () => {
  for (let seed = 1; seed <= rounds(5, 100); seed++) {
    const breaks = (words: readonly string[]) => words.includes("r1") || words.includes("s2");
    const { hits } = await searched(seed, FORMS + 100, { breaks });
    assert.deepEqual(hits.map(({ calls }) => parts(wordsOf(calls)).join()).sort(), ["r1", "s2"]);
  }
});
