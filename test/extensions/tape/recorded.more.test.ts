import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { test } from "node:test";
import { GREETS, OF_AN_AGENT, project, RECORD, RUNNER } from "./_recorded.ts";

test("recorded(): one at a time, and what asks nothing has tested nothing", async () => {
  await using two = await project(`
  const both = await Promise.allSettled([recorded("greets", () => ask("a")), recorded("other", () => ask("b"))]);
  throw new Error(both.map(({ status, reason }) => status + " " + reason?.message).join(", "));`);
  assert.match(
    (await two.run(RECORD)).said,
    /fulfilled undefined, rejected Cannot run 'other' as 'greets' runs at the same time: let tests with recorded\(\) run one by one/,
  );
  await using silent = await project(`await recorded("greets", () => process.env.TEXT && ask("hi"));`);
  const none = await silent.run(RECORD);
  assert.match(none.said, /Cannot record 'greets' as no request came: preload crochet\/testing\/preload/);
  assert.deepEqual([none.ok, existsSync(silent.tape())], [false, false]);
  assert.equal((await silent.run({ ...RECORD, TEXT: "hi" })).ok, true);
  const less = await silent.run();
  assert.match(less.said, /Cannot replay 'greets' as no request came: preload crochet\/testing\/preload/);
  assert.deepEqual([less.ok, less.asked], [false, 0]);
});

test("a process that the test starts with a desk of its own records from the real API, or from where it is told", async () => {
  await using it = await project(`
  const { execFileSync } = await import("node:child_process");
  if (process.env.INNER) await recorded("greets", () => ask("hi"));
  else {
    const [program, ...args] = JSON.parse(process.env.AGAIN);
    execFileSync(program, args, { env: { ...process.env, INNER: "1", ...JSON.parse(process.env.SET) } });
  }`);
  const nowhere = { ANTHROPIC_BASE_URL: "http://127.0.0.1:9", SET: JSON.stringify({ ANTHROPIC_BASE_URL: it.url }) };
  for (const given of [{ SET: "{}" }, nowhere]) {
    rmSync(it.tape(), { force: true });
    const { ok, asked, said } = await it.run({ ...RECORD, AGAIN: JSON.stringify(RUNNER), ...given });
    assert.deepEqual([ok, asked], [true, 1], said);
  }
});

test("replay() records what is missing or drifts if CROCHET_RECORD is set, beside a preload too", async () => {
  await using it = await project(
    `
  const greeter = agent({ model: scripted([{ text: "to " + TEXT }]), system: TEXT });
  const { text } = await replay(greeter, "greets", { prompt: "go" });
  if (text !== "to " + TEXT) throw new Error(text);`,
    OF_AN_AGENT,
  );
  assert.match((await it.run()).said, /fixtures\/greets\/tape\.jsonl is missing, and there is no ANTHROPIC_API_KEY/);
  assert.equal((await it.run(RECORD)).ok, true);
  const first = it.text();
  assert.equal((await it.run()).ok, true);
  const drifted = await it.run({ TEXT: "hello" });
  assert.deepEqual([drifted.ok, it.text() === first], [false, true]);
  assert.equal((await it.run({ TEXT: "hello", ...RECORD, CI: "1" })).ok, false);
  assert.equal((await it.run({ TEXT: "hello", ...RECORD })).ok, true);
  assert.equal((await it.run({ TEXT: "hello" })).ok, true);
});

test("recorded(): a body that fails keeps no tape, and the one that is there", async () => {
  await using it = await project(GREETS);
  const failed = await it.run({ ...RECORD, FAIL: "1" });
  assert.match(failed.said, /the body failed/);
  assert.deepEqual([failed.ok, failed.asked, existsSync(it.tape())], [false, 1, false]);
  await it.run(RECORD);
  const first = it.text();
  const still = await it.run({ ...RECORD, FAIL: "1" });
  assert.deepEqual([still.ok, still.asked, it.text() === first], [false, 0, true], "its failure is not drift");
  assert.match(still.said, /the body failed/);
  const drifted = await it.run({ ...RECORD, FAIL: "1", TEXT: "hello" });
  assert.deepEqual([drifted.ok, drifted.asked, it.text() === first], [false, 1, true]);
});
