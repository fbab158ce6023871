import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import record from "../../lib/cli/record.ts";
import replay from "../../lib/cli/replay.ts";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { agentScript, asked, HOOK, LONG, MAIN, recorded, SYSTEM } from "./_recorded.ts";

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
  assert.match(err, /^crochet: Cannot record \S+ as the model could not be called: .*set ANTHROPIC_API_KEY/);
  assert.equal(existsSync(join(here.cwd, "fixtures/fix-the-typo")), false);
  await recorded(here);
  assert.equal(readFileSync(join(here.cwd, "fixtures/fix-the-typo/files/tea.md"), "utf8"), "over teh leaves\n");
});

test("replay --update never puts a failure in the place of a run that went well", LONG, async () => {
  using here = place();
  await recorded(here);
  const before = readFileSync(join(here.cwd, TAPE), "utf8");
  here.put({ "agent.ts": agentScript(SYSTEM.replace("brief", "very brief")) });
  const unasked = await here.crochet(["replay", "--trust", "--update"]);
  assert.equal(unasked.code, 1);
  assert.match(unasked.out, /fix-the-typo +error[\s\S]*Cannot update \S+ as the model could not be called: /);
  assert.equal(readFileSync(join(here.cwd, TAPE), "utf8"), before);

  await using server = await scriptedServer([], { then: { http: 400 } });
  const env = asked(server);
  const failed = await here.crochet(["replay", "--trust", "--update"], env);
  assert.equal(failed.code, 1);
  assert.match(failed.out, /the run ended with an error, and the tape was not changed: Cannot call the model/);
  assert.equal(readFileSync(join(here.cwd, TAPE), "utf8"), before);

  here.put({ "hooks/user-prompt-submit.ts": "export default () => { throw new Error('not today'); };" });
  const refused = await here.crochet(["replay", "--trust", "--update"], env);
  assert.equal(refused.code, 1);
  assert.match(
    refused.out,
    /Cannot update \S+ as the run ended with 'denied' before the model was called, and the tape was not changed \(.*\): .*not today/,
  );
  assert.equal(readFileSync(join(here.cwd, TAPE), "utf8"), before);
});

test("replay takes several names, and refuses what it cannot do before it begins", LONG, async () => {
  using here = place();
  await recorded(here);
  await recorded(here, ["--fixture", "again"]);
  writeFileSync(join(here.cwd, "tea.md"), "");
  const both = await here.crochet(["replay", "--trust", "fix-the-typo", "again", "fixtures"]);
  assert.equal(both.code, 0, both.out);
  assert.deepEqual([...both.out.matchAll(/^(\S+) +ok/gm)].map(([, name]) => name), ["fix-the-typo", "again"]);
  const nowhere = await here.crochet(["replay", "--trust", "--hooks", "nowhere"]);
  assert.deepEqual([nowhere.code, nowhere.err], [
    2,
    "crochet: Cannot load hooks of 'nowhere' as there is no such folder\n",
  ]);
  here.put({ "bare/.claude/settings.json": "{}" });
  for (
    const [folder, why] of [["bare", "it has no hooks: name the folder that has the files"], [
      "tea.md",
      "it is a file: name the folder it is in",
    ]]
  ) {
    const refused = await here.crochet(["replay", "--trust", "again", "--hooks", folder!]);
    assert.deepEqual([refused.code, refused.err], [2, `crochet: Cannot load hooks of '${folder}' as ${why}\n`]);
  }
  const none = await here.crochet(["replay", "--trust", "again", "--faults", "0"]);
  assert.deepEqual([none.code, none.err], [
    2,
    "crochet: Cannot search 0 schedules of faults as that is not a number above 0: --faults 100\n",
  ]);
  here.put({
    "fixtures/again/invariants.ts": `export default [{ name: "mine", broken: (seen) => seen.nothing.text }];\n`,
  });
  const thrown = await here.crochet(["replay", "--trust", "again", "--faults", "3"]);
  assert.equal(thrown.code, 1);
  assert.match(thrown.out, /Cannot judge a run by invariant 'mine' as it threw: /);
  const show = await here.crochet(["fixtures", "show", "nothing"]);
  assert.deepEqual([show.code, show.err], [
    2,
    "crochet: Cannot show 'nothing' as there is no such fixture: crochet fixtures ls\n",
  ]);
});

