import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { evaluated, tossed, tosser } from "./_tossed.ts";

test(
  "an agent that is worse than another is refuted, by a script, with what failed and where to look",
  async () => {
    using w = await tossed("F");
    w.put({ "old.ts": tosser("P", "./") });
    const { code, out, err } = await evaluated(w, "--against", "old.ts", "--runs", "12", "--junit", "eval.xml");
    assert.equal(code, 1);
    assert.match(
      err,
      /\n12 runs find a drop from 90 % to 70 % in \d\d of 100 evals; \d\d runs in 80\n/,
      "what can be seen is said before it is paid",
    );
    assert.match(
      out,
      /^\n✗ worse on toss \(p < 0\.001\), compared with old\.ts\n\nfixture +now +95% +pass\^5 +old\.ts /,
    );
    assert.match(out, /\ntoss +0\/8 .* 8\/8 .*worse \(p < 0\.001\)\n/);
    assert.match(
      out,
      /\nthe rate differs by -100 points, between -100 and -\d\d \(97\.5%\)\nended early: the runs that are left would not/,
    );
    assert.match(
      out,
      / {2}toss {2}8 of 8: "it is good": it said bad\n {8}crochet view \.crochet\/evals\/last\/toss\/now\/1\n16 runs/,
    );
    const xml = readFileSync(`${w.cwd}/eval.xml`, "utf8");
    assert.match(xml, /name="crochet eval" tests="2" failures="2" errors="0" time="(?!0\.000)/);
    assert.match(xml, /<failure message="worse than old\.ts \(p &#60; 0\.001\): 0 of 8 passed"\/>/);
    assert.match(xml, /<failure message="worse on toss \(p &#60; 0\.001\), compared with old\.ts"\/>/);
    using same = await tossed("P");
    same.put({ "old.ts": tosser("P", "./") });
    const equal = await evaluated(same, "--against", "old.ts", "--runs", "3");
    assert.equal(equal.code, 0);
    assert.match(equal.out, /^\nnot shown to be worse than old\.ts \(p 1\.000\)\n[^]*\n6 runs/);
  },
);

test("--at-least fails only an agent whose whole interval lies below", async () => {
  for (const [outcomes, code] of [["PPPPF", 0], ["PF", 1], ["F", 1], ["P", 0]] as const) {
    using w = await tossed(outcomes);
    const { code: got, out } = await evaluated(w, "--at-least", "0.9", "--runs", "10");
    assert.equal(got, code, out);
    assert.match(out, code === 1 ? /^\n✗ below 0\.9 on toss\n/ : /^\nnot shown to be below 0\.9\n/);
  }
});

test("an invariant that no run puts to the test fails an eval; one that some do is reported", async () => {
  using w = await tossed("PF");
  const when = (word: string) => `when: ({ results }) => results.at(-1).text === "${word}", broken: () => undefined`;
  w.put({
    "fixtures/toss/invariants.ts": `export default [{ name: "bad ones", ${when("bad")} }, { name: "best ones", ${
      when("best")
    } }];\n`,
  });
  const { code, out } = await evaluated(w, "--runs", "4");
  assert.equal(code, 1);
  assert.match(out, /^\n✗ never put to the test: toss: "best ones"\n/);
  assert.match(out, /toss: "bad ones" was put to the test in 2 of 4 runs\n/);
});
