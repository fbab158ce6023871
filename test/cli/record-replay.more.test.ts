import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/index.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { agentScript, asked, HOOK, LONG, MAIN, recorded, SYSTEM } from "./_recorded.ts";

test(
  "a stranger records a run, replays it offline, changes the system prompt and reads which line changed and what it costs",
  LONG,
  async () => {
    using here = place();
    const said = await recorded(here);
    assert.match(
      said,
      /^recorded fixtures\/fix-the-typo: done, 4 calls, 60 tokens, < \$0\.01\ncrochet replay fix-the-typo\n$/,
    );
    assert.equal(
      readFileSync(join(here.cwd, "tea.md"), "utf8"),
      "over teh leaves\n",
      "the project itself is left alone",
    );
    assert.equal(readFileSync(join(here.cwd, "fixtures/fix-the-typo/files/tea.md"), "utf8"), "over teh leaves\n");
    assert.equal(existsSync(join(here.cwd, "fixtures/fix-the-typo/files/agent.ts")), false);

    const ok = await here.crochet(["replay"], { CI: "true" });
    assert.equal(ok.code, 0, ok.out + ok.err);
    assert.match(ok.out, /^fixture +result +calls +time\nfix-the-typo +ok +4\/4 +\d+ ms\n$/);

    here.put({ "agent.ts": agentScript(SYSTEM.replace("brief", "very brief")) });
    const drift = await here.crochet(["replay"], { CI: "true" });
    assert.equal(drift.code, 1);
    assert.match(drift.out, /fix-the-typo +drift +0\/4/);
    assert.match(
      drift.out,
      /prompt: system is not what was recorded \(at main#1\)\n +line 2\n +- You are brief\.\n +\+ You are very brief\.\n/,
    );
    assert.match(
      drift.out,
      /not requested: all 4 calls\n +to record again: 4 calls, 60 tokens, < \$0\.01 \(crochet replay fix-the-typo --update\)/,
    );

    const { code, out } = await here.crochet([
      "replay",
      "fix-the-typo",
      "--json",
      "--junit",
      "report.xml",
      "--wire",
    ]);
    const [outcome] = JSON.parse(out);
    assert.deepEqual([code, outcome.name, outcome.report.ok, outcome.report.divergences[0].path], [
      1,
      "fix-the-typo",
      false,
      "system",
    ]);
    const xml = readFileSync(join(here.cwd, "report.xml"), "utf8");
    assert.match(xml, /<testsuite name="crochet replay" tests="1" failures="1" errors="0"/);
    assert.match(xml, /<failure message="prompt: system is not what was recorded/);
  },
);

test(
  "replay --update says what it costs, records again from the first difference, and refuses in CI",
  LONG,
  async () => {
    using here = place();
    await recorded(here);
    here.put({ "agent.ts": agentScript(SYSTEM.replace("brief", "very brief")) });
    await using server = await scriptedServer([{ text: "There is nothing to do." }]);
    const env = asked(server);
    const refused = await here.crochet(["replay", "--update"], { ...env, CI: "true" });
    assert.equal(refused.code, 1);
    assert.match(refused.out, /Cannot update as CI is set, .*: update fix-the-typo on your machine/);
    assert.equal(refused.err, "", "nothing is announced that is then not done");
    const { code, out, err } = await here.crochet(["replay", "--update"], env);
    assert.equal(code, 0, out + err);
    assert.equal(err, "recording fix-the-typo again: 4 calls, 60 tokens, < $0.01\n");
    assert.match(out, /fix-the-typo +recorded +0 kept, 1 new/);
    server.done();
    assert.equal((await here.crochet(["replay"])).code, 0);
  },
);

test(
  "record refuses to write over a fixture, an empty prompt, a directory that is none and a run that shows a secret",
  LONG,
  async () => {
    using here = place();
    await recorded(here);
    const again = await here.crochet(["record", "agent.ts", "fix the typo"]);
    assert.deepEqual([again.code, again.err], [
      2,
      "crochet: Cannot record fixtures/fix-the-typo as a tape exists: 'crochet replay fixtures/fix-the-typo --update' renews what has changed; else delete it, or give another --fixture\n",
    ]);
    assert.match((await here.crochet(["record", "agent.ts"])).err, /there is no prompt: crochet record agent\.ts/);
    assert.match((await here.crochet(["record", "x", "--cwd", "nowhere"])).err, /no such directory/);
    await using server = await scriptedServer([{ text: "the token is correct-horse-battery" }], {
      then: { text: "the token is correct-horse-battery" },
    });
    const env = { ...asked(server), MY_TOKEN: "correct-horse-battery" };
    const leak = await here.crochet(["record", "agent.ts", "leak"], env);
    assert.equal(leak.code, 1);
    assert.match(
      leak.err,
      /Cannot write tape .*leak\/tape\.jsonl as .* shows the value of the environment variable MY_TOKEN.*: keep it out of the run, or record with --redact/,
    );
    assert.equal(leak.err.includes("correct-horse"), false);
    const redacted = await here.crochet(["record", "agent.ts", "leak", "--redact"], env);
    assert.equal(redacted.code, 0, redacted.err);
    assert.match(readFileSync(join(here.cwd, "fixtures/leak/tape.jsonl"), "utf8"), /\{SECRET:MY_TOKEN\}/);
  },
);

test("record --tools freezes the tools: a replay touches nothing and needs no files", LONG, async () => {
  using here = place();
  await recorded(here, ["--tools"]);
  assert.equal(
    readFileSync(join(here.cwd, "tea.md"), "utf8"),
    "over the leaves\n",
    "it worked in the directory itself",
  );
  assert.equal(existsSync(join(here.cwd, "fixtures/fix-the-typo/files")), false);
  rmSync(join(here.cwd, "tea.md"));
  const { code, out } = await here.crochet(["replay"]);
  assert.equal(code, 0, out);
  assert.equal(existsSync(join(here.cwd, "tea.md")), false);
});

test("CROCHET_TAPE and its mode record and replay a script that is run by itself", LONG, async () => {
  using here = place();
  here.put({
    "agent.ts": `${agentScript(SYSTEM)}${MAIN}`,
    "hooks/stop.ts": HOOK,
    "tea.md": "tea\n",
  });
  const run = (env: Record<string, string>) =>
    ended([...OUR_RUNTIME, join(here.cwd, "agent.ts"), "say hello"], {
      cwd: here.cwd,
      env: { HOME: here.home, ...env },
    });
  await using server = await scriptedServer([
    { tools: [{ name: "Read", input: { file_path: "tea.md" } }] },
    { text: "hello there" },
  ]);
  const first = await run({
    CROCHET_TAPE: "fixtures/x",
    CROCHET_TAPE_MODE: "record",
    ...asked(server),
  });
  assert.deepEqual([first.code, first.out], [0, "hello there\n"], first.err);
  await server.close();
  const again = await run({
    CROCHET_TAPE: "fixtures/x",
    ANTHROPIC_API_KEY: "",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
  });
  assert.deepEqual([again.code, again.out], [0, "hello there\n"], again.err);
  const all = await here.crochet(["replay", "--trust"], { CI: "true" });
  assert.match(all.out, /^fixture .*\nx +ok +2\/2 /, "it has its agent and its files");
  assert.equal(existsSync(join(here.cwd, "fixtures/x/files/agent.ts")), false);
});

test("a prompt that names a place of this machine is always asked again as it was", LONG, async () => {
  using here = place({ "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK });
  await using server = await scriptedServer([{ text: "It is empty." }]);
  const prompt = `what is in ${join(here.home, "notes.md")}?`;
  const recorded = await here.crochet(["record", "agent.ts", prompt, "--fixture", "notes"], asked(server));
  assert.equal(recorded.code, 0, recorded.err);
  const tape = readFileSync(join(here.cwd, "fixtures/notes/tape.jsonl"), "utf8");
  assert.match(tape, /\n\{"prompt":"what is in \{HOME\}\/notes\.md\?"\}\n/);
  const replayed = await here.crochet(["replay", "notes"]);
  assert.equal(replayed.code, 0, replayed.out);
});

test(
  "a script that always runs itself calls no model while it loads, and one that ends the process is reported",
  LONG,
  async () => {
    using here = place({ "hooks/stop.ts": HOOK });
    here.put({
      "agent.ts": agentScript(SYSTEM).replace("export default", "const self =") +
        "self.main();\nexport default self;\n",
    });
    await using server = await scriptedServer([{ text: "Hello." }]);
    const recorded = await here.crochet(["record", "agent.ts", "hi"], asked(server));
    assert.deepEqual([recorded.code, recorded.err], [0, ""], recorded.out);
    const replayed = await here.crochet(["replay", "hi"], asked(server));
    assert.deepEqual([replayed.code, replayed.err, server.requests.length], [0, "", 1], replayed.out);
    here.put({ "agent.ts": "process.exit(0);\n" });
    const { code, out, err } = await here.crochet(["replay", "hi"]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(
      err,
      /^crochet: Cannot load '\S+agent\.ts' as it ended the process: do that only if \(import\.meta\.main\)\n$/,
    );
  },
);
