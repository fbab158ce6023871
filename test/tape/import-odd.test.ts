import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { stringify } from "yaml";
import { importRecording } from "../../lib/tape/import/import.ts";
import { echoOf } from "../../lib/tape/reply.ts";
import { processorTime } from "../_processor-time.ts";
import { RECORDERS } from "./_recorders.ts";
import {
  assertRefused,
  BUSY,
  eventsIn,
  jsonLines,
  MESSAGE,
  REQUEST,
  said,
  stream,
  textOf,
  URL,
  WORDS,
} from "./_written.ts";

test("answers that were kept without their questions are always read: Saloon, Python's responses, results of a batch", async () => {
  const kept: [format: string, file: Uint8Array][] = [
    ["pairs", jsonLines({ statusCode: 200, headers: {}, data: JSON.stringify(MESSAGE), context: [] })],
    [
      "pairs",
      jsonLines({
        responses: [{ response: { method: "POST", url: URL, status: 200, body: JSON.stringify(MESSAGE) } }],
      }),
    ],
    ["vercel-json", jsonLines(MESSAGE)],
    [
      "batch",
      jsonLines({ custom_id: "a", result: { type: "succeeded", message: MESSAGE } }, {
        custom_id: "b",
        result: { type: "expired" },
      }),
    ],
  ];
  for (const [format, file] of kept) {
    const { format: found, tape, notes } = await importRecording(file, "x");
    assert.equal(found, format);
    assert.equal(await textOf(tape.calls[0]), WORDS);
    assert.deepEqual(notes, ["call 1 has a stand-in for its request"]);
  }
});

test("answers in a row are always calls in that order", async () => {
  const again = { ...MESSAGE, content: [{ type: "text", text: "again" }] };
  const { format, tape } = await importRecording(jsonLines(MESSAGE, JSON.parse(BUSY.body), again), "x");
  assert.equal(format, "vercel-json");
  assert.deepEqual(await Promise.all(tape.calls.map(textOf)), [WORDS, undefined, "again"]);
  assert.equal(tape.calls[1]!.error?.code, "overloaded_error");
});

test("headers that many calls share are written once and named, which is never taken for an attack; aliases of aliases are", async () => {
  const headers = { accept: ["*/*"] };
  const interactions = Array.from({ length: 200 }, () => ({
    request: { method: "POST", uri: URL, headers, body: JSON.stringify(REQUEST) },
    response: { status: { code: 200 }, headers, body: { string: JSON.stringify(MESSAGE) } },
  }));
  const file = stringify({ interactions, version: 1 });
  assert.match(file, /headers: \*/);
  assert.equal((await importRecording(Buffer.from(file), "x")).tape.calls.length, 200);
  const bomb = "abcdefgh".split("").map((name, i, all) => {
    const inner = i === 0 ? "x" : `*${all[i - 1]}`;
    return `- &${name} [${Array(10).fill(inner).join(", ")}]`;
  });
  await assertRefused(`interactions:\n${bomb.join("\n")}\n`, /it is not valid YAML: Excessive alias count/);
});

test("a message is never taken for a log of what its tools are given", async () => {
  const input = { request: { url: URL, body: REQUEST }, response: { status: 200, headers: {}, body: MESSAGE } };
  const content = [{ type: "tool_use", id: "toolu_1", name: "keep", input }];
  const { format, tape } = await importRecording(jsonLines({ ...MESSAGE, content }), "x");
  assert.equal(format, "vercel-json");
  assert.deepEqual((await echoOf(tape.calls[0]!))?.content, content);
});

test("events in a wrapping, as stream-json has them, are always one answer for each message they begin", async () => {
  const events = eventsIn(stream(WORDS) + stream("again"));
  const file = jsonLines(
    { type: "system", subtype: "init" },
    ...events.map((event) => ({ type: "stream_event", event, session_id: "s" })),
    { type: "assistant", message: MESSAGE },
  );
  const { format, tape } = await importRecording(file, "x");
  assert.equal(format, "wrapped-events");
  assert.deepEqual(await Promise.all(tape.calls.map(textOf)), [WORDS, "again"]);
  const named = events.map((data, t) => ({ t, event: (data as { type: string }).type, data: JSON.stringify(data) }));
  const { tape: again } = await importRecording(jsonLines(...named), "x");
  assert.deepEqual(await Promise.all(again.calls.map(textOf)), [WORDS, "again"]);
});

