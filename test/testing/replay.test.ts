import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import fixer from "../../fixtures/fix-typo/agent.ts";
import { agent, anthropic, context, tool } from "../../lib/index.ts";
import { readHeader } from "../../lib/replay/read-tape.ts";
import { replay, ReplayError, scripted, scriptedServer } from "../../lib/testing/index.ts";
import { Edit, Read } from "../../lib/tools/index.ts";
import { withEnv } from "../_env.ts";
import { put } from "../_scratch.ts";
import { inFolder } from "../replay/_stage.ts";
import { ROOT } from "../_runtime.ts";

test("replay() gives the Result, the calls of a tool, the files of a scratch workspace and what hooks answered", async () => {
  for (const wire of [false, true]) {
    const run = await replay(fixer, "fix-typo", { cwd: ROOT, wire });
    assert.equal(run.stop, "done");
    assert.equal(run.iterations, 4);
    assert.deepEqual(run.calls("Edit").map((call) => call.outcome), ["denied", "success"]);
    assert.deepEqual(run.calls().map((call) => call.name), ["Read", "Edit", "Edit"]);
    assert.equal(run.calls("Edit")[1]!.input.new_string, "over the leaves");
    assert.match(run.calls("Edit")[0]!.input.new_string, /\w/, "what was denied has what the model gave");
    assert.match(run.files["tea.md"]!, /Pour it over the leaves\./);
    assert.deepEqual(run.hooks.map(({ hook, decision }) => [hook, decision]), [
      ["pre-tool-use@Edit.small-steps.ts", "deny"],
      ["pre-tool-use@Edit.small-steps.ts", "continue"],
    ]);
  }
  assert.match(readFileSync(join(ROOT, "fixtures/fix-typo/files/tea.md"), "utf8"), /teh leaves/);
});

test("replay() gives the same in every run, for snapshots: its workspace, which is another one each time, is {ROOT}", async () => {
  await inFolder(async (folder) => {
    const Note = tool<{ say: string }>({
      name: "Note",
      description: "Writes where it is.",
      input: { type: "object" },
      run: ({ say }, { cwd }) => {
        writeFileSync(join(cwd, "note.txt"), `${say} in ${cwd} of {USER}\n`);
        return { content: `noted in ${cwd}/note.txt`, response: { [cwd]: say } };
      },
    });
    const noter = agent({
      model: scripted([{ tools: [{ name: "Note", input: { say: "one" } }] }, { text: "for {USER}" }]),
      tools: [Note],
      hooks: {
        preToolUse: (_, ctx) => context(`you are in ${ctx.cwd}`),
        stop: (_, ctx) => ({ action: "continue", reason: ctx.cwd }),
      },
    });
    await noter.run("go", { cwd: folder, tape: { path: join(folder, "fixtures/noted"), mode: "record" } });
    const [one, two] = [await replay(noter, "noted", { cwd: folder }), await replay(noter, "noted", { cwd: folder })];
    const all = ({ calls, ...rest }: typeof one) => ({ ...rest, calls: calls() });
    assert.deepEqual(all(one), all(two));
    assert.deepEqual(one.calls("Note")[0]!.response, { "{ROOT}": "one" });
    assert.deepEqual([one.calls()[0]!.content, one.files], ["noted in {ROOT}/note.txt", {
      "note.txt": "one in {ROOT} of {USER}\n",
    }]);
    assert.equal(one.text, "for {USER}");
    assert.match(JSON.stringify(one.messages), /noted in \{ROOT\}\/note\.txt.*you are in \{ROOT\}/);
    assert.equal(one.hooks.find(({ event }) => event === "stop")?.reason, "{ROOT}");
  });
});

test("replay() says why a hook failed", async () => {
  await inFolder(async (folder) => {
    const model = scripted([{ text: "one" }, { text: "two" }]);
    const broken = agent({ model, hooks: { stop: () => ({ action: "shout" }) as never } });
    await broken.run("hi", { tape: { path: join(folder, "fixtures/hi"), mode: "record" } });
    const { hooks } = await replay(broken, "hi", { cwd: folder });
    assert.deepEqual(hooks.map(({ decision }) => decision), ["failed"]);
    assert.match(hooks[0]!.reason!, /shout/);
  });
});

