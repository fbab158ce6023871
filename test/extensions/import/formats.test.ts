import assert from "node:assert/strict";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import importAction from "../../../lib/extensions/import/command.ts";
import show from "../../../lib/cli/fixtures/show.ts";
import replay from "../../../lib/cli/replay.ts";
import { importRecording } from "../../../lib/extensions/import/import.ts";
import { readRecording } from "../../../lib/extensions/import/read-recording.ts";
import { echoOf } from "../../../lib/log/recorded-reply.ts";
import { place } from "../../_place.ts";
import { assertLinear } from "../../_processor-time.ts";
import { RECORDERS } from "../../replay/_recorders.ts";
import {
  assertReadAsWritten,
  assertRefused,
  BUSY,
  eventsIn,
  MESSAGE,
  REQUEST,
  said,
  stream,
  URL,
  WORDS,
  type Written,
} from "../../replay/_written.ts";

for (const [name, recorder] of Object.entries(RECORDERS)) {
  test(`a recording of ${name} is always read as it was written`, () => assertReadAsWritten(recorder));
}

/** Calls as a recorder writes them, as text. */
function recorded(name: string, ...calls: Written[]): string {
  return Buffer.from(RECORDERS[name]![1](calls)).toString();
}

test("blocks, events, deltas and fields that are newer than the SDK are always kept", async () => {
  const hologram = [
    { type: "message_annotation", index: 7, note: "new" },
    { type: "content_block_start", index: 1, content_block: { type: "hologram", grid: [1] } },
    { type: "content_block_delta", index: 1, delta: { type: "hologram_delta", beam: "abc" } },
    { type: "content_block_stop", index: 1 },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const body = stream(WORDS).replace("event: message_delta", `${hologram.join("")}event: message_delta`)
    .replace('"stop_reason":"end_turn"', '"stop_reason":"quantum_turn"');
  const { tape } = await importRecording(Buffer.from(recorded("opencode", said(body))), "x");
  assert.deepEqual(tape.calls[0]!.attempts[0]!.events!.map(({ event }) => event), eventsIn(body));
  assert.equal((echoOf(tape.calls[0]!))?.content[1]?.type, "hologram");
});

test("a call without a response and a redirect are left out, a cut one fails; notes name all of them", async () => {
  const cut = said(stream("a").slice(0, -30));
  const archive = JSON.parse(
    recorded("HAR", { ...said(), status: 0 }, { ...said(), status: 307 }, said(), said(), cut),
  );
  archive.log.entries[2].response = null;
  const { tape, notes } = await importRecording(Buffer.from(JSON.stringify(archive)), "x");
  assert.equal(tape.calls.length, 2);
  assert.deepEqual(notes, [
    "left out, as not an answered call of a known API: POST https://api.anthropic.com/v1/messages",
    "the stream was cut before 'message_stop': main#2",
  ]);
});

test("a file may share headers by YAML aliases; aliases of aliases that fill the memory are refused", async () => {
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

test("the time to refuse a text never grows faster than its length", async () => {
  for (const text of ["\n", "# ", '{"a":"']) {
    await assertLinear(1 << 18, (size) => {
      const bytes = Buffer.from(`${text.repeat(size / text.length)}@`);
      return () => assert.rejects(readRecording(bytes));
    });
  }
});

test("the user messages of a recording become prompts only if one run can make all calls", async () => {
  const user = (content: unknown) => ({ role: "user", content });
  const assistant = { role: "assistant", content: [{ type: "text", text: WORDS }] };
  const asked = async (...all: unknown[][]) => {
    const file = recorded("httpmock", ...all.map((messages) => said(undefined, { ...REQUEST, messages })));
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

const AGENT = `import { agent } from ${JSON.stringify(import.meta.resolve("../../../lib/index.ts"))};
export default agent({ from: import.meta.url, model: "claude-test", system: "", tools: [] });
`;

test("an agent with the same requests always replays an imported conversation, with and without --wire", async () => {
  const content = `12:30:45 in ${join(homedir(), "notes.md")} and ${join(tmpdir(), "notes.md")}`;
  const request = { ...REQUEST, messages: [{ role: "user", content }] };
  const cut = stream(WORDS).replace(/event: content_block_stop[^]*/, "");
  const calls = [{ ...BUSY, request }, said(cut, request), said(undefined, request)];
  using here = place({ "talk.yaml": recorded("httpmock", ...calls) });
  await here.call(importAction, "talk.yaml", "--out", "fixtures");
  here.put({ "fixtures/talk/agent.ts": AGENT });
  for (const how of [[], ["--wire"]]) {
    const { out, code } = await here.call(replay, "--trust", "talk", ...how);
    assert.equal(code, 0, out);
    assert.match(out, /talk +held +2\/2/);
  }
});

test("a recording that no single run can make is not replayed, and says so", async () => {
  const other = { ...REQUEST, messages: [{ role: "user", content: "another" }] };
  using here = place({ "two.yaml": recorded("httpmock", said(), said(undefined, other)) });
  await here.call(importAction, "two.yaml", "--out", "fixtures");
  here.put({ "fixtures/two/agent.ts": AGENT });
  const { out, code } = await here.call(replay, "--trust", "two");
  assert.equal(code, 2);
  assert.match(out, /as no single run makes all the calls on its tape: see 'crochet fixtures show two'\n/);
});

test("fixtures show marks calls that start again, other conversations and an unknown time", async () => {
  const user = (content: unknown) => ({ role: "user", content });
  const assistant = { role: "assistant", content: [{ type: "text", text: "one" }] };
  const ask = (words: string, messages: unknown[], more = {}) => said(stream(words), { ...REQUEST, ...more, messages });
  const calls = [
    ask("one", [user("first")]),
    ask("two", [user("first"), assistant, user("second")]),
    ask("three", [user("first"), assistant, user("instead")]),
    ask("four", [user("fresh")], { system: "Be new.", tools: [{ type: "mcp_toolset", mcp_server_name: "wiki" }] }),
  ];
  const trace = recorded("opencode", ...calls).replace(/"recordedAt":"[^"]*"/, '"name":"x"');
  using here = place({ "talk.json": trace });
  await here.call(importAction, "talk.json", "--out", "fixtures");
  const { out } = await here.call(show, "talk");
  assert.deepEqual(out.trim().split("\n"), [
    "imported from talk.json (opencode), when is not known",
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

test("a folder without files to import is a usage error", async () => {
  using here = place({ "bare/.cassettes/a.json": stream(WORDS), "bare/node_modules/b/c.json": stream(WORDS) });
  const { code, err } = await here.call(importAction, "bare");
  assert.equal(code, 2);
  assert.match(err, /Cannot import 'bare' as it has no files: name hidden files and links one by one\n$/);
  assert.equal((await here.call(importAction, "bare/.cassettes")).code, 0);
});
