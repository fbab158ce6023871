import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ended, start } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";
import { until } from "../_until.ts";
import { type Script, script } from "./_saver.ts";

const hook = (words: string) =>
  `import { context } from "${LIB}/index.ts";\nexport default ({ tool_use_id }) => tool_use_id === "t3" ? context(${
    JSON.stringify(words)
  }) : undefined;\n`;

const HOOK = "hooks/pre-tool-use@Save.advise.ts";

function project(more: Script = {}): Place {
  return place({ "agent.ts": script(more), [HOOK]: hook("take care") });
}

const run = (here: Place, args: string[] = ["save it"], env: Record<string, string> = {}) =>
  here.main(["run", "agent.ts", ...args], env);

const logs = ({ cwd }: Place) => readdirSync(join(cwd, ".crochet/runs")).filter((name) => name !== ".gitignore");
const count = ({ cwd }: Place, file: string) =>
  existsSync(join(cwd, file)) ? readFileSync(join(cwd, file), "utf8").split("\n").length - 1 : 0;

test("LOG 1, 2: a script leaves one log that only its owner reads, and it is replayed with no model", async () => {
  using here = project();
  const words = [...OUR_RUNTIME, "agent.ts", "save it"] as const;
  const first = await ended(words, { cwd: here.cwd, env: { HOME: here.home } });
  assert.deepEqual([first.code, first.out], [0, "saver has saved twice\n"], first.err);
  const [log, ...others] = logs(here);
  assert.deepEqual(others, []);
  assert.equal(statSync(join(here.cwd, ".crochet/runs", log!)).mode & 0o777, 0o600);
  const asked = count(here, "asked");
  const again = await here.main(["replay", "last"]);
  assert.equal(again.code, 0, again.out + again.err);
  assert.match(again.out, /held +3\/3/);
  assert.deepEqual([count(here, "asked"), count(here, "effects")], [asked, 2]);
  assert.equal(existsSync(join(here.cwd, ".crochet/replays")), false, "its tape is in memory");
  const faults = await here.main(["replay", "last", "--faults"]);
  assert.match(
    faults.err,
    /Cannot replay a run with --faults as only fixtures are kept: crochet fixtures add last NAME/,
  );
});

test("LOG 3, 4, 5: another prompt, hook or tool is drift, and is named by its cause", async () => {
  using here = project();
  await run(here);
  here.put({ "agent.ts": script({ system: "You keep." }) });
  const prompt = await here.main(["replay", "last"]);
  assert.equal(prompt.code, 1);
  assert.match(prompt.out, /prompt: system/);
  here.put({ "agent.ts": script(), [HOOK]: hook("take more care") });
  const hooked = await here.main(["replay", "last"]);
  assert.equal(hooked.code, 1);
  const causes = [...hooked.out.matchAll(/^ {2}(hook|prompt|tool): (\S+)/gm)].map(([, cause, what]) =>
    `${cause} ${what}`
  );
  assert.deepEqual(causes, ["hook pre-tool-use@Save.advise.ts", "prompt messages.4.content.1.text,"], hooked.out);
  here.put({ "agent.ts": script({ says: "kept" }), [HOOK]: hook("take care") });
  assert.equal((await here.main(["replay", "last"])).code, 0);
  const verified = await here.main(["replay", "last", "--verify"]);
  assert.equal(verified.code, 1);
  assert.match(verified.out, /tool: .*Save is not what was recorded/);
});

test("LOG 6, 8: a run that was killed goes on: no reply is asked twice, what was cut off is said; of two, one is refused", async () => {
  using here = project();
  const { kill } = start([...OUR_RUNTIME, "agent.ts", "save it"], {
    cwd: here.cwd,
    env: { HOME: here.home, HANGS: "t3" },
  });
  await until("the second call", () => count(here, "effects") === 2);
  const busy = await here.main(["run", "agent.ts", "--resume", "last"]);
  assert.equal(busy.code, 1);
  assert.match(busy.err, /is running it/);
  const seen = await here.main(["view", "last"]);
  assert.equal(seen.code, 0, seen.err);
  const page = readFileSync(seen.out.trim(), "utf8");
  assert.match(page, /Its last run has not ended/);
  assert.match(page, /The log ends before the call did/);
  await kill();
  assert.equal(count(here, "asked"), 2);
  const unended = await here.main(["replay", "last"]);
  assert.equal(unended.code, 2);
  assert.match(unended.err, /was cut off: crochet run --resume \S+ continues it/);
  const done = await here.main(["run", "agent.ts", "--resume", "last"]);
  assert.deepEqual([done.code, done.out], [0, "saver has saved twice\n"], done.err);
  assert.deepEqual([count(here, "asked"), count(here, "effects")], [3, 2]);
  const shown = await here.main(["runs", "show", "last"]);
  assert.match(shown.out, /it may have happened or not/);
  assert.equal((await here.main(["replay", "last"])).code, 0);
});