test("record always says why a prompt was denied, and what its hooks did wrong", LONG, async () => {
  using here = place({
    "agent.ts": agentScript(SYSTEM),
    "hooks/user-prompt-submit.ts": 'export default () => { throw new Error("no tea"); };\n',
  });
  const { code, out, err } = await here.crochet(["record", "agent.ts", "hi"], { ANTHROPIC_API_KEY: "not-a-key" });
  assert.match(out, /^recorded fixtures\/hi: denied, 0 calls/);
  assert.deepEqual([code, err.split("\n")], [0, [
    "crochet: Hook user-prompt-submit.ts failed on user-prompt-submit: no tea",
    "crochet: Prompt dropped by hook user-prompt-submit.ts: no tea",
    "",
  ]]);
});

test("a file that is not a fixture's tape never selects the fixtures beside it", async () => {
  using w = place({
    "fixtures/a.jsonl/tape.jsonl": "{}\n",
    "fixtures/b/tape.jsonl": "{}\n",
    "fixtures/other.jsonl": "{}\n",
  });
  for (const given of ["fixtures/other.jsonl", "fixtures/no.jsonl"]) {
    const { code, out, err } = await w.call(replay, "--trust", given);
    assert.deepEqual([code, out], [2, ""]);
    assert.ok(err.startsWith(`crochet: Cannot replay '${given}' as it is not the tape of a fixture`), err);
  }
  for (const given of ["a.jsonl", "fixtures/a.jsonl", "fixtures/a.jsonl/tape.jsonl"]) {
    const { out } = await w.call(replay, "--trust", given, "--json");
    assert.deepEqual(JSON.parse(out).map(({ name }: { name: string }) => name), ["a.jsonl"], given);
  }
});

test("replay prints its findings even if the JUnit report cannot be written", async () => {
  using w = place({ "fixtures/b/tape.jsonl": "{}\n" });
  const made = await w.call(replay, "--trust", "--junit", "reports/new/b.xml");
  assert.equal(made.err, "");
  assert.match(readFileSync(join(w.cwd, "reports/new/b.xml"), "utf8"), /<testcase classname="fixtures" name="b"/);
  const { out, err } = await w.call(replay, "--trust", "--junit", "reports");
  assert.match(out, /^fixture +result.*\nb +error /);
  assert.match(
    err,
    /^crochet: Cannot write the JUnit report \S+\/reports as EISDIR.*: give --junit a file that can be written\n$/,
  );
});

test("no model is ever asked for a tape that cannot be written, and nothing is left behind", LONG, async () => {
  using here = place({ "agent.ts": `${agentScript(SYSTEM)}${MAIN}`, "hooks/stop.ts": HOOK, "tmp/x": "" });
  await using server = await scriptedServer([], { then: { text: "Hello." } });
  const TMPDIR = join(here.cwd, "tmp");
  const env = { HOME: here.home, TMPDIR, ...asked(server), CROCHET_TAPE_MODE: "record", CROCHET_TAPE: "agent.ts" };
  const { code, out, err } = await ended([...OUR_RUNTIME, join(here.cwd, "agent.ts"), "hi"], { cwd: here.cwd, env });
  assert.notEqual(code, 0);
  const script = join(here.cwd, "agent.ts");
  assert.deepEqual([out, err], ["", `crochet: Cannot write tape ${script}/tape.jsonl as ${script} is not a folder\n`]);
  assert.equal(server.requests.length, 0);
  assert.deepEqual(readdirSync(TMPDIR), ["x"]);
});

const READ: ScriptedReply = { tools: [{ name: "Read", input: { file_path: "tea.md" } }] };

