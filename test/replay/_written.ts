import assert from "node:assert/strict";
import { importRecording } from "../../lib/extensions/import/import.ts";
import { parseTape } from "../../lib/replay/read-tape.ts";
import { echoOf } from "../../lib/log/recorded-reply.ts";
import { factsOf } from "../../lib/replay/write-tape.ts";
import { factLine } from "../../lib/log/entry.ts";
import type { Call, Tape } from "../../lib/log/tape.ts";

/** One call to be written down. */
export interface Written {
  readonly request: object;
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** How one recorder writes calls down, and the format that it must be read as. */
export type Recorder = readonly [format: string, write: (calls: readonly Written[]) => Uint8Array];

export const URL = "https://api.anthropic.com/v1/messages";

/** What escapes, other encodings and the numbers and times of YAML could change. */
export const WORDS = "Grüße aus 東京 🧶 at 12:30, 1_000 times";
export const REQUEST = {
  model: "claude-test",
  max_tokens: 32_000,
  messages: [{ role: "user", content: "12:30:45" }],
};

/** An answer that was no stream. */
export const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-test",
  content: [{ type: "text", text: WORDS }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 2 },
};

/** The body of a streamed answer, in the pieces that are given, else in words. */
export function stream(text: string | readonly string[]): string {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-test", content: [] };
  const pieces = typeof text === "string" ? text.split(/(?<= )/) : text;
  return [
    { type: "message_start", message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...pieces.map((piece) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: piece },
    })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** The events of a streamed body. */
export function eventsIn(body: string): unknown[] {
  return [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
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
  const reply = call && echoOf(call);
  return (reply?.content[0] as { text?: string } | undefined)?.text;
}

/** The tape as it comes out of its file. */
export async function throughFile(tape: Tape): Promise<Tape> {
  const lines = (await factsOf(tape)).map((fact) => `${factLine(fact)}\n`);
  return await parseTape(lines.join(""), "imported");
}

/** The tape comes out of its file as it went in. */
export async function assertKept(tape: Tape): Promise<void> {
  assert.deepEqual(await throughFile(tape), { inboxes: [], ...tape });
}

/** A busy answer, its retry and one call more come out of a recording as they went in, and out of the tape of it. */
export async function assertReadAsWritten([format, write]: Recorder): Promise<void> {
  const content = [{ type: "text", text: "12:30:45" }, { type: "text", text: "Straße 1e3 yes" }];
  const request = { ...REQUEST, messages: [{ role: "user", content }] };
  const calls = [{ ...BUSY, request }, said(undefined, request), said(stream("again"), request)];
  const { format: found, tape } = await importRecording(write(calls), "x");
  assert.equal(found, format);
  assert.deepEqual(tape.calls.map(({ attempts }) => attempts.map(({ status }) => status)), [[529, 200], [200]]);
  assert.deepEqual(tape.calls.map(({ error }) => error), [undefined, undefined]);
  assert.deepEqual(await Promise.all(tape.calls.map(textOf)), [WORDS, "again"]);
  for (const call of tape.calls) assert.deepEqual(call.request.messages, request.messages);
  await assertKept(tape);
}

/** A text or its bytes are refused under the name 'x', for this reason. */
export async function assertRefused(content: string | Uint8Array, reason: RegExp): Promise<void> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  await assert.rejects(importRecording(bytes, "x"), (error: Error) => {
    assert.equal(error.name, "ImportRefused");
    assert.match(error.message, /^Cannot import 'x' as /);
    assert.match(error.message, reason);
    return true;
  });
}

export function isJson({ type }: Written): boolean {
  return /json/.test(type);
}

/** The body of an answer as the value it is, where it is JSON. */
export function valueOf(call: Written): unknown {
  return isJson(call) ? JSON.parse(call.body) : call.body;
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

export function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
