import assert from "node:assert/strict";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { McpFact } from "../../../lib/log/entry.ts";
import { canonical } from "../../../lib/log/canonical.ts";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { readTape } from "../../../lib/replay/read-tape.ts";
import { listen } from "../../../lib/replay/requests/listen.ts";
import { McpReplayer } from "../../../lib/extensions/tape/mcp-answers.ts";
import { recordCommand, replayCommand } from "../../../lib/extensions/tape/run-command.ts";
import { tries } from "../../_counts.ts";
import { RUNTIME } from "../../_runtime.ts";
import { scratch } from "../../_scratch.ts";
import { serve } from "../../_server.ts";

/** An object with its keys in another order, all the way down. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).reverse().map(([key, one]) => [key, turned(one)]));
}

const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)) as object);

// Mutants: a key of the text as it came; the first answer served again; the last one served for all; ids compared.
test("ids, tokens and the order of keys change nothing, equal calls get their answers in order, and any other argument is drift", async () => {
  let missed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(input, { minLength: 1, maxLength: 6 }), input, async (inputs, other) => {
      const facts = inputs.map((one, i): McpFact => ({
        ...{ mcp: "s", method: "tools/call", params: { name: "t", arguments: one as never } },
        ...{ result: { nth: i }, after: 0, ms: 0 },
      }));
      const same = <T>(value: T) => value;
      const replayer = new McpReplayer(facts, {
        name: "w",
        mask: () => ({ on: same, off: same }),
        named: same,
        note: () => {},
      });
      const server = await listen((incoming, response) => replayer.answer(incoming, response));
      const call = async (given: unknown, id: unknown) => {
        const params = { _meta: { progressToken: Math.random() }, arguments: given, name: "t" };
        const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
        return await (await fetch(`${server.url}/mcp/s`, { method: "POST", body })).json();
      };
      try {
        if (!inputs.some((one) => canonical(one) === canonical(other))) {
          missed++;
          assert.equal((await call(other, 1)).error.code, -32603);
          assert.equal(replayer.report!.differs.length, 1);
        }
        for (const [i, one] of inputs.entries()) {
          assert.deepEqual(await call(turned(one), `id ${i}`), { jsonrpc: "2.0", id: `id ${i}`, result: { nth: i } });
        }
        assert.deepEqual([replayer.report!.served, replayer.report!.unused], [{ s: inputs.length }, []]);
        assert.equal((await call(inputs[0], 9)).error.code, -32603);
      } finally {
        await server.close();
      }
    }),
    { numRuns: tries(20, 200) },
  );
  assert.ok(missed > 0);
});

/** A client that speaks HTTP with a server by way of the tape, and tells a model what it heard. */
const CLIENT = `
const to = { "x-crochet-to": process.env.REAL, authorization: "Bearer tok-en-of-a-user", "x-own": "own-header-value" };
const url = process.env.CROCHET_URL + "/mcp/web";
const send = async (message) => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...to };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  return [answer.status, (await answer.text()).replace(/^(?:event|id):.*\\n/gm, "").replace(/^data: ?/gm, "").trim()];
};
const all = [
  await send({ id: 1, method: "initialize", params: { protocolVersion: "1" } }),
  await send({ method: "notifications/initialized" }),
  await send({ id: 2, method: "tools/call", params: { name: "json", arguments: {} } }),
  await send({ id: 3, method: "tools/call", params: { name: "stream", arguments: {} } }),
  await send({ id: 4, method: "tools/call", params: { name: "broken", arguments: {} } }),
];
console.log(JSON.stringify(all));
const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: JSON.stringify(all) }] });
await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body, headers: { "x-api-key": "none" } });
`;

const REPLY = JSON.stringify({ id: "m", type: "message", role: "assistant", model: "m", content: [], usage: {} });

async function overHttp(locked = false) {
  const folder = scratch({ "client.mjs": CLIENT });
  const seen: string[] = [];
  const web = await serve(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += new TextDecoder().decode(chunk as Uint8Array);
    seen.push(`${request.headers["x-own"]} ${request.headers["x-crochet-to"]}`);
    if (request.url === "/v1/messages") {
      return response.writeHead(200, { "content-type": "application/json" }).end(REPLY);
    }
    const { id, params = {} } = JSON.parse(text);
    const login = { "www-authenticate": `Bearer resource_metadata="https://a.example"` };
    if (locked) return response.writeHead(401, login).end();
    if (id === undefined) return response.writeHead(202).end();
    if (params.name === "broken") return response.writeHead(503).end("away");
    const answer = JSON.stringify({ jsonrpc: "2.0", id, result: { said: Math.random() } });
    const progress = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"half"}}\n\n`;
    if (params.name !== "stream") return response.writeHead(200, { "content-type": "application/json" }).end(answer);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(
      `${progress}event: message\ndata: ${answer}\n\n`,
    );
  });
  const env = { ...process.env, ANTHROPIC_BASE_URL: web.url, REAL: `${web.url}/real` };
  const given = { command: [...RUNTIME, "client.mjs"], cwd: folder.path, env, quiet: true, timeout: 60 };
  const fixture = fixtureAt(join(folder.path, "fixtures", "w"));
  return {
    ...{ folder, fixture, seen },
    record: () => recordCommand(fixture, given),
    replay: () => replayCommand(fixture, given),
    [Symbol.dispose]() {
      web[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

test("a server over HTTP is passed on to, and replays without it; no header is on the tape", async () => {
  using here = await overHttp();
  const { end } = await here.record();
  assert.match(end.stdout, /^\[\[200,.*\[202,"".*\[503,"away"/);
  assert.deepEqual(new Set(here.seen), new Set(["own-header-value undefined", "undefined undefined"]));
  const { mcp = [] } = await readTape(here.fixture.tape);
  assert.deepEqual(mcp.map(({ method, error }) => [method, error?.code]), [
    ...[["initialize", undefined], ["tools/call", undefined], ["tools/call", undefined], ["tools/call", 503]],
  ]);
  assert.doesNotMatch(readFileSync(here.fixture.tape, "utf8"), /tok-en-of|own-header/);
  const before = here.seen.length;
  const { report, end: again } = await here.replay();
  assert.equal(again.stdout, end.stdout);
  assert.deepEqual([here.seen.length, report.ok, report.mcp], [before, true, {
    served: { web: 3 },
    differs: [],
    unused: [],
  }]);
});

test("a server that asks for a login is refused, and nothing is kept", async () => {
  using here = await overHttp(true);
  await assert.rejects(
    here.record(),
    /^TapeError: Cannot record MCP server 'web' as it asks for a login: give it a token in headers, or --mcp live$/,
  );
});
