import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { eventParser } from "../../lib/http/sse.ts";
import { anthropic } from "../../lib/models/anthropic/anthropic-model.ts";
import { type Block, user } from "../../lib/core/messages.ts";
import type { ModelEvent } from "../../lib/core/model.ts";
import { readReply } from "../../lib/core/reply.ts";
import { scripted, type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { noRecordings, recordings } from "../_data.ts";

const request = { model: "claude-test", system: "", messages: [user("hello")], tools: [], max_tokens: 100 };

// A small alphabet that has one of each thing a careless reader breaks: blanks, line ends, long UTF-8, 'data:'.
const words = fc.array(
  fc.constantFrom(" ", "  ", "a", "\n", "\r", "\n\n", "é", "語", "😀", "\u2028", "data: ", "}", '"', "\\"),
  {
    minLength: 1,
    maxLength: 30,
  },
).map((parts) => `${parts.join("")}.`);

const replies: fc.Arbitrary<ScriptedReply> = fc.record({
  thinking: fc.option(words, { nil: undefined }),
  text: words,
  tools: fc.array(fc.record({ name: fc.constantFrom("Bash", "Edit"), input: words.map((command) => ({ command })) }), {
    maxLength: 2,
  }),
}).map(({ thinking, ...rest }) => thinking === undefined ? rest : { thinking, ...rest });

/** What the message must be, said without the code under test. */
function expected({ thinking, text, tools = [] }: ScriptedReply): Block[] {
  return [
    ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: "scripted" }]),
    { type: "text", text: text! },
    ...tools.map(({ name, input }, i) => ({ type: "tool_use", id: `toolu_scripted_000${i + 1}`, name, input })),
  ];
}

/** The ways the same events are written on real wires. */
const wires = fc.record({
  end: fc.constantFrom("\n", "\r\n", "\r"),
  names: fc.boolean(),
  padding: fc.constantFrom("", " ", "      "),
  blank: fc.boolean(),
  comment: fc.boolean(),
  done: fc.boolean(),
  lastBlank: fc.boolean(),
});

type Wire = typeof wires extends fc.Arbitrary<infer T> ? T : never;

function written(
  events: readonly ModelEvent[],
  { end, names, padding, blank, comment, done, lastBlank }: Wire,
): Uint8Array {
  const lines = events.map((event) =>
    `${names ? `event: ${event.type}${end}` : ""}data:${padding}${JSON.stringify(event)}${padding}`
  );
  const gap = blank || names ? end + end : end; // without blank lines only a stream of data lines can be read
  const text = `${comment ? `: hello${end}${end}` : ""}${lines.join(gap)}${done ? `${gap}data: [DONE]` : ""}`;
  return new TextEncoder().encode(lastBlank ? text + end + end : text);
}

async function eventsOf(reply: ScriptedReply): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of scripted([reply])(request, new AbortController().signal)) events.push(event);
  return events;
}

