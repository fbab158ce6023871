import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type AgentOptions, anthropic, modify, openai } from "crochet";
import { scripted, scriptedServer, type ScriptEntry } from "crochet/testing";
import { agentTool, Read } from "crochet/tools";
import { scratch } from "../_scratch.ts";
import { serve } from "../_server.ts";

const HOUR = { type: "ephemeral", ttl: "1h" } as const;
const OURS = { type: "ephemeral" };
const RULES = { type: "text", text: "You keep the rules.", cache_control: HOUR } as const;
const PLACE = { type: "text", text: "You work in Oslo." } as const;
const MEMORY = "# From AGENTS.md\n\nBe brief.";
const FILES = { "AGENTS.md": "Be brief.\n" };

/** The bodies that reach the API in a run. */
async function sent(options: AgentOptions, replies: readonly ScriptEntry[] = [{ text: "ok" }]) {
  await using server = await scriptedServer(replies);
  const model = anthropic({ apiKey: "test", baseURL: server.url });
  const { error } = await agent({ hooks: [], ...options, model }).run("go");
  assert.equal(error, undefined);
  return server.requests.map(({ body }) => body);
}

const marks = (list: readonly any[]) => list.map((one) => (one.content?.at(-1) ?? one).cache_control);

test("a system prompt in blocks is sent as it is, memory in a block of its own, and its marks stand for those of tools", async () => {
  using folder = scratch(FILES);
  const given = { system: [RULES, PLACE], memory: true, tools: [Read], cwd: folder.path };
  const [body] = await sent(given);
  assert.deepEqual(body.system, [RULES, PLACE, { type: "text", text: MEMORY }]);
  assert.deepEqual([marks(body.tools), marks(body.messages)], [[undefined], [OURS]]);
  const [plain] = await sent({ ...given, system: [PLACE] });
  assert.deepEqual(plain.system, [PLACE, { type: "text", text: MEMORY, cache_control: OURS }]);
  assert.deepEqual([marks(plain.tools), marks(plain.messages)], [[OURS], [OURS]]);
});

test("a request never has more than four marks: an author's come before ours", async () => {
  const look = { tools: [{ name: "Read", input: { file_path: "a.txt" } }] };
  const replies = [look, look, { text: "ok" }];
  const counted = await Promise.all([1, 2, 3, 4].map(async (n) => {
    const bodies = await sent({ system: Array<typeof RULES>(n).fill(RULES), tools: [Read] }, replies);
    return bodies.map(({ messages }) => marks(messages).filter((mark) => mark).length);
  }));
  assert.deepEqual(counted, [[1, 2, 2], [1, 2, 2], [1, 1, 1], [0, 0, 0]]);
});

test("a system prompt that a hook changed for a call is one text; the next call has its blocks again", async () => {
  const hooks: AgentOptions["hooks"] = {
    preIteration: ({ iteration, request }) =>
      iteration === 0 ? modify({ system: `${request.system}\nHurry.` }) : undefined,
  };
  const look = { tools: [{ name: "Read", input: { file_path: "a.txt" } }] };
  const bodies = await sent({ system: [RULES, PLACE], tools: [Read], hooks }, [look, { text: "ok" }]);
  const changed = { type: "text", text: `${RULES.text}\n\n${PLACE.text}\nHurry.`, cache_control: OURS };
  assert.deepEqual(bodies.map(({ system }) => system), [[changed], [RULES, PLACE]]);
});

test("an agent below another has its own system prompt, or the blocks of its parent", async () => {
  const start = (subagent_type: string) => ({
    tools: [{ name: "Agent", input: { description: "d", prompt: "p", subagent_type } }],
  });
  const below = agentTool({ agents: { other: { description: "counts", system: "You count." } } });
  const model = scripted([start("other"), { text: "3" }, start("general-purpose"), { text: "4" }, { text: "ok" }]);
  await agent({ model, system: [RULES], tools: [below] }).run("go");
  assert.deepEqual(model.requests.map(({ system, systemBlocks }) => [system, systemBlocks]), [
    [RULES.text, [RULES]],
    ["You count.", undefined],
    [RULES.text, [RULES]],
    [RULES.text, [RULES]],
    [RULES.text, [RULES]],
  ]);
});

test("other APIs read the blocks as one text", async () => {
  const bodies: any[] = [];
  using server = await serve(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.statusCode = 400;
    response.end("{}");
  });
  for (const api of ["chat", "responses"] as const) {
    const model = openai({ model: "m", baseURL: server.url, apiKey: "test", api });
    await agent({ model, system: [RULES, PLACE], hooks: [] }).run("go");
  }
  const said = `${RULES.text}\n\n${PLACE.text}`;
  assert.deepEqual([bodies[0].messages[0].content, bodies[1].instructions], [said, said]);
});

test("blocks are recorded; a replay names the one that has changed, and no mark that has", async () => {
  using folder = scratch(FILES);
  const replayed = async (system: AgentOptions["system"], mode: "record" | "replay") => {
    const model = scripted([{ text: "ok" }]);
    const tape = { path: join(folder.path, "made"), mode };
    const { stop, error } = await agent({ model, system: system!, memory: true, cwd: folder.path }).run("go", { tape });
    return error?.message ?? stop;
  };
  assert.equal(await replayed([RULES, PLACE], "record"), "done");
  assert.equal(await replayed([{ ...RULES, cache_control: OURS as never }, PLACE], "replay"), "done");
  assert.match(
    await replayed([RULES, { ...PLACE, text: "You work in Rome." }], "replay"),
    /system\.1\.text is not what was recorded \(prompt\): .*Oslo.*Rome/,
  );
  assert.match(await replayed(`${RULES.text}\n\n${PLACE.text}`, "replay"), /system\.0\.text is not what was recorded/);
});

const WRONG: readonly [system: unknown, why: RegExp][] = [
  [7, /'system' must be a text or a list: current value is 7$/],
  [["You help."], /with block 0 of 'system' as its options are "You help\.": give an object$/],
  [[PLACE, { type: "text" }], /with block 1 of 'system' as it has no text: give \{ type: "text", text \}$/],
  [[{ text: "You help." }], /as it has no text/],
  [[{ type: "image", text: "x" }], /as 'type' must be "text": current value is "image"$/],
  [[{ ...PLACE, cache: true }], /as option 'cache' is unknown: expected type, text, cache_control$/],
  [[{ ...PLACE, cache_control: true }], /as 'cache_control' must be an object: current value is true$/],
  [
    [{ ...PLACE, cache_control: { ttl: "1h" } }],
    /^Cannot use the cache mark of block 0 of 'system' as 'type' must be "ephemeral"/,
  ],
  [[{ ...PLACE, cache_control: { type: "ephemeral", ttl: "2h" } }], /as 'ttl' must be "5m" or "1h": .* "2h"$/],
  [Array(5).fill(RULES), /as 5 blocks of 'system' have a cache mark: the API takes 4$/],
];

for (const [system, why] of WRONG) {
  test(`a system prompt of ${JSON.stringify(system)} is refused before anything begins`, () => {
    assert.throws(() => agent({ model: scripted([]), system: system as string }), (error) => {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, why);
      return true;
    });
  });
}
