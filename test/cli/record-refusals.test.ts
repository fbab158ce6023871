import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";
import { agentScript, asked, HOOK, LONG, recorded, SYSTEM } from "./_recorded.ts";

const TAPE = "fixtures/fix-the-typo/tape.jsonl";

test("a run that never reached a model is not kept, and leaves no files for the next recording", LONG, async () => {
  using here = place();
  here.put({
    "agent.ts": agentScript(SYSTEM),
    "hooks/stop.ts": HOOK,
    "tea.md": "a",
  });
  const { code, out, err } = await here.crochet(["record", "agent.ts", "fix the typo"]);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^crochet: Cannot record \S+ as the model could not be asked: .*set ANTHROPIC_API_KEY/);
  assert.equal(existsSync(join(here.cwd, "fixtures/fix-the-typo")), false);
  await recorded(here);
  assert.equal(readFileSync(join(here.cwd, "fixtures/fix-the-typo/files/tea.md"), "utf8"), "over teh leaves\n");
});

test("replay --update never puts a failure in the place of a run that went well", LONG, async () => {
  using here = place();
  await recorded(here);
  const before = readFileSync(join(here.cwd, TAPE), "utf8");
  here.put({ "agent.ts": agentScript(SYSTEM.replace("brief", "very brief")) });
  const unasked = await here.crochet(["replay", "--update"]);
  assert.equal(unasked.code, 1);
  assert.match(unasked.out, /fix-the-typo +error[\s\S]*Cannot update \S+ as the model could not be asked: /);
  assert.equal(readFileSync(join(here.cwd, TAPE), "utf8"), before);

  await using server = await scriptedServer([], { then: { http: 400 } });
  const env = asked(server);
  const failed = await here.crochet(["replay", "--update"], env);
  assert.equal(failed.code, 1);
  assert.match(failed.out, /the run ended with an error, and the tape is left as it was: Cannot call the model/);
  assert.equal(readFileSync(join(here.cwd, TAPE), "utf8"), before);
});

test("replay takes several names, and refuses what it cannot do before it begins", LONG, async () => {
  using here = place();
  await recorded(here);
  await recorded(here, ["--fixture", "again"]);
  writeFileSync(join(here.cwd, "tea.md"), "");
  const both = await here.crochet(["replay", "fix-the-typo", "again", "fixtures"]);
  assert.equal(both.code, 0, both.out);
  assert.deepEqual([...both.out.matchAll(/^(\S+) +ok/gm)].map(([, name]) => name), ["fix-the-typo", "again"]);
  const nowhere = await here.crochet(["replay", "--hooks", "nowhere", "--shadow"]);
  assert.deepEqual([nowhere.code, nowhere.err], [
    2,
    "crochet: Cannot load hooks of 'nowhere' as there is no such folder\n",
  ]);
  const none = await here.crochet(["replay", "again", "--faults", "0"]);
  assert.deepEqual([none.code, none.err], [
    2,
    "crochet: Cannot search 0 schedules of faults as that is no number of them: --faults 100\n",
  ]);
  here.put({
    "fixtures/again/invariants.ts": `export default [{ name: "mine", broken: (seen) => seen.nothing.text }];\n`,
  });
  const thrown = await here.crochet(["replay", "again", "--faults", "3"]);
  assert.equal(thrown.code, 1);
  assert.match(thrown.out, /Cannot judge a run by invariant 'mine' as it threw: /);
  const show = await here.crochet(["fixtures", "show", "nothing"]);
  assert.deepEqual([show.code, show.err], [
    2,
    "crochet: Cannot show 'nothing' as there is no such fixture: crochet fixtures ls\n",
  ]);
});
