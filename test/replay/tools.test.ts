import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunOptions } from "../../lib/agent/options.ts";
import { agent, type AgentOptions, anthropic, type Model, tool } from "../../lib/index.ts";
import type { RunEvent } from "../../lib/core/run-events.ts";
import { fixtureAt } from "../../lib/replay/fixture.ts";
import { keepFiles } from "../../lib/replay/record/keep-files.ts";
import type { TapeOptions } from "../../lib/replay/tape-options.ts";
import { runFixture } from "../../lib/replay/run-fixture.ts";
import { scripted, type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import {
  Agent,
  AskUserQuestion,
  Bash,
  BashOutput,
  Edit,
  ExitPlanMode,
  Glob,
  Grep,
  KillShell,
  MultiEdit,
  type QuestionAsker,
  Read,
  Write,
} from "../../lib/tools/index.ts";
import { inFolder, take, type Told } from "./_stage.ts";
import { put } from "../_scratch.ts";

const uses = (...tools: [string, object][]): ScriptedReply => ({
  tools: tools.map(([name, input]) => ({ name, input })),
});
const bash = (command: string, more: object = {}): [string, object] => ["Bash", {
  command,
  description: "Do it",
  ...more,
}];

/** What each built-in tool tells the model, also where it fails or has much to say. */
const REPLIES: ScriptedReply[] = [
  uses(["Read", { file_path: "a.txt" }], ["Read", { file_path: "absent.txt" }], ["Read", { file_path: "src" }]),
  uses(["Write", { file_path: "new/b.txt", content: "b\n" }], ["Glob", { pattern: "**/*" }]),
  uses(["Edit", { file_path: "a.txt", old_string: "one", new_string: "two" }]),
  uses(["MultiEdit", { file_path: "a.txt", edits: [{ old_string: "x", new_string: "y" }] }]),
  uses(["Grep", { pattern: "needle", output_mode: "content" }], ["Grep", { pattern: "needle" }]),
  uses(["Grep", { pattern: "needle", output_mode: "count" }], ["Grep", { pattern: "(", output_mode: "content" }]),
  uses(bash("pwd; echo $HOME; cd src; ls")),
  uses(bash("pwd; seq 1 9000")),
  uses(bash("seq 1 9000 >&2; exit 3")),
  uses(bash("sleep 5", { timeout: 200 })),
  uses(bash("echo begun; sleep 60", { run_in_background: true })),
  uses(bash("sleep 0.3"), ["KillShell", { shell_id: "bash_1" }], ["BashOutput", { bash_id: "bash_1" }]),
  { text: "Done." },
];

test("what the built-in tools say is always the same again, in another directory and at another time", async () => {
  await inFolder(async (folder) => {
    put(join(folder, "place"), {
      "a.txt": "one\nneedle\n",
      "src/c.ts": "needle();\n",
      "src/deep/d.ts": "// needle\n",
      "z.md": "z\n",
    });
    const fixture = join(folder, "fixtures/tools");
    keepFiles(join(folder, "place"), fixture, []);
    await using server = await scriptedServer(REPLIES);
    const worker = agent({
      system: "You try tools.",
      tools: [Bash, BashOutput, Edit, Glob, Grep, KillShell, MultiEdit, Read, Write],
      model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }),
    });
    const { result } = await runFixture(fixtureAt(fixture), worker, { mode: "record", prompts: ["Try them"] });
    assert.deepEqual([result.stop, result.error], ["done", undefined]);
    server.done();
    for (const wire of [false, true]) {
      const { report } = await runFixture(fixtureAt(fixture), worker, { wire });
      assert.deepEqual(report.divergences, []);
      assert.equal(report.ok, true, JSON.stringify(report.files));
    }
  });
});

/** Records a run with the results of its tools, and replays it from them. */
async function withResults(options: AgentOptions, replies: readonly ScriptedReply[]): Promise<[was: Told, is: Told]> {
  return await inFolder(async (folder) => {
    const run = (model: Model, tape: TapeOptions) =>
      take(agent({ ...options, model }), { folder, files: { "src/a.txt": "a\n" }, tape: { path: folder, ...tape } });
    const was = await run(scripted(replies), { mode: "record", tools: true });
    const is = await run(scripted([]), {});
    assert.deepEqual(is.report!.divergences, []);
    assert.equal(JSON.stringify(is.result), JSON.stringify(was.result));
    assert.deepEqual([is.events, is.files], [was.events, was.files]);
    return [was, is];
  });
}

