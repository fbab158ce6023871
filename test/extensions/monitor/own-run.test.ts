import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "crochet";
import { AskUserQuestion, askWith, Bash, EnterPlanMode, ExitPlanMode } from "crochet/tools";
import { scripted, type ScriptedReply, scriptedServer } from "crochet/testing";
import agentsCommand from "../../../lib/extensions/monitor/agents.ts";
import trust from "../../../lib/cli/trust.ts";
import monitored from "../../../lib/extensions/monitor/own-run.ts";
import { allStandings } from "../../../lib/extensions/monitor/standing.ts";
import { CROCHET, start } from "../../_crochet.ts";
import { place } from "../../_place.ts";
import { put, scratch } from "../../_scratch.ts";
import { until } from "../../_until.ts";

const QUESTION = {
  questions: [{
    question: "Which way?",
    header: "Way",
    options: [{ label: "left", description: "" }, { label: "right", description: "" }],
  }],
};

/** A place where the command line is used against a scripted model. */
async function modelled(replies: readonly ScriptedReply[]) {
  const here = place();
  const server = await scriptedServer(replies, { then: { text: "nothing left to say" } });
  const env = { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url };
  const agents = join(here.home, ".crochet/agents");
  return {
    ...here,
    agents,
    run: (...args: string[]) => here.crochet(["run", ...args], env),
    /** Starts a run; killed once it is in a state. */
    killedWhen: async (state: string, ...args: string[]) => {
      const { kill } = start([...CROCHET, "run", ...args], { cwd: here.cwd, env: { HOME: here.home, ...env } });
      await until(`the run is ${state}`, () => allStandings(agents)[0]?.state === state).finally(() => kill());
    },
    rows: async () => JSON.parse((await here.call(agentsCommand, "--all", "--json")).out) as Row[],
    types: () =>
      readdirSync(agents).filter((name) => name.endsWith(".jsonl")).flatMap((name) =>
        readFileSync(join(agents, name), "utf8").trim().split("\n").map((line) => JSON.parse(line).type as string)
      ),
    async [Symbol.asyncDispose]() {
      await server.close();
      here[Symbol.dispose]();
    },
  };
}

type Row = { id: string; state: string; name?: string; workspace?: string; prompt_type?: string; message?: string };

test("a run of crochet shows up among the agents, in three lines of a log", async () => {
  await using here = await modelled([{ text: "hello" }]);
  const { code } = await here.run("hi");
  assert.equal(code, 0);
  const [row, ...more] = await here.rows();
  assert.deepEqual([row?.state, row?.name, row?.workspace, more.length], ["stopped", "coding", here.cwd, 0]);
  assert.deepEqual(here.types(), ["start", "turn_end", "end"]);
  const now = await here.call(agentsCommand);
  assert.match(now.out, /^no agents are running/);
});

test("a run that a limit ends is shown as failed", async () => {
  await using here = await modelled([{ tools: [{ name: "Read", input: { file_path: "x" } }] }]);
  assert.equal((await here.run("--max-iterations", "1", "hi")).code, 1);
  assert.deepEqual((await here.rows()).map((row) => row.state), ["failed"]);
});

test("a run is working while it works, and failed once its process is killed", async () => {
  await using here = await modelled([{ tools: [{ name: "Bash", input: { command: "sleep 20" } }] }]);
  await here.killedWhen("working", "--permission-mode", "bypassPermissions", "hi");
  assert.deepEqual((await here.rows()).map((row) => row.state), ["failed"]);
});

test(
  "S2.13, S2.14: a question that ends a run stays pending after its process, and onPrompt runs once",
  async () => {
    await using here = await modelled([{ tools: [{ name: "AskUserQuestion", input: QUESTION }] }, {
      text: "left it is",
    }]);
    const told = join(here.cwd, "told");
    mkdirSync(join(here.cwd, ".crochet"));
    writeFileSync(
      join(here.cwd, ".crochet/config.yaml"),
      `onPrompt: { command: 'echo "$CROCHET_PROMPT_TYPE $CROCHET_PROMPT_MESSAGE" >> ${told}' }\n`,
    );
    await here.call(trust);
    assert.equal((await here.run("hi")).code, 0);
    const [row] = await here.rows();
    assert.deepEqual([row?.state, row?.prompt_type, row?.message], ["prompting", "question", "Which way?"]);
    await until("onPrompt ran", () => existsSync(told));

    // The answer goes on with the session: a life of its own, under the same id.
    assert.equal((await here.run("--resume", "last", "left")).code, 0);
    assert.deepEqual((await here.rows()).map(({ id, state }) => [id, state]), [[row!.id, "stopped"]]);
    assert.equal(readFileSync(told, "utf8"), "question Which way?\n");
  },
);

