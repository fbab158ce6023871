import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isToolResult, type Message } from "../../lib/core/messages.ts";
import type { Model, ModelRequest } from "../../lib/core/model.ts";
import { readReply } from "../../lib/core/reply.ts";
import { isSame } from "../../lib/log/canonical.ts";
import { type Cause, differs } from "../../lib/replay/drift/difference.ts";
import { openTape } from "../../lib/replay/taped-session.ts";
import { scripted } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { words } from "./_arbitraries.ts";
import { inFolder } from "./_stage.ts";

const { signal } = new AbortController();

/** A conversation of some turns, as an agent would ask it. */
const base: fc.Arbitrary<ModelRequest> = fc.record({
  system: words,
  prompt: words,
  turns: fc.array(fc.record({ say: words, result: words, more: words }), { maxLength: 3 }),
  temperature: fc.constantFrom(0, 0.5, 1),
}).map(({ system, prompt, turns, temperature }) => ({
  model: "claude-test",
  system,
  messages: [
    { role: "user", content: [{ type: "text", text: prompt }] },
    ...turns.flatMap(({ say, result, more }, i): Message[] => [
      {
        role: "assistant",
        content: [{ type: "text", text: say }, { type: "tool_use", id: `toolu_${i}`, name: "Look", input: { say } }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `toolu_${i}`, content: result }, { type: "text", text: more }],
      },
    ]),
  ],
  tools: [
    { name: "Look", description: "Looks.", input_schema: { type: "object", properties: { say: { type: "string" } } } },
    { name: "Note", description: "Notes.", input_schema: { type: "object" } },
  ],
  max_tokens: 1000,
  params: { temperature, metadata: { user_id: "somebody" } },
}));

interface Edit {
  readonly path: string;
  readonly edited: ModelRequest;
}

/** Every text and number of a request that a tape compares, each made another one. */
function leaves(request: ModelRequest): Edit[] {
  const found: Edit[] = [];
  const walk = (value: unknown, path: string, put: (changed: unknown) => ModelRequest) => {
    if (typeof value === "string") found.push({ path, edited: put(`${value}~`) });
    else if (typeof value === "number") found.push({ path, edited: put(value + 1) });
    else if (Array.isArray(value)) {
      value.forEach((part, i) => walk(part, `${path}.${i}`, (changed) => put(value.with(i, changed))));
    } else {
      for (const [key, part] of Object.entries(value as object)) {
        // Those of messages say what the rest of them is.
        if (path.startsWith("messages.") && (key === "role" || key === "type")) continue;
        walk(part, `${path}.${key}`, (changed) => put({ ...(value as object), [key]: changed }));
      }
    }
  };
  for (const key of ["model", "max_tokens", "system", "tools", "messages"] as const) {
    walk(request[key], key, (changed) => ({ ...request, [key]: changed }));
  }
  const { metadata: _, ...compared } = request.params!;
  for (const [key, value] of Object.entries(compared)) {
    walk(value, key, (changed) => ({ ...request, params: { ...request.params, [key]: changed } }));
  }
  return found;
}

/** Something more in a request, or something less. */
function additions(request: ModelRequest, pick: number): Edit[] {
  const { messages, tools } = request;
  const at = pick % messages.length;
  const { role, content } = messages[at]!;
  const prefill: Message = { role: "assistant", content: [{ type: "text", text: "prefill" }] };
  const changed = (now: Message["content"]) => ({ ...request, messages: messages.with(at, { role, content: now }) });
  const [first] = content;
  return [
    { path: "top_k", edited: { ...request, params: { ...request.params, top_k: 3 } } },
    { path: "tools.1", edited: { ...request, tools: tools.slice(0, 1) } },
    { path: "tools.2", edited: { ...request, tools: [...tools, { ...tools[0]!, name: "More" }] } },
    {
      path: `messages.${at}.content.${content.length}`,
      edited: changed([...content, { type: "text", text: "more" }]),
    },
    { path: `messages.${messages.length}`, edited: { ...request, messages: [...messages, prefill] } },
    ...(isToolResult(first!)
      ? [{ path: `messages.${at}.content.0.is_error`, edited: changed(content.with(0, { ...first, is_error: true })) }]
      : []),
  ];
}

/** Who is to blame for what differs: a tool, the model's own words, or what the agent asks. */
function causeOf({ path, edited }: Edit): Cause {
  const [key, message, , block] = path.split(".");
  if (key === "tools") return "tool";
  if (key !== "messages") return "prompt";
  const { role, content } = edited.messages[Number(message)]!;
  return role === "assistant" ? "echo" : content[Number(block)]?.type === "tool_result" ? "tool" : "prompt";
}

/** Asks a model of a tape once. */
async function ask(folder: string, request: ModelRequest, model: Model, mode: "record" | "replay") {
  const session = await openTape({ path: folder, mode }, folder);
  const reply = await readReply(session.lane("main").model(model)(request, signal), () => {}).catch((e: Error) => e);
  return { reply, report: await session.close("done") };
}

