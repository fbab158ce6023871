import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { agent, type Result, tool } from "crochet";
import { scripted, type ScriptedReply, scriptedServer, searchFaults } from "crochet/testing";
import { Agent } from "crochet/tools";
import { anthropic } from "../../lib/models/anthropic/anthropic-model.ts";
import type { DriftReport } from "../../lib/replay/drift/drift-report.ts";
import { tries } from "../_counts.ts";
import type { Faultable } from "../../lib/extensions/faults/under-faults.ts";
import { scratch } from "../_scratch.ts";
import { taped } from "../replay/_taped.ts";

const City = z.object({
  city: z.string(),
  people: z.number().min(1),
  since: z.string().transform((day) => new Date(day)),
});
const BERLIN = { city: "Berlin", people: 2, since: "1237-10-28" };
const PARSED = { ...BERLIN, since: new Date("1237-10-28") };
const echo = tool({ name: "Echo", description: "e", input: { type: "object" }, effect: "none", run: () => "said" });
const gives = (input: unknown): ScriptedReply => ({ tools: [{ name: "output", input }] });
const says = (value: unknown): ScriptedReply => ({ text: JSON.stringify(value) });
const words = ({ messages }: Result) =>
  messages.filter(({ role }) => role === "user").slice(1).flatMap(({ content }) =>
    content.map((block) => block.type === "text" ? block.text : (block as { content: unknown }).content)
  );

test("with tools the output is a tool of its own, whose valid call ends the run", async () => {
  const model = scripted([{ tools: [{ name: "Echo", input: {} }] }, gives(BERLIN)]);
  const result = await agent({ model, tools: [echo], output: City }).run("go");
  assert.deepEqual([result.stop, result.output], ["done", PARSED]);
  assert.equal(result.text, JSON.stringify(PARSED));
  const sent = model.requests.map(({ tools, params }) => [tools.map(({ name }) => name).join(), params]);
  assert.deepEqual(sent, [["Echo,output", undefined], ["Echo,output", undefined]]);
  assert.deepEqual(words(result), ["said", "ok"]);
});

test("an invalid call goes back with the validator's words, as the error of any tool", async () => {
  const model = scripted([gives({ ...BERLIN, people: 0 }), gives(BERLIN)]);
  const result = await agent({ model, tools: [echo], output: City }).run("go");
  assert.match(words(result)[0] as string, /people: .*>=1/);
  assert.deepEqual([result.stop, result.output], ["done", PARSED]);
});

test("a turn that ends without the tool is sent back twice, then it is an error", async () => {
  const helper = (replies: ScriptedReply[]) => agent({ model: scripted(replies), tools: [echo], output: City });
  const late = await helper([{ text: "a" }, { text: "b" }, gives(BERLIN)]).run("go");
  assert.deepEqual([late.stop, late.output, words(late)[0]], [
    "done",
    PARSED,
    "Call the tool output with your answer: the work ends with it",
  ]);
  const never = await helper([{ text: "a" }, { text: "b" }, { text: "c" }]).run("go");
  assert.deepEqual([never.stop, never.error?.type, "output" in never], ["error", "no_output", false]);
});

test("without tools the answer has the form, and what does not fit goes back with the validator's words", async () => {
  const model = scripted([{ text: "Berlin!" }, says({ ...BERLIN, people: 0 }), says(BERLIN)]);
  const result = await agent({ model, output: City, params: { output_config: { effort: "low" } } }).run("go");
  assert.deepEqual([result.stop, result.output], ["done", PARSED]);
  assert.match(
    words(result)[0] as string,
    /does not fit its schema: it is not JSON\. Answer with the whole JSON again/,
  );
  assert.match(words(result)[1] as string, /people: .*>=1/);
  const { params, tools } = model.requests[0]!;
  assert.deepEqual(tools, []);
  assert.deepEqual(params?.output_config, {
    effort: "low",
    format: {
      type: "json_schema",
      schema: {
        type: "object",
        properties: {
          city: { type: "string" },
          people: { type: "number", description: "{minimum: 1}" },
          since: { type: "string" },
        },
        additionalProperties: false,
        required: ["city", "people", "since"],
      },
    },
  });
});

