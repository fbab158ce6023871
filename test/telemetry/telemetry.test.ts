import assert from "node:assert/strict";
import { test } from "node:test";
import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { agent, type AgentOptions, tool } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import type { Model, ModelEvent } from "../../lib/core/model.ts";
import { ReplyEvents } from "../../lib/models/openai/reply-events.ts";
import { Agent } from "../../lib/tools/index.ts";
import { withEnv } from "../_env.ts";
import { besideCopy } from "../_copy.ts";

interface Told {
  readonly name: string;
  readonly id: string;
  readonly parent: string | undefined;
  /** The names of the spans it is in, from the top. */
  readonly path: string;
  readonly attributes: ReadableSpan["attributes"];
  readonly failed: boolean;
}

/** What a run tells OpenTelemetry. */
async function spansOf(
  options: AgentOptions,
  run: (made: ReturnType<typeof agent>) => Promise<unknown> = (made) => made.run("say nothing of this"),
  hasManager = true,
): Promise<Told[]> {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  if (hasManager) context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  try {
    await run(agent({ name: "tester", ...options }));
    const spans = exporter.getFinishedSpans();
    const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
    const pathOf = (span: ReadableSpan): string => {
      const id = span.parentSpanContext?.spanId;
      if (id === undefined) return span.name;
      return `${byId.has(id) ? pathOf(byId.get(id)!) : "?"} > ${span.name}`;
    };
    return spans.map((span) => ({
      name: span.name,
      id: span.spanContext().spanId,
      parent: span.parentSpanContext?.spanId,
      path: pathOf(span),
      attributes: span.attributes,
      failed: span.status.code === 2,
    }));
  } finally {
    trace.disable();
    context.disable();
  }
}

const input = { type: "object" } as const;
const Look = tool({ name: "Look", description: "", input, effect: "read", run: () => "seen" });
const Own = tool({
  name: "Own",
  description: "",
  input,
  run: () => trace.getTracer("mine").startActiveSpan("mine", (span) => (span.end(), "done")),
});
const Fail = tool({ name: "Fail", description: "", input, run: () => Promise.reject(new Error("secret words")) });

test("a run tells its iterations, model calls, tools and hooks, each inside the other", async () => {
  const spans = await spansOf({
    model: scripted([
      { tools: [{ name: "Look", input: {} }, { name: "Own", input: {} }] },
      { tools: [{ name: "Fail", input: {} }, { name: "Nope", input: {} }] },
      { text: "end" },
    ]),
    tools: [Look, Own, Fail],
    hooks: { stop: () => undefined, iteration: () => undefined },
  });
  const run = "invoke_agent tester";
  const each = `${run} > iteration`;
  const chat = `${each} > chat ${spans.find(({ name }) => name === run)!.attributes["gen_ai.request.model"]}`;
  assert.deepEqual(
    spans.map(({ path }) => path).sort(),
    [
      run,
      each,
      each,
      each,
      chat,
      chat,
      chat,
      `${each} > execute_tool Look`,
      `${each} > execute_tool Own`,
      `${each} > execute_tool Own > mine`,
      `${each} > execute_tool Fail`,
      `${each} > execute_tool Nope`,
      `${each} > hook code:stop#0`,
      `${each} > hook code:iteration#0`,
      `${each} > hook code:iteration#0`,
      `${each} > hook code:iteration#0`,
    ].sort(),
  );
  const of = (name: string) => spans.find((span) => span.name === name)!;
  const firsts = spans.filter(({ path }) => path === chat).map((one) =>
    one.attributes["gen_ai.response.time_to_first_chunk"]
  );
  assert.deepEqual(
    firsts.map((first) => typeof first),
    ["number", "number", "number"],
    "those that only call tools too",
  );
  const { attributes: look } = of("execute_tool Look");
  assert.equal(look["gen_ai.operation.name"], "execute_tool");
  assert.equal(look["gen_ai.tool.name"], "Look");
  assert.match(String(look["gen_ai.tool.call.id"]), /^toolu_/);
  assert.deepEqual([of("execute_tool Fail").failed, of("execute_tool Fail").attributes["error.type"]], [
    true,
    "tool_error",
  ]);
  assert.deepEqual([of("execute_tool Nope").failed, of("execute_tool Nope").attributes["error.type"]], [
    true,
    "invalid",
  ]);
  assert.deepEqual(of("hook code:stop#0").attributes, {
    "crochet.hook.name": "code:stop#0",
    "crochet.hook.event": "stop",
    "crochet.hook.decision": "continue",
  });
});

