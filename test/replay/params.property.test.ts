import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { agent, anthropic, type Block, type Middleware } from "../../lib/index.ts";
import type { ParamOptions, Params } from "../../lib/agent/params.ts";
import type { DriftReport } from "../../lib/replay/drift/drift-report.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import { scripted, type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { scratch } from "../_scratch.ts";
import "./_no-ci.ts";

/** Where a parameter stands, its path in a report, and values it may have. */
const PARAMS: readonly [name: string, path: string, values: readonly ParamOptions[]][] = [
  ["maxTokens", "max_tokens", [{ maxTokens: 10 }, { maxTokens: 11 }]],
  ["effort", "effort", [{ effort: "low" }, { effort: "max" }, {}]],
  [
    "a budget",
    "thinking.budget_tokens",
    [1024, 2048, 4096].map((budget_tokens) => ({
      params: { thinking: { type: "enabled", budget_tokens } },
    })),
  ],
  [
    "a format",
    "output_config.format.schema.title",
    ["a", "b"].map((title) => ({
      params: { output_config: { format: { type: "json_schema", schema: { type: "object", title } } } },
    })),
  ],
  ["a choice", "tool_choice.type", (["auto", "none"] as const).map((type) => ({ params: { tool_choice: { type } } }))],
  ["betas", "betas.1", ["b", "c"].map((beta) => ({ params: { betas: ["a", beta] } }))],
  ["a list", "stop_sequences.0", ["x", "y"].map((stop) => ({ params: { stop_sequences: [stop] } }))],
  [
    "a skill",
    "container.skills.0.skill_id",
    ["x", "y"].map((skill_id) => ({
      params: { container: { skills: [{ skill_id }] } },
    })),
  ],
  [
    "an edit",
    "context_management.edits.0.type",
    ["x", "y"].map((type) => ({
      params: { context_management: { edits: [{ type }] } },
    })),
  ],
  ["an unknown one", "made_up", [1, 2, null, "x"].map((made_up) => ({ params: { made_up } }))],
];

/** The ways in which a parameter can be set. */
const WAYS = ["agent", "run", "prompt"] as const;

const others: fc.Arbitrary<Params> = fc.record({ top_k: fc.nat(3), speed: fc.constant("fast" as const) }, {
  requiredKeys: [],
});

const change = fc.constantFrom(...PARAMS).chain(([name, path, values]) =>
  fc.record({
    name: fc.constant(name),
    path: fc.constant(path),
    values: fc.shuffledSubarray([...values], { minLength: 2, maxLength: 2 }),
    way: fc.constantFrom(...WAYS),
    others,
  })
);

interface Asking {
  readonly way: typeof WAYS[number];
  readonly value: ParamOptions;
  readonly others: Params;
}

async function ask(
  model: NonNullable<Parameters<typeof agent>[0]>["model"],
  tape: { path: string; mode?: "record"; wire?: boolean },
  { way, value, others }: Asking,
): Promise<DriftReport | undefined> {
  const given = { ...value, params: { ...others, ...value.params } };
  let report: DriftReport | undefined;
  const maker = agent({ model: model!, ...(way === "agent" && given) });
  const session = await maker.open({ ...(way === "run" && given), tape: { ...tape, onReport: (r) => report = r } });
  await session.prompt("go", way === "prompt" ? given : {});
  await session.close();
  return report;
}

test("any single change of any parameter, by whatever way it was set, is always drift at exactly its path", async () => {
  await using server = await scriptedServer([], { then: { text: "ok" } });
  const real = anthropic({ apiKey: "k", baseURL: server.url });
  const offline = anthropic({ apiKey: "k", baseURL: "http://127.0.0.1:9" });
  await fc.assert(
    fc.asyncProperty(
      change,
      fc.boolean(),
      fc.boolean(),
      async ({ path, values: [was, is], way, others }, isReal, wire) => {
        using folder = scratch();
        const tape = join(folder.path, "made");
        const asking = { way, others };
        const recorder = isReal ? real : scripted([{ text: "ok" }]);
        await ask(recorder, { path: tape, mode: "record" }, { ...asking, value: was! });
        const replayed = wire && isReal ? { path: tape, wire } : { path: tape };
        const asker = isReal ? offline : scripted([]);
        const same = await ask(asker, replayed, { ...asking, value: was! });
        assert.deepEqual([same?.ok, same?.divergences], [true, []]);
        const other = await ask(asker, replayed, { ...asking, value: is! });
        assert.deepEqual([other?.ok, other?.divergences.map((d) => d.path)], [false, [path]]);
      },
    ),
    { numRuns: tries(40, 500) },
  );
});

const changing = (fields: object): Middleware => (request, next) =>
  next({ ...request, body: JSON.stringify({ ...JSON.parse(request.body as string), ...fields }) });

