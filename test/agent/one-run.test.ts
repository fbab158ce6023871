import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agent, jsonlStore, memoryStore, type MinimalStore, sqliteStore, tool } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { storeContract } from "../log/stores/_store-contract.ts";
import { textOf } from "../../lib/core/messages.ts";
import { Agent } from "../../lib/tools/agent.ts";
import { scratch } from "../_scratch.ts";

/** A tool that holds its call until it is let go, and says when it was called. */
function gated() {
  let enter = () => {};
  let leave = () => {};
  const entered = new Promise<void>((resolve) => enter = resolve);
  const left = new Promise<void>((resolve) => leave = resolve);
  const run = async () => {
    enter();
    await left;
    return "held";
  };
  return {
    entered,
    leave: () => leave(),
    tool: tool({ name: "Hold", description: "", input: { type: "object" }, run }),
  };
}

const hold: ScriptedReply = { tools: [{ name: "Hold", input: {} }] };

/** `{ save, load }` with messages and nothing else (S0.30). */
function seedStore(): MinimalStore & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    save: async (id, messages) => void kept.set(id, JSON.stringify(messages)),
    load: async (id) => kept.has(id) ? JSON.parse(kept.get(id)!) : null,
  };
}

function stores(path: string): [name: string, store: MinimalStore][] {
  return [
    ["memory", memoryStore()],
    ["jsonl", jsonlStore(join(path, "runs"))],
    ["sqlite", sqliteStore(join(path, "runs.db"))],
    ["save and load", seedStore()],
  ];
}

test("U15: a session that runs is never resumed, whatever the store; once it has ended it is", async () => {
  using folder = scratch();
  for (const [name, store] of stores(folder.path)) {
    const held = gated();
    const model = scripted([hold, { text: "first" }, { text: "second" }]);
    const helper = agent({ model, tools: [held.tool], store });
    const running = helper.run("one", { id: "a" });
    await held.entered;
    await assert.rejects(helper.resume("a", "two"), /running it/, name);
    await assert.rejects(helper.run("two", { id: "a" }), /running it/, name);
    await assert.rejects(helper.open({ resume: "a" }), /running it/, name);
    await assert.rejects(agent({ model, store }).resume("a", "two"), /running it/, name);
    held.leave();
    assert.equal((await running).text, "first");
    const { messages } = await helper.resume("a", "three");
    assert.deepEqual(messages.map(textOf), ["one", "", "", "first", "three", "second"], name);
  }
});

test("U15: a session that ends while another waits to resume it never loses a turn", async () => {
  const store = memoryStore();
  let ending: Promise<unknown> = Promise.resolve();
  // The run before ends between the claim and the load, at the latest.
  const slow: MinimalStore = { ...store, load: async (id) => (await ending, await store.load(id)) };
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), store });
  await helper.run("one", { id: "a" });
  ending = helper.resume("a", "two");
  const { messages } = await agent({ model: scripted([{ text: "ok" }]), store: slow }).resume("a", "three").catch(
    (error: Error) => ({ messages: error.message }),
  );
  assert.match(String(messages), /running it/);
});

test("U15: a sub-agent that works is never resumed by its id, from outside or by its lead", async () => {
  using folder = scratch();
  for (const [name, store] of stores(folder.path)) {
    const held = gated();
    let sub = "";
    const start = (prompt: string, more = {}) => ({ name: "Agent", input: { description: "d", prompt, ...more } });
    const lead: ((message: string) => ScriptedReply)[] = [
      () => ({ tools: [start("work", { run_in_background: true })] }),
      () => ({ tools: [start("more", { resume_agent_id: sub })] }),
      () => ({ text: "waiting" }),
      () => ({ text: "done" }),
    ];
    const below = [hold, { text: "worked" }];
    const model = scripted([], {
      then: ({ messages }) => textOf(messages[0]) === "work" ? below.shift()! : lead.shift()!(""),
    });
    const helper = agent({
      model,
      tools: [Agent, held.tool],
      store,
      hooks: {
        subagentStart: (e) => void (sub = e.agent_id),
        iteration: (e) =>
          e.parent_agent_id === undefined && e.total_iterations === 1 ? held.entered.then(() => undefined) : undefined,
        stop: async ({ last_assistant_message }) => {
          if (last_assistant_message !== "waiting") return;
          await assert.rejects(helper.resume(sub, "go on"), /running it/, name);
          held.leave();
        },
      },
    });
    const { messages } = await helper.run("go");
    const answers = messages.flatMap((m) => m.content).filter((b) => b.type === "tool_result") as { content: string }[];
    assert.match(answers[1]!.content, /Cannot resume agent '\w+'.*(still works|running it)/, name);
    const later = await agent({ model: scripted([{ text: "later" }]), store }).resume(sub, "and then?");
    assert.deepEqual(later.messages.map(textOf).filter(Boolean), ["work", "worked", "and then?", "later"], name);
  }
});

