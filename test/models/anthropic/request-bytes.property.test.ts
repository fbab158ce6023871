import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { requestWriter } from "../../../lib/models/anthropic/request-bytes.ts";
import { assistant, type Message, toolResult, user } from "../../../lib/core/messages.ts";
import type { ModelRequest } from "../../../lib/core/model.ts";
import { tries } from "../../_counts.ts";

const tools = ["Bash", "Edit"].map((name) => ({
  name,
  description: `the ${name} tool`,
  input_schema: { type: "object" },
}));

function request(messages: readonly Message[], other: Partial<ModelRequest> = {}): ModelRequest {
  return { model: "claude-test", system: "be brief", messages, tools, max_tokens: 100, ...other };
}

function parsed(bytes: Uint8Array): any {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

/** The body as one would write it by hand, in one go. */
function expected({ messages, system, tools, params, ...rest }: ModelRequest, cache: boolean): object {
  const mark = cache ? { cache_control: { type: "ephemeral" } } : {};
  const users = messages.flatMap(({ role }, i) => role === "user" ? [i] : []).slice(-2);
  const marked = (list: readonly object[]) => [...list.slice(0, -1), { ...list.at(-1), ...mark }];
  return JSON.parse(JSON.stringify({
    ...params,
    ...rest,
    messages: messages.map(({ role, content }, i) => ({
      role,
      content: users.includes(i) ? marked(content) : content,
    })),
    ...(system && { system: [{ type: "text", text: system, ...mark }] }),
    ...(tools.length > 0 && { tools: marked(tools) }),
    stream: true,
  }));
}

const strings = fc.oneof(
  { weight: 5, arbitrary: fc.string({ unit: "grapheme", minLength: 1 }) },
  fc.constantFrom("x", "語").map((letter) => letter.repeat(9_000)), // soon more than the buffer has room for
);
const userMessages = fc.oneof(
  strings.map(user),
  strings.map((s) => user([toolResult("toolu_1", s), { type: "text", text: "x" }])),
);
const assistantMessages = fc.oneof(
  strings.map((s) => assistant(s)),
  strings.map((s) => assistant([{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: s } }])),
);

/** What can happen to a history between two requests. */
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("append" as const), a: assistantMessages, u: userMessages }) },
    fc.record({ do: fc.constant("replace" as const), at: fc.nat(), a: assistantMessages, u: userMessages }),
    fc.record({ do: fc.constant("drop" as const), count: fc.nat({ max: 3 }) }),
    fc.record({ do: fc.constant("compact" as const), u: userMessages }),
    fc.record({ do: fc.constant("system" as const), text: fc.constantFrom("", "be brief", "be long") }),
    fc.record({ do: fc.constant("tools" as const), count: fc.nat({ max: 2 }) }),
  ),
  { maxLength: 25 },
);

// Kills: a prefix trusted by its length, breakpoints left behind, lengths counted in characters, stale settings.
test("requestWriter() always writes the request as JSON.stringify would, whatever happened to the history", () => {
  fc.assert(
    fc.property(userMessages, steps, fc.boolean(), (first, steps, cache) => {
      const write = requestWriter({ cache });
      let messages: Message[] = [first];
      let other: Partial<ModelRequest> = {};
      for (const step of steps) {
        if (step.do === "append") messages.push(step.a, step.u);
        if (step.do === "drop") messages = messages.slice(0, Math.max(1, messages.length - 2 * step.count));
        if (step.do === "compact") messages = [step.u];
        if (step.do === "system") other = { ...other, system: step.text };
        if (step.do === "tools") other = { ...other, tools: tools.slice(0, step.count) };
        if (step.do === "replace") {
          const at = step.at % messages.length;
          messages[at] = messages[at]!.role === "user" ? step.u : step.a;
        }
        const asked = request(messages, other);
        const body = write(asked);
        assert.deepEqual(parsed(body.bytes), expected(asked, cache));
        body.release();
      }
    }),
    { numRuns: tries(300, 5000) },
  );
});

test("requestWriter() never changes bytes that are still being sent", () => {
  const write = requestWriter({ cache: true });
  const start = [user("one"), assistant("two"), user("three")];
  write(request(start)).release();
  const sending = write(request([...start, assistant("left"), user("here")]));
  const copy = sending.bytes.slice();
  const other = write(request([...start, assistant("right"), user("there")]));
  assert.deepEqual(sending.bytes, copy);
  assert.deepEqual(parsed(other.bytes).messages.at(-1).content[0].text, "there");
  sending.release();
  other.release();
  assert.deepEqual(parsed(write(request(start)).bytes), expected(request(start), true));
});

test("requestWriter() serialises each message once, however long the conversation gets", () => {
  let serialised = 0;
  const counted = (text: string) => ({
    type: "text",
    toJSON() {
      serialised++;
      return { type: "text", text };
    },
  });
  const write = requestWriter({ cache: true });
  const messages = [user([counted("0")])];
  for (let turn = 1; turn <= 20; turn++) {
    write(request(messages)).release();
    messages.push(assistant([counted("a")]), user([counted("u")]));
  }
  assert.equal(serialised, messages.length - 2);
});

test("requestWriter() sends further parameters, and keeps its own", () => {
  const params = { temperature: 0.5, output_config: { effort: "low" }, stream: false, messages: [] };
  const body = parsed(requestWriter({ cache: false })(request([user("hi")], { params })).bytes);
  assert.deepEqual(
    body,
    expected(request([user("hi")], { params: { temperature: 0.5, output_config: { effort: "low" } } }), false),
  );
});

test("requestWriter() marks no block that has a breakpoint of its own or cannot have one", () => {
  const own = { type: "text", text: "mine", cache_control: { type: "ephemeral", ttl: "1h" } };
  const messages = [user("first"), assistant("a"), user([own]), assistant("b"), user([{ type: "other" }])];
  const body = parsed(requestWriter({ cache: true })(request(messages)).bytes);
  assert.deepEqual(body.messages.map((m: any) => m.content[0].cache_control), [
    { type: "ephemeral" },
    undefined,
    own.cache_control,
    undefined,
    undefined,
  ]);
});
