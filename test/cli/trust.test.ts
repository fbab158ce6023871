import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import trust from "../../lib/cli/trust.ts";
import { place } from "../_place.ts";

test("crochet trust says what it trusts, and that what settings call is not covered", async () => {
  using w = place({ "hooks/stop.sh": "", "hooks/_lib/a.ts": "", ".claude/settings.json": "{}" });
  const { out, code } = await w.call(trust);
  assert.equal(code, 0);
  assert.match(
    out,
    /:\n {2}hooks\/_lib\/a\.ts\n {2}hooks\/stop\.sh\n {2}\.claude\/settings\.json\nWhat their commands call/,
  );
  w.put({ "hooks/stop.sh": "changed", "hooks/stop.b.sh": "" });
  rmSync(`${w.cwd}/hooks/_lib`, { recursive: true });
  assert.match((await w.call(trust, "--list")).out, / {4}hooks\/stop\.b\.sh is new\n {4}hooks\/stop\.sh is changed\n/);
  const again = (await w.call(trust, ".")).out;
  assert.match(
    again,
    / {2}hooks\/stop\.b\.sh \(new\)\n {2}hooks\/stop\.sh \(changed\)\n {2}\.claude\/settings\.json\n/,
  );
  assert.match(again, / {2}hooks\/_lib\/a\.ts \(gone\)\n/);
  rmSync(`${w.cwd}/.claude/settings.json`);
  assert.doesNotMatch((await w.call(trust)).out, /not covered/);
});

test("crochet trust --list shows what has changed since, --revoke ends it", async () => {
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

test("crochet trust has nothing to do if nothing would run, and refuses a directory that does not exist", async () => {
  using w = place();
  assert.match((await w.call(trust)).out, /nothing in .* needs trust/);
  assert.equal((await w.call(trust, "none")).code, 2);
  assert.equal((await w.call(trust, "a", "b")).code, 2);
});
