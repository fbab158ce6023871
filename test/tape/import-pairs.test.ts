import assert from "node:assert/strict";
import { test } from "node:test";
import { importRecording } from "../../lib/tape/import/import.ts";
import {
  assertReadAsWritten,
  assertRefused,
  eventsIn,
  isJson,
  jsonLines,
  MESSAGE,
  REQUEST,
  textOf,
  URL,
  valueOf,
  WORDS,
  type Written,
} from "./_written.ts";

test("calls deep in a log are always found in their order, as Inspect, LangSmith and Langfuse have them", async () => {
  const request = { model: "m", max_tokens: 1, messages: [{ role: "user", content: "hi" }] };
  const again = { ...MESSAGE, content: [{ type: "text", text: "again" }] };
  const log = {
    version: 2,
    samples: [
      { events: [{ event: "state" }, { event: "model", call: { request, response: MESSAGE, time: 1.2 } }] },
      { events: [{ event: "model", call: { request, response: again } }] },
    ],
  };
  const runs = [MESSAGE, again].map((outputs) => ({ run_type: "llm", inputs: request, outputs, feedback: {} }));
  const spans = [MESSAGE, again].map((output) => ({ type: "GENERATION", input: request, output }));
  for (const file of [jsonLines(log), jsonLines({ run_type: "chain", inputs: {} }, ...runs), jsonLines(spans)]) {
    const { format, tape, notes } = await importRecording(file, "x");
    assert.deepEqual([format, notes], ["pairs", []]);
    assert.deepEqual(await Promise.all(tape.calls.map(textOf)), [WORDS, "again"]);
  }
});

const pairsOf = (calls: readonly Written[], body: (call: Written) => object) =>
  calls.map((c) => ({
    request: { url: URL, body: c.request },
    response: { status: c.status, headers: {}, ...body(c) },
  }));

test("a body is always read, be it bytes as Node or Rust write them or a list of events, and pairs one step below the top", async () => {
  const forms: ((call: Written) => object)[] = [
    ({ body }) => ({ body: Buffer.from(body) }),
    ({ body }) => ({ body: [...Buffer.from(body)] }),
    (call) => ({ body: isJson(call) ? valueOf(call) : eventsIn(call.body) }),
    (call) => ({ stream: isJson(call) ? valueOf(call) : eventsIn(call.body) }),
  ];
  for (const body of forms) {
    await assertReadAsWritten(["pairs", (calls) => jsonLines({ cassette: { calls: pairsOf(calls, body) } })]);
  }
});

test("what a request has beside its address is never taken for a body that it has not", async () => {
  const asked = { url: URL, headers: '{"accept":"*/*"}', trace: '{"id":1}', tags: [] };
  const answered = { status: 200, headers: '{"date":""}', trace: '{"id":1}', words: JSON.stringify(MESSAGE) };
  const { tape, notes } = await importRecording(jsonLines({ request: asked, response: answered }), "x");
  assert.deepEqual(notes, ["call 1 has a stand-in for its request"]);
  assert.equal(await textOf(tape.calls[0]), WORDS);
});

test("what was left out is told once for each reason, and never with the key that stands in an address", async () => {
  const other = (url: string) => ({ request: { url, body: {} }, response: { status: 200, headers: {}, body: "{}" } });
  const gemini = other(
    "https://user:pw@generativelanguage.googleapis.com/v1beta/models/g:generateContent?key=AIzaSecret",
  );
  const pages = ["a", "b", "c", "d"].map((page) => other(`https://example.com/${page}#top`));
  const asked = { request: { url: URL, body: REQUEST }, response: { status: 200, headers: {}, body: MESSAGE } };
  const lost = { ...asked, request: { url: URL } };
  const notesOf = async (...pairs: object[]) => (await importRecording(jsonLines(...pairs), "x")).notes;
  const place = "POST https://generativelanguage.googleapis.com/v1beta/models/g:generateContent";
  assert.deepEqual(await notesOf(gemini, asked, gemini), [
    `left out ${place} (2 times), which are no calls of the Messages API`,
  ]);
  assert.deepEqual(await notesOf(lost, ...pages, asked, lost, lost, asked, lost), [
    "left out POST https://example.com/a, POST https://example.com/b, POST https://example.com/c and 1 more, which are no calls of the Messages API",
    "calls 1, 3-4, 6 have stand-ins for their requests",
  ]);
  await assertRefused(jsonLines(gemini), new RegExp(`: it has ${place}$`));
});
