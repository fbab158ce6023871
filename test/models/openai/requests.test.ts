import assert from "node:assert/strict";
import { text as textFrom } from "node:stream/consumers";
import { test } from "node:test";
import { type Block, type Message, type ModelRequest, openai } from "crochet";
import { toolResult, user } from "../../../lib/core/messages.ts";
import { readReply } from "../../../lib/core/reply.ts";
import { noRecordings } from "../../_data.ts";
import { serve } from "../../_server.ts";
import { type Answer, answers } from "./_recorded.ts";

type Json = { readonly [key: string]: unknown };

/** The text of content that is a text or a list of parts. */
function words(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? "");
  return content.map(({ text }) => text).join("");
}

/** The answer that is being looked at. */
let body = "";

function isIn(encrypted: unknown): boolean {
  return typeof encrypted === "string" && encrypted !== "" && body.includes(encrypted);
}

/** The parts of a conversation that every client writes in its own way, in one way. */
function plain(body: Json): unknown[] {
  const system = typeof body.instructions === "string" ? [{ system: body.instructions }] : [];
  const items = (body.messages ?? body.input) as Json[];
  return [...system, ...items.flatMap(plainItem)];
}

function plainItem(item: Json): unknown[] {
  const { role, type, content, tool_calls = [], tool_call_id, call_id, output, arguments: json, name } = item;
  if (type === "function_call") return [{ call: call_id, name, input: JSON.parse(String(json)) }];
  if (type === "function_call_output") return [{ result: call_id, text: words(output) }];
  // Its events and its end have the same thoughts in two encryptions.
  if (type === "reasoning") return [{ encrypted: isIn(item.encrypted_content), summary: item.summary }];
  if (role === "tool") return [{ result: tool_call_id, text: words(content) }];
  const details = (item.reasoning_details as Json[] | undefined)?.map(({ text, signature, type }) => ({
    ...{ text, signature, type },
  }));
  const calls = (tool_calls as Json[]).map(({ id, function: called }) => {
    const { name, arguments: json } = called as Json;
    return { call: id, name, input: JSON.parse(String(json)) };
  });
  return [
    ...(details ? [{ details }] : []),
    ...(item.reasoning ? [{ reasoning: item.reasoning }] : []),
    ...(words(content) === "" ? [] : [{ [role === "developer" ? "system" : String(role)]: words(content) }]),
    ...calls,
  ];
}

/** A tool as both APIs have it. */
function plainTool(tool: Json): Json {
  const { name, description, parameters } = (tool.function ?? tool) as Json;
  return { name, description, parameters };
}

/** The next message of the recorded client: what the tools gave, or what the user said. */
function nextMessage(second: Answer, reply: Message): Message {
  const calls = reply.content.flatMap((block) => block.type === "tool_use" ? [block.id as string] : []);
  const items = plain(second.request!) as { text?: string; user?: string; result?: string }[];
  const results = items.flatMap(({ result, text }) => result === undefined ? [] : [text!]);
  if (results.length === 0) return user(items.at(-1)!.user!);
  return user(results.map((text, i): Block => toolResult(calls[i]!, text)));
}

test(
  "the next request of a recorded conversation is the one that its own client sent",
  { skip: noRecordings },
  async () => {
    const all = await answers();
    let compared = 0;
    for (const [i, first] of all.entries()) {
      const second = all[i + 1];
      const isPair = second?.request && first.request && plain(second.request).length > plain(first.request).length;
      if (!isPair || first.name.split(" ")[0] !== second.name.split(" ")[0]) continue;
      const sent: Json[] = [];
      body = first.body;
      using server = await serve(async (request, response) => {
        sent.push(JSON.parse(await textFrom(request)));
        response.writeHead(200, { "content-type": first.type }).end(first.body);
      });
      const { api } = first.want;
      const { tools = [], model } = first.request as { tools?: Json[]; model: string };
      const asked = plain(second.request!) as { system?: string; user?: string }[];
      const request: ModelRequest = {
        model,
        system: asked.find(({ system }) => system !== undefined)?.system ?? "",
        messages: [user(asked.find(({ user }) => user !== undefined)!.user!)],
        tools: tools.map(plainTool).map(({ name, description, parameters }) => ({
          ...{ name: name as string, description: description as string, input_schema: parameters as Json },
        })),
        max_tokens: 80,
      };
      const ask = openai({ model, apiKey: "test", api, baseURL: server.url });
      const reply = await readReply(ask(request, new AbortController().signal), () => {});
      const messages = [...request.messages, reply.message, nextMessage(second, reply.message)];
      await readReply(ask({ ...request, messages }, new AbortController().signal), () => {});
      // A server that gives no ids takes any.
      const ids = new Map(JSON.stringify(second.request).match(/pyd_ai_\w+/g)?.map((id) => [id, reply.calls[0]!.id]));
      const wanted = JSON.parse(JSON.stringify(second.request).replace(/pyd_ai_\w+/g, (id) => ids.get(id)!));
      assert.deepEqual(plain(sent[1]!), plain(wanted), second.name);
      assert.deepEqual(
        (sent[1]!.tools as Json[] ?? []).map(plainTool),
        (wanted.tools ?? []).map(plainTool),
        second.name,
      );
      compared++;
    }
    assert.ok(compared >= 9, `${compared} requests compared`);
  },
);
