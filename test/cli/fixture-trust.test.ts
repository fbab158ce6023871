import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import fixtures from "../../lib/cli/fixtures.ts";
import replay from "../../lib/cli/replay.ts";
import trust from "../../lib/cli/trust.ts";
import view from "../../lib/cli/view.ts";
import { place } from "../_place.ts";

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
    const { code, err } = await c.here.call(replay, ...args);
    assert.equal(code, 1);
    assert.match(err, /are not trusted.*'crochet trust', or add --trust/);
  }
  for (const args of [["ls"], ["show", "run"], ["scan"], ["census"]]) {
    assert.doesNotMatch((await c.here.call(fixtures, ...args)).err, /trust/);
  }
  assert.doesNotMatch((await c.here.call(view, "run")).err, /trust/);
  assert.equal(c.isRun(), false);
});

test("U16: trust of fixtures is by directory: given by trust or --trust, not ended by a change, ended by --revoke", async () => {
  using c = checkout();
  c.here.put({ "fixtures/run/agent.ts": c.code, "fixtures/grade.ts": "", "fixtures/run/invariants.js": "" });
  const { err } = await c.here.call(replay, "--trust");
  assert.doesNotMatch(err, /not trusted/);
  assert.equal(c.isRun(), true);
  assert.match((await c.here.call(replay)).err, /are not trusted/);
  assert.match(
    (await c.here.call(trust)).out,
    /also when it changes:\n {2}fixtures\/\n {4}a replay runs fixtures\/grade\.ts, fixtures\/run\/agent\.ts, fixtures\/run\/invariants\.js\n/,
  );
  c.here.put({ "fixtures/run/agent.ts": `${c.code}// changed` });
  assert.doesNotMatch((await c.here.call(replay)).err, /not trusted/);
  assert.match((await c.here.call(trust, "--list")).out, / {2}fixtures: trusted\n/);
  await c.here.call(trust, "--revoke");
  assert.match((await c.here.call(replay)).err, /are not trusted/);
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
