import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { agent, anthropic, type ModelEvent } from "crochet";
import { replay, scripted } from "crochet/testing";
import type { AnthropicClient } from "../../../lib/models/anthropic/anthropic-model.ts";
import { request } from "../../_ask.ts";
import { scratch } from "../../_scratch.ts";
import { type Cloud, cloudServer } from "./_clouds.ts";

export const MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

async function eventsOf(): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  const said = scripted([{ thinking: "hm", text: "It is done" }]);
  for await (const event of said(request, new AbortController().signal)) events.push(event);
  return events;
}

/** Records a run through a client of a cloud, and replays it at both seams. */
export async function recordedAndReplayed(cloud: Cloud, client: (url: string) => AnthropicClient): Promise<void> {
  using folder = scratch({ "agent.ts": "" });
  using server = await cloudServer(cloud, await eventsOf() as never, [429]);
  const model = anthropic({ client: client(server.url), model: MODEL });
  const helper = agent({ from: pathToFileURL(join(folder.path, "agent.ts")).href, name: "helper", model });
  const tape = { path: "fixtures/run", mode: "record" as const };
  const result = await helper.run("go", { tape });
  assert.deepEqual([result.stop, result.text, result.error], ["done", "It is done", undefined]);
  assert.equal(server.asked.length, 2, "the SDK tries again after a refusal");
  const { path, body } = server.asked[1]!;
  assert.match(path, cloud.path);
  assert.equal("model" in body, cloud.hasModel);
  assert.deepEqual(body.messages, [{
    role: "user",
    content: [{ type: "text", text: "go", cache_control: { type: "ephemeral" } }],
  }]);
  for (const wire of [false, true]) {
    const again = await replay(helper, "run", { cwd: folder.path, wire });
    assert.equal(again.text, "It is done", `wire: ${wire}`);
  }
  assert.equal(server.asked.length, 2, "a replay asks no server");
}
