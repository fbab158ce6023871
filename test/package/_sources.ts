/** Everything a first project does: a tool of its own and one of ours, hooks in a folder, a call over HTTP, a test double. */
export const AGENT = `
import { agent, tool } from "crochet";
import { Read } from "crochet/tools";
import { scriptedServer } from "crochet/testing";

const server = await scriptedServer([
  { tools: [{ name: "Read", input: { file_path: "secret.txt" } }, { name: "Shout", input: { text: "hi" } }] },
  { text: "Hello from the model" },
]);
process.env.ANTHROPIC_BASE_URL = server.url;
process.env.ANTHROPIC_API_KEY = "none";
const shout = tool({
  name: "Shout",
  description: "Says it louder",
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  run: ({ text }: { text: string }) => text.toUpperCase(),
});
const greeter = agent({ from: import.meta.url, model: "claude-test", tools: [Read, shout], hooks: "./hooks" });
const { stop, text, messages } = await greeter.run("Greet me");
const answers = messages[2]!.content.map((block) => "content" in block ? block.content : "");
console.log(JSON.stringify({ stop, text, answers }));
await server.close();
`;

/** Keeps what is secret from being read. */
export const HOOK = `
import { deny, type PreToolUseHook } from "crochet";

export default (({ input }, { cwd }) =>
  cwd !== "" && String(input.file_path).includes("secret") ? deny("it is secret") : undefined) satisfies PreToolUseHook;
`;

const withoutTypes = (text: string) =>
  text.replace(": { text: string }", "").replace("!.content", ".content").replace(", type PreToolUseHook", "")
    .replace(" satisfies PreToolUseHook", "");

/** The same for a Node that does not run TypeScript. */
export const PLAIN = { agent: withoutTypes(AGENT), hook: withoutTypes(HOOK) };

/** Needs no model. */
export const SCRIPTED = `
import { agent } from "crochet";
import { scripted } from "crochet/testing";

export default agent({ model: scripted([{ text: "Hello from a script" }]) });
`;

/** Replays a fixture of another agent, and says what differs. */
export const REPLAYED = `
import { agent } from "crochet";
import { replay } from "crochet/testing";

await replay(agent({ system: "You sing." }), "fixtures/hello").catch(({ message }) => console.log(message));
`;

/** Asks a model over HTTP, by name: what answers is in the same process. */
export const WIRED = `
import { agent } from "crochet";
import { scriptedServer } from "crochet/testing";

const server = await scriptedServer([{ text: "Hello over the wire" }]);
process.env.ANTHROPIC_BASE_URL = server.url;
process.env.ANTHROPIC_API_KEY = "none";
export default agent({ from: import.meta.url, model: "claude-test" });
`;

/** What a model has said, as it came over the wire: an import reads it. */
export const STREAM = [
  {
    type: "message_start",
    message: {
      id: "m",
      type: "message",
      role: "assistant",
      model: "claude-test",
      content: [],
      usage: { input_tokens: 3 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t", name: "Read", input: {} } },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"file_path":"a' } },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '.txt"}' } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