test("a shell whose results are on the tape has its recorded directory: hooks and relative paths use it", async () => {
  const [was] = await withResults({
    tools: [Bash, Read],
    hooks: { postToolUse: (_, ctx) => void ctx.addContext(`in ${ctx.cwd}`) },
  }, [uses(bash("cd src")), uses(["Read", { file_path: "a.txt" }]), uses(bash("cd ..")), { text: "done" }]);
  assert.match(JSON.stringify(was.result.messages), /in [^"]+\/work\/src\b/);
});

test("a folder that a shell had moved to exists on replay without its files: hooks run commands there", async () => {
  await inFolder(async (folder) => {
    const [place, fixture] = [join(folder, "place"), fixtureAt(join(folder, "fixtures/gone"))];
    put(place, { "src/a.txt": "a\n" });
    await using server = await scriptedServer([uses(bash("cd src")), { text: "Done." }]);
    const goer = agent({
      tools: [Bash],
      hooks: { postToolUse: async (_, ctx) => void ctx.addContext((await ctx.$("pwd")).stdout) },
      model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }),
    });
    await runFixture(fixture, goer, { mode: "record", prompts: ["Go"], tools: true, cwd: place });
    const { report, result } = await runFixture(fixture, goer);
    assert.deepEqual([report.ok, report.divergences], [true, []]);
    assert.match(JSON.stringify(result.messages), /crochet-replay-\w+\/src\b/);
  });
});

test("a call whose result is on the tape and that a limit of time ended is ended by it again, and at once", async () => {
  const Hang = tool({
    name: "Hang",
    description: "Hangs.",
    input: { type: "object" },
    effect: "read",
    run: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true })),
  });
  const [was] = await withResults({ tools: [Hang], limits: { seconds: 1.5 } }, [uses(["Hang", {}]), { text: "never" }]);
  assert.equal(was.result.stop, "deadline");
  assert.match(JSON.stringify(was.result.messages), /interrupted before it ended/);
});

test("a call that was tried again, and one with the id of another, have their own results on the tape", async () => {
  let tries = 0;
  const Flaky = tool({
    name: "Flaky",
    description: "Fails every other time.",
    input: { type: "object" },
    effect: "read",
    run: () => {
      if (tries++ % 2 === 0) throw new Error(`try ${tries}`);
      return `worked at ${tries}`;
    },
  });
  const flaky: ScriptedReply = { tools: [{ name: "Flaky", id: "call_1" }] };
  const [was] = await withResults({
    tools: [Flaky],
    hooks: {
      error: (event, ctx) => {
        ctx.addContext(event.error_message);
        return { action: "modify", value: true };
      },
    },
  }, [flaky, flaky, { text: "done" }]);
  assert.equal(tries, 4);
  assert.match(JSON.stringify(was.result.messages), /worked at 2.*try 1.*worked at 4.*try 3/);
});

test("a long result that ends in half a character, and one with a value that is not JSON, make a readable tape", async () => {
  const half = `${"x".repeat(20_000)}\ud83d`;
  const Odd = tool<{ n: number }>({
    name: "Odd",
    description: "Answers oddly.",
    input: { type: "object" },
    effect: "read",
    run: ({ n }) => {
      if (n === 1) return { content: half, response: { half } };
      return [{ type: "text", text: "when" }, { type: "document", title: new Date(0), source: half }];
    },
  });
  const [was] = await withResults({
    tools: [Odd],
    hooks: { postToolUse: ({ result }, ctx) => void ctx.addContext(`has ${JSON.stringify(result.response).length}`) },
  }, [uses(["Odd", { n: 1 }]), uses(["Odd", { n: 2 }]), { text: "done" }]);
  assert.equal(was.result.stop, "done");
});

test("a person's answers to tools are given again on replay, and survive an update", async () => {
  await inFolder(async (folder) => {
    const question = {
      question: `Where in ${join(folder, "work")}?`,
      header: "where",
      options: ["a", "b"].map((label) => ({ label, description: label })),
    };
    const replies: ScriptedReply[] = [
      uses(["AskUserQuestion", { questions: [question] }]),
      uses(["AskUserQuestion", { questions: [question] }]),
      uses(["ExitPlanMode", { plan: "1. Do it" }]),
      { text: "done" },
    ];
    let asked = 0;
    const person: QuestionAsker = {
      answer: () => Promise.resolve({ [question.question]: `answer ${++asked}` }),
      approve: () => Promise.resolve({ approved: false, feedback: "do less" }),
    };
    const run = (replies: readonly ScriptedReply[], tape: TapeOptions, more: RunOptions = {}, system = "You ask.") =>
      take(agent({ system, tools: [AskUserQuestion, ExitPlanMode], model: scripted(replies) }), {
        folder,
        tape: { path: join(folder, "kept"), ...tape },
        run: more,
      });
    const was = await run(replies, { mode: "record" }, { questionAsker: person });
    assert.match(JSON.stringify(was.result.messages), /answer 1.*answer 2.*do less/);
    const is = await run([], {});
    assert.deepEqual([is.report!.ok, is.result.stop, is.result.messages], [true, "done", was.result.messages]);
    await run(replies, { mode: "update" }, {}, "You ask a lot.");
    const renewed = await run([], {}, {}, "You ask a lot.");
    assert.deepEqual([renewed.report!.ok, renewed.result.messages], [true, was.result.messages]);
    assert.equal(asked, 2);
  });
});

