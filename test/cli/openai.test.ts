import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { place } from "../_place.ts";
import { type ChatReply, chatServer } from "../models/openai/_chat-server.ts";

test("run --model openai:NAME asks the server at OPENAI_BASE_URL, with the key if one is set", async () => {
  using server = await chatServer([{ text: "Hello from here" }]);
  using here = place();
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "secret" };
  const { code, out, err } = await here.main(["run", "--model", "openai:qwen3", "say hello"], env);
  assert.deepEqual([code, out], [0, "Hello from here\n"], err);
  assert.equal(server.requests[0]!.model, "qwen3");
  assert.equal(server.headers[0]!.authorization, "Bearer secret");
});

test("a script's own model wins over CROCHET_MODEL and config.yaml, and --model over all", async () => {
  using server = await chatServer([{ text: "named" }]);
  const lib = (path: string) => new URL(`../../lib/${path}`, import.meta.url);
  using here = place({
    "agent.ts": `import { agent } from "${lib("agent/agent.ts")}";
import { scripted } from "${lib("testing/index.ts")}";
export default agent({ from: import.meta.url, model: scripted([{ text: "own" }]) });`,
    ".crochet/config.yaml": "model: openai:qwen3\n",
  });
  const env = { OPENAI_BASE_URL: server.url, CROCHET_MODEL: "openai:qwen3" };
  for (const [said, ...flags] of [["own"], ["named", "--model", "openai:qwen3"]]) {
    const { out, err } = await here.main(["run", "--trust", "agent.ts", "hi", ...flags], env);
    assert.equal(out, `${said}\n`, err);
  }
});

test("a model named openai:NAME without a server and without a key is refused with the variables to set", async () => {
  using here = place();
  const run = await here.main(["run", "say hello"], { CROCHET_MODEL: "openai:gpt-5" });
  assert.equal(run.code, 1);
  assert.match(run.err, /no API key is set: set OPENAI_API_KEY/);
  const nameless = await here.main(["run", "--model", "openai:", "say hello"]);
  assert.notEqual(nameless.code, 0);
  assert.match(nameless.err, /no name follows: write openai:NAME/);
});

/** Reads a file, has an agent look, and says what it saw; the small model judges calls. */
function answering({ model, messages }: { readonly [key: string]: unknown }): ChatReply {
  if (model === "small") return { text: '{"action": "continue"}' };
  const said = messages as { role: string; content: string }[];
  const answered = said.filter(({ role }) => role === "tool").length;
  if (said.at(-1)!.content === "look") return { text: "seen" };
  if (answered === 0) return { thinking: "First the file.", tools: [{ name: "Read", input: { file_path: "a.txt" } }] };
  if (answered === 1) return { tools: [{ name: "Agent", input: { description: "d", prompt: "look" } }] };
  return { text: "It says one" };
}

test("config.yaml names models of OpenAI's API for the agent, its agents below and prompt hooks", async () => {
  using server = await chatServer(answering);
  using here = place({
    "a.txt": "one\n",
    "hooks/pre-tool-use@Read.judge.prompt.md": "Is this fine? {{args}}\n",
    ".crochet/config.yaml": "model: openai:qwen3\nhookModel: openai:small\n",
  });
  const env = { OPENAI_BASE_URL: server.url };
  const { code, out, err } = await here.main(["run", "--trust", "--hooks", "hooks", "what is in a.txt?"], env);
  assert.deepEqual([code, out], [0, "It says one\n"], err);
  assert.deepEqual(server.requests.map(({ model }) => model), ["qwen3", "small", "qwen3", "qwen3", "qwen3"]);
  const again = JSON.stringify(server.requests.at(-1)!.messages);
  assert.match(again, /"reasoning_content":"First the file\."/, "thinking goes back in the field it came in");
});

test("a run with a model of OpenAI's API is recorded, replayed, put under faults and shown; --wire is refused", async () => {
  using server = await chatServer(answering);
  using here = place({ "a.txt": "one\n", ".crochet/config.yaml": "model: openai:qwen3\n" });
  const env = { OPENAI_BASE_URL: server.url };
  const recorded = await here.main(["record", "--trust", "--fixture", "reads", "what is in a.txt?"], env);
  assert.equal(recorded.code, 0, recorded.err);
  const asked = server.requests.length;
  const replayed = await here.main(["replay", "reads"]);
  assert.equal(replayed.code, 0, replayed.out + replayed.err);
  const faults = await here.main(["replay", "reads", "--faults", "5", "--seed", "1"]);
  assert.equal(faults.code, 0, faults.out + faults.err);
  const wire = await here.main(["replay", "reads", "--wire"]);
  assert.notEqual(wire.code, 0);
  assert.match(wire.out + wire.err, /not reached by the SDK: leave out --wire/);
  const view = await here.main(["view", "reads", "--out", "view.html"]);
  assert.equal(view.code, 0, view.err);
  assert.match(readFileSync(join(here.cwd, "view.html"), "utf8"), /It says one/);
  assert.equal(server.requests.length, asked, "a replay asks no server");
});

test("crochet hook and hooks test ask the model of CROCHET_MODEL in prompt hooks, as a run does", async () => {
  using server = await chatServer(() => ({ text: '{"ok": false, "reason": "Not here"}' }));
  using here = place({ "hooks/pre-tool-use@Bash.judge.prompt.md": "May it run {{args.command}}?\n" });
  const env = { OPENAI_BASE_URL: server.url, CROCHET_MODEL: "openai:qwen3" };
  const file = join(here.cwd, "hooks/pre-tool-use@Bash.judge.prompt.md");
  const asked = { hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command: "ls" }, cwd: here.cwd };
  const served = await here.crochet(["hook", file], env, JSON.stringify(asked));
  assert.match(served.out, /"permissionDecision":"deny","permissionDecisionReason":"Not here"/, served.err);
  const tested = await here.main(["hooks", "test", file], env);
  assert.match(tested.out, /Not here/, tested.err);
  assert.deepEqual(server.requests.map(({ model }) => model), ["qwen3", "qwen3"]);
});