test("an answer with its head, as curl prints it, is always read: a stream, a message or an error", async () => {
  const head = "HTTP/2 200 \r\ndate: Wed, 01 May 2024 10:00:00 GMT\r\nrequest-id: req_1\r\n\r\n";
  const { format, tape } = await importRecording(Buffer.from(head + stream(WORDS)), "x");
  assert.deepEqual([format, tape.header.at], ["http", "2024-05-01T10:00:00.000Z"]);
  assert.equal(await textOf(tape.calls[0]), WORDS);
  assert.equal(tape.calls[0]!.attempts[0]!.headers!["request-id"], "req_1");
  const busy = await importRecording(Buffer.from(`HTTP/1.1 529 Overloaded\nx: y\n\n${BUSY.body}\n`), "x");
  assert.equal(busy.tape.calls[0]!.error!.code, "overloaded_error");
  const before = "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
  const through = await importRecording(Buffer.from(before + head + stream(WORDS)), "x");
  assert.equal(await textOf(through.tape.calls[0]), WORDS);
});

test("escapes of JSON5 are never read as YAML would: a body keeps its line breaks and quotes", async () => {
  const late = 'it\'s\n"late"';
  const asked = { ...REQUEST, messages: [{ role: "user", content: late }] };
  const answered = { ...MESSAGE, content: [{ type: "text", text: late }] };
  const single = (value: unknown) => `'${JSON.stringify(value).replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const file = `{ req: { method: 'POST', url: '/v1/messages', body: ${single(asked)} }, res: { status: 200, body: ${
    single(answered)
  } }, }`;
  const { tape } = await importRecording(Buffer.from(file), "x");
  assert.deepEqual(tape.calls[0]!.request.messages[0]!.content, [{ type: "text", text: late }]);
  assert.equal(await textOf(tape.calls[0]), late);
});

test("what is said to be a stream but has no event is refused, never taken for a cut one", async () => {
  const [, write] = RECORDERS.httprr!;
  await assertRefused(write([said("it was a stream once")]), /neither a stream nor a message: it was a stream once/);
});

test("what is no recording of HTTP is refused with what it is, or which pair of it is broken", async () => {
  const [, write] = RECORDERS.httprr!;
  const torn = Buffer.concat([write([BUSY]), Buffer.from("no lengths here")]);
  await assertRefused(torn, /no lengths stand before pair 2/);
  await assertRefused("httprr trace v1\n12 3\nPOST", /ends before its body/);
  const ofAnApplication = jsonLines({ request: { model: "m", messages: [] }, response: { content: "hi" } });
  await assertRefused(ofAnApplication, /neither a stream nor a message: \{"content":"hi"/);
  const transcript = jsonLines({ type: "user", message: {} }, { type: "assistant", message: MESSAGE });
  await assertRefused(transcript, /the transcript of a session, without requests and streams/);
});

test("a text that was made to be read in many ways never takes much longer than a usual one of its length", async () => {
  const usual = Buffer.from(stream("usual ".repeat(1000)));
  const enough = 100 * Math.max(await processorTime(() => importRecording(usual, "x")), 2);
  const hostile = [
    `{${"/* ".repeat(50_000)}`,
    `{a:1,${"// ".repeat(50_000)}x`,
    `${"\n".repeat(100_000)}@`,
    `{a:1${", ".repeat(100_000)}`,
    `{${'"'.repeat(99_999)}`,
    `httprr trace v1\n${"1 1\n".repeat(50_000)}`,
    `HTTP/1.1 200 OK\n${"a: b\n".repeat(50_000)}`,
  ];
  for (const text of hostile) {
    assert.ok(text.length < 2.5 * usual.length);
    const took = await processorTime(() => assertRefused(text, /^Cannot import/), 1);
    assert.ok(took < enough, `${took} ms for ${text.slice(0, 40)}`);
  }
  const long = Buffer.from(`${stream(WORDS)}: ${"data:".repeat(100_000)}\nx\n`);
  const read = async () => assert.equal(await textOf((await importRecording(long, "x")).tape.calls[0]), WORDS);
  const took = await processorTime(read, 1);
  assert.ok(took < enough, `${took} ms for the end of a stream`);
});

test("a request that cannot be unpacked is one that was not recorded, and never takes the other calls away", async () => {
  const cut = Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).toString("base64");
  const response = { status: 200, headers: {}, body: stream(WORDS) };
  const written = (path: string) => ({
    request: { method: "POST", url: `https://api.anthropic.com/v1/${path}`, headers: {}, body: { b64: cut } },
    response,
  });
  const { tape, notes } = await importRecording(jsonLines(written("files"), written("messages")), "x");
  assert.equal(await textOf(tape.calls[0]), WORDS);
  assert.deepEqual(notes, [
    "left out POST https://api.anthropic.com/v1/files, which is no call of the Messages API",
    "call 1 has a stand-in for its request",
  ]);
});

test("what is odd in a call never keeps it from being read: its address, its time, the model of a cloud, an error without a type", async () => {
  const response = { status: 200, headers: {}, body: stream(WORDS) };
  const request = { method: "POST", url: URL, headers: {}, body: REQUEST };
  const odd: object[] = [
    { request: { ...request, url: "https://[/v1/messages" }, response },
    { request: { ...request, timestamp: 1e30 }, response },
    { request: { ...request, url: "/model/anthropic.%E0%A4%A/invoke" }, response },
  ];
  for (const written of odd) {
    const { tape } = await importRecording(jsonLines(written), "x");
    assert.equal(await textOf(tape.calls[0]), WORDS);
    assert.equal(tape.header.at, "1970-01-01T00:00:00.000Z");
  }
  const page = { request, response: { status: 502, headers: {}, body: "<h1>Bad gateway</h1>" } };
  const { tape } = await importRecording(jsonLines(page), "x");
  assert.deepEqual([tape.calls[0]!.error!.code, tape.calls[0]!.attempts[0]!.body], ["error", "<h1>Bad gateway</h1>"]);
});

test("what is no content in a request is refused by its place, and a body of seinfeld that has none is empty", async () => {
  const pair = (body: object) =>
    jsonLines({
      request: { method: "POST", url: "/v1/messages", body },
      response: { status: 200, body: stream(WORDS) },
    });
  const cases: [body: object, why: RegExp][] = [
    [{ ...REQUEST, messages: [{ role: "user", content: [null] }] }, /in 'messages\.0\.content'$/],
    [{ ...REQUEST, messages: [null] }, /has no list of 'messages'$/],
    [{ ...REQUEST, system: ["a"] }, /has neither a text nor blocks in 'system'$/],
    [{ ...REQUEST, tools: [7] }, /has no list of 'tools'$/],
  ];
  for (const [body, why] of cases) await assertRefused(pair(body), why);
  const entry = (body: object) => ({
    matchKey: "a",
    request: { method: "POST", url: "/v1/messages", headers: {}, body: { kind: "json", value: REQUEST } },
    response: { status: 200, headers: {}, body },
  });
  const seinfeld = (body: object) => jsonLines({ version: 1, entries: [entry(body)] });
  await assertRefused(seinfeld({ kind: "json" }), /neither a stream nor a message: null$/);
  await assertRefused(seinfeld({ kind: "sse" }), /an answer of it has no body/);
});

test("an address that is kept as several patterns is shown as it is, never as an object", async () => {
  const stub = {
    Request: { Path: { Matchers: [{ Pattern: "/a*" }, { Pattern: "/b*" }] }, Methods: ["post"] },
    Response: { StatusCode: 200, Body: "{}" },
  };
  await assertRefused(
    jsonLines(stub),
    /it has POST \{"Matchers":\[\{"Pattern":"\/a\*"\},\{"Pattern":"\/b\*"\}\]\}$/,
  );
});

test("replies that were collected without their requests, and several recordings in one file, are always read in order", async () => {
  const reply = (text: string) => `provider: x\nthen:\n  status: 200\n  body: ${JSON.stringify(stream(text))}\n`;
  const replies = await importRecording(Buffer.from(`${reply("one")}---\n${reply("two")}---\n`), "x");
  assert.equal(replies.format, "httpmock");
  assert.deepEqual(await Promise.all(replies.tape.calls.map(textOf)), ["one", "two"]);
  const [, write] = RECORDERS.vcrpy!;
  const both = Buffer.concat([write([said()]), Buffer.from("---\n"), write([said(stream("again"))])]);
  const { format, tape } = await importRecording(both, "x");
  assert.equal(format, "vcrpy");
  assert.deepEqual(await Promise.all(tape.calls.map(textOf)), [WORDS, "again"]);
});

test("a call is always known by its address: behind gateways, with a slash or a mark at its end; one that was sent elsewhere is told", async () => {
  const response = { status: 200, headers: {}, body: stream(WORDS) };
  const asked = (url: string) => ({ request: { url, body: REQUEST }, response });
  const addresses = [
    "https://gateway.ai.cloudflare.com/v1/a/g/anthropic/messages",
    "https://anthropic.helicone.ai/v1/messages/",
    "https://api.anthropic.com/v1/messages#x",
  ];
  const symbol = { request: { url: URL, method: ":post", body: REQUEST }, response };
  for (const pair of [...addresses.map(asked), symbol]) {
    const { tape } = await importRecording(jsonLines(pair), "x");
    assert.equal(await textOf(tape.calls[0]), WORDS, JSON.stringify(pair.request));
  }
  await assertRefused(jsonLines(asked("https://api.openai.com/v1/threads/t/messages")), /no call of the Messages API/);
  const moved = { request: { url: URL, body: REQUEST }, response: { status: 307, headers: {}, body: "" } };
  const { tape, notes } = await importRecording(jsonLines(moved, asked(URL)), "x");
  assert.equal(tape.calls.length, 1);
  assert.deepEqual(notes, [`left out POST ${URL}, which was sent elsewhere (307)`]);
});

test("a message is always one, whatever its content type says, and a file of Windows is a text", async () => {
  const answer = { status: 200, headers: { "content-type": "text/event-stream" }, body: JSON.stringify(MESSAGE) };
  const files = [
    jsonLines({ request: { url: URL, body: REQUEST }, response: answer }),
    Buffer.from(`\ufeff${JSON.stringify(MESSAGE)}\r\n`, "utf16le"),
  ];
  for (const file of files) assert.equal(await textOf((await importRecording(file, "x")).tape.calls[0]), WORDS);
});

test("what cannot be read is refused with what it is: an archive, an empty recording, a body packed in an unknown way", async () => {
  const tar = Buffer.alloc(512);
  tar.write("ustar", 257);
  const packed = { status: 200, headers: { "content-encoding": "lzma" }, body: { b64: "AP8A/wECAwQFBgcI" } };
  const brotli = brotliCompressSync(stream("word ".repeat(1000))).subarray(0, 40);
  const cut = { status: 200, headers: { "content-encoding": "br" }, body: { b64: brotli.toString("base64") } };
  const refusals: [content: string | Uint8Array, reason: RegExp][] = [
    ["PK\x03\x04 and so on", /it is an archive of files/],
    [`${stream("a")}event: error\ndata: ${BUSY.body}\n\n`, /SDK makes of call 1 .*: it throws: .*busy/],
    [stream("a").replace(',"usage":{"output_tokens":2}', ""), /it throws: its 'message_delta' has no 'usage'$/],
    [stream("a").replace('"content":[],', ""), /it throws: its 'message_start' has no list of 'content'$/],
    [gzipSync(tar), /it is an archive of files/],
    ["interactions: []\nversion: 1\n", /it holds no exchange: its 'interactions' are empty$/],
    ['{"entries":[],"meta":{}}', /it holds no exchange: its 'entries' are empty$/],
    [jsonLines({ request: { url: URL, body: REQUEST }, response: packed }), /no text.*content-encoding is lzma$/],
    [
      jsonLines({ request: { url: URL, body: REQUEST }, response: cut }),
      /its body cannot be unpacked: (?:unexpected end|it ends too early)/,
    ],
    [jsonLines({ request: { url: URL, body: REQUEST }, response: { headers: {}, body: "{}" } }), /has no status$/],
    [jsonLines({ request: { url: URL }, response: { status: 200, headers: {} } }), /has no body: its recorder did not/],
    ["{}", /it is in none of the known formats: vcrpy/],
    ["interactions:\n- request: 'cut\n", /it is not valid YAML: Missing closing 'quote at line \d, column \d+$/],
    ['[{"httpRequest":{},"httpResponse":{}}]', /none of the known formats \(its keys are httpRequest, httpResponse\)/],
  ];
  for (const [content, reason] of refusals) await assertRefused(content, reason);
});