test("replay() fails if the agent asks something else, with the line that changed and what to record again costs", async () => {
  const system = "You fix typos and nothing else.\nBe quick.";
  const permissions = { mode: "acceptEdits" } as const;
  const changed = agent({ system, tools: [Read, Edit], name: "fixer", permissions });
  await assert.rejects(replay(changed, "fix-typo", { cwd: ROOT }), (error: ReplayError) => {
    assert.match(error.message, /^The run of 'fix-typo' is not the recorded one:/);
    assert.match(error.stack!, /^ReplayError: [^]*\n +at [^\n]*replay\.test\.ts:/);
    assert.doesNotMatch(error.stack!, /lib\/testing\/replay\.ts/);
    assert.deepEqual(Object.keys(error), ["name"]);
    assert.match(error.message, /prompt: system is not what was recorded \(at main#1\)/);
    assert.match(error.message, /- You fix typos and nothing else\. Read a file before you change it\./);
    assert.match(error.message, /\+ Be quick\./);
    assert.match(error.message, /to record again: 4 calls, 60 tokens, < \$0\.01/);
    assert.deepEqual(error.report.divergences.map((d) => d.path), ["system"]);
    return true;
  });
});

test("replay() fails if calls are left over, or the files are not those of the recorded run", async () => {
  await inFolder(async (folder) => {
    cpSync(join(ROOT, "fixtures/fix-typo"), join(folder, "fixtures/fix-typo"), { recursive: true });
    const tape = join(folder, "fixtures/fix-typo/tape.jsonl");
    const recorded = readFileSync(tape, "utf8");
    writeFileSync(
      tape,
      recorded.replace(/"files":\{"tea\.md":"\w+"\}/, '"files":{"tea.md":"0000000000000000","gone.md":"1"}'),
    );
    await assert.rejects(replay(fixer, "fix-typo", { cwd: folder }), /gone\.md is missing\ntea\.md is changed/);
    const halting = agent({
      system: "You fix typos and nothing else. Read a file before you change it.",
      tools: [Read, Edit],
      hooks: [{ postToolUse: [() => ({ action: "halt", reason: "enough" })] }],
    });
    await assert.rejects(replay(halting, "fix-typo", { cwd: ROOT }), /not requested: main#2 main#3 main#4/);
  });
});

test("replay() of a missing fixture fails in CI and without a key, with the command that records it", async () => {
  await inFolder(async (folder) => {
    const command = /crochet record \S+fixtures\/fix-typo\/agent\.ts "Fix it" --fixture new$/;
    const run = () => replay(fixer, "new", { cwd: folder, prompt: "Fix it" });
    await withEnv(
      { CI: "true", ANTHROPIC_API_KEY: "k" },
      () => assert.rejects(run(), (e: Error) => /CI does not record/.test(e.message) && command.test(e.message)),
    );
    await withEnv(
      { CI: undefined, ANTHROPIC_API_KEY: undefined },
      () =>
        assert.rejects(run(), (e: Error) => /there is no ANTHROPIC_API_KEY/.test(e.message) && command.test(e.message)),
    );
    await withEnv(
      { CI: undefined, ANTHROPIC_API_KEY: "k" },
      () => assert.rejects(replay(fixer, "new", { cwd: folder }), /no prompt is given to record it with/),
    );
    assert.equal(existsSync(join(folder, "fixtures")), false);
    const elsewhere = new RegExp(`: cd ${relative(process.cwd(), folder)} && crochet record `);
    await withEnv({ CI: "true" }, () => assert.rejects(run(), elsewhere));
  });
});

test("replay() records no second fixture if the agent's own project has it", async () => {
  await inFolder(async (folder) => {
    const there = join(folder, "packages/tea");
    cpSync(join(ROOT, "fixtures/fix-typo"), join(there, "fixtures/fix-typo"), { recursive: true });
    const moved = agent({ from: `file://${there}/agent.ts` });
    await withEnv({ CI: undefined, ANTHROPIC_API_KEY: "k" }, () =>
      assert.rejects(
        replay(moved, "fix-typo", { cwd: folder, prompt: "Fix it" }),
        /fix-typo\/tape\.jsonl is missing and there is one beside the agent: give \{ cwd: import\.meta\.dirname \} in a test beside it, or else \{ cwd: ".*packages\/tea" \}$/,
      ));
    assert.equal(existsSync(join(folder, "fixtures")), false);
  });
});

test("replay() of a path that is not there records it at that path", async () => {
  await inFolder(async (folder) => {
    await using server = await scriptedServer([{ text: "hello" }]);
    const greeter = agent({ model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }) });
    await withEnv({ CI: undefined, ANTHROPIC_API_KEY: "not-a-key" }, async () => {
      await replay(greeter, "./fixtures/greet", { cwd: folder, prompt: "hi" });
      assert.equal(existsSync(join(folder, "fixtures/greet/tape.jsonl")), true);
      for (const name of ["greet", "fixtures/greet/tape.jsonl"]) await replay(greeter, name, { cwd: folder });
    });
  });
});

test("replay() of a missing fixture records it if there is a key, and replays it from then on", async () => {
  await inFolder(async (folder) => {
    await using server = await scriptedServer([{ text: "hello" }]);
    const model = anthropic({ baseURL: server.url, apiKey: "not-a-key" });
    put(folder, { "agents/greeter.ts": "" });
    const from = `file://${folder}/agents/greeter.ts`;
    const greeter = agent({ system: "You greet.", model, from });
    await withEnv({ CI: undefined, ANTHROPIC_API_KEY: "not-a-key" }, async () => {
      const recorded = await replay(greeter, "greet", { cwd: folder, prompt: "hi" });
      const again = await replay(greeter, "greet", { cwd: folder });
      assert.deepEqual([recorded.text, again.text, server.requests.length], ["hello", "hello", 1]);
      assert.deepEqual(again.messages, recorded.messages);
      const { agent: script } = readHeader(join(folder, "fixtures/greet/tape.jsonl"));
      assert.equal(script, "../../agents/greeter.ts", "crochet replay finds it");
    });
  });
});

test("replay() that records a failure says so, and that the tape keeps it", async () => {
  await inFolder(async (folder) => {
    await using server = await scriptedServer([{ http: 401 }]);
    const greeter = agent({ model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }) });
    await withEnv({ CI: undefined, ANTHROPIC_API_KEY: "not-a-key" }, async () => {
      await assert.rejects(
        replay(greeter, "greet", { cwd: folder, prompt: "hi" }),
        /^ReplayError: Cannot use the run just recorded as 'greet' as it failed \(.*key was refused.*\): .*; delete fixtures\/greet\/tape\.jsonl to record another$/,
      );
      assert.equal((await replay(greeter, "greet", { cwd: folder })).stop, "error", "as it was recorded");
    });
  });
});

test("replay() refuses what is not an agent and unknown options, and quotes what a shell would read", async () => {
  const given = (agent: unknown, options?: object) =>
    replay(agent as typeof fixer, "fix-typo", { cwd: ROOT, ...options });
  await assert.rejects(
    given(undefined),
    /^TypeError: Cannot replay 'fix-typo' as undefined is not an agent: pass what agent/,
  );
  await assert.rejects(given({ default: fixer }), /is not an agent: pass what agent/);
  await assert.rejects(
    given(fixer, { promt: "x" }),
    /^TypeError: .* option 'promt' is unknown: did you mean 'prompt'\?$/,
  );
  await assert.rejects(replay(fixer, ""), /^TypeError: Cannot replay as "" names no fixture: give the name/);
  await withEnv({ CI: "true" }, async () => {
    const asked = { cwd: ROOT, prompt: "Pay $5\nnow" };
    await assert.rejects(replay(fixer, "new", asked), /agent\.ts 'Pay \$5\nnow' --fixture new$/);
  });
});
