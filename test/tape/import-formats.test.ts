import assert from "node:assert/strict";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import importAction from "../../lib/cli/fixtures/import.ts";
import show from "../../lib/cli/fixtures/show.ts";
import replay from "../../lib/cli/replay.ts";
import { importRecording } from "../../lib/tape/import/import.ts";
import { echoOf } from "../../lib/tape/reply.ts";
import { place } from "../_place.ts";
import { PAIR_RECORDERS } from "./_pair-recorders.ts";
import { RECORDERS } from "./_recorders.ts";
import {
  assertReadAsWritten,
  assertRefused,
  BUSY,
  eventsIn,
  REQUEST,
  said,
  stream,
  textOf,
  WORDS,
  type Written,
} from "./_written.ts";

const ALL = { ...RECORDERS, ...PAIR_RECORDERS };

for (const [name, recorder] of Object.entries(ALL)) {
  test(`a recording of ${name} is always read as it was written`, () => assertReadAsWritten(recorder));
}

/** Calls as a recorder writes them, as text. */
function recorded(name: string, ...calls: Written[]): string {
  return Buffer.from(ALL[name]![1](calls)).toString();
}

/** One event in a frame of Bedrock: lengths, headers, the event in base64, checksums. */
function frame(event: unknown): Buffer {
  const header = (name: string, value: string) =>
    Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, 0, value.length]),
      Buffer.from(value),
    ]);
  const headers = Buffer.concat([header(":event-type", "chunk"), header(":message-type", "event")]);
  const payload = Buffer.from(
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString("base64"), p: "abcdé" }),
  );
  const lengths = Buffer.alloc(12);
  lengths.writeUInt32BE(16 + headers.length + payload.length, 0);
  lengths.writeUInt32BE(headers.length, 4);
  lengths.writeUInt32BE(0xc3e2ff7f, 8);
  return Buffer.concat([lengths, headers, payload, Buffer.from([0xe2, 0x82, 0xff, 0x22])]);
}

function goVcr(url: string, request: object, body: object): Uint8Array {
  return Buffer.from(JSON.stringify({
    version: 2,
    interactions: [{
      request: { body: JSON.stringify(request), url, method: "POST", headers: {} },
      response: { body, headers: {}, status: "200 OK", code: 200 },
    }],
  }));
}

test("a stream is always read below the words of its collector, and as a list under a name", async () => {
  const files: [format: string, file: string][] = [
    ["raw-sse", `# with a tool\n#\n\n${stream(WORDS)}`],
    ["vercel-chunks", JSON.stringify({ tags: [{ name: "x" }], events: eventsIn(stream(WORDS)), final: null })],
  ];
  for (const [format, file] of files) {
    const { format: found, tape } = await importRecording(Buffer.from(file), "x");
    assert.equal(found, format);
    assert.equal(await textOf(tape.calls[0]), WORDS);
  }
});

test("what was asked of Bedrock or Vertex is always imported as the call it is, with the model of its address", async () => {
  const { model: _, ...rest } = REQUEST;
  const bedrock = await importRecording(
    goVcr(
      "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-test-v1%3A0/invoke-with-response-stream",
      { ...rest, anthropic_version: "bedrock-2023-05-31" },
      { base64_string: Buffer.concat(eventsIn(stream(WORDS)).map(frame)).toString("base64") },
    ),
    "bedrock",
  );
  assert.equal(bedrock.tape.calls[0]!.request.model, "us.anthropic.claude-test-v1:0");
  assert.deepEqual(bedrock.tape.calls[0]!.request.params, { max_tokens: 32_000 });
  assert.equal(await textOf(bedrock.tape.calls[0]), WORDS);
  const vertex = await importRecording(
    goVcr(
      "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic/models/claude-test@1:streamRawPredict",
      { ...rest, anthropic_version: "vertex-2023-10-16", stream: true },
      { string: stream(WORDS) },
    ),
    "vertex",
  );
  assert.equal(vertex.tape.calls[0]!.request.model, "claude-test@1");
  assert.equal(await textOf(vertex.tape.calls[0]), WORDS);
});