test("what middleware changes is recorded, compared over the wire at its path, and the recording says what to use instead", async () => {
  using folder = scratch();
  const path = join(folder.path, "made");
  await using server = await scriptedServer([{ text: "ok" }]);
  const warnings: string[] = [];
  const run = async (baseURL: string, fields: object, tape: object, betas = "x") => {
    let report: DriftReport | undefined;
    const model = anthropic({
      apiKey: "k",
      baseURL,
      middleware: [changing(fields)],
      headers: { "anthropic-beta": betas },
    });
    await agent({ model, system: "S", params: { top_k: 1, speed: "fast" } }).run("go", {
      tape: { path, ...tape, onReport: (r: DriftReport) => report = r },
      on: (event) => void (event.type === "warning" && warnings.push(event.message)),
    });
    return [report?.ok, report?.divergences.map((d) => d.path)];
  };
  const was = { thinking: { type: "enabled", budget_tokens: 1024 }, top_k: undefined, max_tokens: 5 };
  await run(server.url, was, { mode: "record" });
  assert.deepEqual(warnings, [
    "The model's middleware or headers change top_k, max_tokens, thinking, betas, which only a replay with --wire " +
    "compares: set that by the agent's options or its params instead",
  ]);
  const { request } = (await readTape(path)).calls[0]!;
  assert.deepEqual(request.params, { top_k: 1, speed: "fast", max_tokens: 32_000 });
  assert.deepEqual(request.sent, { ...was, top_k: null });
  const offline = "http://127.0.0.1:9";
  assert.deepEqual(await run(offline, was, {}), [true, []]);
  assert.deepEqual(await run(offline, was, { wire: true }), [true, []]);
  const more = { ...was, thinking: { type: "enabled", budget_tokens: 2048 } };
  assert.deepEqual(await run(offline, more, { wire: true }), [false, ["thinking.budget_tokens"]]);
  assert.deepEqual(await run(offline, {}, { wire: true }), [false, ["max_tokens"]]);
  assert.deepEqual(await run(offline, { ...was, top_k: 2 }, { wire: true }), [false, ["top_k"]]);
  assert.deepEqual(await run(offline, was, { wire: true }, "y"), [false, ["headers.anthropic-beta"]]);
});

const SIGNED = [
  { type: "thinking", thinking: 'Ünïcode \u2028 und \ud83d\ude00, "quoted"\n', signature: "EqQBCgIYAhIM+/=/é" },
  { type: "redacted_thinking", data: "AAAA//==" },
];

test("thinking with its signature survives record, replay, resume and fork byte for byte", async () => {
  using folder = scratch();
  const path = join(folder.path, "made");
  const reply = (text: string): ScriptedReply => ({ blocks: [...SIGNED, { type: "text", text }] });
  await using server = await scriptedServer([reply("one"), { text: "two" }, { text: "three" }, { text: "four" }]);
  const model = anthropic({ apiKey: "k", baseURL: server.url });
  const kept = (messages: unknown) => JSON.stringify((messages as any)[1].content.slice(0, 2));
  const helper = agent({ model });
  const session = await helper.open({ tape: { path, mode: "record" } });
  await session.prompt("a");
  const recorded = await session.prompt("b");
  await session.close();
  await helper.resume(recorded.id, "c");
  await helper.fork(recorded.id, "d", { at: 2 });
  assert.equal(kept(recorded.messages), JSON.stringify(SIGNED));
  for (const { body } of server.requests.slice(1)) assert.equal(kept((body as any).messages), JSON.stringify(SIGNED));
  for (const wire of [false, true]) {
    let report: DriftReport | undefined;
    const replay = await agent({ model: anthropic({ apiKey: "k", baseURL: "http://127.0.0.1:9" }) })
      .open({ tape: { path, wire, onReport: (r) => report = r } });
    await replay.prompt("a");
    const again = await replay.prompt("b");
    await replay.close();
    assert.deepEqual([report?.ok, kept(again.messages)], [true, JSON.stringify(SIGNED)]);
  }
});

test("a prompt of blocks is on the tape and replayed as it was", async () => {
  using folder = scratch();
  const path = join(folder.path, "made");
  const prompt: Block[] = [
    { type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(20_000) } },
    { type: "text", text: `What is in ${folder.path}/x?` },
  ];
  await agent({ model: scripted([{ text: "ok" }]) }).run(prompt, { cwd: folder.path, tape: { path, mode: "record" } });
  const { prompts } = await readTape(path);
  assert.deepEqual((prompts[0] as Block[]).map(({ type }) => type), ["image", "text"]);
  const { fixtureAt } = await import("../../lib/replay/fixture.ts");
  const { runFixture } = await import("../../lib/replay/run-fixture.ts");
  const { report } = await runFixture(fixtureAt(path), agent({ model: scripted([]) }));
  assert.deepEqual([report.ok, report.divergences], [true, []]);
});

test("what a model of another API left in a reply is not sent, and that is no drift of the wire", async () => {
  using folder = scratch();
  const path = join(folder.path, "made");
  const reply: ScriptedReply = {
    events: [
      { type: "message_start", message: {} },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "unsigned" } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "one", openai: { phase: "x" } } },
      { type: "content_block_stop", index: 1 },
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop" },
    ],
  };
  await using server = await scriptedServer([reply, { text: "two" }]);
  const warnings: string[] = [];
  const run = async (baseURL: string, tape: object) => {
    let report: DriftReport | undefined;
    const session = await agent({ model: anthropic({ apiKey: "k", baseURL }) }).open({
      tape: { path, ...tape, onReport: (r: DriftReport) => report = r },
      on: (event) => void (event.type === "warning" && warnings.push(event.message)),
    });
    await session.prompt("a");
    await session.prompt("b");
    await session.close();
    return [report?.ok, report?.divergences];
  };
  await run(server.url, { mode: "record" });
  assert.deepEqual((server.requests[1]!.body as any).messages[1].content, [{ type: "text", text: "one" }]);
  assert.deepEqual([await run("http://127.0.0.1:9", { wire: true }), warnings], [[true, []], []]);
});
