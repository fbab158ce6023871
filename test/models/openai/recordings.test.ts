import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { agent, memoryStore, type Model, type ModelEvent, openai } from "crochet";
import { EMPTY_REPLY, readReply } from "../../../lib/core/reply.ts";
import { noRecordings } from "../../_data.ts";
import { serve } from "../../_server.ts";
import { type Answer, answers, compared } from "./_recorded.ts";

/** The bytes of an answer in pieces of odd lengths, which its name decides. */
function pieces({ name, body }: Answer): Buffer[] {
  const bytes = Buffer.from(body);
  const lengths = createHash("sha256").update(name).digest();
  const found: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    // Small at first, then larger, or the long ones would take seconds.
    const length = 1 + lengths[i % lengths.length]! % 13 * (1 + (i >> 5));
    found.push(bytes.subarray(at, at += length));
  }
  return found;
}

/** What a run makes of an answer: the reply, its events at the seam, what the transcript keeps and what was counted. */
async function play(answer: Answer) {
  let asked = 0;
  using server = await serve(async (request, response) => {
    request.resume();
    asked++;
    const isRepeat = answer.want.error !== undefined;
    if (asked > 1 && !isRepeat) {
      response.writeHead(200, { "content-type": "application/json" });
      const text = "over";
      const output = [{ type: "message", content: [{ type: "output_text", text }] }];
      response.end(JSON.stringify({ choices: [{ message: { content: text }, finish_reason: "stop" }], output }));
      return;
    }
    response.writeHead(answer.status, { "content-type": answer.type, "retry-after-ms": "1" });
    for (const piece of pieces(answer)) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  const model = openai({ model: "m", apiKey: "test", baseURL: `${server.url}/v1`, api: answer.want.api });
  const first: ModelEvent[] = [];
  let calls = 0;
  const heard: Model = async function* (request, signal) {
    const isFirst = calls++ === 0;
    for await (const event of model(request, signal)) {
      if (isFirst) first.push(event);
      yield event;
    }
  };
  const store = memoryStore();
  const costs: (number | undefined)[] = [];
  const helper = agent({
    model: heard,
    store,
    limits: { iterations: 2 },
    on: (e) => e.type === "usage" && costs.push(e.cost),
  });
  const result = await helper.run("go", { id: "run" });
  const messages = (await store.load("run"))?.messages ?? [];
  return { first, result, calls, reply: messages[1], cost: costs[0] };
}

async function* each(events: readonly ModelEvent[]) {
  yield* events;
}

test(
  "every recorded answer, in odd pieces over HTTP and through the loop, is the message its manifest says",
  { skip: noRecordings },
  async () => {
    const all = await answers();
    assert.ok(all.length >= 49, `${all.length} answers`);
    // At once: the loop waits before it tries again.
    await Promise.all(all.map(check));
  },
);

async function check(answer: Answer): Promise<void> {
  const { want, name } = answer;
  const { first, result, calls, reply: kept, cost } = await play(answer);
  if (want.error) {
    assert.equal(result.error?.type, want.error.code, name);
    assert.ok(result.error.message.includes(want.error.message), `${name}: ${result.error.message}`);
    assert.equal(calls, want.error.retryable ? 3 : 1, `${name}: attempts`);
    return;
  }
  const reply = await readReply(each(first), () => {});
  const wanted = want.content!.length > 0 ? want.content! : [{ type: "text", text: EMPTY_REPLY }];
  const content = compared({ ...reply, message: kept! });
  const sameIds = wanted.map((block, i) => block.id === null ? { ...block, id: content[i]?.id } : block);
  assert.deepEqual(content, sameIds, name);
  assert.deepEqual([reply.id, reply.model, reply.stop_reason], [want.id, want.model, want.stop_reason], name);
  if (want.usage) assert.deepEqual(reply.usage, want.usage, name);
  assert.equal(reply.cost, want.usage === null ? null : want.cost, name);
  assert.equal(cost, want.cost, name);
}
