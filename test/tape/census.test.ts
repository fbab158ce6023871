import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type * as Sdk from "@anthropic-ai/sdk/resources/beta/messages";
import { census, KNOWN } from "../../lib/tape/census.ts";
import { importRecording } from "../../lib/tape/import/import.ts";
import type { Attempt, Tape } from "../../lib/tape/tape.ts";
import { noRecordings, recordings } from "../_data.ts";

/** Does not compile where the SDK knows a kind that the census does not. */
type Missing<Of, Listed> = Exclude<Of, Listed> extends never ? true : Exclude<Of, Listed>;
const complete: [
  Missing<Sdk.BetaContentBlock["type"], typeof KNOWN.blocks[number]>,
  Missing<Sdk.BetaRawContentBlockDelta["type"], typeof KNOWN.deltas[number]>,
  Missing<Sdk.BetaStopReason, typeof KNOWN.stops[number]>,
] = [true, true, true];

test("the census knows every block, delta and stop reason of the SDK's types", () => {
  assert.deepEqual(complete, [true, true, true]);
});

test("census() and importRecording() name the wrong argument, and what to pass", async () => {
  const one = tape([]);
  const none = (given: string) => new RegExp(`^TypeError: Cannot count as ${given}`);
  assert.throws(() => census(one as never), none("'tapes' must be a list: give \\[tape\\], and not \\{\"header\""));
  assert.throws(() => census(undefined as never), none("'tapes' must be a list: .* undefined$"));
  assert.throws(() => census([Promise.resolve(one)] as never), none("a promise is not a tape: await readTape"));
  const bytes = new TextEncoder().encode("{}");
  const refused: [given: unknown[], why: RegExp][] = [
    [["data: {}", "x.txt"], /'bytes' must be a Uint8Array: .*\.encode\(text\), not "data: \{\}"$/],
    [[{ path: "x.txt" }, "x.txt"], /'bytes' must be a Uint8Array: .* not \{"path":"x\.txt"\}$/],
    [[bytes], /'name' must be a string: pass the file's name, not undefined$/],
  ];
  for (const [given, why] of refused) {
    await assert.rejects(importRecording(...given as [Uint8Array, string]), (error) => {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, why);
      return true;
    });
  }
});

function tape(attempts: Attempt[], wire?: Record<string, string>, versions: Record<string, string> = {}): Tape {
  const request = { model: "m", params: {}, system: [], tools: [], messages: [], ...(wire && { wire }) };
  return {
    header: {
      tape: 1,
      source: "test",
      at: "2026-01-01T00:00:00.000Z",
      seed: "",
      versions: { sdk: "1.8.0", ...versions },
      tools: false,
    },
    prompts: [],
    calls: [{ id: "main#1", lane: "main", request, attempts, at: 0 }],
    tools: [],
    clocks: [],
  };
}

test("census() counts what was streamed, what came whole and what went wrong, and names what is lacking", () => {
  const body = JSON.stringify({
    type: "message",
    model: "claude-opus-5-20260101",
    content: [{ type: "text", text: "a" }, { type: "surprise" }],
    stop_reason: "refusal",
  });
  const failed = JSON.stringify({ type: "error", error: { type: "rate_limit_error", message: "" } });
  const event = (value: object) => ({ ms: 0, event: value as never });
  const streamed: Attempt = {
    status: 200,
    ended: "cut",
    took: 0,
    events: [
      event({ type: "message_start", message: { model: "claude-opus-5" } }),
      event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "" } }),
      { ms: 0, raw: 'data: {"type":"error","error":{"type":"overloaded_error","message":""}}\n\n' },
    ],
  };
  const counted = census([
    tape([{ status: 429, body: failed, took: 0 }, { status: 200, body, took: 0 }], {
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "one-2025-01-01, two-2025-01-01",
    }),
    tape([streamed], undefined, { api: "2026-10-21", betas: "two-2025-01-01" }),
  ]);
  assert.deepEqual([counted.tapes, counted.calls, counted.attempts, counted.streams], [2, 2, 3, 1]);
  assert.deepEqual(counted.of.blocks.covers, { text: 2, surprise: 1 });
  assert.ok(counted.of.blocks.lacks.includes("tool_use") && !counted.of.blocks.lacks.includes("text"));
  assert.deepEqual(counted.of.deltas.covers, { text_delta: 1 });
  assert.deepEqual(counted.of.stops.covers, { refusal: 1 });
  assert.deepEqual(counted.of.errors.covers, { "429 rate_limit_error": 1, cut: 1, "in-stream overloaded_error": 1 });
  assert.ok(counted.of.errors.lacks.includes("529 overloaded_error"));
  assert.deepEqual(counted.of.models.covers, { "claude-opus-5": 1, "claude-opus-5-20260101": 1 });
  assert.ok(!counted.of.models.lacks.includes("claude-opus-5") && counted.of.models.lacks.includes("claude-opus-4-8"));
  assert.deepEqual(counted.of.api, { covers: { "2023-06-01": 1, "2026-10-21": 1 }, lacks: [] });
  assert.deepEqual(counted.of.betas.covers, { "two-2025-01-01": 2, "one-2025-01-01": 1 });
  assert.deepEqual(counted.of.versions.covers, { "sdk 1.8.0": 2 });
});

const manifest = recordings("cassettes/manifest.json");

test("census() finds in the shared recordings what their list says they hold", {
  skip: noRecordings,
}, async () => {
  const listed: { file: string; features: string[] }[] = JSON.parse(readFileSync(manifest!, "utf8"));
  const refused: string[] = [];
  for (const { file, features } of listed) {
    const imported = await importRecording(readFileSync(join(manifest!, "..", file)), file).catch(() => undefined);
    if (!imported) {
      refused.push(file);
      continue;
    }
    const { of } = census([imported.tape]);
    const said = (kind: string) =>
      features.filter((f) => f.startsWith(`${kind}:`)).map((f) => f.slice(kind.length + 1)).sort();
    assert.deepEqual(Object.keys(of.blocks.covers).sort(), said("block"), file);
    assert.deepEqual(Object.keys(of.deltas.covers).sort(), said("delta"), file);
    assert.deepEqual(Object.keys(of.stops.covers).sort(), said("stop"), file);
    assert.deepEqual(Object.keys(of.errors.covers).sort(), said("error").map((error) => error.replace(":", " ")), file);
  }
  assert.deepEqual(refused, ["vercel+ai/spliced-message-start.chunks.txt"]);
});
