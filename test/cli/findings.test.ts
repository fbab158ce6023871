import assert from "node:assert/strict";
import { test } from "node:test";
import replay from "../../lib/cli/replay.ts";
import { place } from "../_place.ts";

const FINDINGS = {
  absent: ["finding.json", '{ "by": "x" }', "Cannot replay absent as no extension here is named 'x'"],
  nobody: ["finding.json", "{}", /^Cannot replay nobody as \S+\/finding\.json does not say "by" which .*: add it$/],
  unread: ["finding.json", "{", /^Cannot replay unread as \S+\/finding\.json does not say "by" which .*: add it$/],
  list: ["finding.json", '{ "by": ["attack"] }', /does not say "by"/],
  old: ["attack.json", "{}", 'Cannot replay old as attack.json is finding.json now: rename it and add "by": "attack"'],
} as const;

test("a finding of an absent extension, of none, or of an old name cannot run: exit 2, and one sentence says why", async () => {
  for (const [name, [file, text, says]] of Object.entries(FINDINGS)) {
    using here = place({ [`fixtures/${name}/${file}`]: text, [`fixtures/${name}/tape.jsonl`]: "{}\n" });
    const { code, out } = await here.call(replay, name, "--trust", "--json");
    const { items } = JSON.parse(out);
    assert.deepEqual([code, items.length, items[0]?.word], [2, 1, "cannot run"], out);
    const { why } = items[0];
    if (typeof says === "string") assert.equal(why, says);
    else assert.match(why, says);
  }
});