test("any single edit to a request is always reported at exactly its path with its cause, and never served", async () => {
  const causes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(base, fc.nat(), async (request, pick) => {
      await inFolder(async (folder) => {
        await ask(folder, request, scripted([{ text: "recorded" }]), "record");
        const same = await ask(folder, structuredClone(request), scripted([]), "replay");
        assert.equal(same.report.ok, true);
        for (const edit of [...leaves(request), ...additions(request, pick)]) {
          const live = scripted([{ text: "live" }]);
          const { reply, report } = await ask(folder, edit.edited, live, "replay");
          assert.ok(reply instanceof Error, `${edit.path} was served`);
          assert.equal(live.requests.length, 0, "no model is ever called");
          assert.deepEqual(report.divergences.map((d) => [d.path, d.cause]), [[edit.path, causeOf(edit)]]);
          assert.match(reply.message, /tape_drift|Cannot answer from tape/);
          assert.deepEqual([report.unused, report.ok], [["main#1"], false]);
          causes.add(causeOf(edit));
        }
      });
    }),
    { numRuns: tries(6, 1000, 14) },
  );
  assert.deepEqual([...causes].sort(), ["echo", "prompt", "tool"]);
});

test("cache marks, metadata, the order of keys and fields the API adds to a reply never count", async () => {
  await fc.assert(
    fc.asyncProperty(base, async (request) => {
      await inFolder(async (folder) => {
        await ask(folder, request, scripted([{ text: "recorded" }]), "record");
        const marked: ModelRequest = {
          ...request,
          params: { metadata: { user_id: "somebody else" }, ...request.params, stream: false },
          tools: request.tools.map(({ name, ...rest }) => ({
            ...rest,
            name,
            cache_control: { type: "ephemeral" },
          })) as ModelRequest["tools"],
          messages: request.messages.map(({ role, content }) => ({
            role,
            content: content.map((block) => ({
              ...(role === "assistant" ? { citations: null, caller: { type: "direct" } } : {}),
              ...Object.fromEntries(Object.entries(block).reverse()),
              cache_control: { type: "ephemeral" },
            })) as unknown as Message["content"],
          })),
        };
        const { report } = await ask(folder, marked, scripted([]), "replay");
        assert.deepEqual(report.divergences, []);
      });
    }),
    { numRuns: tries(9, 500, 30) },
  );
});

test("equal requests are always answered in the order they were recorded, and never once more", async () => {
  await fc.assert(
    fc.asyncProperty(base, fc.array(words, { minLength: 1, maxLength: 5 }), async (request, answers) => {
      await inFolder(async (folder) => {
        const recording = await openTape({ path: folder, mode: "record" }, folder);
        const live = recording.lane("main").model(scripted(answers.map((text) => ({ text }))));
        const recorded: unknown[] = [];
        for (const _ of answers) recorded.push((await readReply(live(request, signal), () => {})).message);
        await recording.close("done");
        const session = await openTape({ path: folder }, folder);
        const taped = session.lane("main").model(scripted([]));
        for (const message of recorded) {
          assert.deepEqual((await readReply(taped(request, signal), () => {})).message, message);
        }
        await assert.rejects(readReply(taped(request, signal), () => {}));
        const { divergences } = await session.close("done");
        assert.deepEqual(divergences.map((d) => d.cause), ["order"]);
      });
    }),
    { numRuns: tries(6, 300, 20) },
  );
});

test("an empty list is never taken for an empty object", () => {
  for (const [a, b] of [[{ input: {} }, { input: [] }], [{ input: [] }, { input: {} }]]) {
    assert.equal(isSame(a, b), false);
    assert.equal(differs(a, b, "block")?.path, "block.input");
  }
});

test("a report names the tool whose description or result differs", async () => {
  const schema = { type: "object" };
  const [look, brew] = [{ name: "Look", description: "l" }, { name: "Brew", description: "b" }].map((tool) => ({
    ...tool,
    input_schema: schema,
  }));
  const answered = (content: string): ModelRequest["messages"] => [
    { role: "user", content: [{ type: "text", text: "go" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "Brew", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content }] },
  ];
  const request: ModelRequest = {
    model: "m",
    system: "",
    max_tokens: 9,
    params: {},
    tools: [look!, brew!],
    messages: answered("tea"),
  };
  const edits: [Partial<ModelRequest>, string][] = [
    [{ tools: [look!, { ...brew!, description: "c" }] }, "tools.1.description, of tool Brew, is not what was recorded"],
    [{ tools: [look!] }, "tools.1, the tool Brew, is missing"],
    [{ tools: [look!, brew!, { ...look!, name: "Cup" }] }, "tools.2, the tool Cup, is new"],
    [{ tools: [brew!] }, "tools.0.name, of tool Look, is not what was recorded"],
    [{ tools: [look!, { ...look!, name: "Cup" }, brew!] }, "tools.1.name, of tool Brew, is not what was recorded"],
    [{ tools: [{ ...look!, name: "Cup" }, brew!] }, "tools.0.name, of tool Look, is not what was recorded"],
    [{ messages: answered("cup") }, "messages.2.content.0.content, a result of Brew, is not what was recorded"],
    [{ system: "s" }, "system is new"],
  ];
  await inFolder(async (folder) => {
    await ask(folder, request, scripted([{ text: "recorded" }]), "record");
    for (const [edit, words] of edits) {
      const { report } = await ask(folder, { ...request, ...edit }, scripted([]), "replay");
      assert.deepEqual(report.divergences.map((d) => d.words), [words]);
    }
  });
});
