import type { Message } from "../lib/core/messages.ts";

import { prompt, type Run, settings, sizeOf, system, tool } from "./task.ts";

/** Each is loaded by itself, so that a process measures one. */
export const contestants: { readonly [name: string]: () => Promise<Run> } = {
  /** Bare fetch, a body that only grows, and the least one can do with a reply. */
  async floor() {
    return async (url, { result, once }) => {
      const encoder = new TextEncoder();
      let buffer = new Uint8Array(1 << 16);
      let length = 0;
      const put = (text: string) => {
        const bytes = encoder.encode(text);
        if (length + bytes.length > buffer.length) {
          const larger = new Uint8Array(
            Math.max(buffer.length * 2, length + bytes.length),
          );
          larger.set(buffer.subarray(0, length));
          buffer = larger;
        }
        buffer.set(bytes, length);
        length += bytes.length;
      };
      const start = JSON.stringify({ ...settings, stream: true }).slice(0, -1);
      put(
        `${start},"messages":[${JSON.stringify({ role: "user", content: prompt })}`,
      );
      for (let calls = 1, size = 0;; calls++) {
        const mark = length;
        put("]}");
        const response = await fetch(`${url}/v1/messages`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            authorization: "Bearer k",
            "anthropic-version": "2026-10-21",
          },
          body: buffer.subarray(0, length),
        });
        length = mark;
        let id = "";
        let json = "";
        for (const line of (await response.text()).split("\n")) {
          if (!line.startsWith("data:")) continue;
          const event = JSON.parse(line.slice(5));
          if (event.content_block?.type === "tool_use") {
            id = event.content_block.id;
          }
          if (event.delta?.partial_json) json += event.delta.partial_json;
        }
        if (id === "") return { calls, input: size };
        const input = JSON.parse(json);
        size = sizeOf(input);
        if (once) return { calls, input: size };
        put(
          `,${
            JSON.stringify({
              role: "assistant",
              content: [{ type: "tool_use", id, name: "look", input }],
            })
          }`,
        );
        put(
          `,${
            JSON.stringify({
              role: "user",
              content: [{
                type: "tool_result",
                tool_use_id: id,
                content: result,
              }],
            })
          }`,
        );
      }
    };
  },

  /** The loop everyone writes by hand: the SDK's stream helper with its accumulator, and a growing array of messages. */
  async helper() {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    return async (url, { result, once }) => {
      const client = new Anthropic({ apiKey: "k", baseURL: url });
      const messages: any[] = [{ role: "user", content: prompt }];
      for (let calls = 1, size = 0;; calls++) {
        const reply = await client.messages.stream({ ...settings, messages })
          .finalMessage();
        messages.push({ role: "assistant", content: reply.content });
        const uses = reply.content.filter((block) => block.type === "tool_use");
        if (uses.length === 0) return { calls, input: size };
        size = sizeOf(uses[0]!.input);
        if (once) return { calls, input: size };
        messages.push({
          role: "user",
          content: uses.map((use) => ({
            type: "tool_result",
            tool_use_id: use.id,
            content: result,
          })),
        });
      }
    };
  },

  /** The same on the SDK's bare event stream, put together by hand: the fastest loop one can write on the SDK's methods. */
  async events() {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    return async (url, { result, once }) => {
      const client = new Anthropic({ apiKey: "k", baseURL: url });
      const messages: any[] = [{ role: "user", content: prompt }];
      for (let calls = 1, size = 0;; calls++) {
        const content: any[] = [];
        const inputs: string[] = [];
        for await (
          const event of await client.messages.create({
            ...settings,
            messages,
            stream: true,
          })
        ) {
          if (event.type === "content_block_start") {
            content[event.index] = { ...event.content_block };
            inputs[event.index] = "";
          } else if (event.type === "content_block_delta") {
            if (event.delta.type === "text_delta") {
              content[event.index].text += event.delta.text;
            }
            if (event.delta.type === "input_json_delta") {
              inputs[event.index] += event.delta.partial_json;
            }
          } else if (
            event.type === "content_block_stop" && inputs[event.index]
          ) {
            content[event.index].input = JSON.parse(inputs[event.index]!);
          }
        }
        messages.push({ role: "assistant", content });
        const uses = content.filter((block) => block.type === "tool_use");
        if (uses.length === 0) return { calls, input: size };
        size = sizeOf(uses[0].input);
        if (once) return { calls, input: size };
        messages.push({
          role: "user",
          content: uses.map((use) => ({
            type: "tool_result",
            tool_use_id: use.id,
            content: result,
          })),
        });
      }
    };
  },

  /** Our model and accumulator without hooks, limits or run events: the loop itself costs the rest. */
  async model() {
    const { anthropic } = await import("../lib/models/anthropic/anthropic-model.ts");
    const { readReply } = await import("../lib/core/reply.ts");
    const { toolResult, user } = await import("../lib/core/messages.ts");
    return async (url, { result, once }) => {
      const model = anthropic({ apiKey: "k", baseURL: url });
      const messages: Message[] = [user(prompt)];
      const { signal } = new AbortController();
      for (let calls = 1, size = 0;; calls++) {
        const reply = await readReply(
          model({ ...settings, messages }, signal),
          () => {},
        );
        messages.push(reply.message);
        if (reply.calls.length === 0) return { calls, input: size };
        size = sizeOf(reply.calls[0]!.input);
        if (once) return { calls, input: size };
        messages.push(
          user(reply.calls.map((call) => toolResult(call.id, result))),
        );
      }
    };
  },

  /** The whole agent: limits, run events, a hook on every event, nothing stored. */
  async ours() {
    const { agent, anthropic, tool: makeTool } = await import(
      "../lib/index.ts"
    );
    return async (url, { result, once, hooks = 1 }) => {
      let size = 0;
      const look = makeTool({
        name: tool.name,
        description: tool.description,
        input: tool.input_schema,
        effect: "read",
        run: (input) => {
          size = sizeOf(input);
          return result;
        },
      });
      const ended = await agent({
        model: anthropic({ model: "claude-bench", apiKey: "k", baseURL: url }),
        system,
        tools: [look],
        hooks: [() => undefined, { preToolUse: Array.from({ length: hooks - 1 }, () => () => undefined) }],
        limits: { iterations: once ? 1 : 10_000, calls: 10_000 },
      }).run(prompt, { log: false });
      if (!once && ended.stop !== "done") {
        throw new Error(`ended with ${ended.stop}: ${ended.error?.message}`);
      }
      return { calls: ended.iterations, input: size };
    };
  },
};
