import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { scriptedServer } from "../../../lib/testing/index.ts";
import { place } from "../../_place.ts";
import { RUNTIME } from "../../_runtime.ts";
import { two } from "../tape/_recorded.ts";

/** What differs between the requests of a page: of each side the texts. */
function differing(html: string): string[][] {
  const part = (id: string) => JSON.parse(new RegExp(`id="${id}">(.*?)</script>`).exec(html)![1]!);
  const pairs = part("pairs") as { a: number; b: number; same: boolean }[];
  const texts = (side: number, row: number) =>
    part(`view-${side}`).sections[row].map(({ text }: { text: string }) => text).join("\n");
  return pairs.filter(({ same }) => !same).map(({ a, b }) => [texts(0, a), texts(1, b)]);
}

const CLIENT = `
import { readFileSync } from "node:fs";
const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01" };
const system = readFileSync("prompt.txt", "utf8");
const body = JSON.stringify({ model: "m", max_tokens: 9, system, messages: [{ role: "user", content: "hi" }] });
await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });`;

test("the drift of another program is drawn as that of an agent", async () => {
  using here = place({ "client.mjs": CLIENT, "prompt.txt": "Be strict." });
  await using api = await scriptedServer([{ text: "hi there" }]);
  const words = ["record", "--fixture", "hi", "--", ...RUNTIME, "client.mjs"];
  const made = await here.main(words, { ANTHROPIC_BASE_URL: api.url });
  assert.equal(made.code, 0, made.err);
  here.put({ "prompt.txt": "Be kind." });
  const { code, out, err } = await here.main(["view", "hi", "--drift"]);
  assert.equal(code, 0, err);
  assert.deepEqual(differing(readFileSync(out.trim(), "utf8")), [["Be strict.", "Be kind."]]);
});

test("the drift of a fixture of a test is drawn from what its test asks, and of no other of the file", async () => {
  await using it = await two();
  const { code, out, err } = await it.crochet(["view", "sun", "--drift"], { TEXT: "hello" });
  assert.equal(code, 0, err);
  assert.deepEqual(differing(readFileSync(out.trim(), "utf8")), [["sun? hi", "sun? hello"]]);
});

test("the drift of a run is drawn from its log, if that is own", async () => {
  const agent = (system: string) => `
import { agent } from "crochet";
export default agent({ from: import.meta.url, system: ${JSON.stringify(system)}, hooks: [] });`;
  using here = place({ "agent.ts": agent("Be strict."), "deno.json": "{}" });
  await using api = await scriptedServer([{ text: "hi there" }]);
  const env = { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: "not-a-key" };
  const ran = await here.crochet(["run", "agent.ts", "hi"], env);
  assert.equal(ran.code, 0, ran.err);
  here.put({ "agent.ts": agent("Be kind.") });
  const { code, out, err } = await here.crochet(["view", "last", "--drift"]);
  assert.equal(code, 0, err);
  assert.deepEqual(differing(readFileSync(out.trim(), "utf8")), [["Be strict.", "Be kind."]]);
});