const ENDS: readonly [what: string, reply: ScriptedReply, stop: string][] = [
  ["cut by the limit of tokens", { ...says(BERLIN), stop_reason: "max_tokens" }, "truncated"],
  ["refused", { ...says(BERLIN), stop_reason: "refusal" }, "refused"],
  ["three times wrong", { text: "x" }, "error"],
];

for (const [what, reply, stop] of ENDS) {
  test(`an answer that is ${what} is never an output`, async () => {
    const result = await agent({ model: scripted([reply, reply, reply]), output: City }).run("go");
    assert.deepEqual([result.stop, "output" in result], [stop, false]);
    if (stop === "error") assert.equal(result.error?.type, "no_output");
  });
}

test("output: { schema, as } says how it is asked for, and a JSON Schema is as good as zod", async () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const form = scripted([says({ n: 1 })]);
  const byForm = await agent({ model: form, tools: [echo], output: { schema, as: "format" } }).run("go");
  assert.deepEqual([byForm.output, form.requests[0]!.tools.length], [{ n: 1 }, 1]);
  assert.ok((form.requests[0]!.params?.output_config as any).format);
  const called = scripted([gives({ n: "x" }), gives({ n: 2 })]);
  const byTool = await agent({ model: called, output: { schema, as: "tool" } }).run("go");
  assert.deepEqual([byTool.output, called.requests[0]!.params], [{ n: 2 }, undefined]);
  for (const wrong of [{ schema, as: "text" }, { type: "array" }, 7, z.string()]) {
    assert.throws(() => agent({ output: wrong as never }), TypeError);
  }
  assert.throws(
    () => agent({ tools: [{ ...echo, name: "output" }], output: schema }),
    /two of its tools are named 'output'/,
  );
});

test("stop hooks come after a valid output and see it; after a denial the last output counts", async () => {
  const seen: unknown[] = [];
  const run = (replies: ScriptedReply[], tools = [echo]) =>
    agent({
      model: scripted(replies),
      tools,
      output: City,
      hooks: {
        stop: [({ output, last_assistant_message, continuations }) => {
          seen.push([(output as { city: string }).city, /Berlin|Paris/.exec(last_assistant_message)?.[0]]);
          return continuations === 0 ? { action: "deny", reason: "Look again" } : undefined;
        }],
      },
    }).run("go");
  const paris = { ...BERLIN, city: "Paris" };
  assert.equal((await run([gives(BERLIN), gives(paris)])).output?.city, "Paris");
  assert.equal((await run([says(BERLIN), says(paris)], [])).output?.city, "Paris");
  assert.equal((await run([gives(BERLIN), { text: "It is as I said" }])).output?.city, "Berlin");
  assert.deepEqual(seen.splice(4).length, 2);
  assert.deepEqual(seen, [["Berlin", "Berlin"], ["Paris", "Paris"], ["Berlin", "Berlin"], ["Paris", "Paris"]]);
});

test("every prompt of a session has its output, and agents below have none", async () => {
  const model = scripted([
    { tools: [{ name: "Agent", input: { description: "d", prompt: "task" } }] },
    { text: "below" },
    gives(BERLIN),
    gives(BERLIN),
  ]);
  const session = await agent({ model, tools: [Agent], output: City }).open();
  const results = [await session.prompt("one"), await session.prompt("two", { effort: "low" })];
  await session.close();
  assert.deepEqual(results.map(({ output }) => output), [PARSED, PARSED]);
  assert.deepEqual(model.requests.map(({ tools }) => tools.length), [2, 1, 2, 2]);
  const form = scripted([
    { tools: [{ name: "Agent", input: { description: "d", prompt: "task" } }] },
    { text: "below" },
    says(BERLIN),
  ]);
  await agent({ model: form, tools: [Agent], output: { schema: City, as: "format" } }).run("go");
  assert.deepEqual(form.requests.map(({ params }) => params !== undefined), [true, false, true]);
});

