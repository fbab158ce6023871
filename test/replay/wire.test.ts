import assert from "node:assert/strict";
import { test } from "node:test";
import type Anthropic from "@anthropic-ai/sdk";
import { frameOf } from "../../lib/log/frames.ts";
import { replyOf } from "../../lib/log/recorded-reply.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import type { Attempt, Call } from "../../lib/log/tape.ts";
import { sdkOn, wireOf } from "./_sdk.ts";
import { inFolder, Look, recordWire, tapeIn } from "./_stage.ts";

const bodyOf = ({ request: { model, params, system, messages, tools } }: Call) =>
  ({ ...params, model, system, messages, tools }) as never;

test("one tape serves create and stream: a stream as one message, a message as a stream", async () => {
  await inFolder(async (folder) => {
    const reply = {
      thinking: "hm",
      text: "It is ä𝄞",
      tools: [{ name: "Look", input: { say: "x" } }],
      usage: { output_tokens: 7 },
    };
    await recordWire({ system: "You look.", tools: [Look] }, [reply, { text: "done" }], { folder });
    const [call] = (await readTape(tapeIn(folder))).calls;
    const streamed = await sdkOn(call!).messages.stream(bodyOf(call!)).finalMessage();
    const created = await sdkOn(call!).messages.create(bodyOf(call!), { timeout: 60_000 }) as Anthropic.Message;
    assert.deepEqual(created.content, streamed.content);
    assert.deepEqual([created.id, created.stop_reason, created.usage.output_tokens], [streamed.id, "tool_use", 7]);

    const whole: Attempt = {
      status: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(created),
      took: 1,
    };
    const asMessage = { ...call!, attempts: [whole] };
    assert.deepEqual((await sdkOn(asMessage).messages.stream(bodyOf(call!)).finalMessage()).content, streamed.content);
    assert.deepEqual(
      (await sdkOn(asMessage).messages.create(bodyOf(call!), { timeout: 60_000 }) as Anthropic.Message).content,
      created.content,
    );
  });
});

test("a stream that said nothing is an empty message in one piece, too", async () => {
  await inFolder(async (folder) => {
    await recordWire({ system: "You look." }, [{ blocks: [], stop_reason: "refusal" }], { folder });
    const [call] = (await readTape(tapeIn(folder))).calls;
    const created = await sdkOn(call!).messages.create(bodyOf(call!), { timeout: 60_000 }) as Anthropic.Message;
    assert.deepEqual([created.content, created.stop_reason], [[], "refusal"]);
  });
});

/** Tool input with characters that are no JSON, and with JSON that is cut or whole. */
const INPUTS: readonly [json: string, isRead: boolean][] = [
  ['{"say": "x"}', true],
  ['{"say": /* c */ "x"}', false],
  ['{"say": 12 3}', false],
  ['{"say": undefined}', false],
  ['{"say": "x"} // done', false],
];

test("input of a tool that is not JSON fails the whole stream in the SDK; we keep the reply, and refuse only the call", async () => {
  await inFolder(async (folder) => {
    await recordWire({ tools: [Look] }, [{ tools: [{ name: "Look", input: { say: "x" } }] }, { text: "end" }], {
      folder,
    });
    const [call] = (await readTape(tapeIn(folder))).calls;
    for (const [partial_json, isRead] of INPUTS) {
      let isGiven = false;
      const events = call!.attempts[0]!.events!.flatMap((one) => {
        if (!("event" in one) || one.event.type !== "content_block_delta") return [one];
        if (isGiven) return [];
        isGiven = true;
        return [{ ...one, event: { ...one.event, delta: { type: "input_json_delta" as const, partial_json } } }];
      });
      const changed = { ...call!, attempts: [{ ...call!.attempts[0]!, events }] };
      const bySdk = await sdkOn(changed).messages.stream(bodyOf(changed)).finalMessage().then(() => true, String);
      const { calls: [asked] } = replyOf(changed)!;
      if (isRead) assert.deepEqual([bySdk, asked!.invalid], [true, undefined]);
      else {
        assert.match(String(bySdk), /JSON/, partial_json);
        assert.match(asked!.invalid!, /^its input is not valid JSON/, partial_json);
      }
    }
  });
});

test("what is served on the wire is byte for byte what was recorded", async () => {
  await inFolder(async (folder) => {
    await recordWire({ system: "You look." }, [{ text: "hello, wörld" }], { folder });
    const [call] = (await readTape(tapeIn(folder))).calls;
    const odd = [
      { ms: 0, raw: ': hello\ndata: {"type": "ping"}\r\n\r\n' },
      ...call!.attempts[0]!.events!.map((event, i) => ({ ...event, pad: i })),
      { ms: 0, raw: "data: [DONE]\n\n" },
    ];
    const served = { ...call!, attempts: [{ ...call!.attempts[0]!, events: odd }] };
    const response = await sdkOn(served).messages.create({ ...bodyOf(call!) as object, stream: true } as never)
      .asResponse();
    assert.equal(await response.text(), odd.map(frameOf).join(""));
    assert.equal(response.headers.get("request-id"), "req_scripted_0001");
  });
});

test("a wait that an answer asks for is served with the last attempt alone: no replay sits one out", async () => {
  await inFolder(async (folder) => {
    await recordWire({}, [{ text: "hi" }], { folder });
    const [call] = (await readTape(tapeIn(folder))).calls;
    const waits = { "retry-after": "3600", "retry-after-ms": "3600000" };
    const busy: Attempt = { status: 429, headers: waits, body: "{}", took: 1 };
    const wire = wireOf({ ...call!, attempts: [busy, busy] });
    const request = { url: "", body: JSON.stringify(bodyOf(call!)), headers: new Headers(call!.request.wire) };
    for (const told of [[null, null], Object.values(waits)]) {
      const { headers } = await wire(request as never, () => assert.fail("it went on to the API"), {} as never);
      assert.deepEqual(Object.keys(waits).map((name) => headers.get(name)), told);
    }
  });
});
