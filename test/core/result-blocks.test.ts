import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, anthropic, type Block, tool } from "crochet";
import { scriptedServer } from "crochet/testing";

const words = (text: string): Block => ({ type: "text", text });
const image: Block = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } };
const odd: Block = { type: "search_result", source: "x", title: "x", content: [words("x")] };

const SILENT = "It failed, and did not say why";

const CASES: readonly [
  what: string,
  content: string | Block[],
  isError: boolean,
  inside: string | Block[],
  beside: Block[],
][] = [
  ["a picture", [words("see"), image], false, [words("see"), image], []],
  ["a failure with a picture", [words("see"), image], true, [words("see"), words("[image]")], [image]],
  ["a failure with what may stand in results only", [odd], true, [words("[search_result]")], []],
  ["a text without words", [words(""), words("x")], false, [words("x")], []],
  ["nothing", [words("")], false, [], []],
  ["a failure of which nothing is said", "", true, SILENT, []],
  ["a failure in blocks of which nothing is said", [words("")], true, SILENT, []],
];

for (const [what, content, isError, inside, beside] of CASES) {
  test(`a tool's blocks are sent so that the API takes them: ${what}`, async () => {
    await using server = await scriptedServer([{ tools: [{ name: "Look", input: {} }] }, { text: "seen" }]);
    const look = tool({
      name: "Look",
      description: "Looks.",
      input: { type: "object" },
      run: () => ({ content, isError }),
    });
    const model = anthropic({ apiKey: "test", baseURL: server.url, cache: false });
    assert.equal((await agent({ model, tools: [look] }).run("go")).text, "seen");
    const [result, ...after] = server.requests[1]!.body.messages.at(-1).content;
    assert.deepEqual([result.content, result.is_error ?? false, after], [inside, isError, beside]);
    server.done();
  });
}
