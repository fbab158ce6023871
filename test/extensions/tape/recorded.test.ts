import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { rows } from "../../_counts.ts";
import { GREETS, project, RECORD } from "./_recorded.ts";

test("recorded(): missing, recorded, replayed, drifted, recorded again; without the variable no request leaves", async () => {
  await using it = await project(GREETS);
  const missing = await it.run();
  assert.match(
    missing.said,
    /Cannot replay 'greets' as fixtures\/greets\/tape\.jsonl is missing: CROCHET_RECORD=1 (?:bun test|deno test -A)/,
  );
  assert.deepEqual([missing.ok, missing.asked], [false, 0]);

  const made = await it.run(RECORD);
  assert.deepEqual([made.ok, made.asked], [true, 1], made.said);
  const first = it.text();

  for (const env of rows(1, [RECORD, {}, { CROCHET_RECORD: "0" }])) {
    const same = await it.run(env);
    assert.deepEqual([same.ok, same.asked], [true, 0], same.said);
    assert.equal(it.text(), first, "nothing is recorded that is there and fits");
  }

  const drifted = await it.run({ TEXT: "hello" });
  assert.deepEqual([drifted.ok, drifted.asked, it.text() === first], [false, 0, true]);
  assert.match(drifted.said, /The run of 'greets' is not the recorded one:[^]*- hi[^]*\+ hello[^]*CROCHET_RECORD=1/);

  const again = await it.run({ TEXT: "hello", ...RECORD });
  assert.deepEqual([again.ok, again.asked], [true, 1], again.said);
  const after = await it.run({ TEXT: "hello" });
  assert.deepEqual([after.ok, after.asked], [true, 0], after.said);
});

test("recorded(): CI only replays", async () => {
  await using it = await project(GREETS);
  const refused = await it.run({ ...RECORD, CI: "1" });
  assert.deepEqual([refused.ok, refused.asked, existsSync(it.tape())], [false, 0, false]);
  assert.match(refused.said, /Cannot record as CI is set, and CI only replays tapes: record greets on your machine/);
  await it.run(RECORD);
  assert.equal((await it.run({ CI: "1" })).ok, true);
});

test("recorded(): fewer requests than were recorded are drift, and so is a request more", async () => {
  await using it = await project(`await recorded("greets", async () => {
    for (let i = 0; i < Number(process.env.TIMES); i++) {
      await ask("hi " + i).catch(() => {});
      if (process.env.FAIL) throw new Error("the body failed");
    }
  });`);
  assert.equal((await it.run({ ...RECORD, TIMES: "2" })).ok, true);
  assert.equal((await it.run({ TIMES: "2" })).ok, true);
  for (const TIMES of ["1", "3"]) {
    const { ok, said, asked } = await it.run({ TIMES });
    assert.deepEqual([ok, asked], [false, 0], said);
    assert.match(said, /The run of 'greets' is not the recorded one/);
  }
  const failed = await it.run({ TIMES: "2", FAIL: "1" });
  assert.match(failed.said, /the body failed/);
  assert.doesNotMatch(failed.said, /is not the recorded one/, "what it did not come to ask is not drift");
});

test("a request outside of recorded() is refused, even while recording", async () => {
  await using it = await project(`await ask("hi");`);
  for (const env of [{}, RECORD]) {
    const { ok, said, asked } = await it.run(env);
    assert.deepEqual([ok, asked], [false, 0]);
    assert.match(said, /Cannot ask a model here as no recorded\(\) runs: await recorded\("<name>", \(\) => …\)/);
  }
});
