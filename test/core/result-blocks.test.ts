import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, anthropic, type Block, tool } from "crochet";
import { scripted, scriptedServer } from "crochet/testing";
import { shortened } from "../../lib/core/messages.ts";
import type { ToolReturn } from "../../lib/core/tool.ts";

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

test("DOORS 16: of a tool's result a model is given 200,000 characters at most, and a last line says what is left out", async () => {
  const long = "x".repeat(1_000_000);
  const returns: readonly [given: ToolReturn | Error, left: number][] = [
    [long, 800_000],
    [{ content: [words(long), image, words(long)], response: 1 }, 1_800_000],
    [new Error(long), 800_000],
    ["x".repeat(200_001), 1],
  ];
  for (const [given, left] of returns) {
    const model = scripted([{ tools: [{ name: "Look", input: {} }] }, { text: "seen" }]);
    const look = tool({
      ...{ name: "Look", description: "Looks.", input: { type: "object" }, effect: "none" },
      run: () => {
        if (given instanceof Error) throw given;
        return given;
      },
    });
    await agent({ model, tools: [look] }).run("go");
    const [{ content }] = model.requests[1]!.messages.at(-1)!.content as unknown as [{ content: string | Block[] }];
    const said = typeof content === "string" ? content : content.map((one) => "text" in one ? one.text : "").join("");
    assert.ok(said.length < 200_100, String(said.length));
    assert.ok(said.endsWith(`(${left} more characters are left out: ask for less at once)`), said.slice(-99));
    assert.deepEqual(shortened(content), content, "what is served again is not cut again");
  }
});
