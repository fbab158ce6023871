import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import doctor from "../../lib/extensions/setup/doctor.ts";
import fixtures from "../../lib/cli/fixtures.ts";
import replay from "../../lib/cli/replay.ts";
import trust from "../../lib/cli/trust.ts";
import view from "../../lib/extensions/view/command.ts";
import { place } from "../_place.ts";
import { recorded } from "./_recorded.ts";

const KEEP_GOING = fileURLToPath(new URL("../../fixtures/keep-going/tape.jsonl", import.meta.url));

/** A checkout whose fixture leaves a mark wherever it is loaded. */
function checkout(header: object = {}) {
  const [first, ...rest] = readFileSync(KEEP_GOING, "utf8").split("\n");
  const { agent: _, ...known } = JSON.parse(first!);
  const here = place({ "fixtures/run/tape.jsonl": [JSON.stringify({ ...known, ...header }), ...rest].join("\n") });
  const mark = join(here.cwd, "pwned");
  const code = `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\n`;
  return { here, code, isRun: () => existsSync(mark), [Symbol.dispose]: () => here[Symbol.dispose]() };
}

test("U16: replay of fixtures that were not trusted runs nothing and says 'crochet trust', also if CI is set", async () => {
  using c = checkout();
  c.here.put({ "fixtures/run/agent.ts": c.code, "fixtures/run/invariants.ts": c.code });
  for (const args of [[], ["run"], ["--faults", "2"], ["--verify"], ["fixtures"], ["--update"]]) {
    c.here.env.CI = "1";
    const { code, err, out } = await c.here.call(replay, ...args);
    assert.equal(code, 2);
    assert.match(out + err, /fixtures\/run is not trusted: .*'crochet trust', or add --trust/);
  }
  for (const args of [["ls"], ["show", "run"], ["scan"]]) {
    assert.doesNotMatch((await c.here.call(fixtures, ...args)).err, /trust/);
  }
  assert.doesNotMatch((await c.here.call(view, "run")).err, /trust/);
  assert.equal(c.isRun(), false);
});

test("U16: trust is per fixture: given by trust or --trust, not ended by a change, not had by a later one", async () => {
  using c = checkout();
  c.here.put({ "fixtures/run/agent.ts": c.code, "fixtures/grade.ts": "", "fixtures/run/invariants.js": "" });
  await c.here.call(replay, "--trust");
  assert.equal(c.isRun(), true);
  assert.match((await c.here.call(replay)).out, /fixtures\/run, fixtures\/grade\.ts are not trusted/);
  assert.match(
    (await c.here.call(trust)).out,
    /also when they change:\n {2}fixtures\/grade\.ts\n {2}fixtures\/run\n {4}a replay runs fixtures\/grade\.ts, fixtures\/run\/agent\.ts, fixtures\/run\/invariants\.js\n/,
  );
  c.here.put({ "fixtures/run/agent.ts": `${c.code}// changed` });
  assert.doesNotMatch((await c.here.call(replay)).out, /not trusted/);
  assert.match(
    (await c.here.call(trust, "--list")).out,
    / {2}fixtures\/grade\.ts: trusted\n {2}fixtures\/run: trusted\n/,
  );
  rmSync(join(c.here.cwd, "pwned"));
  c.here.put({
    "fixtures/later/tape.jsonl": readFileSync(join(c.here.cwd, "fixtures/run/tape.jsonl"), "utf8"),
    "fixtures/later/agent.ts": c.code,
    "fixtures/run/agent.ts": "",
  });
  const { code, out } = await c.here.call(replay);
  assert.match(out, /^later +cannot run +-/m);
  assert.match(out, /fixtures\/later is not trusted/);
  assert.doesNotMatch(out, /fixtures\/run is/);
  assert.deepEqual([code, c.isRun()], [1, false]);
  await c.here.call(trust, "--revoke");
  assert.match((await c.here.call(replay, "run")).out, /not trusted/);
});

test(
  "U16: recording a fixture trusts that fixture alone, and neither another nor what all of them share",
  async () => {
    for (const planted of ["fixtures/run/agent.ts", "fixtures/invariants.ts"]) {
      using c = checkout();
      c.here.put({ [planted]: c.code });
      await recorded(c.here, ["--fixture", "mine"]);
      const { out } = await c.here.call(replay);
      assert.match(out, new RegExp(`${planted.replace("/agent.ts", "")} .*not trusted`));
      assert.match(out, planted.endsWith("agent.ts") ? /^mine +held/m : /^mine +cannot run/m);
      await c.here.call(doctor);
      assert.equal(c.isRun(), false, planted);
    }
  },
);

test("U16: a recorded command is trusted by its words: as it was recorded it runs, changed it does not", async () => {
  using c = checkout({ command: ["true"] });
  await c.here.call(trust);
  assert.doesNotMatch((await c.here.call(replay, "run", "--faults", "1")).err, /not trusted/);
  const path = join(c.here.cwd, "fixtures/run/tape.jsonl");
  writeFileSync(path, readFileSync(path, "utf8").replace('"command":["true"]', '"command":["true","&"]'));
  assert.match((await c.here.call(replay, "run", "--faults", "1")).err, /fixtures\/run is not trusted/);
  assert.match((await c.here.call(trust, "--list")).out, / {2}fixtures\/run: changed\n/);
  assert.match((await c.here.call(trust)).out, /fixtures\/run, until its command changes: true '&'\n/);
});

test("U16: doctor runs nothing of a project, however much of it is trusted", async () => {
  using c = checkout();
  c.here.put({
    "fixtures/run/agent.ts": c.code,
    "fixtures/invariants.ts": c.code,
    "hooks/stop.ts": `${c.code}export default () => undefined;\n`,
  });
  await c.here.call(trust);
  const { out } = await c.here.call(doctor);
  assert.equal(c.isRun(), false);
  assert.match(out, /loads 1 hook/);
  assert.match(out, /✓ fixtures +1 of 1 can be read/);
});

test("U16: a tape whose agent leads out of the project, by its path or by a link, is refused", async () => {
  for (const agent of ["../../../outside/agent.ts", "../../link/agent.ts", "{HOME}/agent.ts", "/tmp/agent.ts"]) {
    using c = checkout({ agent });
    const outside = join(c.here.cwd, "../outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "agent.ts"), c.code);
    symlinkSync(outside, join(c.here.cwd, "link"));
    const { out, err, code } = await c.here.call(replay, "--trust");
    assert.equal(code, 1);
    assert.match(out + err, /which is outside the project/);
    assert.equal(c.isRun(), false);
  }
});
