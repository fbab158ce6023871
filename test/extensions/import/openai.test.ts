import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { importRecording } from "../../../lib/extensions/import/import.ts";
import { replyOf } from "../../../lib/log/recorded-reply.ts";
import { noRecordings } from "../../_data.ts";
import { compared, type Expected, manifest } from "../../models/openai/_recorded.ts";
import { throughFile } from "../../replay/_written.ts";

interface Listed {
  readonly file: string;
  readonly expected: readonly Expected[];
}

const listed: Listed[] = manifest === undefined ? [] : JSON.parse(readFileSync(manifest, "utf8"));

async function imported(file: string) {
  const { tape, notes } = await importRecording(readFileSync(join(dirname(manifest!), file)), file);
  return { tape: await throughFile(tape), notes };
}

test(
  "every recording of OpenAI's APIs becomes a tape with the replies and errors that were recorded",
  { skip: noRecordings },
  async () => {
    for (const { file, expected } of listed) {
      const { tape } = await imported(file);
      assert.equal(tape.calls.length, expected.length, file);
      for (const [i, want] of expected.entries()) {
        const call = tape.calls[i]!;
        if (want.error) {
          assert.deepEqual([call.error?.code, call.error?.retryable], [want.error.code, want.error.retryable], file);
          continue;
        }
        const reply = (replyOf(call))!;
        const content = compared(reply);
        const sameIds = want.content!.map((block, n) => block.id === null ? { ...block, id: content[n]?.id } : block);
        assert.deepEqual([content, reply.stop_reason], [sameIds, want.stop_reason], file);
        if (want.usage) assert.deepEqual(reply.usage, want.usage, file);
      }
    }
  },
);

test(
  "a recorded conversation is a request after each reply, with that reply and what the tools gave",
  { skip: noRecordings },
  async () => {
    const { tape } = await imported("0xPlaygrounds+rig/codex_sessions__parallel_tool_calls_single_turn_streaming.yaml");
    const [first, second] = tape.calls;
    assert.equal(tape.prompts.length, 1);
    assert.match(JSON.stringify(first!.request.system), /You are a precise assistant/);
    assert.deepEqual(first!.request.tools.map(({ name }) => name), ["lookup_harbor_label", "lookup_orchard_label"]);
    assert.deepEqual(second!.request.messages.slice(1), [
      (replyOf(first!))!.message,
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_REDACTED_1", content: "crimson-harbor" },
          { type: "tool_result", tool_use_id: "call_REDACTED_2", content: "silver-orchard" },
        ],
      },
    ]);
  },
);

test("the stream, the events or the JSON of one answer are recognised without a request, and one exchange by its form", async () => {
  const chunk = {
    object: "chat.completion.chunk",
    model: "m",
    choices: [{ delta: { content: "hi" }, finish_reason: "stop" }],
  };
  const whole = {
    object: "chat.completion",
    model: "m",
    choices: [{ message: { content: "hi" }, finish_reason: "stop" }],
  };
  const asked = {
    method: "POST",
    url: "https://api.openai.com/v1/chat/completions",
    headers: {},
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }] }),
  };
  const output = [{ type: "message", content: [{ type: "output_text", text: "hi" }] }];
  const response = { object: "response", status: "completed", output };
  const files: [string, string][] = [
    ["raw-sse", `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`],
    ["vercel-chunks", `${JSON.stringify(chunk)}\n${JSON.stringify({ ...chunk, choices: [] })}\n`],
    ["vercel-json", JSON.stringify(whole)],
    ["vercel-json", JSON.stringify(response)],
    [
      "ddapm-json",
      JSON.stringify({ request: asked, response: { status: { code: 200 }, body: JSON.stringify(whole) } }),
    ],
    ["vercel-chunks", `{"type":"response.created"}\n${JSON.stringify({ type: "response.completed", response })}`],
  ];
  for (const [format, text] of files) {
    const { tape, format: found } = await importRecording(new TextEncoder().encode(text), "answer");
    assert.equal(found, format, text);
    assert.deepEqual((replyOf(tape.calls[0]!))?.message.content, [{ type: "text", text: "hi" }], text);
  }
});
