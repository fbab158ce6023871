import assert from "node:assert/strict";
import { test } from "node:test";
import { anthropic } from "crochet";
import { readReply } from "../../../lib/core/reply.ts";
import { failure, request } from "../../_ask.ts";
import { MODEL, recordedAndReplayed } from "./_cloud-run.ts";
import { CLOUDS, cloudServer } from "./_clouds.ts";

for (const [name, cloud] of Object.entries(CLOUDS)) {
  test(`a run through a client of ${name}, one like its own, is recorded and replayed at both seams`, () =>
    recordedAndReplayed(cloud, cloud.client));

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
