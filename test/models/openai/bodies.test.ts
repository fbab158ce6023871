import assert from "node:assert/strict";
import { test } from "node:test";
import { type Block, toolResult, user } from "../../../lib/core/messages.ts";
import { DEFAULT_MAX_TOKENS, type ModelRequest } from "../../../lib/core/model.ts";
import { chatBody } from "../../../lib/models/openai/chat-request.ts";
import { responsesBody } from "../../../lib/models/openai/responses-request.ts";

const base: ModelRequest = { model: "m", system: "", messages: [user("go")], tools: [], max_tokens: 10 };
const HOST = "127.0.0.1";
const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const OPEN = { type: "object", properties: { city: { type: "string" } } };

/** What is asked, then what of it stands in the body of each API. */
const PARAMETERS: readonly [asked: Partial<ModelRequest>, chat: object, responses: object][] = [
  [{}, { max_tokens: 10, stream_options: { include_usage: true } }, {
    max_output_tokens: 10,
    store: false,
    include: ["reasoning.encrypted_content"],
  }],
  [{ max_tokens: DEFAULT_MAX_TOKENS }, { max_tokens: undefined }, { max_output_tokens: undefined }],
  [{ effort: "high" }, { reasoning_effort: "high" }, { reasoning: { effort: "high" } }],
  [{ effort: "max" }, { reasoning_effort: "xhigh" }, { reasoning: { effort: "xhigh" } }],
  [{ effort: "low", params: { reasoning: { summary: "auto" } } }, {}, {
    reasoning: { summary: "auto", effort: "low" },
  }],
  [{ params: { tool_choice: { type: "auto" } } }, { tool_choice: "auto" }, { tool_choice: "auto" }],
  [{ params: { tool_choice: { type: "any" } } }, { tool_choice: "required" }, { tool_choice: "required" }],
  [{ params: { tool_choice: { type: "none" } } }, { tool_choice: "none" }, { tool_choice: "none" }],
  [{ params: { tool_choice: "required" } }, { tool_choice: "required" }, { tool_choice: "required" }],
  [
    { params: { tool_choice: { type: "tool", name: "Read", disable_parallel_tool_use: true } } },
    { tool_choice: { type: "function", function: { name: "Read" } }, parallel_tool_calls: false },
    { tool_choice: { type: "function", name: "Read" }, parallel_tool_calls: false },
  ],
  [
    { params: { output_config: { format: { type: "json_schema", schema: SCHEMA } } } },
    { response_format: { type: "json_schema", json_schema: { name: "output", schema: SCHEMA, strict: true } } },
    { text: { format: { type: "json_schema", name: "output", schema: SCHEMA, strict: true } } },
  ],
  [
    { params: { output_config: { format: { type: "json_schema", schema: OPEN } } } },
    { response_format: { type: "json_schema", json_schema: { name: "output", schema: OPEN } } },
    { text: { format: { type: "json_schema", name: "output", schema: OPEN } } },
  ],
  [{ params: { temperature: 0, seed: 7, betas: ["b"] } }, { temperature: 0, seed: 7, betas: undefined }, { seed: 7 }],
  [{ system: "be brief" }, {
    messages: [{ role: "system", content: "be brief" }, { role: "user", content: "go" }],
  }, { instructions: "be brief" }],
];

test("each parameter stands in the body under the name that its API has for it", () => {
  for (const [asked, chat, responses] of PARAMETERS) {
    const request = { ...base, ...asked };
    for (const [body, wanted] of [[chatBody(request, HOST), chat], [responsesBody(request), responses]] as const) {
      const found = Object.fromEntries(Object.keys(wanted).map((key) => [key, body[key]]));
      assert.deepEqual(found, wanted, JSON.stringify(asked));
      assert.equal(body.stream, true);
    }
  }
});

test("the limit of tokens is max_completion_tokens at OpenAI and Azure alone", () => {
  const hosts = { "api.openai.com": true, "x.openai.azure.com": true, "openai.com.example": false, "127.0.0.1": false };
  for (const [host, isNew] of Object.entries(hosts)) {
    const { max_tokens, max_completion_tokens } = chatBody(base, host);
    assert.deepEqual([max_tokens, max_completion_tokens], isNew ? [undefined, 10] : [10, undefined], host);
  }
});