test("LOG 9, 10, 11: a fork serves the calls before, asks another model from there, and is a log that replays", async () => {
  using here = project();
  await run(here);
  const [before] = logs(here);
  here.put({ "other.ts": script({ model: "other" }), "more/pre-tool-use@Save.stop.ts": hook("not so fast") });
  const asked = count(here, "asked");
  const forked = await here.main(["run", "other.ts", "--from", "last#3"]);
  assert.deepEqual([forked.code, forked.out], [0, "other has saved twice\n"], forked.err);
  assert.deepEqual([count(here, "asked") - asked, count(here, "effects")], [1, 2]);
  const fresh = logs(here).find((name) => name !== before)!;
  const [header] = readFileSync(join(here.cwd, ".crochet/runs", fresh), "utf8").split("\n");
  assert.deepEqual(JSON.parse(header!).from, { id: before!.replace(".jsonl", ""), call: "main#3" });
  assert.equal((await here.main(["replay", "last"])).code, 0);
  const hooked = await here.main(["run", "agent.ts", "--from", `${before!.slice(0, 8)}#2`, "--hooks", "more"]);
  assert.equal(hooked.code, 0, hooked.err);
  assert.match((await here.main(["runs", "show", "last"])).out, /not so fast/);
  const none = await here.main(["run", "agent.ts", "--from", "last#9"]);
  assert.deepEqual([none.code, /at call 9 as it has 3/.test(none.err)], [2, true], none.err);
});

test("LOG 12, 15: a run becomes a fixture: it replays, over the wire and under faults too, and can be forked", async () => {
  using here = project();
  await run(here);
  const added = await here.main(["fixtures", "add", "last", "greet"]);
  assert.equal(added.code, 0, added.err);
  for (const flags of [[], ["--wire"], ["--faults", "5", "--seed", "1"]]) {
    const { code, out, err } = await here.main(["replay", "greet", ...flags]);
    assert.equal(code, 0, flags + out + err);
  }
  assert.equal(count(here, "effects"), 2);
  const asked = count(here, "asked");
  const forked = await here.main(["run", "agent.ts", "--from", "fixtures/greet#3"]);
  assert.deepEqual([forked.code, forked.out], [0, "saver has saved twice\n"], forked.err);
  assert.deepEqual([count(here, "asked") - asked, count(here, "effects")], [1, 2]);
});

test("LOG 13, 14, 16: a secret is in no view, and becomes no part of a fixture, also if its variable is gone", async () => {
  using here = project();
  const key = "hUn7er-5up3r-s3cr3t-w0rd";
  await run(here, ["save it"], { SHOWN: key, MY_API_KEY: key });
  assert.ok(readFileSync(join(here.cwd, ".crochet/runs", logs(here)[0]!), "utf8").includes(key));
  for (const env of [{ MY_API_KEY: key }, {}]) {
    const refused = await here.main(["fixtures", "add", "last", "greet"], env);
    assert.equal(refused.code, 1, refused.err);
    assert.match(refused.err, /shows the value of the environment variable MY_API_KEY/);
    assert.ok(!refused.err.includes(key));
  }
  const { out } = await here.main(["view", "last"]);
  assert.ok(!readFileSync(out.trim(), "utf8").includes(key), "view");
  assert.ok(!(await here.main(["hooks", "explain", "last", "--json"])).out.includes(key), "explain");
  const added = await here.main(["fixtures", "add", "last", "greet", "--redact"]);
  assert.equal(added.code, 0, added.err);
  const tape = readFileSync(join(here.cwd, "fixtures/greet/tape.jsonl"), "utf8");
  assert.ok(!tape.includes(key) && tape.includes("{SECRET:MY_API_KEY}"));
  assert.equal((await here.main(["replay", "greet"])).code, 0);
});

test("CROCHET_LOG names where logs are, or that there are none; a log that was not written here is looked at and not run", async () => {
  using here = project();
  assert.equal((await run(here, ["save it"], { CROCHET_LOG: "off" })).code, 0);
  assert.deepEqual(existsSync(join(here.cwd, ".crochet/runs")) ? logs(here) : [], []);
  const elsewhere = { CROCHET_LOG: "kept" };
  assert.equal((await here.main(["run", "agent.ts", "save it"], elsewhere)).code, 0);
  assert.deepEqual(readdirSync(join(here.cwd, "kept")).map((file) => file.endsWith(".jsonl")), [true]);
  assert.equal((await here.main(["replay", "last"], elsewhere)).code, 0);
  await run(here);
  const [name] = logs(here);
  const text = readFileSync(join(here.cwd, ".crochet/runs", name!), "utf8");
  writeFileSync(join(here.cwd, ".crochet/runs/stranger.jsonl"), text.replace('{"log"', '{ "log"'));
  assert.equal((await here.main(["view", "stranger"])).code, 0);
  for (
    const args of [["replay", "stranger"], ["fixtures", "add", "stranger"], ["run", "agent.ts", "--from", "stranger#2"]]
  ) {
    const { code, err } = await here.main(args);
    assert.deepEqual([code, /its log was not written here/.test(err)], [2, true], args + err);
  }
  assert.equal((await here.main(["replay", "stranger", "--trust"])).code, 0);
});

test("a replay never makes a call that a guard denied, once the guard is gone: it is drift", async () => {
  using here = project();
  here.put({ [HOOK]: `import { deny } from "${LIB}/index.ts";\nexport default () => deny("never");\n` });
  assert.equal((await run(here)).code, 0);
  here.put({ [HOOK]: hook("take care") });
  const { code, out } = await here.main(["replay", "last"]);
  assert.equal(code, 1, out);
  assert.match(out, /hook: pre-tool-use@Save\.advise\.ts/);
  assert.match(out, /\+ Cannot replay Save as the recorded run never made this call: nothing was run/);
  rmSync(join(here.cwd, HOOK));
  assert.match((await here.main(["replay", "last"])).out, /hook: pre-tool-use@Save\.advise\.ts is gone/);
});
