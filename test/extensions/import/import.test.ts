import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import fixtures from "../../../lib/cli/fixtures.ts";
import { sha256 } from "../../../lib/runtime/sha256.ts";
import { readDocuments } from "../../../lib/extensions/import/read-recording.ts";
import { importRecording } from "../../../lib/extensions/import/import.ts";
import { FORMATS } from "../../../lib/extensions/import/formats.ts";
import { replyOf } from "../../../lib/log/recorded-reply.ts";
import type { Call } from "../../../lib/log/tape.ts";
import { rows } from "../../_counts.ts";
import { noRecordings, recordings } from "../../_data.ts";
import { place } from "../../_place.ts";
import { put } from "../../_scratch.ts";
import { answersIn, type Said } from "../../replay/_answers.ts";
import { RECORDERS } from "../../replay/_recorders.ts";
import { sdkOn } from "../../replay/_sdk.ts";
import {
  assertKept,
  assertRefused,
  BUSY,
  REQUEST,
  said,
  stream,
  textOf,
  throughFile,
  URL,
} from "../../replay/_written.ts";

interface Listed {
  readonly file: string;
  readonly format: string;
  readonly interactions: number;
  readonly streaming: number;
}

const manifest = recordings("cassettes/manifest.json");
const listed: Listed[] = manifest === undefined ? [] : JSON.parse(readFileSync(manifest, "utf8"));

test("there are recordings to import", { skip: noRecordings }, () => {
  assert.equal(listed.length, 40);
});

for (const { file, format, interactions, streaming } of rows(16, listed)) {
  test(`${file} becomes a tape from which the SDK reads what was recorded, or is refused with the reason`, async () => {
    const bytes = readFileSync(join(manifest!, "..", file));
    const original = answersIn(bytes);
    assert.equal(original.length, interactions);
    const broken = original.find((answer) => "broken" in answer);
    if (broken) {
      assert.match(JSON.stringify(broken), /2 starts/);
      return await assert.rejects(importRecording(bytes, file), {
        message: `Cannot import '${file}' as a response has a second 'message_start'`,
      });
    }
    const imported = await importRecording(bytes, file);
    assert.equal(imported.format, format);
    const tape = await throughFile(imported.tape);
    assert.equal(tape.calls.length, interactions);
    assert.equal(tape.calls.filter((call) => call.attempts.some((a) => a.events)).length, streaming);
    for (const [i, call] of tape.calls.entries()) await sameAsSdk(call, original[i]!);
  });
}

const { warn } = console;
console.warn = () => {}; // the SDK's: of models that were new when they were recorded
after(() => void (console.warn = warn));

/** What the SDK makes of a call that is served from the tape, for the recorded request, is what was said. */
async function sameAsSdk(call: Call, said: Said): Promise<void> {
  const client = sdkOn(call);
  const { model, params, system, tools, messages } = call.request;
  const body: any = {
    ...params,
    model,
    messages,
    ...(system.length > 0 && { system }),
    ...(tools.length > 0 && { tools }),
  };
  const asking = call.attempts.at(-1)!.events
    ? client.beta.messages.stream(body).finalMessage()
    : client.beta.messages.create(body, { timeout: 60_000 });
  if ("error" in said) {
    return await assert.rejects(asking as Promise<unknown>, (error: { error: { error: unknown } }) => {
      assert.deepEqual(error.error.error, said.error);
      return true;
    });
  }
  const got: any = JSON.parse(JSON.stringify(await asking));
  const { message } = said as { message: any };
  for (const [i, block] of message.content.entries()) {
    if (block.input?.unparsed !== undefined) block.input = got.content[i].input;
  }
  assert.deepEqual(got.content, message.content);
  const told = ({ id, model, role, stop_reason, usage }: any) => {
    const { input_tokens, output_tokens, cache_read_input_tokens } = usage;
    return [id, model, role, stop_reason, input_tokens, output_tokens, cache_read_input_tokens];
  };
  assert.deepEqual(told(got), told(message));
}

