import assert from "node:assert/strict";
import { text as textOf } from "node:stream/consumers";
import { test } from "node:test";
import type { RunEvent } from "../../../lib/core/run-events.ts";
import { feedTo } from "../../../lib/extensions/durable/_agent-object.ts";
import { serve } from "../../_server.ts";

const words = (agent_id: string, text: string) => ({ type: "text", agent_id, text }) as RunEvent;

test("who follows a run always gets each event once and in order, the words of one agent joined", async () => {
  const got: [path: string, body: { events: RunEvent[]; last: boolean }][] = [];
  using server = await serve(async (request, response) => {
    got.push([request.url!, JSON.parse(await textOf(request))]);
    response.end();
  });
  const feed = feedTo(`${server.url}/`, "a/b");
  for (const event of [words("a", "one "), words("a", "two"), words("b", "three")]) feed.tell(event);
  await feed.flush();
  feed.tell(words("a", "four"));
  await feed.flush(true);
  assert.deepEqual(got.map(([, body]) => body), [
    { events: [words("a", "one two"), words("b", "three")], last: false },
    { events: [words("a", "four")], last: true },
  ]);
  for (const [path] of got) assert.match(path, /^\/[^/]+\/a%2Fb\/tell$/);
});