const PNG = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const PDF = {
  type: "document",
  title: "a.pdf",
  source: { type: "base64", media_type: "application/pdf", data: "BBBB" },
};

/** A block, then the part that stands for it in the body of each API; undefined: it is refused. */
const PARTS: readonly [block: Block, chat: object | undefined, responses: object | undefined][] = [
  [PNG, { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }, {
    type: "input_image",
    image_url: "data:image/png;base64,AAAA",
  }],
  [
    { type: "image", source: { type: "url", url: "https://x/y.png" } },
    { type: "image_url", image_url: { url: "https://x/y.png" } },
    { type: "input_image", image_url: "https://x/y.png" },
  ],
  [PDF, { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,BBBB" } }, {
    type: "input_file",
    filename: "a.pdf",
    file_data: "data:application/pdf;base64,BBBB",
  }],
  [
    { type: "document", source: { type: "file", file_id: "file-1" } },
    { type: "file", file: { file_id: "file-1" } },
    { type: "input_file", file_id: "file-1" },
  ],
  [
    { type: "document", source: { type: "url", url: "https://x/y.pdf" } },
    undefined,
    { type: "input_file", file_url: "https://x/y.pdf" },
  ],
  [
    { type: "document", source: { type: "text", media_type: "text/plain", data: "words" } },
    { type: "text", text: "words" },
    { type: "input_text", text: "words" },
  ],
  [{ type: "search_result", content: [] }, undefined, undefined],
];

test("images and documents of a prompt become the parts that each API has for them, or are refused in words", () => {
  for (const [block, chat, responses] of PARTS) {
    const request = { ...base, messages: [user([{ type: "text", text: "see" }, block])] };
    const parts = () => (chatBody(request, HOST).messages as { content: object[] }[])[0]!.content[1];
    const items = () => (responsesBody(request).input as { content: object[] }[])[0]!.content[1];
    for (const [made, wanted] of [[parts, chat], [items, responses]] as const) {
      if (wanted) assert.deepEqual(made(), wanted);
      else assert.throws(made, { name: "ModelError", code: "invalid_request_error" });
    }
  }
});

test("images in results of tools follow all results in one user message, or stand in the output", () => {
  const called = {
    role: "assistant" as const,
    content: ["a", "b"].map((id) => ({ type: "tool_use", id, name: "See", input: {} })),
  };
  const results = user([
    toolResult("a", [{ type: "text", text: "seen" }, PNG]),
    toolResult("b", "none", true),
    { type: "text", text: "a hook says" },
  ]);
  const request = { ...base, messages: [user("go"), called, results] };
  assert.deepEqual((chatBody(request, HOST).messages as object[]).slice(2), [
    { role: "tool", tool_call_id: "a", content: "seen\n[image]" },
    { role: "tool", tool_call_id: "b", content: "Error: none" },
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "text", text: "a hook says" },
      ],
    },
  ]);
  const input = responsesBody(request).input as { output?: unknown }[];
  assert.deepEqual(input.flatMap(({ output }) => output === undefined ? [] : [output]), [
    [{ type: "input_text", text: "seen" }, { type: "input_image", image_url: "data:image/png;base64,AAAA" }],
    "Error: none",
  ]);
});

test("tools are flat for Responses and strict only if asked; an API's own tool is sent as it is", () => {
  const own = { name: "Read", description: "Reads.", input_schema: SCHEMA };
  const search = { type: "web_search", name: "web_search" };
  const request = { ...base, tools: [own, { ...own, name: "Write", strict: true }, search] };
  assert.deepEqual(chatBody(request, HOST).tools, [
    { type: "function", function: { name: "Read", description: "Reads.", parameters: SCHEMA } },
    { type: "function", function: { name: "Write", description: "Reads.", parameters: SCHEMA, strict: true } },
    search,
  ]);
  assert.deepEqual(responsesBody(request).tools, [
    { type: "function", name: "Read", description: "Reads.", parameters: SCHEMA, strict: false },
    { type: "function", name: "Write", description: "Reads.", parameters: SCHEMA, strict: true },
    search,
  ]);
});
