import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { atWork, worker } from "./_turns.ts";

/** What the scripted API says that a call took. */
const PER_CALL = 15;

const LATE = worker({ says: "n >= 2 ? `other ${n}` : `did ${n}`" });
const TOLD =
  `hooks: { postToolUse: ({ tool_name }) => tool_name === "work" ? { action: "continue", context: "Mind" } : undefined },`;

// Kills: the runs of the ref made after those that continue them, and continued runs that count for the budget what they kept.
const AGAINST = ["told.ts", "--against", "agent.ts", "--runs", "6"] as const;

test("runs against another script continue its runs: only what differs is paid", async () => {
  await atWork({ "agent.ts": worker(), "told.ts": worker({ more: TOLD }) }, async ({ evaluated, lines }) => {
    const { code, out, err, paid } = await evaluated(...AGAINST, "--json");
    const summary = JSON.parse(out);
    assert.deepEqual([code, paid], [0, 84], err);
    assert.deepEqual([summary.paid.calls, summary.kept.calls], [84, 36]);
    assert.deepEqual(
      lines().filter(({ run }) => run.includes("/now/")).map(({ calls, kept }) => [calls, kept!.calls]),
      [
        ...Array(6).fill([10, 6]),
      ],
    );
    assert.deepEqual(summary.rows[0].cells.map(({ mean }: any) => mean.calls), [10, 10], "rates of whole runs");
    assert.ok(
      summary.rows[0].cells.every(({ interval }: any) => interval),
      "made after the code: rates may be claimed",
    );
    assert.deepEqual(summary.rows[0].pairs, { pairs: 6, broke: 0, fixed: 0 });
  }, 10);
});

test("a budget counts what is paid; --fresh and '.' share nothing", async () => {
  await atWork({ "agent.ts": worker(), "late.ts": LATE }, async ({ evaluated }) => {
    const within = async (share: number) => {
      const budget = `${(24 * PER_CALL * share / 1000).toFixed(3)}k`;
      return await evaluated("late.ts", "--against", "agent.ts", "--runs", "6", "--at-once", "1", "--budget", budget);
    };
    const enough = await within(1.2);
    assert.deepEqual([enough.code, enough.paid], [0, 24], enough.out);
    const poor = await within(0.6);
    assert.deepEqual([poor.code, poor.paid < 15], [3, true], poor.out);
    for (const [what, ...more] of [["agent.ts", "--fresh"], ["."]] as const) {
      const { code, paid, err, out } = await evaluated("late.ts", "--against", what, ...more, "--runs", "3");
      assert.deepEqual([code, paid], [0, 18], err);
      assert.doesNotMatch(out, /calls paid/);
    }
  });
});

test("against an earlier eval rates are not claimed: pairs are counted, and a line says what would be wrong", async () => {
  await atWork({ "agent.ts": worker(), "late.ts": LATE }, async ({ evaluated, last, w }) => {
    await evaluated("agent.ts", "--runs", "6");
    const id = last();
    const first = await evaluated("late.ts", "--runs", "7", "--against", id);
    assert.deepEqual([first.code, first.paid], [0, 9], "6, and all of a run that was not there");
    assert.match(
      first.out,
      /^\n0 now pass that failed, 0 now fail that passed; not shown to be worse than \S+ \(p 1\.000\)\n/,
    );
    assert.match(
      first.out,
      /\n9 of 21 calls paid\nrates would be wrong if the change was made by looking at these runs: --fresh\n/,
    );
    assert.doesNotMatch(first.out, /the rate differs/);
    const { rows: [row], mayFit } = JSON.parse(readFileSync(`${w.cwd}/.crochet/evals/last/summary.json`, "utf8"));
    assert.equal(mayFit, true);
    assert.deepEqual(
      row.cells.map(({ interval }: any) => interval !== undefined),
      [false, true],
      "that eval was fresh",
    );
    assert.deepEqual([row.difference, row.pairs], [undefined, { pairs: 6, broke: 0, fixed: 0 }]);
    const again = await evaluated("late.ts", "--runs", "6", "--against", last(), "--json");
    const second = JSON.parse(again.out);
    assert.deepEqual(
      [again.paid, second.paid.calls, second.kept.calls],
      [0, 0, 18],
      "a run that continued one is continued",
    );
    assert.deepEqual(second.rows[0].cells.map(({ interval }: any) => interval), [undefined, undefined]);
    const over = await evaluated("late.ts", "--runs", "4", "--against", last(), "--fresh");
    assert.deepEqual([over.code, over.paid], [0, 12], over.err);
    assert.doesNotMatch(over.out, /the rate differs/, "a rate that may fit is no measure of a fresh one");
    const refused = await evaluated("late.ts", "--against", id, "--at-least", "0.9");
    assert.deepEqual([refused.code, refused.paid], [2, 0]);
    assert.match(
      refused.err,
      /Cannot use --at-least with --against \S+ as the change may have been made by looking .*: add --fresh/,
    );
    const fresh = await evaluated("late.ts", "--runs", "3", "--against", id, "--at-least", "0.2", "--fresh");
    assert.deepEqual([fresh.code, fresh.paid], [0, 9], fresh.err);
    assert.match(fresh.out, /the rate differs by/);
  });
});