function cutAt(bytes: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const at = [...new Set(positions.map((p) => p % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.slice(from, at[i] ?? bytes.length));
}

async function* parse(chunks: readonly Uint8Array[]): AsyncGenerator<ModelEvent> {
  const parser = eventParser();
  for (const chunk of chunks) yield* parser.push(chunk);
  yield* parser.end();
}

// Kills: a decoder per chunk, lines that end where a chunk does, trimmed text, lost last events.
test("law 5: bytes of a streamed reply, cut anywhere and written any way, always give the same message", async () => {
  await fc.assert(
    fc.asyncProperty(replies, wires, fc.array(fc.nat(), { maxLength: 40 }), async (reply, wire, positions) => {
      const chunks = cutAt(written(await eventsOf(reply), wire), positions);
      const { message } = await readReply(parse(chunks), () => {});
      assert.deepEqual(message.content, expected(reply));
    }),
    { numRuns: tries(200, 3000) },
  );
});

test("law 5: a reply that arrives byte by byte gives the same message", async () => {
  await fc.assert(
    fc.asyncProperty(replies, wires, async (reply, wire) => {
      const bytes = written(await eventsOf(reply), wire);
      const { message } = await readReply(parse(cutAt(bytes, Array.from(bytes, (_, i) => i))), () => {});
      assert.deepEqual(message.content, expected(reply));
    }),
    { numRuns: tries(30, 300) },
  );
});

test("law 5: a reply cut anywhere over HTTP gives the same message through the SDK", async () => {
  await fc.assert(
    fc.asyncProperty(replies, fc.array(fc.nat(), { maxLength: 20 }), async (reply, positions) => {
      await using server = await scriptedServer([reply], { cutAt: (length) => positions.map((p) => p % length) });
      const model = anthropic({ apiKey: "test", baseURL: server.url, maxRetries: 0 });
      const { message } = await readReply(model(request, new AbortController().signal), () => {});
      assert.deepEqual(message.content, expected(reply));
      server.done();
    }),
    { numRuns: tries(10, 100) },
  );
});

test("law 5: every prefix of a stream that lacks its end is a cut reply, never a shorter one", async () => {
  const bytes = written(await eventsOf({ text: "a few words", tools: [{ name: "Bash", input: { command: "ls" } }] }), {
    end: "\n",
    names: true,
    padding: "",
    blank: true,
    comment: false,
    done: false,
    lastBlank: true,
  });
  const whole = bytes.length - "}\n\n".length; // without its last brace 'message_stop' is half an event
  for (let length = 0; length <= whole; length++) {
    await assert.rejects(readReply(parse([bytes.slice(0, length)]), () => {}), { name: "ModelError", code: "cut" });
  }
  assert.equal((await readReply(parse([bytes.slice(0, whole + 1)]), () => {})).calls.length, 1);
});

const recorded = recordings(
  "cassettes/anthropics+anthropic-sdk-typescript/lib__fixtures__incomplete_partial_json_response.txt",
);

test("law 5: a recorded stream gives the same events however it is cut", {
  skip: noRecordings,
}, () => {
  const bytes = readFileSync(recorded!);
  const read = (chunks: readonly Uint8Array[]) => {
    const parser = eventParser();
    return [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.end()];
  };
  const events = read([bytes]);
  assert.ok(events.length > 10);
  for (const size of [1, 2, 3, 5, 7, 21]) {
    assert.deepEqual(read(cutAt(bytes, Array.from({ length: bytes.length / size }, (_, i) => i * size))), events);
  }
});

test("eventParser() reads an error event of any shape as an error", () => {
  const read = (text: string) => {
    const parser = eventParser();
    return [...parser.push(new TextEncoder().encode(text)), ...parser.end()];
  };
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  assert.deepEqual(read(`event: error\ndata: ${JSON.stringify(overloaded)}\n\n`), [overloaded]);
  assert.deepEqual(read(`data: ${JSON.stringify(overloaded)}\n\n`), [overloaded]);
  assert.deepEqual(read(`event: error\ndata: ${JSON.stringify({ error: overloaded.error })}\n\n`), [overloaded]);
  assert.deepEqual(read(`event: error\ndata: upstream failed\n\n`), [
    { type: "error", error: { type: "api_error", message: "upstream failed" } },
  ]);
});

test("eventParser() refuses a whole event that is not JSON", () => {
  assert.throws(() => eventParser().push(new TextEncoder().encode("data: <html>\n\n")), {
    name: "ModelError",
    code: "grammar",
  });
});

test("eventParser() takes a name from the event line where the data has none", () => {
  const parser = eventParser();
  assert.deepEqual(parser.push(new TextEncoder().encode("event: ping\ndata: {}\n\n")), [{ type: "ping" }]);
});

test("eventParser() joins the lines of one event's data, whatever the line ends and the cuts", () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const bytes = new TextEncoder().encode(["event: ping", 'data: {"a":', "data: 1}", "", ""].join(end));
    const parser = eventParser();
    const events = [...Array.from(bytes, (_, i) => parser.push(bytes.slice(i, i + 1))).flat(), ...parser.end()];
    assert.deepEqual(events, [{ type: "ping", a: 1 }]);
  }
});

test("eventParser() refuses an event that never ends before it fills the memory, one line or many", () => {
  for (const start of ["", "\ndata: "]) {
    const parser = eventParser();
    const piece = new TextEncoder().encode(start + "a".repeat(4 * 1024 * 1024));
    const pushing = () => {
      for (let i = 0; i < 20; i++) assert.deepEqual(parser.push(piece), []);
    };
    assert.throws(pushing, { name: "ModelError", code: "grammar", message: /is longer than \d+ characters/ });
  }
});