test("a durable run that waits for an answer is prompting, also once its process is gone", async () => {
  await using here = await modelled([{ tools: [{ name: "Bash", input: { command: "touch made" } }] }]);
  await here.killedWhen("prompting", "--durable", "hi");
  const [row] = await here.rows();
  assert.deepEqual([row?.state, row?.prompt_type], ["prompting", "permission"]);
  assert.match(row!.message!, /^Bash: .*permission/);
});

test("S2.3: agent-prompt fires for a question, a plan and a permission of a run of ours", async () => {
  const seen: unknown[] = [];
  const model = scripted([
    { tools: [{ name: "AskUserQuestion", input: QUESTION }] },
    { tools: [{ name: "EnterPlanMode", input: {} }] },
    { tools: [{ name: "ExitPlanMode", input: { plan: "1. go\n2. back" } }] },
    { tools: [{ name: "Bash", input: { command: "true" } }] },
    { text: "done" },
  ]);
  const asking = agent({
    model,
    tools: [AskUserQuestion, EnterPlanMode, ExitPlanMode, Bash],
    permissions: { mode: "default", ask: ["Bash"] },
    hooks: { agentPrompt: [({ prompt_type, message }) => void seen.push([prompt_type, message])] },
  });
  const questionAsker = askWith({ "Which way?": "left" });
  const asked = { questionAsker, permissionAsker: async () => ({ behavior: "deny" as const }) };
  assert.equal((await asking.run("go", asked)).stop, "done");
  assert.deepEqual(seen.slice(0, 3), [["question", "Which way?"], ["plan_approval", ""], [
    "plan_approval",
    "1. go\n2. back",
  ]]);
  assert.deepEqual(seen.slice(3).map((one) => (one as string[])[0]), ["permission"]);
});

test("a command in an untrusted config.yaml is not run", async () => {
  await using here = await modelled([{ tools: [{ name: "AskUserQuestion", input: QUESTION }] }]);
  const told = join(here.cwd, "told");
  mkdirSync(join(here.cwd, ".crochet"));
  writeFileSync(join(here.cwd, ".crochet/config.yaml"), `onPrompt: { command: 'touch ${told}' }\n`);
  const { err } = await here.run("hi");
  assert.match(err, /config\.yaml is not trusted[^]*'onPrompt' does not count/);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok(!existsSync(told));
});

test("a run goes on if its state cannot be written", async () => {
  await using here = await modelled([{ text: "hello" }]);
  put(here.home, { ".crochet/agents": "a file in the way" });
  const { code, out, err } = await here.run("hi");
  assert.deepEqual([code, out, err], [0, "hello\n", ""]);
});

test("a session that asks a person is prompting until they have answered, and then at work again", async () => {
  using folder = scratch();
  const dir = join(folder.path, ".crochet/agents");
  const states: string[] = [];
  const look = () => states.push(...allStandings(dir).map((one) => "prompt_type" in one ? one.prompt_type : one.state));
  const asking = monitored(
    agent({
      model: scripted([
        { tools: [{ name: "AskUserQuestion", input: QUESTION }] },
        { tools: [{ name: "Bash", input: { command: "touch sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789" } }] },
        { text: "done" },
      ]),
      tools: [AskUserQuestion, Bash],
      cwd: folder.path,
      permissions: { mode: "default" },
    }),
    { env: { HOME: folder.path }, workspace: folder.path, onPrompt: "none" },
  );
  const session = await asking.open({
    questionAsker: {
      answer: async () => (look(), { "Which way?": "left" }),
      approve: async () => undefined,
    },
    permissionAsker: async () => (look(), { behavior: "allow" }),
    on: (event) => void (event.type === "tool_end" && look()),
  });
  assert.equal((await session.prompt("go")).stop, "done");
  look();
  await session.close();
  look();
  assert.deepEqual(states, ["question", "working", "permission", "working", "waiting", "stopped"]);
  assert.doesNotMatch(readFileSync(join(dir, readdirSync(dir)[0]!), "utf8"), /sk-ant-api03/);
});