test(
  "of two processes that record one fixture at a time, one keeps it, whole, and the other says so",
  LONG,
  async () => {
    using here = place();
    here.put({ "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK, "tea.md": "over teh leaves\n" });
    let calls = 0;
    let both = () => {};
    const together = new Promise<void>((resolve) => both = resolve);
    const last = async (): Promise<ScriptedReply> => {
      if (++calls === 2) both();
      await together;
      return { text: "Done." };
    };
    await using server = await scriptedServer([READ, READ, last, last]);
    const env = asked(server);
    const runs = await Promise.all([1, 2].map(() => here.crochet(["record", "agent.ts", "fix it"], env)));
    assert.deepEqual(runs.map(({ code }) => code).sort(), [0, 1]);
    const lost = runs.find(({ code }) => code === 1)!;
    assert.match(
      lost.err,
      /^crochet: Cannot write tape \S+ as it exists: replay it with --update, or delete it\n$/,
    );
    assert.deepEqual(readdirSync(join(here.cwd, "fixtures/fix-it")).sort(), ["files", "tape.jsonl"]);
    const { code, out } = await here.crochet(["replay", "--trust"]);
    assert.equal(code, 0, out);
  },
);

test("a run that fails before it calls a model is not kept, and the reason is printed", LONG, async () => {
  using here = place();
  here.put({ "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": "export default (", "tea.md": "a" });
  const { code, err } = await here.crochet(["record", "agent.ts", "fix it"], { ANTHROPIC_API_KEY: "not-a-key" });
  assert.equal(code, 1);
  assert.match(
    err,
    /^crochet: Cannot record \S+ as the run failed before the model was called: Cannot load hook 'stop.ts'/,
  );
  assert.equal(existsSync(join(here.cwd, "fixtures/fix-it")), false);
});

test(
  "a script with blanks in its path is always taken for one, and a mistake in it has its whole place",
  LONG,
  async () => {
    using here = place();
    const folder = join(here.cwd, "my agents");
    here.put({ "my agents/the agent.ts": "const x: number = 1;\n\nthrow new Error(`no ${x}`);\n" });
    const { code, err } = await here.crochet(["record", "my agents/the agent.ts", "fix it"]);
    assert.equal(code, 1);
    assert.ok(err.startsWith(`crochet: Cannot load '${folder}/the agent.ts' as no 1: ${folder}/the agent.ts:3:`), err);
  },
);

test("a fixture never has a name that no folder can have, nor that of the folder of long texts", async () => {
  using w = place();
  const long = await w.call(record, "say hi", "--fixture", "x".repeat(101));
  assert.deepEqual([long.code, /use up to 100 letters/.test(long.err)], [2, true]);
  const blobs = await w.call(record, "say hi", "--fixture", "blobs");
  assert.deepEqual([blobs.code, /as that folder holds long texts of all fixtures/.test(blobs.err)], [2, true]);
  assert.equal(existsSync(join(w.cwd, "fixtures")), false);
});

test("a file in the place of a fixture's folder is reported by its path, before a model is called", async () => {
  using w = place({ "fixtures/taken": "a file" });
  const folder = await w.call(record, "say hi", "--fixture", "taken");
  assert.match(folder.err, /^crochet: Cannot write tape \S+\/tape\.jsonl as \S+\/fixtures\/taken is not a folder\n$/);
  rmSync(join(w.cwd, "fixtures"), { recursive: true });
  symlinkSync("nowhere", join(w.cwd, "fixtures"));
  const link = await w.call(record, "say hi", "--fixture", "x");
  assert.match(link.err, /^crochet: Cannot write tape \S+ as \S+\/fixtures is a link that leads nowhere: remove it\n$/);
  rmSync(join(w.cwd, "fixtures"));
  w.put({ fixtures: "a file" });
  assert.match((await w.call(replay)).out, /\n {2}Cannot replay as there is no fixture in fixtures\/: /);
  assert.deepEqual([folder.code, link.code], [1, 1]);
});
