import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/index.ts";
import { type Place, place } from "../_place.ts";
import { agentScript, asked, LONG, recorded, SYSTEM } from "./_recorded.ts";

const NAME = "fix-the-typo";

const tapeOf = (here: Place) => readFileSync(join(here.cwd, "fixtures", NAME, "tape.jsonl"), "utf8");
const replies = (tape: string) => tape.split("\n").filter((line) => line.startsWith('{"events"'));
const review = (here: Place, keys: string) => here.crochet(["replay", "--review", "--trust"], {}, keys);

test(
  "one word of the system prompt is shown once, accepted, and its replies are stale until they are updated",
  LONG,
  async () => {
    using here = place();
    await recorded(here);
    const before = tapeOf(here);
    here.put({ "agent.ts": agentScript(SYSTEM.replace("brief", "thorough")) });

    const skipped = await review(here, "s\n");
    assert.deepEqual([skipped.code, skipped.err], [1, ""]);
    assert.match(
      skipped.out,
      /1 of 1 {2}prompt: system {3}fix-the-typo 4 calls\n {4}- You are brief\.\n {4}\+ You are thorough\.\n/,
    );
    assert.match(skipped.out, /fix-the-typo: not changed, 1 difference left\n/);
    assert.equal(tapeOf(here), before);
    const quit = await review(here, "");
    assert.deepEqual([quit.code, tapeOf(here)], [1, before], "an input that ends accepts nothing");

    const accepted = await review(here, "x\na\n");
    assert.match(accepted.out, /fix-the-typo: accepted, 4 replies stale\n/);
    assert.equal(accepted.code, 0);
    assert.deepEqual(replies(tapeOf(here)), replies(before));
    assert.equal(tapeOf(here).match(/"stale":\["system"\]/g)?.length, 4);
    assert.match((await review(here, "")).out, /nothing to review/);

    const { code, out } = await here.crochet(["replay", "--trust"]);
    assert.equal(code, 0);
    assert.match(out, /fix-the-typo +ok, 4 stale +4\/4/);
    const junit = (...flags: string[]) => here.crochet(["replay", "--trust", "--junit", "r.xml", ...flags]);
    const report = () => readFileSync(join(here.cwd, "r.xml"), "utf8");
    assert.equal((await junit()).code, 0);
    assert.match(report(), /failures="0"[^]*<system-out>stale: 4 replies answer an earlier request/);
    const strict = await junit("--no-stale");
    assert.equal(strict.code, 1);
    assert.match(
      strict.out,
      /fix-the-typo +stale +4\/4[^]*✗ fix-the-typo\n {2}stale: 4 replies .*: crochet replay .* --update\n/,
    );
    assert.match(report(), /failures="1"[^]*<failure message="stale: 4 replies/);
    assert.match((await here.crochet(["fixtures", "ls"])).out, /fixture +calls +stale.*\nfix-the-typo +4 +4 /);

    await using server = await scriptedServer([{ text: "There was nothing to fix." }]);
    const updated = await here.crochet(["replay", "--trust", "--update"], asked(server));
    assert.equal(updated.code, 0, updated.err);
    assert.match(updated.out, /0 kept, 1 new/);
    server.done();
    assert.doesNotMatch(tapeOf(here), /"stale"/);
  },
);

test("a difference of digits can be declared not to count: then no reply is stale", LONG, async () => {
  using here = place();
  await recorded(here);
  here.put({ "hooks/user-prompt-submit.day.ts": dayHook(3) });
  await here.crochet(["replay", "--review", "--trust"], {}, "a\n");
  here.put({ "hooks/user-prompt-submit.day.ts": dayHook(27) });
  const { out, code } = await review(here, "n\n");
  assert.match(out, /n never count \\d\+/);
  assert.match(out, /fix-the-typo: accepted\n/);
  assert.equal(code, 0);
  here.put({ "hooks/user-prompt-submit.day.ts": dayHook(99) });
  assert.equal((await here.crochet(["replay", "--trust"])).code, 0);
});

const dayHook = (days: number) =>
  `export default () => ({ action: "continue", context: "It ships in ${days} days" });\n`;

/** What makes another run of it, whose replies say nothing any more. */
const OTHERWISE: { readonly [how: string]: { does: (here: Place) => void; says: RegExp } } = {
  "a call that is denied now": {
    does: (here) =>
      here.put({ "hooks/pre-tool-use@Edit.no.ts": 'export default () => ({ action: "deny", reason: "no" });\n' }),
    says: /a call of Edit came out otherwise/,
  },
  "a call that fails now": {
    does: (here) => here.put({ [`fixtures/${NAME}/files/tea.md`]: "nothing to replace\n" }),
    says: /a call of Edit came out otherwise/,
  },
  "a run that is kept going": {
    does: (here) =>
      here.put({
        "hooks/stop.ts":
          'let n = 0;\nexport default () => n++ === 0 ? { action: "deny", reason: "again" } : undefined;\n',
      }),
    says: /lane main makes 5 calls, and 4 were recorded/,
  },
  "a tool that is gone and was called": {
    does: (here) => here.put({ "agent.ts": agentScript(SYSTEM).replace("[Read, Edit, Bash]", "[Read, Edit]") }),
    says: /a call of Bash came out otherwise/,
  },
};

test("a review never accepts a run that did something else", LONG, async () => {
  using here = place();
  await recorded(here);
  const before = tapeOf(here);
  for (const [how, { does, says }] of Object.entries(OTHERWISE)) {
    does(here);
    const { code, out } = await review(here, "a\na\na\na\n");
    assert.match(out, says, how);
    assert.match(out, /record it with 'crochet replay fix-the-typo --update'/, how);
    assert.deepEqual([code, tapeOf(here)], [1, before], how);
    rmSync(join(here.cwd, "hooks/pre-tool-use@Edit.no.ts"), { force: true });
    here.put({
      "agent.ts": agentScript(SYSTEM),
      "hooks/stop.ts": "export default () => undefined;\n",
      [`fixtures/${NAME}/files/tea.md`]: "over teh leaves\n",
    });
  }
});

test("a guard that is gone is not accepted though the recorded reply still says that it held", LONG, async () => {
  using here = place();
  here.put({ "hooks/pre-tool-use@Edit.no.ts": 'export default () => ({ action: "deny", reason: "no" });\n' });
  here.put({ "agent.ts": agentScript(SYSTEM), "tea.md": "over teh leaves\n" });
  await using server = await scriptedServer([
    { tools: [{ name: "Edit", input: { file_path: "tea.md", old_string: "teh", new_string: "the" } }] },
    { text: "I am not allowed to." },
  ]);
  await here.crochet(["record", "agent.ts", "fix", "the", "typo"], asked(server));
  const before = tapeOf(here);
  rmSync(join(here.cwd, "hooks/pre-tool-use@Edit.no.ts"));
  const { code, out } = await review(here, "a\na\n");
  assert.match(out, /a call of Edit came out otherwise/);
  assert.deepEqual([code, tapeOf(here)], [1, before]);
});

test("CI does not review", LONG, async () => {
  using here = place();
  await recorded(here);
  const { code, err } = await here.crochet(["replay", "--review", "--trust"], { CI: "1" }, "a\n");
  assert.match(err, /Cannot review as CI is set, and CI only replays tapes: review it on your machine/);
  assert.notEqual(code, 0);
});
