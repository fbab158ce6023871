import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { test } from "node:test";
import { agent, type AgentOptions } from "crochet";
import { scripted, scriptedServer } from "crochet/testing";
import hooks from "../../lib/cli/hooks.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { put, scratch } from "../_scratch.ts";

const lib = new URL("../../lib/", import.meta.url).href;
/** Sends the agent back once, so a run with it has one model call more. */
const STOP =
  `export default ({ stop_hook_active }) => stop_hook_active ? undefined : { action: "deny", reason: "again" };\n`;
const SCRIPT = `import { agent } from "${lib}index.ts";
const made = agent({ from: import.meta.url });
export default made;
if (import.meta.main) await made.main();
`;

async function callsOf(from: string, options: AgentOptions = {}): Promise<number> {
  const model = scripted([], { then: { text: "done" } });
  return (await agent({ model, from, ...options }).run("go")).iterations;
}

test("agent({ from }) loads ./hooks beside the script; [] switches that off, and an option replaces it", async () => {
  using folder = scratch({ "agent.ts": "" });
  put(folder.path, { "hooks/stop.once.js": STOP, "other/stop.quiet.js": "export default () => {};\n" });
  const from = `file://${folder.path}/agent.ts`;
  assert.equal(await callsOf(from), 2);
  assert.equal(await callsOf(`${folder.path}/agent.ts`), 2, "a path is as good as a URL");
  assert.equal(await callsOf(from, { hooks: [] }), 1);
  assert.equal(await callsOf(from, { hooks: "./other" }), 1);
  assert.equal(await callsOf(from, { hooks: { stop: () => undefined } }), 1);
  assert.equal(await callsOf("https://example.com/agent.ts"), 1, "a script without a folder has none beside it");
});

test("a hooks/ beside the script in which no file name begins with an event is left alone", async () => {
  using folder = scratch({ "agent.ts": "" });
  put(folder.path, {
    "hooks/useStop.ts": "throw new Error('React')",
    "hooks/stop-watch.tsx": "",
    "hooks/_stop.ts": "",
  });
  const from = `file://${folder.path}/agent.ts`;
  assert.equal(await callsOf(from), 1);
  put(folder.path, { "hooks/10-stop@x.js": STOP });
  const { error } = await agent({ model: scripted([]), from }).run("go");
  assert.match(error!.message, /Cannot load hook 'stop-watch\.tsx'/, "a folder of hooks has nothing else in it");
});

test("an agent refuses to start away from its script, or beside hooks that cannot be read; [] says there are none", async () => {
  using folder = scratch({ "linked/agent.ts": "", "locked/agent.ts": "", "locked/hooks/stop.once.js": STOP });
  symlinkSync("nowhere", `${folder.path}/linked/hooks`);
  chmodSync(`${folder.path}/locked/hooks`, 0);
  const rows: [from: string, why: RegExp][] = [
    ["gone/agent.ts", /^Cannot start agent 'agent' as there is no '\S+gone\/agent\.ts', away from the hooks beside/],
    ["linked/agent.ts", /^Cannot read hooks folder '\S+linked\/hooks': ENOENT/],
    // Root reads every folder.
    ...(process.getuid?.() === 0 ? [] : [["locked/agent.ts", /^Cannot read hooks folder/]] as [string, RegExp][]),
  ];
  for (const [path, why] of rows) {
    const from = `file://${folder.path}/${path}`;
    const model = scripted([{ text: "done" }]);
    const said = await agent({ model, from }).run("go").then(({ error }) => error!.message, (error) => error.message);
    assert.match(said, why);
    assert.equal(model.requests.length, 0);
    assert.equal(await callsOf(from, { hooks: [] }), 1);
  }
  chmodSync(`${folder.path}/locked/hooks`, 0o700);
});

