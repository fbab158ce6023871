import assert from "node:assert/strict";
import { test } from "node:test";
import { remote, serve } from "../../../lib/extensions/durable/restate.ts";
import { serve as listening } from "../../_server.ts";

test("remote() refuses what is not an address before any request", () => {
  for (const given of ["localhost", "127.0.0.1:8080", "ftp://here", "http://", ""]) {
    assert.throws(() => remote(given), { name: "TypeError", message: /^Cannot use '.*' as an engine's address: give/ });
  }
  remote("http://127.0.0.1:8080/");
});

test("remote() has an error each for an absent engine, an agent without a worker and an address that is not an ingress", async () => {
  let body = "";
  const engine = await listening((_, response) => void response.writeHead(404).end(body));
  const run = () => remote(engine.url).run({ agent: "helper", id: "h-1", prompt: "hi" });
  {
    using _ = engine;
    body = `{"code":404,"message":"service not found"}`;
    await assert.rejects(run(), /Cannot reach agent 'helper' as no worker serves it at .*: start 'crochet worker'/);
    await assert.rejects(
      remote(engine.url).attempt({}, "a/1/1", new AbortController().signal, () => {}),
      /start 'crochet worker --fixtures'/,
    );
    body = "";
    await assert.rejects(run(), /as http:\S+ is not its ingress/);
  }
  await assert.rejects(run(), /Cannot reach an engine as nothing answers at/);
});

test("serve() says why it cannot listen at an address in use", async () => {
  using other = await listening(() => {});
  const port = Number(new URL(other.url).port);
  await assert.rejects(serve([], { port, sharePort: false }), {
    message: `Cannot listen at 127.0.0.1:${port} as the address is in use: give another port or host`,
  });
});