test("what Bedrock was asked is a call where Claude was: also by the name of a profile, and never for the end of a text", async () => {
  const at = (model: string) => `https://bedrock-runtime.eu.amazonaws.com/model/${model}/invoke`;
  const { model: _, ...rest } = REQUEST;
  const profile = "arn:aws:bedrock:eu:1:application-inference-profile/abc";
  const body = { string: stream(WORDS) };
  for (const name of [profile, encodeURIComponent(profile)]) {
    const file = goVcr(at(name), { ...rest, anthropic_version: "bedrock-2023-05-31" }, body);
    const { tape } = await importRecording(file, "x");
    assert.equal(tape.calls[0]!.request.model, profile);
  }
  await assertRefused(goVcr(at("anthropic.claude-v2"), { prompt: "Human:" }, body), /no call of the Messages API/);
  await assertRefused(goVcr(at("amazon.nova-pro"), rest, body), /no call of the Messages API/);
});

test("a refusal always says what is there instead, and which call it is about", async () => {
  const mastra = (...calls: Written[]) => recorded("Mastra", ...calls);
  const other = mastra(said()).replace("anthropic.com/v1/messages", "openai.com/v1/responses");
  await assertRefused(other, /no call of the Messages API .*: it has POST https:\/\/api\.openai\.com\/v1\/responses$/);
  await assertRefused(
    mastra(said(), said("")),
    /call 2 cannot be read: an answer of it has no body: .* record it anew$/,
  );
  await assertRefused(mastra(said(""), BUSY), /call 1 cannot be read/);
  await assertRefused(mastra(said(stream("a"), { model: "m" })), /a request of it has no list of 'messages'/);
  await assertRefused(mastra(said(stream("a"), { messages: [] })), /a request of it has no 'model'/);
  await assertRefused('<<<<<<< HEAD\n{"type":"ping"}\n=======\n>>>>>>> theirs\n', /it has the marks of a merge/);
  await assertRefused(
    "1234:9:websocket;0:~8:response;56:6:reason;2:OK,",
    /a flow of mitmproxy: write it as a HAR there/,
  );
  await assertRefused("version = 1\n[[interactions]]\nx = [1,, 2]\n", /it is not valid TOML/);
});

