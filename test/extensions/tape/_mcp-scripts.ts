/**
 * An MCP server as a script: whatever it says is random, so that only a tape can say it twice. It writes a line to the
 * file `STARTED` when it starts.
 */
export const SERVER = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
if (process.env.STARTED) appendFileSync(process.env.STARTED, "started\\n");
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const text = (words) => ({ content: [{ type: "text", text: words }] });
const asked = new Map();
const tools = {
  get_weather: ({ city }) => text(city + " " + Math.random()),
  get_env: ({ name }) => text(process.env[name]),
  get_cwd: () => text(process.cwd() + " " + Math.random()),
  die: () => process.kill(process.pid, "SIGKILL"),
  confirm: async (_, { progressToken }) => {
    say({ method: "notifications/progress", params: { progressToken, progress: 1, message: "half" } });
    const answer = await new Promise((resolve) => {
      asked.set("q1", resolve);
      say({ id: "q1", method: "elicitation/create", params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } } });
    });
    return text(answer.action + " " + Math.random());
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) asked.get(id)?.(result ?? { action: error.message });
  else if (method === "initialize") {
    await new Promise((resolve) => setTimeout(resolve, Number(process.env.SLOW ?? 0)));
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "weather", version: "1" } } });
  } else if (method === "notifications/initialized") {
    if (process.env.TELLS) say({ method: "notifications/message", params: { level: "info", data: "up " + Math.random() } });
  } else if (method === "tools/list") {
    const schema = { type: "object", properties: { city: { type: "string" }, name: { type: "string" } } };
    say({ id, result: { tools: Object.keys(tools).map((name) => ({ name, description: "about " + name, inputSchema: schema })) } });
  } else if (method === "tools/call") {
    Promise.resolve(tools[params.name](params.arguments ?? {}, params._meta ?? {})).then((result) => say({ id, result }));
  } else if (id !== undefined) say({ id, error: { code: -32601, message: "Method not found" } });
}
`;

/**
 * A program with a model and a server: its first argument are its steps. \`["ask", words]\` asks the model,
 * \`["call", tool, arguments]\` the server, \`["calls", n, …]\` n times at once, \`["send", method, params]\` anything.
 */
export const CLIENT = `
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
const [steps, ...argv] = process.argv.slice(2);
const server = spawn(argv[0], argv.slice(1), { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...JSON.parse(process.env.SERVER_ENV ?? "{}") } });
const waiting = new Map();
let next = Math.floor(Math.random() * 1e6);
const write = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const send = (method, params) => new Promise((resolve) => {
  const id = next++;
  waiting.set(id, resolve);
  write({ id, method, params: { ...params, _meta: { progressToken: "t" + id, session: Math.random() } } });
});
server.on("close", () => waiting.forEach((resolve) => resolve({ error: { message: "closed" } })));
server.stdin.on("error", () => {});
createInterface({ input: server.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) return waiting.get(message.id)?.(message);
  const { progressToken, ...params } = message.params;
  console.log("heard", message.method, progressToken === undefined || waiting.has(Number(progressToken.slice(1))), JSON.stringify(params));
  if (message.id !== undefined) write({ id: message.id, result: { action: process.env.ACTION ?? "accept", content: {} } });
});
const ask = async (words) => {
  const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: words }] });
  const headers = { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" };
  const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });
  console.log(answer.status);
};
const said = ({ result, error }) => result ? result.content?.[0].text ?? JSON.stringify(result) : error.message;
const call = async (name, input) => said(await send("tools/call", { name, arguments: input }));
for (const [step, ...rest] of JSON.parse(steps)) {
  if (step === "open") {
    await send("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: String(Math.random()) } });
    write({ method: "notifications/initialized" });
  } else if (step === "ask") await ask(rest[0]);
  else if (step === "call") { const words = await call(...rest); console.log(words); await ask(words); }
  else if (step === "calls") {
    const all = await Promise.all(Array.from({ length: rest[0] }, () => call(rest[1], rest[2])));
    console.log(all.join("\\n"));
    await ask(all.join(", "));
  } else if (step === "send") console.log(said(await send(...rest)));
  else if (step === "pause") await new Promise((resolve) => setTimeout(resolve, rest[0]));
  else if (step === "meanwhile") send(...rest).then((message) => console.log("late", said(message)));
}
server.stdin.end();
setTimeout(() => process.exit(0), 50);
`;