test("runs and model calls have the names, models, tokens and reasons of the GenAI conventions", async () => {
  const usage = { input_tokens: 3, output_tokens: 5, cache_read_input_tokens: 7, cache_creation_input_tokens: 11 };
  const spans = await spansOf({ model: scripted([{ text: "secret words", usage }]) });
  const [chat, , run] = spans;
  const tokens = {
    "gen_ai.usage.input_tokens": 21,
    "gen_ai.usage.output_tokens": 5,
    "gen_ai.usage.cache_read.input_tokens": 7,
    "gen_ai.usage.cache_write.input_tokens": 11,
  };
  const { "gen_ai.conversation.id": conversation, "gen_ai.response.id": id, ...all } = chat!.attributes;
  const { "gen_ai.response.time_to_first_chunk": first, "gen_ai.response.model": model, ...called } = all;
  assert.match(String(id), /^msg_/);
  assert.ok(Number(first) >= 0 && Number(first) < 60 && typeof model === "string");
  assert.deepEqual(called, {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "custom",
    "gen_ai.request.model": "scripted",
    "gen_ai.request.max_tokens": 32_000,
    "gen_ai.request.stream": true,
    "gen_ai.output.type": "text",
    "gen_ai.response.finish_reasons": ["end_turn"],
    ...tokens,
  });
  // No agent.id: an agent has none but its name, and that of a run would be another one each time.
  assert.deepEqual(run!.attributes, {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.conversation.id": conversation,
    "gen_ai.request.model": "scripted",
    "gen_ai.agent.name": "tester",
    "crochet.stop": "done",
    ...tokens,
  });
});

test("thoughts that a server counts are on the span of their call, as the API says it and as OpenAI does", async () => {
  const reply = async function* () {
    const usage = { input_tokens: 1, output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } };
    yield { type: "message_start", message: { id: "msg_1", model: "m" } };
    yield { type: "message_delta", delta: { stop_reason: "end_turn" }, usage };
    yield { type: "message_stop" };
  };
  const [chat] = await spansOf({ model: reply as unknown as Model });
  assert.equal(chat!.attributes["gen_ai.usage.reasoning.output_tokens"], 4);
  const events: ModelEvent[] = [];
  const request = { model: "m", system: "", messages: [], tools: [], max_tokens: 1 };
  const made = new ReplyEvents(request, (event) => events.push(event));
  made.note({ id: "r", model: "m" }, { completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 4 } });
  made.finish("end_turn");
  const [{ usage }] = events.filter(({ type }) => type === "message_delta") as unknown as [{ usage: object }];
  assert.deepEqual((usage as { output_tokens_details: object }).output_tokens_details, { thinking_tokens: 4 });
});

test("tokens and durations of model calls are the two metrics of the conventions, also where nobody collects spans", async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  try {
    const usage = { input_tokens: 3, output_tokens: 5, cache_read_input_tokens: 7, cache_creation_input_tokens: 11 };
    const error = { error: { type: "invalid_request_error", message: "No" } };
    await agent({ model: scripted([{ tools: [{ name: "Look", input: {} }], usage }, error]), tools: [Look] }).run("go");
    await reader.forceFlush();
    const found = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics).flatMap((scope) => scope.metrics);
    const told = found.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => {
        const { count, sum } = value as { count: number; sum: number };
        assert.deepEqual([attributes["gen_ai.operation.name"], attributes["gen_ai.request.model"]], [
          "chat",
          "scripted",
        ]);
        const kind = attributes["gen_ai.token.type"] ?? attributes["error.type"] ?? "-";
        return `${name} ${unit} ${attributes["gen_ai.provider.name"]} ${kind} ${count} ${
          unit === "s" ? sum >= 0 : sum
        }`;
      })
    );
    assert.deepEqual(told.sort(), [
      "gen_ai.client.operation.duration s custom - 1 true",
      "gen_ai.client.operation.duration s custom invalid_request_error 1 true",
      "gen_ai.client.token.usage {token} custom input 1 21",
      "gen_ai.client.token.usage {token} custom output 1 5",
    ]);
  } finally {
    await provider.shutdown();
    metrics.disable();
  }
});

