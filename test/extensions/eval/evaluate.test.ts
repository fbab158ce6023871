import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { callMatchers } from "../../../lib/testing/call-matchers.ts";
import { evaluate } from "../../../lib/testing/index.ts";
import { agent } from "../../../lib/agent/agent.ts";
import { atClerk, CASES as cases } from "./_desk.ts";

type Options = Parameters<typeof evaluate>[1];

test("a test evaluates an agent: a function grades each run by its calls and files, and throws where a rate is too low", async () => {
  await atClerk(async (agent, asked, w) => {
    let most = 0;
    const grade: Options["grade"] = (run) => {
      most = Math.max(most, run.calls().length);
      const called = callMatchers.toHaveCalled.call({}, run, "Write", { content: "17" });
      assert.ok(called.pass, called.message());
      assert.deepEqual([run.text, run.stop, Object.keys(run.files)], ["done", "done", ["orders.txt", "refunded.txt"]]);
    };
    const good = await evaluate("refunds", { agent, cases, grade, runs: 2, budget: 1 });
    assert.deepEqual([good.conclusion.words, good.rows[0]!.cells[0]!.passed, most], ["passed 2 of 2 runs", 2, 1]);
    assert.equal(asked().length, 4);
    const bad = await evaluate("refunds", {
      ...{ agent, cases, runs: 2, atLeast: 0.9, budget: "500k" },
      grade: () => assert.fail("it is\nnot polite"),
    }).catch((error) => error);
    assert.match(
      bad.message,
      /^Cannot accept 'refunds' as its runs say:\n\n✗ below 0\.9 on refund\n\nfixture [^]*\nrefund +0\/\d +0-\d\d% [^]*"grade": it is not polite\n +crochet view /,
    );
    assert.ok(existsSync(`${w.cwd}/.crochet/evals/last/summary.json`), "crochet view shows it");
    const before = asked().length;
    await assert.rejects(evaluate("refunds", { agent, cases, grade, budget: 0 }), /the budget ended before the first/);
    assert.equal(asked().length, before, "nothing is paid of a budget of nothing");
  });
});

test("what is wrong with an evaluation is a TypeError with the remedy, before anything is asked", async () => {
  await atClerk(async (clerk, asked) => {
    const given = { agent: clerk, cases, grade: () => {}, budget: 1 };
    const refused: [options: object, words: RegExp][] = [
      [
        { budget: undefined },
        /Cannot evaluate 'refunds' as it has no budget: give it 'budget', in dollars, or tokens as "500k"/,
      ],
      [{ budget: "much" }, /as it is neither dollars nor tokens/],
      [{ grade: undefined }, /as nothing says when a run passes: give it 'grade'/],
      [{ command: "a" }, /as it needs one of them: 'agent' or 'command'/],
      [{ agent: undefined }, /as it needs one of them: 'agent' or 'command'/],
      [{ agent: agent({}) }, /as its agent does not say where it is: agent\(\{ from: import\.meta\.url, … \}\)/],
      [
        { agent: undefined, command: "a" },
        /as cases\.0: its 'prompt' goes nowhere: write '\{prompt\}' into the command/,
      ],
      [{ cases: [] }, /^Cannot evaluate 'refunds' as cases: it has no cases: /],
      [{ cases: [{ name: "a", promt: "b" }] }, /cases\.0\.promt: option 'promt' is unknown: did you mean 'prompt'/],
      [
        { cases: [{ ...cases[0], grade: "true" }] },
        /Cannot evaluate 'refund' as it has a 'grade' of its own: grade it in the/,
      ],
      [{ cases: [{ ...cases[0], files: "gone" }] }, /as its files, gone, are not a folder/],
      [{ runs: 0 }, /as it is not a whole number from 1/],
      [{ atLeast: 90 }, /as it is not between 0 and 1/],
      [{ atLeast: 0.9, runs: 1 }, /Cannot tell anything from 1 run of 1 fixture/],
      [{ tries: 3 }, /Cannot evaluate 'refunds' as option 'tries' is unknown/],
    ];
    for (const [more, words] of refused) {
      const error = await evaluate("refunds", { ...given, ...more } as Options).catch((error) => error);
      assert.match(error.message, words);
      assert.ok(error instanceof TypeError, String(error));
    }
    assert.deepEqual(asked(), []);
  });
});

test("a Node that is too old is named, with what to use", async () => {
  const own = Object.getOwnPropertyDescriptor(Promise, "withResolvers")!;
  Reflect.deleteProperty(Promise, "withResolvers");
  const came = evaluate("refunds", {} as Options);
  Object.defineProperty(Promise, "withResolvers", own);
  await assert.rejects(
    came,
    /^TypeError: Cannot evaluate 'refunds' as Node .* is too old: use Bun, Deno, or Node 22\.18/,
  );
});
