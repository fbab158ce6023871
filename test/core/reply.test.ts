import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelEvent, RawBlock, Reply, ReplyDelta } from "../../lib/core/model.ts";
import { EMPTY_REPLY, readReply } from "../../lib/core/reply.ts";
import { assertLinear } from "../_processor-time.ts";

const start: ModelEvent = {
  type: "message_start",
  message: { id: "msg_1", model: "claude-test", usage: { input_tokens: 7, output_tokens: 1 } },
};
const stop: ModelEvent = { type: "message_stop" };
const open = (index: number, content_block: RawBlock): ModelEvent => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, delta: RawBlock): ModelEvent => ({ type: "content_block_delta", index, delta });
const close = (index: number): ModelEvent => ({ type: "content_block_stop", index });
const end = (stop_reason: string): ModelEvent => ({
  type: "message_delta",
  delta: { stop_reason },
  usage: { output_tokens: 9 },
});
const words = (
  index: number,
  text: string,
) => [open(index, { type: "text", text: "" }), delta(index, { type: "text_delta", text }), close(index)];
const call = (index: number, json: string[], id = `toolu_${index}`) => [
  open(index, { type: "tool_use", id, name: "Bash", input: {} }),
  ...json.map((partial_json) => delta(index, { type: "input_json_delta", partial_json })),
  close(index),
];

async function* stream(events: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
}

function read(...events: ModelEvent[]): Promise<Reply> {
  return readReply(stream(events), () => {});
}

const grammar = { name: "ModelError", code: "grammar", retryable: true };

test("readReply() puts text and tool calls together in order, with usage", async () => {
  const reply = await read(start, ...words(0, "hi"), ...call(1, ["", '{"com', 'mand":"ls"}']), end("tool_use"), stop);
  assert.deepEqual(reply.message.content, [
    { type: "text", text: "hi" },
    { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } },
  ]);
  assert.deepEqual(reply.calls, [{ id: "toolu_1", name: "Bash", input: { command: "ls" } }]);
  assert.deepEqual([reply.id, reply.model, reply.stop_reason], ["msg_1", "claude-test", "tool_use"]);
  assert.deepEqual([reply.usage.input_tokens, reply.usage.output_tokens], [7, 9]);
});

test("readReply() shows text and thinking as they come", async () => {
  const shown: ReplyDelta[] = [];
  const thinking = [
    open(0, { type: "thinking", thinking: "", signature: "" }),
    delta(0, { type: "thinking_delta", thinking: "hm" }),
    delta(0, { type: "signature_delta", signature: "sig" }),
    close(0),
  ];
  const { message } = await readReply(
    stream([start, ...thinking, ...words(1, "hi"), end("end_turn"), stop]),
    (d) => shown.push(d),
  );
  assert.deepEqual(shown, [{ type: "thinking", text: "hm" }, { type: "text", text: "hi" }]);
  assert.deepEqual(message.content[0], { type: "thinking", thinking: "hm", signature: "sig" });
});

test("U17: blocks are kept by index, whatever gaps and order they come in", async () => {
  const { message } = await read(
    start,
    open(5, { type: "text", text: "" }),
    open(2, { type: "text", text: "" }),
    delta(5, { type: "text_delta", text: "last" }),
    delta(2, { type: "text_delta", text: "first" }),
    close(5),
    close(2),
    end("end_turn"),
    stop,
  );
  assert.deepEqual(message.content, [{ type: "text", text: "first" }, { type: "text", text: "last" }]);
});

test("U17: unknown blocks, unknown deltas and unknown events lose nothing", async () => {
  const { message } = await read(
    start,
    { type: "brand_new_event" } as unknown as ModelEvent,
    open(0, { type: "hologram", angle: 3, caption: "a" }),
    delta(0, { type: "hologram_delta", caption: "b", colour: "red" }),
    delta(0, { type: "hologram_delta", caption: "c", angle: 4, extra: { deep: [1] } }),
    close(0),
    open(1, { type: "mcp_tool_use", id: "mcptoolu_1", name: "x", input: {} }),
    delta(1, { type: "input_json_delta", partial_json: '{"a":1}' }),
    close(1),
    end("end_turn"),
    stop,
  );
  assert.deepEqual(message.content, [
    { type: "hologram", angle: 4, caption: "abc", colour: "red", extra: { deep: [1] } },
    { type: "mcp_tool_use", id: "mcptoolu_1", name: "x", input: { a: 1 } },
  ]);
});

test("readReply() collects citations", async () => {
  const cite = (n: number) => delta(0, { type: "citations_delta", citation: { n } });
  const { message } = await read(
    start,
    open(0, { type: "text", text: "", citations: null }),
    cite(1),
    delta(0, { type: "text_delta", text: "a" }),
    cite(2),
    close(0),
    end("end_turn"),
    stop,
  );
  assert.deepEqual(message.content, [{ type: "text", text: "a", citations: [{ n: 1 }, { n: 2 }] }]);
});

test("readReply() never takes longer for a citation because there are many", async () => {
  await assertLinear(50_000, (count) => {
    const many = Array.from({ length: count }, (_, n) => delta(0, { type: "citations_delta", citation: { n } }));
    const whole = [start, open(0, { type: "text", text: "a" }), ...many, close(0), end("end_turn"), stop];
    return async () => {
      const { message } = await read(...whole);
      assert.equal((message.content as unknown as { citations: unknown[] }[])[0]!.citations.length, count);
    };
  });
});