for (const hasManager of [true, false]) {
  const how = hasManager ? "" : ", and where the application keeps no context";
  test(`an agent below is inside the call that started it, also where two are started at once${how}`, async () => {
    const start = (prompt: string) => ({ name: "Agent", input: { description: "x", prompt } });
    const spans = await spansOf(
      {
        model: (request, signal) => {
          const first = JSON.stringify(request.messages[0]);
          const reply = request.messages.length > 1 || !first.includes("lead")
            ? { text: "end" }
            : { tools: [start("one"), start("two")] };
          return scripted([reply])(request, signal);
        },
        tools: [Agent],
      },
      (made) => made.run("lead"),
      hasManager,
    );
    const calls = spans.filter(({ name }) => name === "execute_tool Agent");
    const below = spans.filter(({ name }) => name === "invoke_agent general-purpose");
    assert.deepEqual([calls.length, below.length], [2, 2]);
    assert.deepEqual(new Set(below.map(({ parent }) => parent)), new Set(calls.map(({ id }) => id)));
    const conversations = spans.flatMap(({ attributes }) => attributes["gen_ai.conversation.id"] ?? []);
    assert.deepEqual([conversations.length > 5, new Set(conversations).size], [true, 1]);
  });
}

test("a model call that fails says why, and no words of a person, a model or a tool are ever told by default", async () => {
  const spans = await spansOf({
    model: scripted([{ tools: [{ name: "Fail", input: { text: "secret words" } }] }, {
      error: { type: "invalid_request_error", message: "secret words" },
    }]),
    tools: [Fail],
  }, (made) => made.run("secret words"));
  const chat = spans.findLast(({ name }) => name.startsWith("chat"))!;
  assert.deepEqual([chat.failed, chat.attributes["error.type"]], [true, "invalid_request_error"]);
  const run = spans.find(({ name }) => name.startsWith("invoke_agent"))!;
  assert.deepEqual([run.failed, run.attributes["crochet.stop"]], [true, "error"]);
  assert.doesNotMatch(JSON.stringify(spans), /secret words/);
});

test("texts go along where the variable that other instrumentations read asks for them", async () => {
  const spans = await withEnv(
    { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" },
    () => spansOf({ model: scripted([{ text: "an answer" }]) }, (made) => made.run("a question")),
  );
  const { attributes } = spans.find(({ name }) => name.startsWith("invoke_agent"))!;
  assert.match(String(attributes["gen_ai.input.messages"]), /a question/);
  assert.match(String(attributes["gen_ai.output.messages"]), /an answer/);
});

/** A package of OpenTelemetry of this code. */
const api = (code: string) => ({
  "node_modules/@opentelemetry/api/package.json":
    '{ "name": "@opentelemetry/api", "type": "module", "main": "index.js" }',
  "node_modules/@opentelemetry/api/index.js": code,
});

test("nothing of OpenTelemetry is loaded where nobody collects spans, and no run fails for want of it", () => {
  const script = `
    import { agent } from "./lib/index.ts";
    import { scripted } from "./lib/testing/index.ts";
    const run = async () => (await agent({ model: scripted([{ text: "." }]) }).run("go")).stop;
    const without = await run();
    const early = globalThis.loaded ?? false;
    globalThis[Symbol.for("opentelemetry.js.api.1")] = { version: "1.9.0", trace: {} };
    console.log(without, early, await run(), globalThis.loaded);
  `;
  const out = besideCopy(script, api('globalThis.loaded = true; throw new Error("broken");'));
  assert.equal(out, "done false done true\n");
});

test("where the packages that send spans are missing, a run says so in one line, once, and ends as without", () => {
  const script = `
    import { agent } from "./lib/index.ts";
    import { scripted } from "./lib/testing/index.ts";
    console.error = (...words) => console.log(...words);
    const run = async () => (await agent({ model: scripted([{ text: "." }]) }).run("go")).stop;
    process.env.CROCHET_LOG = "off"; // which says where it is
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:9";
    process.env.OTEL_SDK_DISABLED = "true";
    console.log(await run(), globalThis.loaded ?? false);
    delete process.env.OTEL_SDK_DISABLED;
    console.log(await run(), globalThis.loaded, await run());
  `;
  const out = besideCopy(script, api("globalThis.loaded = true; export const trace = {};"));
  const [off, said, on, ...more] = out.trimEnd().split("\n");
  assert.deepEqual([off, on, more], ["done false", "done true done", []]);
  assert.match(
    said!,
    /^crochet: Cannot send spans to OTEL_EXPORTER_OTLP_ENDPOINT as @opentelemetry\/sdk-trace-base is not /,
  );
  assert.match(said!, /: npm install @opentelemetry\/sdk-trace-base@2 @opentelemetry\/exporter-trace-otlp-http@/);
});

test("the process of one run of an eval sends its spans before it exits", () => {
  const script = `
    import { doTask } from "./lib/replay/fresh.ts";
    globalThis[Symbol.for("crochet.flush-spans")] = async () => {
      await new Promise((done) => setTimeout(done, 10));
      console.log("sent");
    };
    await doTask(() => Promise.resolve());
  `;
  assert.equal(besideCopy(script, {}), "sent\n");
});
