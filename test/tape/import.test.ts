import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readDocuments } from "../../lib/tape/import/_yaml.ts";
import { importRecording } from "../../lib/tape/import/import.ts";
import { FORMATS } from "../../lib/tape/import/read.ts";
import { replyOf } from "../../lib/tape/reply.ts";
import type { Call } from "../../lib/tape/tape.ts";
import { sharedData } from "../_shared.ts";
import { answersIn, type Said } from "./_answers.ts";
import { RECORDERS } from "./_recorders.ts";
import { sdkOn } from "./_sdk.ts";
import { assertKept, assertRefused, BUSY, REQUEST, said, stream, textOf, throughFile, URL } from "./_written.ts";

interface Listed {
  readonly file: string;
  readonly format: string;
  readonly interactions: number;
  readonly streaming: number;
}

const manifest = sharedData("cassettes/manifest.json");
const listed: Listed[] = manifest === undefined ? [] : JSON.parse(readFileSync(manifest, "utf8"));

test("there are recordings to import", { skip: manifest === undefined && "shared data is not here" }, () => {
  assert.equal(listed.length, 40);
});

for (const { file, format, interactions, streaming } of listed) {
  test(`${file} becomes a tape of which the SDK makes what was recorded, or is refused for a true reason`, async () => {
    const bytes = readFileSync(join(manifest!, "..", file));
    const original = answersIn(bytes);
    assert.equal(original.length, interactions);
    const broken = original.find((answer) => "broken" in answer);
    if (broken) {
      assert.match(JSON.stringify(broken), /2 starts/);
      return await assert.rejects(importRecording(bytes, file), {
        message: `Cannot import '${file}' as a second 'message_start' comes in one answer of it`,
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
  const told = ({ id, model, role, stop_reason, usage }: any) => ({
    id,
    model,
    role,
    stop_reason,
    in: usage.input_tokens,
    out: usage.output_tokens,
    read: usage.cache_read_input_tokens,
  });
  assert.deepEqual(told(got), told(message));
}

test("a parsed body is always read as PyYAML wrote it: dates, 1e3 and 0o17 are texts there", async () => {
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
      usage: {input_tokens: 1_000, output_tokens: 2}
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

test("a text that PyYAML leaves without quotes is always a text, and never has the blanks it puts below other ends of lines", async () => {
  const texts = ["y", "n", "08", "09:30", ".", "+.1", "1e3", "0o17", "2023-06-01", "1.2.3"];
  const values = ["true", "null", "0", "-12", "1.5", "1.0e+20"];
  const broken = "'one\u2028  two\u0085\u2029  three\n\n\u2029  four'";
  const yaml = `${
    [...texts, ...values].map((bare) => `- ${bare}\n`).join("")
  }- ${broken}\n- y: 08\n- |\n  four\u2028   five\n`;
  assert.deepEqual(await readDocuments(yaml), [[
    ...texts,
    ...values.map((value) => JSON.parse(value)),
    "one\u2028two\u0085\u2029three\n\u2029four",
    { y: "08" },
    "four\u2028 five\n",
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
    assert.deepEqual(notes, ["call 1 has a stand-in for its request"]);
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

test("a separator of lines that JSON leaves as it is never takes an event away", async () => {
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
  const reply = await replyOf(tape.calls[0]!);
  assert.deepEqual(reply?.message.content, content);
  assert.deepEqual(reply?.calls, [{ id: "toolu_1", name: "look", input: { at: "it" } }]);
  assert.equal(reply?.stop_reason, "tool_use");
});

test("calls of other APIs are left out and named; attempts of one call are never taken for two", async () => {
  const [, write] = RECORDERS.opencode!;
  const vcr = JSON.parse(Buffer.from(write([said(), BUSY, BUSY, said()])).toString());
  vcr.interactions.unshift({
    request: { method: "POST", url: "https://api.anthropic.com/v1/messages/count_tokens", headers: {}, body: "{}" },
    response: { status: 200, headers: { "content-encoding": "br" }, body: "AAAA", bodyEncoding: "base64" },
  });
  const { tape, notes } = await plain(JSON.stringify(vcr));
  assert.deepEqual(tape.calls.map((c) => c.attempts.length), [1, 3]);
  assert.match(notes[0]!, /left out POST .*count_tokens/);
});

test("an imported tape never shows a secret of the recording", async () => {
  const key = "sk-ant-api03-" + "a1B2c3D4e5F6".repeat(4);
  const { tape, notes } = await plain(stream(["the key is ", key.slice(0, 20), key.slice(20), `, it is ${key}`]));
  assert.doesNotMatch(JSON.stringify(tape.calls) + await textOf(tape.calls[0]), /a1B2c3D4e5F6a1B2/);
  assert.ok(notes.includes("secrets that are placeholders now: 1"), notes.join());
});

test("an imported tape never shows a secret that stood in a header or in the name of the file, nor the home of this machine", async () => {
  const key = "sk-ant-api03-" + "a1B2c3D4e5F6".repeat(4);
  const request = { ...REQUEST, messages: [{ role: "user", content: `look in ${homedir()}/notes.md` }] };
  const pair = {
    request: { url: URL, headers: { "user-agent": `Tea/1 ${key}`, "anthropic-beta": key }, body: request },
    response: { status: 200, headers: { "request-id": key }, body: stream("hi") },
  };
  const { tape } = await importRecording(Buffer.from(JSON.stringify(pair)), `${key}.json`);
  const shown = JSON.stringify(tape);
  assert.doesNotMatch(shown, /a1B2c3D4e5F6a1B2/);
  assert.match(shown, /look in \{HOME\}\/notes\.md/);
});

const ELSEWHERE = {
  entries: [{
    request: {
      method: "POST",
      url: URL,
      headers: {},
      body: { kind: "json", value: REQUEST },
    },
    response: { status: 200, headers: {}, body: { kind: "binary", path: "x", sha256: "" } },
  }],
};

test("what is no recording is always refused with the reason", async () => {
  const names = FORMATS.map((format) => format.name).join(", ");
  const refusals: [content: string | Uint8Array, reason: RegExp][] = [
    ["", /it is empty/],
    ['{"log":{"entries":[]}}', new RegExp(`none of the known formats \\(its keys are log\\): ${names}`)],
    ["just a text", /none of the known formats/],
    ["module.exports = function (req, res) {\n  res.end({ a: 1 });\n};\n", /none of the known formats/],
    ["a: [1, 2", /it is not valid YAML/],
    ['{"interactions":[{"request":', /it is not valid JSON: its recorder may have been cut short/],
    ['{"type":"message_start"}\n{"type":"pi', /line 2 of it is not JSON/],
    ['{"a":1}\n<<<<<<< HEAD\n{"b":1}\n>>>>>>> theirs\n', /it has the marks of a merge/],
    [new Uint8Array([0x1f, 0x8b, 1, 2]), /cannot be unzipped/],
    [new Uint8Array([0xff, 0xfe, 0x00]), /it is not a text/],
    ['{"tape":1,"source":"x"}\n{"prompt":"x"}\n', /it is a tape already/],
    ["data: {no json}\n\ndata: {}\n\n", /an event of its stream is not JSON/],
    [stream("a") + stream("b"), /a second 'message_start'/],
    [stream("a").replace(/event: message_start\n.*\n\n/, ""), /comes before 'message_start'/],
    [
      stream("a").replaceAll('"index":0', '"index":1').replace('"index":1,"content', '"index":0,"content'),
      /not started/,
    ],
    [JSON.stringify({ ...ELSEWHERE, version: 1 }), /a body of it is in another file that is not there: x$/],
    [JSON.stringify({ version: 2, entries: [{ matchKey: "a", request: {}, response: {} }] }), /version 2 of seinfeld/],
    [
      Buffer.from(RECORDERS.vcrpy![1]([said()])).toString().replace("v1/messages", "v1/models"),
      /no call of the Messages API/,
    ],
  ];
  for (const [content, reason] of refusals) await assertRefused(content, reason);
});
