import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { agent, deny, type EventOf, memoryStore, modify, type RunEvent, tool } from "crochet";
import { scripted } from "crochet/testing";
import { Agent, Edit, Read, Write } from "crochet/tools";
import { invalidConversation, textOf } from "../../lib/core/messages.ts";

const root = mkdtempSync(join(tmpdir(), "crochet-life-"));
after(() => rmSync(root, { recursive: true }));
let n = 0;
function workspace(files: Record<string, string> = {}): string {
  const dir = mkdtempSync(join(root, `w${n++}-`));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

const flaky = (effect: "read" | "write", failures: number) => {
  let tries = 0;
  const made = tool({
    name: "Flaky",
    description: "",
    effect,
    input: { type: "object" },
    run: () => {
      if (tries++ < failures) throw new RangeError("not yet");
      return "at last";
    },
  });
  return { made, tries: () => tries };
};

test("S3.3, S3.4: a tool that throws fires Error with its type, message, tool and severity", async () => {
  const seen: EventOf<"error">[] = [];
  await agent({
    model: scripted([{ tools: [{ name: "Flaky", input: {} }] }, { text: "ok" }]),
    tools: [flaky("write", 9).made],
    hooks: { error: (e) => void seen.push(e) },
  }).run("go");
  assert.equal(seen.length, 1);
  const { error_type, error_message, tool: name, severity, stack_trace } = seen[0]!;
  assert.deepEqual([error_type, error_message, name, severity], ["RangeError", "not yet", "Flaky", "error"]);
  assert.match(stack_trace!, /RangeError/);
});

test("S3.4: an Error hook may ask for one retry, of a tool that changes nothing and never of one that writes", async () => {
  for (const [effect, tries] of [["read", 2], ["write", 1]] as const) {
    const { made, tries: count } = flaky(effect, 1);
    await agent({
      model: scripted([{ tools: [{ name: "Flaky", input: {} }] }, { text: "ok" }]),
      tools: [made],
      hooks: { error: () => modify(true) },
    }).run("go");
    assert.equal(count(), tries, effect);
  }
});

test("S3.4: an Error hook that denies ends the run, for instance after repeated errors", async () => {
  let errors = 0;
  const result = await agent({
    model: scripted([], { then: { tools: [{ name: "Flaky", input: {} }] } }),
    tools: [flaky("read", 99).made],
    hooks: { error: () => ++errors >= 3 ? deny("three errors are enough") : undefined },
  }).run("go");
  assert.equal(result.stop, "error");
  assert.equal(errors, 3);
  assert.match(result.error!.message, /three errors are enough/);
  assert.equal(invalidConversation(result.messages), undefined);
});

test("S3.5: checkpoints come by themselves every twenty messages, by hand, and are told with their fields", async () => {
  const seen: EventOf<"checkpoint">[] = [];
  const store = memoryStore();
  const helper = agent({
    model: scripted([], { then: { text: "ok" } }),
    store,
    hooks: { checkpoint: (e) => void seen.push(e) },
  });
  const session = await helper.open();
  for (let i = 0; i < 10; i++) await session.prompt(`prompt ${i}`);
  const id = await session.checkpoint();
  await session.close();
  assert.deepEqual(seen.map((e) => [e.checkpoint_type, e.message_count]), [["auto", 20], ["manual", 0]]);
  assert.deepEqual((await store.load(session.id))?.checkpoints.map((c) => [c.id, c.at]), [[`${session.id}@20`, 20], [
    id,
    20,
  ]]);
});

test("S3.6, S3.8: setModel() fires ModelSwitch before it takes effect; a hook may refuse it or name another", async () => {
  const model = scripted([], { then: { text: "ok" } });
  const seen: unknown[] = [];
  const helper = agent({
    model,
    hooks: {
      modelSwitch: (e) => {
        seen.push([e.old_model, e.new_model, e.triggered_by]);
        if (e.new_model.includes("opus")) return deny("too dear");
        if (e.new_model === "big") return modify("small");
        return undefined;
      },
    },
  });
  const session = await helper.open();
  const before = session.model;
  assert.equal(await session.setModel("claude-opus"), false);
  assert.equal(session.model, before);
  assert.equal(await session.setModel("big"), true);
  await session.prompt("go");
  await session.close();
  assert.equal(model.requests[0]!.model, "small");
  assert.deepEqual(seen, [[before, "claude-opus", "user"], [before, "big", "user"]]);
});

test("S3.6: fallbackModel takes over after an overload and after a refusal, triggered by fallback", async () => {
  for (const trouble of [{ http: 529 }, { text: "no", stop_reason: "refusal" }] as const) {
    const why: string[] = [];
    const model = scripted([trouble, { text: "from the other" }]);
    const result = await agent({
      model,
      fallbackModel: "other",
      hooks: { modelSwitch: (e) => void why.push(e.triggered_by) },
    }).run("go");
    assert.deepEqual([result.stop, result.text, why], ["done", "from the other", ["fallback"]]);
    assert.equal(model.requests.at(-1)!.model, "other");
  }
});

test("S3.9, S3.10: writing a memory file fires MemoryUpdate after the write, with both hashes", async () => {
  const cwd = workspace({ "AGENTS.md": "old\n" });
  const seen: EventOf<"memory-update">[] = [];
  const write = (content: string, file_path = join(cwd, "AGENTS.md")) => ({
    tools: [{ name: "Write", input: { file_path, content } }],
  });
  await agent({
    model: scripted([
      write("new\n"),
      write("same\n", join(cwd, "other.txt")),
      write("fresh\n", join(cwd, "CLAUDE.md")),
      { text: "ok" },
    ]),
    tools: [Write],
    memory: true,
    cwd,
    hooks: { memoryUpdate: (e) => void seen.push(e) },
  }).run("go");
  assert.deepEqual(seen.map((e) => [e.file_path, e.update_type, e.content_size]), [
    [join(cwd, "AGENTS.md"), "modified", 4],
    [join(cwd, "CLAUDE.md"), "created", 6],
  ]);
  assert.match(seen[0]!.previous_hash!, /^[0-9a-f]{64}$/);
  assert.notEqual(seen[0]!.previous_hash, seen[0]!.new_hash);
  assert.equal(seen[1]!.previous_hash, null);
});

test("memory files are found upwards and put into the system prompt, the nearest last, cut with a notice", async () => {
  const cwd = workspace({ "AGENTS.md": `Be kind.\n${"x".repeat(50_000)}`, "CLAUDE.md": "Be brief.\n" });
  const model = scripted([{ text: "ok" }]);
  await agent({ model, system: "You help.", memory: true, cwd }).run("go");
  const { system } = model.requests[0]!;
  assert.ok(system.startsWith("You help."));
  assert.ok(system.indexOf("Be kind.") < system.indexOf("Be brief."));
  assert.match(system, /The rest of this file, \d+ characters, is left out/);
});

test("Notification is fired when the agent waits for a person", async () => {
  const seen: string[] = [];
  const dangerous = tool({ name: "Danger", description: "", input: { type: "object" }, run: () => "boom" });
  await agent({
    model: scripted([{ tools: [{ name: "Danger", input: {} }] }, { text: "ok" }]),
    tools: [dangerous],
    permissions: { mode: "default" },
    hooks: { notification: (e) => void seen.push(e.notification_type) },
  }).run("go", { ask: () => Promise.resolve({ behavior: "allow" }) });
  assert.deepEqual(seen, ["permission_prompt"]);
});

test("compact() replaces all but the end by a summary; PreCompact may refuse it or change what is asked for", async () => {
  for (const how of ["plain", "refused", "changed"] as const) {
    const store = memoryStore();
    const asked: string[] = [];
    const model = scripted([], {
      then: (r: { messages: readonly { content: readonly unknown[] }[] }) => {
        const words = textOf(r.messages.at(-1) as never);
        asked.push(words);
        return {
          text: words.startsWith("Write down") || words === "Just the names" ? "in short" : "a long answer ".repeat(50),
        };
      },
    } as never);
    const helper = agent({
      model,
      store,
      hooks: {
        preCompact: () =>
          how === "refused" ? deny("not now") : how === "changed" ? modify("Just the names") : undefined,
      },
    });
    const session = await helper.open();
    for (let i = 0; i < 8; i++) await session.prompt(`prompt ${i}`);
    assert.equal(await session.compact(), how !== "refused", how);
    const next = await session.prompt("go on");
    await session.close();
    assert.equal(invalidConversation(next.messages), undefined);
    if (how === "refused") continue;
    assert.match(textOf(next.messages[0]), /summarised to make room:\n\nin short/);
    assert.ok(asked.includes("Just the names") === (how === "changed"));
    const kept = (await store.load(session.id))!;
    assert.deepEqual(kept.messages, next.messages);
    assert.equal(textOf(kept.full[0]), "prompt 0");
  }
});

test("events of a long life are told to listeners too: model, compact, checkpoint", async () => {
  const seen: RunEvent["type"][] = [];
  const session = await agent({
    model: scripted([], { then: { text: "word ".repeat(200) } }),
    on: (e) => void seen.push(e.type),
  }).open();
  for (let i = 0; i < 6; i++) await session.prompt("p ".repeat(200));
  await session.setModel("other");
  await session.checkpoint();
  await session.compact();
  await session.close();
  for (const type of ["model", "checkpoint", "compact"] as const) assert.ok(seen.includes(type), type);
});

test("a session that nobody listens to keeps the model it changed to, and makes room where its context is nearly full", async () => {
  const store = memoryStore();
  const triggers: string[] = [];
  const session = await agent({
    model: scripted([], { then: { text: "word ".repeat(200), usage: { input_tokens: 160_000 } } }),
    store,
    memory: ["NONE.md"],
    cwd: workspace(),
    hooks: { preCompact: ({ trigger }) => void triggers.push(trigger) },
  }).open();
  for (let i = 0; i < 6; i++) await session.prompt("p ".repeat(200));
  await session.setModel("other");
  await session.close();
  assert.ok(triggers.includes("auto"));
  assert.equal((await store.load(session.id))!.model, "other");
});

test("EDIT 18: a formatter hook that rewrites an edited file is no change the model must be told of", async () => {
  const cwd = workspace({ "a.txt": "one\n" });
  const file_path = join(cwd, "a.txt");
  const edit = (old_string: string, new_string: string) => ({
    tools: [{ name: "Edit", input: { file_path, old_string, new_string } }],
  });
  const run = async (format: boolean) => {
    writeFileSync(file_path, "one\n");
    const said: string[] = [];
    await agent({
      model: scripted([{ tools: [{ name: "Read", input: { file_path } }] }, edit("one", "two"), edit("two", "three"), {
        text: "ok",
      }]),
      tools: [Read, Edit],
      cwd,
      hooks: format
        ? {
          postToolUse: (e) =>
            e.tool_name === "Edit"
              ? writeFileSync(file_path, `${readFileSync(file_path, "utf8")}// formatted\n`)
              : undefined,
        }
        : {},
      on: (e) => {
        if (e.type === "tool_end") said.push(e.content);
        if (!format && e.type === "tool_end" && said.length === 2) {
          writeFileSync(file_path, "two\n// by somebody else\n");
        }
      },
    }).run("go");
    return said[2]!;
  };
  assert.doesNotMatch(await run(true), /changed/);
  assert.match(await run(false), /changed/);
});

test("S3.37, S3.39: one run tells its hooks of every layer: session, sub-agent, error, checkpoint, model, memory", async () => {
  const cwd = workspace();
  const seen = new Set<string>();
  const broken = tool({
    name: "Broken",
    description: "",
    input: { type: "object" },
    run: () => {
      throw new Error("broken");
    },
  });
  const replies = [
    { tools: [{ name: "Agent", input: { description: "d", prompt: "sub" } }] },
    { tools: [{ name: "Broken", input: {} }] },
    { tools: [{ name: "Write", input: { file_path: join(cwd, "AGENTS.md"), content: "be kind\n" } }] },
    { text: "done" },
  ];
  const session = await agent({
    model: scripted([], {
      then: (request: { messages: readonly { content: readonly unknown[] }[] }) =>
        textOf(request.messages[0] as never) === "sub" ? { text: "sub done" } : replies.shift() ?? { text: "done" },
    } as never),
    tools: [Agent, broken, Write],
    memory: true,
    cwd,
    hooks: [(event) => void seen.add(event.parent_agent_id === undefined ? event.event : `sub ${event.event}`)],
  }).open();
  await session.prompt("go");
  await session.checkpoint();
  await session.setModel("other");
  await session.close();
  for (
    const name of [
      "session-start",
      "sub agent-start",
      "sub agent-stop",
      "error",
      "memory-update",
      "checkpoint",
      "model-switch",
      "session-end",
    ]
  ) {
    assert.ok(seen.has(name), name);
  }
});
