import assert from "node:assert/strict";
import { importRecording } from "../../lib/tape/import/import.ts";
import { echoOf } from "../../lib/tape/reply.ts";
import type { Call } from "../../lib/tape/tape.ts";
import type { Written } from "./_recordings.ts";

export const WORDS = "Grüße aus 東京 🧶 at 12:30, 1_000 times";
export const REQUEST = {
  model: "claude-test",
  max_tokens: 32_000,
  messages: [{ role: "user", content: "12:30:45" }],
};

export function stream(text: string): string {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-test", content: [] };
  return [
    { type: "message_start", message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...text.split(/(?<= )/).map((part) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: part },
    })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

export function said(body = stream(WORDS), request: object = REQUEST): Written {
  return { request, status: 200, type: "text/event-stream; charset=utf-8", body };
}

export const BUSY: Written = {
  request: REQUEST,
  status: 529,
  type: "application/json",
  body: JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "busy" } }),
};

export async function textOf(call: Call | undefined): Promise<unknown> {
  const reply = call && await echoOf(call);
  return (reply?.content[0] as { text?: string } | undefined)?.text;
}

/** Whether a busy answer, its retry and one call more come out of a recording as they went in. */
export async function isReadAsWritten(format: string, write: (calls: readonly Written[]) => Uint8Array): Promise<void> {
  const { format: found, tape } = await importRecording(write([BUSY, said(), said(stream("again"))]), "x");
  assert.equal(found, format);
  assert.deepEqual(tape.calls.map(({ attempts }) => attempts.map(({ status }) => status)), [[529, 200], [200]]);
  assert.equal(await textOf(tape.calls[0]), WORDS);
  assert.equal(await textOf(tape.calls[1]), "again");
  assert.deepEqual(tape.calls[0]!.request.messages[0]!.content, [{ type: "text", text: "12:30:45" }]);
}
