import type { Server } from "node:http";
import { serve } from "../../_server.ts";

/** What the model of an upstream does: calls a tool, or one after the other, by the API it is asked over, then says that it is done. */
export type Calls = { readonly [path: string]: ToolCall | readonly ToolCall[] };

interface ToolCall {
  readonly name: string;
  readonly input: object;
  /** Codex has the tools of a server in one. */
  readonly namespace?: string;
  /** How often it is called at once, by the Messages API. @default 1 */
  readonly times?: number;
}

const frame = (data: object, name = "") => `${name === "" ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
const typed = (data: { type: string; [key: string]: unknown }) => frame(data, data.type);

function anthropic(model: string, call: ToolCall | undefined): string {
  const ids = Array.from({ length: call?.times ?? 1 }, (_, i) => i);
  const block = (i: number) =>
    call ? { type: "tool_use", id: `toolu_${i + 1}`, name: call.name, input: {} } : { type: "text", text: "" };
  const delta = call
    ? { type: "input_json_delta", partial_json: JSON.stringify(call.input) }
    : { type: "text_delta", text: "Done." };
  const usage = { input_tokens: 10, output_tokens: 1 };
  return [
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    },
    ...ids.flatMap((index) => [
      { type: "content_block_start", index, content_block: block(index) },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: "message_stop" },
  ].map(typed).join("");
}

function responses(model: string, call: ToolCall | undefined, number: number): string {
  const item = call
    ? {
      type: "function_call",
      id: `fc_${number}`,
      call_id: `call_${number}`,
      ...(call.namespace !== undefined && { namespace: call.namespace }),
      name: call.name,
      arguments: JSON.stringify(call.input),
      status: "completed",
    }
    : {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Done.", annotations: [] }],
    };
  const response = { id: "resp_1", object: "response", created_at: 1, model, status: "in_progress", output: [] };
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  return [
    { type: "response.created", sequence_number: 0, response },
    {
      type: "response.output_item.added",
      sequence_number: 1,
      output_index: 0,
      item: call ? { ...item, arguments: "" } : { ...item, content: [] },
    },
    ...(call ? [] : [{
      type: "response.output_text.delta",
      sequence_number: 2,
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "Done.",
    }]),
    { type: "response.output_item.done", sequence_number: 3, output_index: 0, item },
    {
      type: "response.completed",
      sequence_number: 4,
      response: { ...response, status: "completed", output: [item], usage },
    },
  ].map(typed).join("");
}

function gemini(call: ToolCall | undefined, text: string): object {
  const part = call ? { functionCall: { name: call.name, args: call.input } } : { text };
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
  return {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata,
    modelVersion: "scripted",
    responseId: "r1",
  };
}

function chat(model: string, call: ToolCall | undefined): string {
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model };
  const called = (c: ToolCall) => ({ name: c.name, arguments: JSON.stringify(c.input) });
  const said = call
    ? { tool_calls: [{ index: 0, id: "call_1", type: "function", function: called(call) }] }
    : { content: "Done." };
  const choice = (delta: object, finish_reason: string | null) => ({ index: 0, delta, finish_reason });
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  return [
    { ...head, choices: [choice({ role: "assistant", ...said }, null)] },
    { ...head, choices: [choice({}, call ? "tool_calls" : "stop")] },
    { ...head, choices: [], usage },
  ].map((data) => frame(data)).join("") + "data: [DONE]\n\n";
}

/** The APIs of three providers on this machine, with a model that calls one tool. */
export async function upstream(calls: Calls): Promise<{ url: string; server: Server } & Disposable> {
  return await serve(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += new TextDecoder().decode(chunk as Uint8Array);
    const path = (request.url ?? "").replace(/\?.*/, "");
    const send = (type: string, body: string, status = 200) => {
      response.writeHead(status, { "content-type": type });
      response.end(body);
    };
    if (request.method !== "POST") return send("application/json", "{}", 404);
    const body = JSON.parse(text || "{}");
    const hasTools = (body.tools?.length ?? 0) > 0 || JSON.stringify(body.input ?? "").includes('"additional_tools"');
    const answered =
      text.match(/"(?:tool_result|function_call_output|custom_tool_call_output|functionResponse|tool_call_id)"/g) ?? [];
    const api = path.endsWith("/messages")
      ? "anthropic"
      : path.endsWith("/responses")
      ? "responses"
      : path.endsWith("/completions")
      ? "chat"
      : "gemini";
    const call = hasTools ? [calls[api] ?? []].flat()[answered.length] : undefined;
    if (api === "anthropic") return send("text/event-stream", anthropic(body.model, call));
    if (api === "responses") return send("text/event-stream", responses(body.model, call, answered.length + 1));
    if (api === "chat") return send("text/event-stream", chat(body.model, call));
    if (path.endsWith(":generateContent")) {
      return send(
        "application/json",
        JSON.stringify(
          gemini(
            call,
            JSON.stringify({ reasoning: "-", model_choice: "flash", complexity_reasoning: "-", complexity_score: 10 }),
          ),
        ),
      );
    }
    send("text/event-stream", frame(gemini(call, "Done.")));
  });
}