test("U15: an agent that resumes itself, or the session it works for, reads that it is running", async () => {
  const start = (prompt: string, id: string) => ({
    name: "Agent",
    input: { description: "d", prompt, resume_agent_id: id },
  });
  let sub = "";
  const lead: ScriptedReply[] = [
    { tools: [start("me", "root")] },
    { tools: [{ name: "Agent", input: { description: "d", prompt: "work" } }] },
    { text: "done" },
  ];
  const below = [() => ({ tools: [start("you", "root"), start("me", sub)] }), () => ({ text: "worked" })];
  const seen: string[] = [];
  const helper = agent({
    model: scripted([], { then: ({ messages }) => textOf(messages[0]) === "work" ? below.shift()!() : lead.shift()! }),
    tools: [Agent],
    hooks: {
      subagentStart: (e) => void (sub = e.agent_id),
      postToolUseFailure: (e) => void seen.push(e.error!),
    },
  });
  assert.equal((await helper.run("go", { id: "root" })).stop, "done");
  assert.equal(seen.length, 3);
  assert.match(seen[0]!, /Cannot resume 'root' as that id is your own, which is running now/);
  assert.match(seen[1]!, /Cannot resume 'root' as that id is that of the session you work for, which is running now/);
  assert.match(seen[2]!, new RegExp(`Cannot resume '${sub}' as that id is your own, which is running now`));
});

test("U15: a failed sub-agent's report carries its id, and it can be resumed by it", async () => {
  let id: string | undefined;
  const lead: ((last: string) => ScriptedReply)[] = [
    () => ({ tools: [{ name: "Agent", input: { description: "d", prompt: "work" } }] }),
    (last) => {
      id = /agent (\w+) \(general-purpose\).*resume_agent_id/.exec(last)?.[1];
      return { tools: [{ name: "Agent", input: { description: "d", prompt: "again", resume_agent_id: id } }] };
    },
    (last) => ({ text: last }),
  ];
  const below: ScriptedReply[] = [{ text: "", error: "invalid_request_error" }, { text: "worked" }];
  const helper = agent({
    model: scripted([], {
      then: ({ messages }) => {
        const last = messages.at(-1)!.content.find((b) => b.type === "tool_result") as { content: string } | undefined;
        return textOf(messages[0]).startsWith("work") ? below.shift()! : lead.shift()!(last?.content ?? "");
      },
    }),
    tools: [Agent],
  });
  assert.match((await helper.run("go")).text, /^worked/);
  assert.match(id!, /^a\w+$/);
});

test("S0.30: a store of save and load alone keeps a conversation and resumes it", async () => {
  const store = seedStore();
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), store });
  const { id } = await helper.run("one");
  const { messages } = await helper.resume(id, "two");
  assert.deepEqual(messages.map(textOf), ["one", "ok", "two", "ok"]);
  assert.deepEqual(JSON.parse(store.kept.get(id)!), messages);
  await assert.rejects(helper.resume("unknown", "x"), /no run of that id/);
});

test("S0.30: a store that cannot save or load is refused when the agent is made, and for a run", async () => {
  const wrong: [unknown, RegExp][] = [
    [{}, /no function 'save'/],
    [{ save: async () => {} }, /no function 'load'/],
  ];
  for (const [store, why] of wrong) {
    assert.throws(() => agent({ store: store as MinimalStore }), { name: "TypeError", message: why });
    const helper = agent({ model: scripted([]) });
    await assert.rejects(helper.run("x", { store: store as MinimalStore }), { name: "TypeError", message: why });
  }
});

test("storeContract() refuses a store without a lock", async () => {
  const laws = storeContract(() => {
    const { lock: _, ...store } = memoryStore();
    return () => store as ReturnType<typeof memoryStore>;
  });
  const law = laws.find(({ name }) => name === "an id is never claimed twice at a time")!;
  await assert.rejects(law.check(), /needs a lock/);
});