test("a parsed body is always read as PyYAML wrote it: dates, 1e3 and 0o17 are text", async () => {
  const yaml = `interactions:
- request:
    method: POST
    uri: https://api.anthropic.com/v1/messages
    parsed_body:
      model: m
      max_tokens: 1
      messages:
      - role: user
        content:
        - type: text
          text: 1e3
        - type: text
          text: 0o17
        - type: text
          text: 2023-06-01
    headers:
      ? !!python/object/apply:multidict._multidict.istr
      - anthropic-version
      : - '2023-06-01'
  response:
    status: {code: 200, message: OK}
    headers: {}
    parsed_body:
      type: message
      id: 1e3
      role: assistant
      model: m
      content: [{type: text, text: 2023-06-01}]
      stop_reason: end_turn
      stop_sequence: null
      usage: {input_tokens: 1000, output_tokens: 2}
version: 1
`;
  const { tape } = await importRecording(Buffer.from(yaml), "x.yaml");
  const { request, attempts } = tape.calls[0]!;
  assert.deepEqual(request.messages[0]!.content.map((b) => (b as { text: unknown }).text), [
    "1e3",
    "0o17",
    "2023-06-01",
  ]);
  assert.equal(tape.header.versions.api, "2023-06-01");
  const message = JSON.parse(attempts[0]!.body!);
  assert.deepEqual([message.id, message.content[0].text, message.usage.input_tokens], ["1e3", "2023-06-01", 1000]);
});

const plain = (text: string) => importRecording(Buffer.from(text), "x.txt");

test("text that PyYAML leaves without quotes is always text", async () => {
  const texts = ["y", "n", "yes", "08", "09:30", "12:30", ".", "+.1", "1e3", "1_000", "0o17", "2023-06-01", "1.2.3"];
  const values = ["true", "null", "0", "-12", "1.5", "1.0e+20"];
  const yaml = [...texts, ...values].map((bare) => `- ${bare}\n`).join("");
  assert.deepEqual(await readDocuments(`${yaml}- y: 08\n`), [[
    ...texts,
    ...values.map((value) => JSON.parse(value)),
    { y: "08" },
  ]]);
});

