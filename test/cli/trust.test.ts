import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import trust from "../../lib/cli/trust.ts";
import { place } from "../_place.ts";

test("crochet trust says what it trusts, and that what settings call is not covered", async () => {
  using w = place({ "hooks/stop.sh": "", ".claude/settings.json": "{}" });
  const { out, code } = await w.call(trust);
  assert.equal(code, 0);
  assert.match(out, / {2}hooks\n {2}\.claude\/settings\.json\nWhat their commands call is not covered/);
  w.put({ "hooks/stop.sh": "changed" });
  assert.match((await w.call(trust, ".")).out, / {2}hooks \(had changed\)\n/);
  rmSync(`${w.cwd}/.claude/settings.json`);
  assert.doesNotMatch((await w.call(trust)).out, /not covered/);
});

test("crochet trust --list tells what has changed since, --revoke ends it", async () => {
  using w = place({ "hooks/stop.sh": "", "hooks.yaml": "" });
  assert.equal((await w.call(trust, "--list")).out, "nothing is trusted\n");
  await w.call(trust);
  w.put({ "hooks.yaml": "# changed" });
  const { out } = await w.call(trust, "--list");
  assert.match(out, /\/project \(\S+\)\n {2}hooks: trusted\n {2}hooks\.yaml: changed\n/);
  assert.equal(JSON.parse((await w.call(trust, "--list", "--json")).out)[0].things.length, 2);
  assert.match((await w.call(trust, "--revoke")).out, /is no longer trusted; runs that have begun keep its hooks$/m);
  assert.match((await w.call(trust, "--revoke")).out, /was not trusted/);
});

test("crochet trust has nothing to do where nothing would run, and refuses what is not there", async () => {
  using w = place();
  assert.match((await w.call(trust)).out, /nothing in .* needs trust/);
  assert.equal((await w.call(trust, "none")).code, 2);
  assert.equal((await w.call(trust, "a", "b")).code, 2);
});