test("an agent gets the text of memory files, also if they were not kept with its tool results", async () => {
  await inFolder(async (folder) => {
    const [place, fixture] = [join(folder, "place"), fixtureAt(join(folder, "fixtures/told"))];
    const memory = { "AGENTS.md": "Be brief about tea.\n" };
    put(place, { ...memory, "a.txt": "one\n" });
    put(folder, memory); // the project as it is now
    await using server = await scriptedServer([uses(["Read", { file_path: "a.txt" }]), { text: "Done." }]);
    const reader = agent({
      system: "You read.",
      tools: [Read],
      memory: true,
      model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }),
    });
    await runFixture(fixture, reader, { mode: "record", prompts: ["Read it"], tools: true, cwd: place });
    assert.match(JSON.stringify(server.requests[0]), /Be brief about/);
    for (const wire of [false, true]) {
      const { report } = await runFixture(fixture, reader, { wire });
      assert.deepEqual([report.ok, report.divergences], [true, []]);
    }
    const other = agent({ system: "You write.", tools: [Read], memory: true, model: scripted([]) });
    const { report } = await runFixture(fixture, other);
    assert.deepEqual(report.divergences.map(({ cause }) => cause), ["prompt"]);
  });
});

test("sub-agents from files start again, and changed memory is as recorded, from tool results alone", async () => {
  await inFolder(async (folder) => {
    const [place, fixture] = [join(folder, "place"), fixtureAt(join(folder, "fixtures/described"))];
    const memory = { "AGENTS.md": "Be brief.\n" };
    put(folder, memory); // the project as it is now
    put(place, {
      ...memory,
      "agents/reader.md": `---\ndescription: Reads\ntools: Read\n---\nYou read in ${place}.\n`,
      "a.txt": "one\n",
    });
    await using server = await scriptedServer([
      uses(["Agent", { description: "Read", prompt: "Read it", subagent_type: "reader" }]),
      uses(["Read", { file_path: "a.txt" }]),
      { text: "It says one." },
      uses(["Read", { file_path: "AGENTS.md" }]),
      uses(["Edit", { file_path: "AGENTS.md", old_string: "brief", new_string: "briefer" }]),
      { text: "Done." },
    ]);
    const lead = agent({
      system: "You lead.",
      tools: [Agent, Edit, Read],
      memory: true,
      hooks: {
        memoryUpdate: (event, ctx) => void ctx.values.set("changed", JSON.stringify(event)),
        stop: (_, ctx) => void ctx.log(`${ctx.values.get("changed")}`),
      },
      model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }),
    });
    const was = await runFixture(fixture, lead, { mode: "record", prompts: ["Go"], tools: true, cwd: place });
    server.done();
    const told = (events: readonly RunEvent[], root: string) =>
      events.flatMap((e) => e.type === "log" ? [e.message.replaceAll(root, "")] : []);
    assert.match(told(was.events, place)[0]!, /"modified".*"previous_hash":"\w{64}"/);
    for (const wire of [false, true]) {
      let root = "";
      const on = (event: RunEvent) => {
        if (event.type === "log") root = /"file_path":"(.*?)\/AGENTS\.md"/.exec(event.message)![1]!;
      };
      const { report, events, files } = await runFixture(fixture, lead, { wire, on });
      assert.deepEqual([report.ok, report.divergences], [true, []]);
      assert.deepEqual(told(events, root), told(was.events, place));
      assert.equal(files.get("AGENTS.md"), "Be briefer.\n");
    }
  });
});

test("agents that files describe are started again wherever a shell went in a workspace that is named by a link", async () => {
  await inFolder(async (folder) => {
    const [place, fixture] = [join(folder, "place"), fixtureAt(join(folder, "fixtures/linked"))];
    put(join(folder, "real"), { "agents/reader.md": "---\ndescription: Reads\n---\nYou read.\n", "sub/a.txt": "" });
    symlinkSync(join(folder, "real"), place);
    await using server = await scriptedServer([
      uses(bash("cd sub")),
      uses(["Agent", { description: "Read", prompt: "Read it", subagent_type: "reader" }]),
      { text: "It says one." },
      { text: "Done." },
    ]);
    const lead = agent({
      system: "You lead.",
      tools: [Agent, Bash],
      model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }),
    });
    await runFixture(fixture, lead, { mode: "record", prompts: ["Go"], tools: true, cwd: place });
    server.done();
    const { report } = await runFixture(fixture, lead);
    assert.deepEqual([report.ok, report.divergences], [true, []]);
  });
});
