import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, deny, type EventOf, type Hook, jsonlStore, memoryStore, modify, type RunEvent, tool } from "crochet";
import { scripted } from "crochet/testing";
import { Agent, Edit, Read, Write } from "crochet/tools";
import { systemClock } from "../../lib/core/clock.ts";
import { invalidConversation, textOf } from "../../lib/core/messages.ts";
import { scratch } from "../_scratch.ts";

test("S3.5: checkpoints come by themselves every twenty messages, by hand, and are reported with their fields", async () => {
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

test("S3.5: a checkpoint's duration_since_last_ms counts from the one before, the first from the session's beginning", async () => {
  const durations: (number | null)[] = [];
  const hooks = { checkpoint: (e: EventOf<"checkpoint">) => void durations.push(e.duration_since_last_ms) };
  const { tick } = systemClock;
  let time = 0;
  systemClock.tick = () => time;
  try {
    const session = await agent({ model: scripted([{ text: "ok" }]), store: memoryStore(), hooks }).open();
    await session.prompt("go");
    for (time of [1000, 3500]) await session.checkpoint();
    await session.close();
  } finally {
    systemClock.tick = tick;
  }
  assert.deepEqual(durations, [1000, 2500]);
});

test("S3.5: a checkpoint's storage_path is the transcript's file, or null if it has none of its own", async () => {
  using folder = scratch();
  for (const store of [jsonlStore(folder.path), memoryStore()]) {
    const paths: (string | null)[] = [];
    const hooks = { checkpoint: (e: EventOf<"checkpoint">) => void paths.push(e.storage_path) };
    const session = await agent({ model: scripted([{ text: "ok" }]), store, hooks }).open();
    await session.prompt("go");
    await session.checkpoint();
    await session.close();
    assert.deepEqual(paths.map((path) => path && existsSync(path) && readFileSync(path, "utf8").includes("go")), [
      "pathOf" in store ? true : null,
    ]);
  }
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

test("S3.6: fallbackModel takes over after an overload and after a refusal, triggered by fallback, with the reason", async () => {
  for (
    const [trouble, reason] of [
      [{ http: 529 }, /529/],
      [{ text: "no", stop_reason: "refusal" }, /^it refused$/],
    ] as const
  ) {
    const why: (string | null)[] = [];
    const model = scripted([trouble, { text: "from the other" }]);
    const result = await agent({
      model,
      fallbackModel: "other",
      hooks: { modelSwitch: (e) => void why.push(e.triggered_by, e.reason) },
    }).run("go");
    assert.deepEqual([result.stop, result.text, why[0]], ["done", "from the other", "fallback"]);
    assert.match(why[1]!, reason);
    assert.equal(model.requests.at(-1)!.model, "other");
  }
});

test("Notification is fired when the agent waits for a person", async () => {
  const seen: string[] = [];
  const dangerous = tool({ name: "Danger", description: "", input: { type: "object" }, run: () => "boom" });
  await agent({
    model: scripted([{ tools: [{ name: "Danger", input: {} }] }, { text: "ok" }]),
    tools: [dangerous],
    permissions: { mode: "default" },
    hooks: { notification: (e) => void seen.push(e.notification_type) },
  }).run("go", { permissionAsker: () => Promise.resolve({ behavior: "allow" }) });
  assert.deepEqual(seen, ["permission_prompt"]);
});

test("compact() replaces all but the end by a summary; PreCompact may refuse it, change what is asked for or add to it", async () => {
  for (const how of ["plain", "refused", "changed"] as const) {
    const store = memoryStore();
    const asked: string[] = [];
    const model = scripted([], {
      then: ({ messages }) => {
        const words = textOf(messages.at(-1));
        asked.push(words);
        return {
          text: words.startsWith("Write down") || words.startsWith("Just the names")
            ? "in short"
            : "a long answer ".repeat(50),
        };
      },
    });
    const helper = agent({
      model,
      store,
      hooks: {
        preCompact: () =>
          how === "refused"
            ? deny("not now")
            : how === "changed"
            ? { ...modify("Just the names"), context: "and dates" }
            : undefined,
      },
    });
    const session = await helper.open();
    for (let i = 0; i < 8; i++) await session.prompt(`prompt ${i}`);
    assert.equal(await session.compact(), how !== "refused", how);
    const next = await session.prompt("go on");
    await session.close();
    assert.equal(invalidConversation(next.messages), undefined);
    if (how === "refused") {
      assert.equal(next.messages.length, 18, "nothing is left out");
      continue;
    }
    assert.match(textOf(next.messages[0]), /summarised to make room:\n\nin short/);
    assert.ok(asked.includes("Just the names\n\nand dates") === (how === "changed"));
    const kept = (await store.load(session.id))!;
    assert.deepEqual(kept.messages, next.messages);
    assert.equal(textOf(kept.full[0]), "prompt 0");
  }
});

test("events of a long session are reported to listeners too: model, compact, checkpoint", async () => {
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

test("a session without listeners keeps the model it changed to, and compacts when its context is nearly full", async () => {
  using folder = scratch();
  const store = memoryStore();
  const triggers: string[] = [];
  const session = await agent({
    model: scripted([], { then: { text: "word ".repeat(200), usage: { input_tokens: 160_000 } } }),
    store,
    memory: ["NONE.md"],
    cwd: folder.path,
    hooks: { preCompact: ({ trigger }) => void triggers.push(trigger) },
  }).open();
  for (let i = 0; i < 6; i++) await session.prompt("p ".repeat(200));
  await session.setModel("other");
  await session.close();
  assert.ok(triggers.includes("auto"));
  assert.equal((await store.load(session.id))!.model, "other");
});

test("EDIT 18: a formatter hook that rewrites an edited file is not reported to the model as a change", async () => {
  using folder = scratch();
  const cwd = folder.path;
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
          writeFileSync(file_path, "two\n// by another process\n");
        }
      },
    }).run("go");
    return said[2]!;
  };
  assert.doesNotMatch(await run(true), /changed/);
  assert.match(await run(false), /changed/);
});

/** A session that passes every layer, in a folder of its own, and how each of its steps ended. */
async function everyLayer(hooks: readonly Hook<any>[]) {
  using folder = scratch();
  const cwd = folder.path;
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
      then: ({ messages }) =>
        textOf(messages[0]) === "sub" ? { text: "sub done" } : replies.shift() ?? { text: "done" },
    }),
    tools: [Agent, broken, Write],
    memory: true,
    cwd,
    hooks,
  }).open();
  const { stop, text } = await session.prompt("go");
  const checkpoint = typeof await session.checkpoint();
  const switched = await session.setModel("other");
  await session.close();
  const written = readFileSync(join(cwd, "AGENTS.md"), "utf8");
  return { stop, text, checkpoint, switched, model: session.model, written };
}

test("S3.37, S3.39: one run tells its hooks of every layer: session, sub-agent, error, checkpoint, model, memory", async () => {
  const seen = new Set<string>();
  await everyLayer([
    (event) => void seen.add(event.parent_agent_id === undefined ? event.event : `sub ${event.event}`),
  ]);
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

test("S3.37: without hooks every layer does the same", async () => {
  const bare = await everyLayer([]);
  assert.deepEqual(bare, {
    stop: "done",
    text: "done",
    checkpoint: "string",
    switched: true,
    model: "other",
    written: "be kind\n",
  });
  assert.deepEqual(await everyLayer([() => undefined]), bare);
});