test("blocks, events, deltas and fields that are newer than the SDK always come through unharmed, and are told", async () => {
  const hologram = [
    { type: "message_annotation", index: 7, note: "new" },
    { type: "content_block_start", index: 1, content_block: { type: "hologram", grid: [1] } },
    { type: "content_block_delta", index: 1, delta: { type: "hologram_delta", beam: "abc" } },
    { type: "content_block_stop", index: 1 },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const body = stream(WORDS).replace("event: message_delta", `${hologram.join("")}event: message_delta`)
    .replace('"stop_reason":"end_turn"', '"stop_reason":"quantum_turn"');
  const { tape, notes } = await importRecording(Buffer.from(recorded("exvcr", said(body))), "x");
  assert.deepEqual(notes, [
    "'hologram_delta' is newer than the SDK, which passes over it: it is on the tape as it came",
  ]);
  assert.deepEqual(tape.calls[0]!.attempts[0]!.events!.map(({ event }) => event), eventsIn(body));
  assert.equal((await echoOf(tape.calls[0]!))?.content[1]?.type, "hologram");
});

test("a call without an answer is left out and told, and a cut one is told", async () => {
  const lines = recorded("claude-trace", said(), said(stream("a").slice(0, -30)));
  const orphan = JSON.stringify({ request: { method: "POST", url: "/v1/messages", body: REQUEST }, response: null });
  const { tape, notes } = await importRecording(Buffer.from(`${lines}\n${orphan}\n`), "x");
  assert.equal(tape.calls.length, 2);
  assert.deepEqual(notes, [
    "left out POST /v1/messages, which has no answer",
    "call 2 was cut: its stream has no 'message_stop'",
  ]);
  const archive = JSON.parse(recorded("HAR", { ...said(), status: 0 }, { ...said(), status: -1 }, said(), said()));
  archive.log.entries[3].response = null;
  const { tape: kept, notes: told } = await importRecording(Buffer.from(JSON.stringify(archive)), "x");
  assert.deepEqual([kept.calls.length, told.length], [1, 1]);
  assert.match(told[0]!, /^left out POST .* \(3 times\), which have no answer$/);
});

test("what was asked is only taken for prompts where one run can ask it all", async () => {
  const user = (content: unknown) => ({ role: "user", content });
  const assistant = { role: "assistant", content: [{ type: "text", text: WORDS }] };
  const asked = async (...all: unknown[][]) => {
    const file = recorded("cassetter", ...all.map((messages) => said(undefined, { ...REQUEST, messages })));
    return (await importRecording(Buffer.from(file), "x")).tape.prompts;
  };
  const result = [{ type: "tool_result", tool_use_id: "toolu_1", content: "ok" }];
  assert.deepEqual(await asked([user("a")]), ["a"]);
  assert.deepEqual(await asked([user("a")], [user("a"), assistant, user(result)]), ["a"]);
  assert.deepEqual(await asked([user("a")], [user("a"), assistant, user("b")]), ["a", "b"]);
  assert.deepEqual(await asked([user("a")], [user("a")]), []);
  assert.deepEqual(await asked([user("a")], [user("b")]), []);
  assert.deepEqual(await asked([user("a"), assistant, user("b")]), []);
});

test("a recording that is nested without end is refused in words, wherever it is", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const message = `{"type":"message","content":${deep}}`;
  const cases: [text: string, reason: RegExp][] = [
    [deep, /it is nested too deep/],
    [message, /it is nested too deep/],
    [recorded("exvcr", said(deep)), /an answer of it is neither a stream nor a message: \[\[/],
    [recorded("exvcr", { ...said(message), type: "application/json" }), /it is nested too deep/],
    [recorded("exvcr", said(`data: {"type":"message_start","message":${deep}}\n\n`)), /it is nested too deep/],
  ];
  for (const [text, reason] of cases) await assertRefused(text, reason);
});

test("recordings of one name are always told apart by their folders", async () => {
  const text = recorded("exvcr", said());
  using here = place({
    "r/a/recording.har": text,
    "r/b/recording.har": text,
    "r/c/other.cassette.toml.json": text,
  });
  const { out } = await here.call(importAction, "r", "--json");
  assert.deepEqual(JSON.parse(out).map(({ tape }: { tape: string }) => tape.split("/")[2]), [
    "a-recording",
    "b-recording",
    "other",
  ]);
});

const AGENT = `import { agent } from ${JSON.stringify(new URL("../../lib/index.ts", import.meta.url).href)};
export default agent({ from: import.meta.url, model: "claude-test", system: "", tools: [] });
`;

test("an agent that asks the same is always served from an imported conversation, at the seam and on the wire", async () => {
  const content = `12:30:45 in ${join(homedir(), "notes.md")} and ${join(tmpdir(), "notes.md")}`;
  const request = { ...REQUEST, messages: [{ role: "user", content }] };
  const cut = stream(WORDS).replace(/event: content_block_stop[^]*/, "");
  const calls = [{ ...BUSY, request }, said(cut, request), said(undefined, request)];
  using here = place({ "talk.yaml": recorded("cassetter", ...calls) });
  await here.call(importAction, "talk.yaml", "--out", "fixtures");
  here.put({ "fixtures/talk/agent.ts": AGENT });
  for (const how of [[], ["--wire"]]) {
    const { out, code } = await here.call(replay, "talk", ...how);
    assert.equal(code, 0, out);
    assert.match(out, /talk +ok +2\/2/);
  }
});

test("a recording that no one run asks is replayed by nobody, and says so", async () => {
  const other = { ...REQUEST, messages: [{ role: "user", content: "another" }] };
  using here = place({ "two.yaml": recorded("cassetter", said(), said(undefined, other)) });
  await here.call(importAction, "two.yaml", "--out", "fixtures");
  here.put({ "fixtures/two/agent.ts": AGENT });
  const { out, code } = await here.call(replay, "two");
  assert.equal(code, 1);
  assert.match(out, /as no run of one agent asks all that is on its tape: see 'crochet fixtures show two'\n/);
});

test("fixtures show tells calls that go on from those that begin anew, and an unknown time", async () => {
  const user = (content: unknown) => ({ role: "user", content });
  const assistant = { role: "assistant", content: [{ type: "text", text: "one" }] };
  const ask = (words: string, messages: unknown[], more = {}) => said(stream(words), { ...REQUEST, ...more, messages });
  const calls = [
    ask("one", [user("first")]),
    ask("two", [user("first"), assistant, user("second")]),
    ask("three", [user("first"), assistant, user("instead")]),
    ask("four", [user("fresh")], { system: "Be new.", tools: [{ type: "mcp_toolset", mcp_server_name: "wiki" }] }),
  ];
  const trace = recorded("exvcr", ...calls);
  using here = place({ "talk.json": trace });
  await here.call(importAction, "talk.json", "--out", "fixtures");
  const { out } = await here.call(show, "talk");
  assert.deepEqual(out.trim().split("\n"), [
    "imported from talk.json (pairs), when is not known",
    "",
    "main",
    "claude-test, tools: none",
    "› first",
    "one",
    "› second",
    "two",
    "(again, from message 3)",
    "› instead",
    "three",
    "claude-test, tools: wiki",
    "  Be new.",
    "(another conversation)",
    "› fresh",
    "four",
  ]);
});