for (const as of ["tool", "format"] as const) {
  test(`an output as ${as} is on the tape: replayed, and another schema is drift`, async () => {
    using folder = scratch();
    const path = join(folder.path, "made");
    await using server = await scriptedServer(
      as === "tool" ? [{ text: "?" }, gives(BERLIN)] : [{ text: "?" }, says(BERLIN)],
    );
    const run = async (schema: typeof City, baseURL: string, tape: object) => {
      let report: DriftReport | undefined;
      const model = anthropic({ apiKey: "k", baseURL });
      const { output } = await agent({ model, tools: [echo], output: { schema, as } })
        .run("go", { tape: { path, ...tape, onReport: (r: DriftReport) => report = r } });
      return { output, ok: report!.ok, paths: report!.divergences.map((d) => d.path) };
    };
    assert.deepEqual((await run(City, server.url, { mode: "record", tools: true })).output, PARSED);
    const offline = "http://127.0.0.1:9";
    for (const wire of [false, true]) {
      assert.deepEqual(await run(City, offline, { wire }), { output: PARSED, ok: true, paths: [] });
    }
    const other = City.extend({ city: z.string().describe("its name") }) as unknown as typeof City;
    const { ok, paths } = await run(other, offline, {});
    const where = as === "tool" ? "tools.1.input_schema" : "output_config.format.schema";
    assert.deepEqual([ok, paths], [false, [`${where}.properties.city.description`]]);
  });
}

test("a schema with a part of any type is sent as it is: the API says itself what it does not take", async () => {
  const schema = { type: "object", properties: { any: {}, n: { type: "integer", minimum: 1 } } };
  const model = scripted([says({ any: [1], n: 1 })]);
  const { output } = await agent({ model, output: schema }).run("go");
  assert.deepEqual(output, { any: [1], n: 1 });
  assert.deepEqual(model.requests[0]!.params?.output_config, { format: { type: "json_schema", schema } });
});

test("the output is typed by its schema, and only there if the run is done", async () => {
  const result = await agent({ model: scripted([says(BERLIN)]), output: City }).run("go");
  if (result.stop === "done") {
    const day: Date = result.output.since;
    assert.equal(day.getUTCFullYear(), 1237);
  }
  // @ts-expect-error a run that is not done has no output
  const untested: { city: string } = result.output;
  assert.equal(untested.city, "Berlin");
  const plain = await agent({ model: scripted([says(BERLIN)]), output: { type: "object" } }).run("go");
  const unknown: unknown = plain.output;
  assert.deepEqual(unknown, BERLIN);
});

for (const as of ["tool", "format"] as const) {
  test(`under faults a run with an output as ${as} keeps every invariant, and is done only with an output that fits`, async () => {
    const options = { tools: [echo], output: { schema: City, as } };
    const replies = [{ tools: [{ name: "Echo", input: {} }] }, as === "tool" ? gives(BERLIN) : says(BERLIN)];
    const made = await taped({ options, replies });
    const ended: Result[] = [];
    const helper = agent(options);
    const watched: Faultable = {
      open: async (given) => {
        const session = await helper.open(given);
        return {
          ...session,
          prompt: async (prompt) => (ended.push(await session.prompt(prompt) as Result), ended.at(-1)!),
        };
      },
    };
    try {
      const { found } = await searchFaults(watched, made.tape, { runs: tries(40, 400), files: made.files });
      assert.equal(found?.broke, undefined);
      assert.ok(ended.some(({ stop }) => stop === "done") && ended.some(({ stop }) => stop !== "done"));
      for (const { stop, output } of ended) {
        assert.equal((output as typeof PARSED | undefined)?.since instanceof Date, stop === "done");
      }
    } finally {
      made.remove();
    }
  });
}