test("the script's folder loads once under the runtime and 'crochet run', however it is named", async () => {
  using w = place({ "agent.ts": SCRIPT, "hooks/stop.once.js": STOP });
  symlinkSync(`${w.cwd}/hooks`, `${w.cwd}/linked`);
  mkdirSync(`${w.cwd}/elsewhere`);
  const calls = async (start: (env: Record<string, string>) => Promise<{ code: number | null; err: string }>) => {
    await using server = await scriptedServer([], { then: { text: "done" } });
    const { code, err } = await start({ HOME: w.home, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url });
    assert.equal(code, 0, err);
    return server.requests.length;
  };
  assert.equal(await calls((env) => ended([...OUR_RUNTIME, "agent.ts", "go"], { cwd: w.cwd, env })), 2);
  assert.equal(await calls((env) => w.crochet(["run", "agent.ts", "go"], env)), 2);
  assert.equal(await calls((env) => w.crochet(["run", "agent.ts", "go", "--hooks", "linked"], env)), 2);
  assert.equal(await calls((env) => w.crochet(["run", "agent.ts", "go", "--cwd", "elsewhere"], env)), 2);
  assert.equal(await calls((env) => w.crochet(["run", "go"], env)), 1, "without a script it waits for trust");
});

test("crochet hooks says which command and which script loads which folder", async () => {
  using w = place({
    "agent.ts": SCRIPT,
    "none.ts": SCRIPT.replace("url }", "url, hooks: [] }"),
    "hooks/stop.once.js": STOP,
  });
  const names = (out: string) =>
    JSON.parse(out).hooks.map((h: { name: string; source: string }) => `${h.source}/${h.name}`);
  const { out } = await w.call(hooks);
  assert.match(out, /^'crochet run' without a script loads no hooks/);
  assert.match(out, /stop\.once\.js: hooks is not trusted/);
  assert.match(out, /^agent\.ts loads its own hooks without 'crochet trust': .*: crochet hooks ls agent\.ts$/m);
  assert.deepEqual(names((await w.call(hooks, "ls", "agent.ts", "--json")).out), ["hooks/stop.once.js"]);
  const without = await w.call(hooks, "ls", "none.ts");
  assert.match(without.out, /^none\.ts loads no hooks/);
  assert.match(without.out, /hooks: the script has hooks of its own; --hooks hooks adds these/);
  using react = place({ "hooks/useStop.ts": "" });
  assert.match((await react.call(hooks)).out, /hooks: it is left alone as no file name in it begins with an event/);
});

test("S0.11: crochet hooks ls lists folders and hooks in code as the script gives them", async () => {
  const mixed = 'url, hooks: ["./more", { stop: function mine() {} }, "./hooks"] }';
  using w = place({
    "agent.ts": SCRIPT.replace("url }", mixed),
    "hooks/stop.once.js": STOP,
    "more/stop.again.js": STOP,
    "more/50-stop.soon.js": STOP,
  });
  const { out } = await w.call(hooks, "ls", "agent.ts", "--json");
  const listed = JSON.parse(out).hooks.map(({ name }: { name: string }) => name);
  assert.deepEqual(listed, ["50-stop.soon.js", "stop.again.js", "mine", "stop.once.js"]);
});

test("a tape of a script that did not load the folder drifts once, and the report names the folder's hooks", async () => {
  using w = place({ "agent.ts": SCRIPT });
  await using server = await scriptedServer([], { then: { text: "done" } });
  const env = { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url };
  const crochet = async (...args: string[]) => (await w.main(args, env)).out;
  await crochet("record", "agent.ts", "go", "--fixture", "go");
  assert.match(await crochet("replay"), /go +held/);
  w.put({ "hooks/stop.once.js": STOP });
  const line = /\.\/hooks beside the script is loaded now, but was not when this was recorded: stop\.once\.js/;
  assert.match(await crochet("replay"), line);
  await crochet("replay", "--update");
  assert.match(await crochet("replay"), /go +held/);
  w.put({ "agent.ts": SCRIPT.replace("url }", "url, system: 'new' }") });
  const later = await crochet("replay");
  assert.match(later, /system/);
  assert.doesNotMatch(later, line, "the renewed tape knows its hooks");
});
