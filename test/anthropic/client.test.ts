import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { agent, anthropic, type AnthropicClient, type ModelEvent } from "crochet";
import { replay, scripted } from "crochet/testing";
import { failure } from "../_ask.ts";
import { readReply } from "../../lib/core/reply.ts";
import { request } from "../_ask.ts";
import { scratch } from "../_scratch.ts";
import { type Cloud, CLOUDS, cloudServer } from "./_clouds.ts";

const MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

async function eventsOf(): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  const said = scripted([{ thinking: "hm", text: "It is done" }]);
  for await (const event of said(request, new AbortController().signal)) events.push(event);
  return events;
}

/** The client of a cloud's own package; undefined if that is not installed. */
async function packaged(
  { package: name, className, options }: Cloud,
): Promise<((url: string) => AnthropicClient) | undefined> {
  const found = await resolved(name);
  if (found === undefined) return undefined;
  const made = (await import(found))[className] as new (options: object) => AnthropicClient;
  return (url) => new made(options(url));
}

async function resolved(name: string): Promise<string | undefined> {
  try {
    return pathToFileURL(createRequire(join(process.cwd(), "package.json")).resolve(name)).href;
  } catch {
    return undefined;
  }
}

for (const [name, cloud] of Object.entries(CLOUDS)) {
  const ofPackage = await packaged(cloud);
  const skip = ofPackage === undefined ? `${cloud.package} is not installed` : false;
  const clients = [["one like its own", cloud.client, false], ["that of its package", ofPackage, skip]] as const;
  for (const [which, client, skip] of clients) {
    test(`a run through a client of ${name}, ${which}, is recorded and replayed at both seams`, { skip }, async () => {
      using folder = scratch();
      using server = await cloudServer(cloud, await eventsOf() as never, [429]);
      const model = anthropic({ client: client!(server.url), model: MODEL });
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
    });
  }

  test(`a server of ${name} that cannot be reached or refuses is explained as any other`, async () => {
    using server = await cloudServer(cloud, [], [429, 429]);
    const ask = (url: string) =>
      readReply(
        anthropic({ client: cloud.client(url), model: MODEL })(request, new AbortController().signal),
        () => {},
      );
    assert.equal((await failure(ask(server.url))).code, "rate_limit_error");
    assert.equal((await failure(ask("http://127.0.0.1:9"))).code, "network");
  });
}

test("what belongs into a client is refused beside it, and so is what is no client", () => {
  const client = CLOUDS.Foundry!.client("http://127.0.0.1:9");
  for (const more of [{ apiKey: "k" }, { baseURL: "http://x" }, { headers: {} }, { maxRetries: 1 }, { timeout: 1 }]) {
    const [option] = Object.keys(more);
    assert.throws(() => anthropic({ client, ...more }), new RegExp(`'${option}' is given beside 'client'`));
  }
  assert.throws(() => anthropic({ client: {} as never }), /'client' makes no requests/);
});
