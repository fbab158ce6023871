import assert from "node:assert/strict";
import { test } from "node:test";
import { requestWriter } from "../../../lib/models/anthropic/request-bytes.ts";
import { assistant, type Message, toolResult, user } from "../../../lib/core/messages.ts";
import type { ModelRequest } from "../../../lib/core/model.ts";
import { EMPTY_REPLY } from "../../../lib/core/reply.ts";
import { chatBody } from "../../../lib/models/openai/chat-request.ts";
import { responsesBody } from "../../../lib/models/openai/responses-request.ts";

const OF_CHAT = { type: "thinking", thinking: "of chat", openai: { field: "reasoning_content" } };
const OF_RESPONSES = { type: "thinking", thinking: "", openai: { summary: [], encrypted_content: "of responses" } };
const SIGNED = { type: "thinking", thinking: "signed", signature: "s" };
const ITEM = {
  type: "web_search_call",
  openai: { item: { type: "web_search_call", id: "ws_1", status: "completed" } },
};
const SERVER_TOOL = { type: "server_tool_use", id: "srv", name: "web_search", input: {} };

/** A conversation that three models held in turn. */
const messages: readonly Message[] = [
  user("go"),
  assistant([
    OF_CHAT,
    {
      type: "tool_use",
      id: "c1",
      name: "Read",
      input: { a: 1 },
      openai: { extra_content: { google: { thought_signature: "t" } } },
    },
  ]),
  user([toolResult("c1", "no such file", true)]),
  assistant([OF_RESPONSES, { type: "text", text: "hm", openai: { phase: "commentary" } }, ITEM]),
  user("on"),
  assistant([SIGNED, SERVER_TOOL, { type: "text", text: "done" }]),
  user("more"),
  assistant([OF_CHAT]),
  user("end"),
];
const request: ModelRequest = { model: "m", system: "", messages, tools: [], max_tokens: 10 };

test("anthropic() never sends a block of another API, nor thinking without its signature, nor an empty message", () => {
  const { bytes } = requestWriter({ cache: false })(request);
  const sent = JSON.parse(new TextDecoder().decode(bytes)).messages as Message[];
  assert.doesNotMatch(JSON.stringify(sent), /openai/);
  assert.deepEqual(sent.filter(({ role }) => role === "assistant").map(({ content }) => content), [
    [{ type: "tool_use", id: "c1", name: "Read", input: { a: 1 } }],
    [{ type: "text", text: "hm" }],
    [SIGNED, SERVER_TOOL, { type: "text", text: "done" }],
    [{ type: "text", text: EMPTY_REPLY }],
  ]);
});

test("openai() never sends signed thinking to a chat server, and thoughts of chat go back in their field", () => {
  const sent = chatBody(request, "127.0.0.1").messages as object[];
  assert.deepEqual(sent.filter((message) => "role" in message && message.role === "assistant"), [
    {
      role: "assistant",
      content: "",
      reasoning_content: "of chat",
      tool_calls: [{
        id: "c1",
        type: "function",
        function: { name: "Read", arguments: '{"a":1}' },
        extra_content: { google: { thought_signature: "t" } },
      }],
    },
    { role: "assistant", content: "hm" },
    { role: "assistant", content: "done" },
    { role: "assistant", content: "", reasoning_content: "of chat" },
  ]);
  assert.deepEqual(sent[2], { role: "tool", tool_call_id: "c1", content: "Error: no such file" });
});

test("openai() sends to the Responses API only thinking that is encrypted, and other items as they came", () => {
  const said = (text: string, more: object = {}) => ({
    ...{ type: "message", role: "assistant", content: [{ type: "output_text", text }] },
    ...more,
  });
  const sent = (responsesBody(request).input as { role?: string }[]).filter(({ role }) => role !== "user");
  assert.deepEqual(sent, [
    { type: "function_call", call_id: "c1", name: "Read", arguments: '{"a":1}' },
    { type: "function_call_output", call_id: "c1", output: "Error: no such file" },
    { type: "reasoning", summary: [], encrypted_content: "of responses" },
    said("hm", { phase: "commentary" }),
    ITEM.openai.item,
    said("done"),
  ]);
});