test("a stream is always read whole, whatever a gateway makes of its lines", async () => {
  const whole = stream("hi");
  const forms = [
    whole.replace(/^event:.*\n/gm, ""),
    whole.replace(/^event:.*\n/gm, "").replace(/\n\n/g, "\n"),
    whole.replaceAll("\n", "\r\n"),
    whole.trimEnd(),
    `${whole.trimEnd()}\n`,
    `${whole}data: [DONE]\n\n`,
    `${whole}event: data\ndata: [DONE]\n\n`,
    `${whole.trimEnd()}\ndata: [DONE]\n\n`,
    whole.replace(/\n\n/g, "\n"),
    whole.replace(/^event: content.*\n/gm, ""),
    whole.replace(/^data: \{"type":"\w+",?/gm, "data: {"),
    whole.replace(/,"/g, ',\ndata: "'),
    `: a comment\n\n${whole}`,
    `\ufeff${whole}`,
  ];
  for (const form of forms) {
    const { tape, notes } = await plain(form);
    assert.deepEqual(notes, ["the request was not recorded: main#1"]);
    assert.equal(tape.calls[0]!.error, undefined, form);
    await assertKept(tape);
    await sameAsSdk(tape.calls[0]!, answersIn(Buffer.from(whole))[0]!);
  }
});

test("a stream that was cut is a call that failed, and an error in it is that error", async () => {
  const whole = stream("hi there");
  for (const length of [whole.length - 40, whole.length - 100, 60]) {
    const { tape } = await plain(whole.slice(0, length));
    assert.equal(tape.calls[0]!.error?.code, "cut");
    assert.equal(tape.calls[0]!.attempts[0]!.ended, "cut");
    await assertKept(tape);
  }
  const { tape } = await plain(
    whole.replace(/event: content_block_stop[\s\S]*/, `event: error\ndata: ${BUSY.body}\n\n`),
  );
  assert.equal(tape.calls[0]!.error?.code, "overloaded_error");
  for (const data of ["out of order", '{"error":"out of order"}', '{"type":"error","message":"out of order"}']) {
    const { tape } = await plain(whole.replace(/event: content_block_stop[\s\S]*/, `event: error\ndata: ${data}\n\n`));
    assert.equal(tape.calls[0]!.error?.code, "error", data);
    assert.match(tape.calls[0]!.error!.message, /out of order$/);
    await assertKept(tape);
  }
});

test("a line separator that JSON does not escape never loses an event", async () => {
  const text = "one\u2028two\u2029three\u0085four";
  const { tape } = await plain(stream([text]));
  assert.equal(await textOf(tape.calls[0]), text);
});

test("a reply that begins with content, as after a pause, is always kept whole: by the SDK, by the import and by the core", async () => {
  const content = [{ type: "text", text: "Hello" }, {
    type: "tool_use",
    id: "toolu_1",
    name: "look",
    input: { at: "it" },
  }];
  const usage = { input_tokens: 1, output_tokens: 2 };
  const message = { id: "m", type: "message", role: "assistant", model: "m", content, stop_reason: "tool_use", usage };
  const events = [{ type: "message_start", message }, { type: "message_stop" }];
  const { tape } = await plain(events.map((event) => JSON.stringify(event)).join("\n"));
  const reply = replyOf(tape.calls[0]!);
  assert.deepEqual(reply?.message.content, content);
  assert.deepEqual(reply?.calls, [{ id: "toolu_1", name: "look", input: { at: "it" } }]);
  assert.equal(reply?.stop_reason, "tool_use");
});

test("calls of other APIs are left out and named; attempts of one call never become two calls", async () => {
  const [, write] = RECORDERS.opencode!;
  const vcr = JSON.parse(Buffer.from(write([said(), BUSY, BUSY, said()])).toString());
  vcr.interactions.unshift({
    request: { method: "POST", url: "https://api.anthropic.com/v1/messages/count_tokens", headers: {}, body: "{}" },
    response: { status: 200, headers: { "content-encoding": "br" }, body: "AAAA", bodyEncoding: "base64" },
  });
  const { tape, notes } = await plain(JSON.stringify(vcr));
  assert.deepEqual(tape.calls.map((c) => c.attempts.length), [1, 3]);
  assert.deepEqual(notes, [
    "left out, as not an answered call of a known API: POST https://api.anthropic.com/v1/messages/count_tokens",
  ]);
});

/** One exchange as opencode writes it. */
function interaction(body: unknown, request: unknown = REQUEST, url = URL): string {
  const asked = { method: "POST", url, headers: {}, body: JSON.stringify(request) };
  return JSON.stringify({ interactions: [{ request: asked, response: { status: 200, headers: {}, body } }] });
}

const seinfeld = (body: object, version = 1, request: object = { kind: "json", value: REQUEST }) =>
  JSON.stringify({
    version,
    entries: [{
      matchKey: "a",
      request: { method: "POST", url: URL, headers: {}, body: request },
      response: { status: 200, headers: {}, body },
    }],
  });

test("a file that is not a recording is always refused with the reason", async () => {
  const names = Object.keys(FORMATS).join(", ");
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const message = `{"type":"message","content":${deep}}`;
  const asks = (more: object) => interaction(stream("a"), { ...REQUEST, ...more });
  const refusals: [content: string | Uint8Array, reason: RegExp][] = [
    ["", /it is empty/],
    ['{"log":{"entries":[]}}', new RegExp(`not supported \\(its keys are log\\): supported are ${names}`)],
    ["just a text", /format is not supported/],
    ["module.exports = function (req, res) {\n  res.end({ a: 1 });\n};\n", /format is not supported/],
    ["a: [1, 2", /it is not valid YAML/],
    ['{"interactions":[{"request":', /it is not valid JSON: it may be cut off/],
    ['{"type":"message_start"}\n{"type":"pi', /line 2 is not JSON/],
    [new Uint8Array([0x1f, 0x8b, 1, 2]), /cannot be decompressed/],
    [new Uint8Array([0xff, 0xfe, 0x00]), /it is not text/],
    ['{"tape":1,"source":"x"}\n{"prompt":"x"}\n', /it is already a tape/],
    [interaction(message), /it is nested too deeply/],
    ["data: {no json}\n\ndata: {}\n\n", /an event of a stream is not JSON/],
    [stream("a") + stream("b"), /a second 'message_start'/],
    [stream("a").replace(/event: message_start\n.*\n\n/, ""), /before 'message_start'/],
    [
      stream("a").replaceAll('"index":0', '"index":1').replace('"index":1,"content', '"index":0,"content'),
      /not started/,
    ],
    [seinfeld({ kind: "binary", path: "x" }), /the file of one of its bodies is not beside it: copy 'x' there too/],
    [seinfeld({ kind: "zip", path: "x" }), /a body of kind 'zip', which is not supported/],
    [seinfeld({ kind: "json" }), /neither a stream nor a message .*: "null"$/],
    [seinfeld({ kind: "sse" }), /a response has no body/],
    [seinfeld({ kind: "empty" }, 2), /version 2 of seinfeld/],
    [interaction("once a stream"), /neither a stream nor a message .*: "once a stream"/],
    [interaction(""), /a response has no body: record it again/],
    [asks({ model: undefined }), /a request has no 'model'/],
    [asks({ messages: [null] }), /a request has no list of 'messages'$/],
    [asks({ messages: [{ role: "user", content: [null] }] }), /in 'messages\.0\.content'$/],
    [asks({ system: ["a"] }), /in 'system'$/],
    [asks({ tools: [7] }), /a request has no list of 'tools'$/],
    [
      interaction("", REQUEST, "https://u:p@api.openai.com/v1/embeddings?key=1"),
      /no call of a known API with a response: it has POST https:\/\/api\.openai\.com\/v1\/embeddings$/,
    ],
    [RECORDERS.opencode![1]([said(), said("")]), /call 2 cannot be read: a response has no body/],
    [message, /it is nested too deeply/], // takes seconds
  ];
  for (const [content, reason] of rows(refusals.length - 1, refusals)) await assertRefused(content, reason);
});

test("importRecording() names the wrong argument, and what to pass", async () => {
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

const hashOf = (bytes: Uint8Array) => sha256().update(bytes).digest("hex");

test("bodies in files beside a cassette of Braintrust's recorder are read, if they are what was recorded", async () => {
  const [asked, answered] = [Buffer.from(JSON.stringify(REQUEST)), Buffer.from(stream("FROM-A-BLOB"))];
  const path = (bytes: Uint8Array) => `a.cassette.blobs/${hashOf(bytes)}.bin`;
  const body = (bytes: Uint8Array, sha256 = hashOf(bytes)) => ({ kind: "binary", path: path(bytes), sha256 });
  const cassette = (request: object) => seinfeld(body(answered), 1, request);
  const bodies = { [path(asked)]: asked.toString(), [path(answered)]: answered.toString() };
  const files = { "a.cassette.json": cassette(body(asked)), ...bodies };
  using here = place(files);
  const { code, out } = await here.call(fixtures, "import", ".", "--json");
  const [{ tape, format, notes }, ...others] = JSON.parse(out);
  assert.deepEqual([code, format, notes, others], [0, "seinfeld", [], []], out);
  const text = readFileSync(join(here.cwd, tape), "utf8");
  assert.ok(text.includes("FROM-A-BLOB") && text.includes("12:30:45"));
  for (
    const [damage, says] of [
      [() => here.put({ [path(asked)]: "{}" }), /has other bytes than were recorded: copy it again/],
      [() => rmSync(join(here.cwd, path(answered))), /is not beside it: copy 'a\.cassette\.blobs/],
      [
        () => here.put({ "a.cassette.json": cassette({ ...body(asked), path: "../home/x" }) }),
        /'\.\.\/home\/x' is a link that leads out/,
      ],
    ] as const
  ) {
    here.put(files);
    put(here.home, { x: "secret" });
    damage();
    rmSync(join(here.cwd, "fixtures"), { recursive: true, force: true });
    const broken = await here.call(fixtures, "import", ".");
    assert.equal(broken.code, 1);
    assert.match(broken.out + broken.err, says);
  }
});
