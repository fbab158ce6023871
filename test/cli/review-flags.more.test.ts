import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { templates } from "../../lib/extensions/setup/templates.ts";
import fixtures from "../../lib/cli/fixtures.ts";
import replay from "../../lib/cli/replay.ts";
import { CROCHET } from "../_crochet.ts";
import { place } from "../_place.ts";
import { record, runHere, SYSTEM, tapeText, TEA } from "../_record.ts";
import { agentScript, HOOK } from "./_recorded.ts";

const dayHook = (days: number) =>
  `export default () => ({ action: "continue", context: "It ships in ${days} days" });\n`;

test("replay --review asks for each change by a key; --no-stale, --junit and ls show what is stale", async () => {
  using here = place({ ...TEA, "hooks/user-prompt-submit.day.ts": dayHook(3) });
  await record(here.cwd);
  const edit = { name: "Edit", input: { file_path: "tea.md", old_string: "teh", new_string: "the" } };
  await record(here.cwd, { fixture: "other", replies: [{ tools: [edit] }, { text: "Fixed." }] });
  here.put({
    "agent.ts": agentScript(SYSTEM.replace("brief", "thorough")),
    "hooks/user-prompt-submit.day.ts": dayHook(27),
    "fixtures/other/files/tea.md": "nothing to replace\n",
  });
  const before = [tapeText(here.cwd), tapeText(here.cwd, "other")];
  const review = (keys: string) => here.crochet(["replay", "--review", "--trust"], {}, keys);

  const skipped = await review("x\ns\n"); // then its input ends
  assert.deepEqual([skipped.code, skipped.err], [1, ""]);
  const shown = "1 of 2  prompt: system   fix-the-typo 4 calls\n    - You are brief.\n    + You are thorough.\n";
  assert.ok(skipped.out.includes(shown), skipped.out);
  assert.match(skipped.out, /\n {2}a, s or q\n/, "what is not a key is said");
  assert.match(skipped.out, /2 of 2 {2}prompt: message[^]* n never count \\d\+/);
  assert.match(skipped.out, /fix-the-typo: not changed, 2 differences left\n$/);
  assert.deepEqual([tapeText(here.cwd), tapeText(here.cwd, "other")], before);

  const accepted = await review("a\nn\n");
  assert.equal(accepted.code, 1, "one is refused");
  const refused = "✗ other: a call of Edit came out otherwise: record it with 'crochet replay other --update'\n";
  assert.ok(accepted.out.startsWith(refused), accepted.out);
  assert.match(accepted.out, /\nfix-the-typo: accepted, 4 replies stale\n$/);
  assert.equal(tapeText(here.cwd).match(/"stale":\["system"\]/g)?.length, 4, "and none of them for its prompt");
  assert.equal(tapeText(here.cwd, "other"), before[1]);

  const call = (...flags: string[]) => here.call(replay, "fix-the-typo", "--trust", ...flags);
  const report = () => readFileSync(join(here.cwd, "r.xml"), "utf8");
  assert.match((await call("--review")).out, /nothing to review/);
  here.put({ "hooks/user-prompt-submit.day.ts": dayHook(99) });
  const { code, out } = await call("--junit", "r.xml");
  assert.equal(code, 0, out);
  assert.match(out, /fix-the-typo +held, 4 stale +4\/4/);
  assert.match(report(), /failures="0"[^]*<system-out>stale: 4 replies answer an earlier request/);
  const strict = await call("--junit", "r.xml", "--no-stale");
  assert.equal(strict.code, 1);
  assert.match(
    strict.out,
    /fix-the-typo +broken +4\/4[^]*✗ fix-the-typo\n {2}stale: 4 replies .*: crochet replay .* --update\n/,
  );
  assert.match(report(), /failures="1"[^]*<failure message="stale: 4 replies/);
  assert.match((await here.call(fixtures, "ls")).out, /fixture +calls +stale.*\nfix-the-typo +4 +4 /);

  here.env.CI = "1";
  const ci = await call("--review");
  assert.match(ci.err, /Cannot review as CI is set, and CI only replays tapes: review fix-the-typo on your machine/);
  assert.notEqual(ci.code, 0);
});

const ATTRIBUTES = "fixtures/.gitattributes";

test("git shows what a recording changed as a conversation, and never mixes two of them", {
  skip: spawnSync("git", ["--version"]).status === 0 ? false : "git is not installed",
}, async () => {
  using here = place({
    [ATTRIBUTES]: templates("tried")[ATTRIBUTES]!,
    ...{ "hooks/stop.ts": HOOK, "long.md": "a long line of tea\n".repeat(1_500) },
  });
  const git = (...args: string[]) => {
    const by = ["user.name=a", "user.email=a@b", `diff.tape.textconv=${CROCHET.join(" ")} fixtures show`];
    const env = { ...process.env, HOME: here.home };
    return spawnSync("git", [...by.flatMap((one) => ["-c", one]), ...args], { cwd: here.cwd, encoding: "utf8", env });
  };
  const model = {
    replies: [{ tools: [{ name: "Read", input: { file_path: "long.md" }, id: "toolu_1" }] }, { text: "Long." }],
    fixture: "it",
  };
  const commit = (words: string) => {
    git("add", ".");
    assert.equal(git("commit", "-m", words).status, 0);
  };
  const renew = (system: string) => runHere(here.cwd, { ...model, mode: "update", with: { system } });
  git("init", "--initial-branch=main");
  await record(here.cwd, model);
  commit("recorded");

  await renew(SYSTEM.replace("brief", "very brief"));
  const { stdout, stderr } = git("diff", "--", "fixtures");
  const changed = stdout.split("\n").filter((line) => /^[-+](?![-+])/.test(line));
  assert.deepEqual(changed, ["-  You are brief.", "+  You are very brief."], stderr);
  commit("mine");

  git("switch", "--quiet", "--create", "other", "HEAD~1");
  await renew(SYSTEM.replace("fix typos", "fix all typos"));
  commit("theirs");
  git("switch", "--quiet", "main");
  const mine = tapeText(here.cwd, "it");
  assert.match(git("merge", "other").stdout, /CONFLICT .*fixtures\/it\/tape\.jsonl/);
  assert.equal(tapeText(here.cwd, "it"), mine);
});
