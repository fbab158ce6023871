import assert from "node:assert/strict";
import { test } from "node:test";
import { readTape } from "../../lib/testing/index.ts";
import { changed, HOOKS, pushed, requestsOf } from "./_pushed.ts";

// Kills: a fork one call late, and one that counts the recorded suffix: then the arm without the hook asks less.
test(
  "a hook is free until it speaks, then both ways are run live, and the table says what it changes",
  async () => {
    using w = await pushed(["push", "notes"], HOOKS);
    const { code, out, err, asked } = await changed(
      w,
      "PF",
      "--with",
      "deny/pre-tool-use@push.no-force.ts",
      "--runs",
      "3",
    );
    assert.equal(code, 0, err);
    assert.equal(
      err,
      "changes 1 of 2 fixtures (replayed, free); 6 runs from there: about 90 tokens, whole runs 270 tokens\n" +
        "3 pairs can show a change of 100 points\n",
    );
    assert.equal(
      out,
      `
fixture  from    with  without  cost  calls
push     main#3  3/3   0/3      0%    0
notes    never speaks

helps: +100 points where it speaks (8 to 100), +50 over all 2 fixtures, given what was recorded before
6 runs, 90 tokens
held: 3 claims
`,
    );
    assert.deepEqual(asked, Array(6).fill("5"), "one call of each run is made, the third");
    const [now, then] = [await requestsOf(w, "push/with/1"), await requestsOf(w, "push/without/1")];
    const recorded = (await readTape(`${w.cwd}/fixtures/push/tape.jsonl`)).calls.map(({ request }) => request);
    assert.deepEqual(now.slice(0, 2), then.slice(0, 2), "before the fork both arms ask the same");
    assert.deepEqual([recorded.length, now.length, then.length], [3, 3, 3]);
    assert.match(now[2]!, /No force/);
    assert.match(then[2]!, /forced/);
    const again = await changed(w, "FP", "--with", "deny", "--runs", "3", "--json");
    assert.equal(again.code, 1, again.err);
    const { hooks, conclusion } = JSON.parse(again.out);
    assert.deepEqual([hooks.rate, hooks.pairs, hooks.unchanged], [-1, 3, { notes: "never speaks" }]);
    assert.match(conclusion.words, /^hurts: -100 points/);
  },
);

test("a hook that says nothing, or nothing that counts, is decoration, and nothing is paid for it", async () => {
  using w = await pushed(["push", "notes"], HOOKS);
  const silent = await changed(w, "F", "--with", "silent");
  assert.deepEqual([silent.code, silent.asked, silent.err], [0, [], "changes 0 of 2 fixtures (replayed, free)\n"]);
  assert.equal(
    silent.out,
    "\nnotes    never speaks\npush     never speaks\n\ndecoration: it changes 0 of 2 fixtures\nheld: 3 claims\n",
  );
  const fine = await changed(w, "F", "--with", "allow");
  assert.deepEqual([fine.code, fine.asked], [0, []]);
  assert.match(fine.out, /\nnotes +never speaks\npush +speaks, changes nothing\n\ndecoration: /);
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
  using w = await pushed([], { ...HOOKS, "empty/_shared.ts": "" });
  for (const [args, words] of REFUSED) {
    const { code, err } = await changed(w, "P", ...args);
    assert.ok(code === 2 || args.includes("--resume"), err);
    assert.match(err, words);
  }
});
