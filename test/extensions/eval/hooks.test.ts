import assert from "node:assert/strict";
import { test } from "node:test";
import { HOOKS, pushed, requestsOf } from "./_pushed.ts";

// Kills: runs with hooks that are made first, and a hook that is tried where it changes nothing.
test("a hook is free until it speaks: the runs without it are paid whole, and those with it continue them", async () => {
  await pushed(["push", "notes"], HOOKS, async ({ w, changed }) => {
    const deny = ["--with", "deny/pre-tool-use@push.no-force.ts", "--runs", "6"];
    const { code, out, err, asked } = await changed("FP", ...deny);
    assert.equal(code, 0, err);
    assert.match(
      err,
      /^changes 1 of 2 fixtures \(replayed, free\)\n1 fixture x 2 x 6 runs: at most .*; the whole of 'without' is paid, and of 'with' what differs from it\n6 pairs can show a change of 83 points\n/,
    );
    assert.match(
      out,
      /^\nhelps: \+100 points where it speaks \(8 to 100\), \+50 over all 2 fixtures\n\nfixture +with .* without .*\npush +6\/6 .* 0\/6 .*\n\nnotes: never speaks\n24 of 36 calls paid\n/,
    );
    assert.deepEqual(
      asked,
      Array(6).fill(["1", "3", "5", "5"]).flat(),
      "one call of each run with it is made, the third",
    );
    const [now, then] = [await requestsOf(w, "push/with/1"), await requestsOf(w, "push/without/1")];
    assert.deepEqual(now.slice(0, 2), then.slice(0, 2), "before it speaks both ask the same");
    assert.match(now[2]!, /No force/);
    assert.match(then[2]!, /forced/);
    const again = await changed("PF", "--with", "deny", "--runs", "6", "--json");
    assert.equal(again.code, 1, again.err);
    const { hooks, conclusion, paid, kept } = JSON.parse(again.out);
    assert.deepEqual([hooks.rate, hooks.pairs, hooks.unchanged], [-1, 6, { notes: "never speaks" }]);
    assert.deepEqual([paid.calls, kept.calls], [24, 12]);
    assert.match(conclusion.words, /^hurts: -100 points/);
    const none = await changed("PPPF", "--with", "deny", "--runs", "6");
    assert.equal(none.code, 0);
    assert.match(none.out, /^\nno difference shown: -50 points \(-92 to \d+\)\n/);
    const few = await changed("P", "--with", "deny", "--runs", "5");
    assert.deepEqual([few.code, few.asked], [2, []]);
    assert.match(few.err, /Cannot tell anything from 5 runs of 1 fixture, whatever comes of them: raise --runs/);
  });
});

test("a hook that says nothing, or nothing that counts, is decoration, and nothing is paid for it", async () => {
  await pushed(["push", "notes"], HOOKS, async ({ changed }) => {
    const silent = await changed("F", "--with", "silent");
    assert.deepEqual([silent.code, silent.asked, silent.err], [0, [], "changes 0 of 2 fixtures (replayed, free)\n"]);
    const fixtures = "notes: never speaks\npush: never speaks\n";
    assert.equal(silent.out, `\ndecoration: it changes 0 of 2 fixtures\n\n${fixtures}held: 3 claims\n`);
    const fine = await changed("F", "--with", "allow", "--json");
    assert.deepEqual([fine.code, fine.asked], [0, []]);
    const { hooks, paid } = JSON.parse(fine.out);
    assert.deepEqual(hooks.unchanged, { notes: "never speaks", push: "speaks, changes nothing" });
    assert.equal(paid.calls, 0);
  });
});

const REFUSED: readonly [args: readonly string[], words: RegExp][] = [
  [["--with", "gone.ts"], /Cannot evaluate with 'gone.ts' as there is no such file or folder: name a hook file, or/],
  [["--with", "empty"], /Cannot evaluate with 'empty' as it has no hooks: name the folder that has the files/],
  [["--with", "agent.ts"], /Cannot load hook 'agent.ts' as /],
  [["--with", "deny", "--without", "x"], /Cannot use --without with --with as it compares with and without hooks/],
  [["--with", "deny", "--against", "HEAD"], /Cannot use --against with --with as it compares with and without hooks/],
  [["--without", "x", "--model", "y"], /Cannot use --model with --without as it compares with and without hooks/],
  [["--with", "deny", "--resume"], /Cannot (find an eval|use --with with --resume)/],
];

test("an eval about hooks is refused before anything is replayed if it is not said well", async () => {
  await pushed([], { ...HOOKS, "empty/_shared.ts": "" }, async ({ changed }) => {
    for (const [args, words] of REFUSED) {
      const { code, err } = await changed("P", ...args);
      assert.ok(code === 2 || args.includes("--resume"), err);
      assert.match(err, words);
    }
  });
});

// Kills: a hook that fails, and is taken for one that changes something.
test("a hook that fails is named with its error, and nothing is paid for it", async () => {
  const files = {
    "guards/stop.boom.ts": `export default () => { throw new Error("no such branch"); };\n`,
    "shut/pre-tool-use@push.shut.sh": "#!/bin/sh\necho shut >&2\nexit 1\n",
  };
  await pushed(["push"], files, async ({ changed }) => {
    for (
      const [path, words] of [
        ["guards/stop.boom.ts", /as stop\.boom\.ts fails on push: no such branch: correct the hook/],
        ["shut", /as pre-tool-use@push\.shut\.sh fails on push: .*: shut: correct the hook/],
      ] as const
    ) {
      const { code, err, asked } = await changed("P", "--with", path, "--runs", "6");
      assert.deepEqual([code, asked], [2, []], err);
      assert.match(err, /^crochet: Cannot tell what .* changes/);
      assert.match(err, words);
    }
  });
});