test("U17: tool input that is not JSON is marked, in the same words on every runtime, and the history holds an empty object", async () => {
  for (const json of ['{"command":', '{"a":1}{"b":2}', "undefined", '{"a":1,}']) {
    const { calls, message } = await read(start, ...call(0, [json]), end("tool_use"), stop);
    const words = `its input is not valid JSON (${json.length} characters); send the whole object again`;
    assert.equal(calls[0]!.invalid, words);
    assert.deepEqual(message.content, [{ type: "tool_use", id: "toolu_0", name: "Bash", input: {} }]);
  }
});

test("U17: tool input that is JSON but no object is marked", async () => {
  for (const json of ["[1]", "3", "null", '"x"']) {
    const { calls } = await read(start, ...call(0, [json]), end("tool_use"), stop);
    assert.match(calls[0]!.invalid!, /not a JSON object/, json);
  }
});

test("U17: tool input that is nested deeper than anything can walk is marked, however it came", async () => {
  const nested = (levels: number) => `{"x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  for (const levels of [501, 5000]) {
    const whole = open(1, { type: "tool_use", id: "toolu_b", name: "Bash", input: JSON.parse(nested(levels)) });
    const { calls } = await read(start, ...call(0, [nested(levels)]), whole, close(1), end("tool_use"), stop);
    assert.deepEqual(calls.map(({ input }) => input), [{}, {}]);
    for (const { invalid } of calls) assert.match(invalid!, /nested deeper than 500 levels; send a flatter object/);
  }
  const { calls } = await read(start, ...call(0, [nested(500)]), end("tool_use"), stop);
  assert.deepEqual(calls[0], { id: "toolu_0", name: "Bash", input: JSON.parse(nested(500)) });
  const other = open(0, { type: "unheard_of", parts: JSON.parse(nested(5000)) });
  await assert.rejects(read(start, other, close(0), stop), grammar);
});

test("U17: a call cut by max_tokens never runs, not even if its JSON happens to parse", async () => {
  for (const json of ['{"command":"rm', '{"command":"rm -rf /tmp/a"}', ""]) {
    const { calls } = await read(start, ...call(0, ["{}"]), ...call(1, [json]), end("max_tokens"), stop);
    assert.deepEqual(calls.map((c) => c.invalid !== undefined), [false, true], json);
    assert.match(calls[1]!.invalid!, /output limit/);
  }
});

test("U17: a call whose block was never closed does not run", async () => {
  const { calls } = await read(start, ...call(0, ["{}"]).slice(0, -1), end("tool_use"), stop);
  assert.notEqual(calls[0]!.invalid, undefined);
});

test("readReply() takes a call without any input text as an empty object", async () => {
  const { calls } = await read(start, ...call(0, []), end("tool_use"), stop);
  assert.deepEqual(calls, [{ id: "toolu_0", name: "Bash", input: {} }]);
});

test("U17: a stream without message_stop is a failed attempt", async () => {
  const cut = { name: "ModelError", code: "cut", retryable: true };
  await assert.rejects(read(), cut);
  await assert.rejects(read(start), cut);
  await assert.rejects(read(start, ...words(0, "hi"), end("end_turn")), cut);
});

test("U17: readReply() refuses events that break the grammar of a reply", async () => {
  await assert.rejects(read(...words(0, "hi"), stop), grammar);
  await assert.rejects(read(start, ...words(0, "a"), start, ...words(1, "b"), stop), grammar);
  await assert.rejects(read(start, ...words(0, "a"), ...words(0, "b"), stop), grammar);
  await assert.rejects(read(start, delta(0, { type: "text_delta", text: "a" }), stop), grammar);
  await assert.rejects(read(start, ...words(0, "a"), delta(0, { type: "text_delta", text: "b" }), stop), grammar);
  await assert.rejects(read(start, close(0), stop), grammar);
  await assert.rejects(
    read(start, ...call(0, ["{}"], "same"), ...call(1, ["{}"], "same"), end("tool_use"), stop),
    grammar,
  );
});

test("readReply() throws the error a stream reports, and says whether to try again", async () => {
  const failed = (type: string) => read(start, { type: "error", error: { type, message: "no" } });
  await assert.rejects(failed("overloaded_error"), { code: "overloaded_error", retryable: true });
  await assert.rejects(failed("api_error"), { code: "api_error", retryable: true });
  await assert.rejects(failed("invalid_request_error"), { code: "invalid_request_error", retryable: false });
});

test("readReply() ignores what follows message_stop", async () => {
  const reply = await read(
    start,
    ...words(0, "hi"),
    end("end_turn"),
    stop,
    { type: "ping" },
    start,
    ...words(0, "again"),
    stop,
  );
  assert.deepEqual(reply.message.content, [{ type: "text", text: "hi" }]);
});

test("readReply() makes an empty reply one that the API takes back", async () => {
  const placeholder = [{ type: "text", text: EMPTY_REPLY }];
  assert.deepEqual((await read(start, end("end_turn"), stop)).message.content, placeholder);
  assert.deepEqual((await read(start, ...words(0, ""), end("end_turn"), stop)).message.content, placeholder);
  assert.deepEqual((await read(start, ...words(0, "\n\n"), end("end_turn"), stop)).message.content, placeholder);
});

test("readReply() drops blank text if there is no other text, as the API would refuse it in the history", async () => {
  const alone = await read(start, ...words(0, "\n\n"), ...call(1, ["{}"]), end("tool_use"), stop);
  assert.deepEqual(alone.message.content.map((b) => b.type), ["tool_use"]);
  const between = await read(start, ...words(0, "a"), ...words(1, " "), ...words(2, "b"), end("end_turn"), stop);
  assert.deepEqual(between.message.content, ["a", " ", "b"].map((text) => ({ type: "text", text })));
});
