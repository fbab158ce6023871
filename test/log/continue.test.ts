import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, context, keepGoing, type Message, modify, type RunEvent, tool } from "../../lib/index.ts";
import { hookOn } from "../../lib/core/hook.ts";
import { type Model, ModelError } from "../../lib/core/model.ts";
import { readOwn } from "../../lib/log/own.ts";
import { isWhole, Log, readLog } from "../../lib/log/read-log.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { transcriptOf } from "../../lib/log/stores/store.ts";
import { inFolder } from "../replay/_stage.ts";
import { rounds } from "../_counts.ts";

/** What was really done, in all processes that worked on a run. */
interface World {
  wrote: string[];
  looked: number;
  models: number;
  hooks: number;
}

const REPLIES = [
  {
    text: "First I look.",
    tools: [{ name: "Look", id: "t1", input: { at: "a" } }, { name: "Look", id: "t2", input: { at: "b" } }],
  },
  { tools: [{ name: "Put", id: "t3", input: { text: "one" } }] },
  { text: "Others may help.", tools: [{ name: "Delegate", id: "t4", input: { task: "count" } }] },
  { tools: [{ name: "Put", id: "t6", input: { text: "two" } }] },
  { text: "Done." },
  { text: "Now really done." },
];

/** Says by the conversation what comes next, so that any process may ask it. */
function lead(world: World): Model {
  return async function* (request, signal) {
    world.models++;
    const n = request.messages.filter(({ role }) => role === "assistant").length;
    const below = [{ tools: [{ name: "Put", id: "s1", input: { text: "below" } }] }, { text: "counted" }];
    const reply = (request.system.startsWith("sub") ? below : REPLIES)[n] ?? { text: "nothing left" };
    yield* scripted([reply])(request, signal);
  };
}

function leader(world: World, cwd: string) {
  const none = { type: "object", properties: {} } as const;
  return agent({
    cwd,
    system: "lead",
    model: lead(world),
    tools: [
      tool(
        {
          name: "Look",
          description: "looks",
          effect: "read",
          input: none,
          run: ({ at }: any) => (world.looked++, `${at}: it is there`),
        } as any,
      ),
      tool(
        {
          name: "Put",
          description: "puts",
          effect: "write",
          input: none,
          run: ({ text }: any) => (world.wrote.push(text), `wrote ${text}`),
        } as any,
      ),
      tool({
        name: "Delegate",
        description: "delegates",
        effect: "none",
        input: none,
        run: async ({ task }: any, ctx: any) =>
          (await ctx.spawn({ type: "sub", prompt: task, system: "sub", description: task })).text,
      } as any),
    ],
    hooks: [
      hookOn("turn-start", (_, ctx) => {
        world.hooks++;
        ctx.addContext(`it is ${ctx.now()}`, { ephemeral: true } as any);
      }, { name: "time" }),
      hookOn("pre-tool-use", ({ tool_name, input }: any, ctx) => {
        world.hooks++;
        ctx.values.set("calls", ((ctx.values.get("calls") as number) ?? 0) + 1);
        return tool_name === "Put" && input.text === "one" ? modify({ text: "ONE" }) : undefined;
      }, { name: "shout" }),
      hookOn("post-tool-use", async ({ tool_use_id, event_id }: any, ctx) => {
        world.hooks++;
        // One that takes its time and says something meanwhile is noted as it goes on.
        if (tool_use_id === "t2") await new Promise((resolve) => setTimeout(resolve, 2));
        ctx.log(`sees ${tool_use_id}`);
        return tool_use_id === "t2" ? context(`${ctx.values.get("calls")} ${ctx.uuid()} ${event_id}`) : undefined;
      }, { name: "advise" }),
      hookOn("stop", ({ continuations }: any) => {
        world.hooks++;
        return continuations === 0 ? keepGoing("Look again") : undefined;
      }, { name: "again" }),
    ],
  });
}

const newWorld = (): World => ({ wrote: [], looked: 0, models: 0, hooks: 0 });

const plain = (messages: readonly Message[]) => JSON.parse(JSON.stringify(messages));

test("a run leaves one file that only its owner reads; its transcript and events are read out of it", async () => {
  await inFolder(async (dir) => {
    const events: RunEvent[] = [];
    const result = await leader(newWorld(), dir).run("Do it", { log: dir, on: (event) => events.push(event) });
    assert.deepEqual(readdirSync(dir), [`${result.id}.jsonl`]);
    assert.equal(statSync(join(dir, `${result.id}.jsonl`)).mode & 0o777, 0o600);
    const log = readLog(join(dir, `${result.id}.jsonl`))!;
    assert.deepEqual(transcriptOf(log.transcript()!).messages, plain(result.messages));
    const streamed = ["text", "thinking", "tool_progress", "hook_output"];
    const shown = (list: readonly RunEvent[]) =>
      list.filter(({ type }) => !streamed.includes(type)).map((event) => {
        const { at: _, ...rest } = JSON.parse(JSON.stringify(event));
        return rest;
      });
    assert.deepEqual(shown(log.events), shown(events));
    const noted = log.entries.flatMap((entry) => "note" in entry ? [entry.note] : []);
    const begun = noted.filter(({ type }) => type === "hook_start").map(({ hook }) => hook);
    assert.deepEqual([...new Set(begun)], ["advise"], "the line of a hook says the rest");
    assert.ok(noted.every(({ type, usage }) => type !== "usage" || usage === undefined), "the reply says it");
    assert.deepEqual(log.parts.tool.find(({ tool }) => tool === "t3")?.input, { text: "ONE" });
    assert.ok(log.entries.every((entry) => !("tool" in entry && "input" in entry) || entry.input === "@"));
  });
});

test("a run that is cut off anywhere goes on: nothing that ended is paid or done twice, and it ends the same", async () => {
  await inFolder(async (dir) => {
    const whole = newWorld();
    const first = await leader(whole, dir).run("Do it", { log: dir });
    assert.equal(first.stop, "done", JSON.stringify(first.error));
    const file = join(dir, `${first.id}.jsonl`);
    const text = readFileSync(file, "utf8");
    const lines = text.trimEnd().split("\n");
    const last = lines.findIndex((line) => line.startsWith('{"ended":"main"'));
    const [, began = 0] = lines.flatMap((line, i) => line.startsWith('{"seal":') ? [i] : []);
    for (let k = began + 1; k <= last; k += rounds(3, 1, 1)) {
      for (const torn of k % 4 === 0 ? [0, 0.5] : [0.5]) {
        const next = lines[k] ?? "";
        writeFileSync(file, `${lines.slice(0, k).join("\n")}\n${next.slice(0, next.length * torn)}`);
        const kept = keptOf(file);
        const world = newWorld();
        const result = await leader(world, dir).run("", { log: dir, resume: first.id });
        const where = `cut at ${k}/${torn}: ${lines[k - 1]!.slice(0, 80)}`;
        const cut = readFileSync(file, "utf8").includes("may have happened or not");
        const cutOff = kept.parts.begun.filter(({ begun, lane }) =>
          !kept.parts.tool.some((fact) => fact.tool === begun && fact.lane === lane)
        );
        assert.equal(cut, cutOff.length > 0, where);
        if (!cut) assert.deepEqual(plain(result.messages), plain(first.messages), where);
        assert.equal(kept.calls.filter(isWhole).length + world.models, whole.models, `replies, ${where}`);
        const did = kept.parts.tool.filter(({ name }) => name === "Put").length;
        assert.equal(did + world.wrote.length + cutOff.length, whole.wrote.length, `effects, ${where}`);
        assert.deepEqual(transcriptOf(readLog(file)!.transcript()!).messages, plain(result.messages), where);
      }
    }
  });
});

test("a log is a tape: its run is replayed with no model and no tool, all hooks are asked, and nothing drifts", async () => {
  await inFolder(async (dir) => {
    const whole = newWorld();
    const first = await leader(whole, dir).open({ log: dir });
    await first.prompt("Do it");
    await first.setModel("another");
    const result = await first.prompt("More");
    await first.close();
    const { tape } = readLog(join(dir, `${first.id}.jsonl`))!;
    assert.deepEqual(tape.models, { 1: "another" });
    const world = newWorld();
    let report: any;
    const again = await leader(world, dir).open({ log: false, tape: { tape, onReport: (r) => report = r } });
    await again.prompt("Do it");
    await again.setModel("another");
    assert.deepEqual(plain((await again.prompt("More")).messages), plain(result.messages));
    await again.close();
    // What hooks of the agent below said is compared in its lane, and in no other.
    assert.deepEqual([report.ok, report.divergences, report.notes], [true, [], []]);
    assert.deepEqual({ ...world }, { wrote: [], looked: 0, models: 0, hooks: whole.hooks });
  });
});

/** What is left of a log: what no seal follows is cut off. */
function keptOf(file: string): Log {
  return new Log(readOwn(file, "resume")!.entries);
}

/** Saves what its prompt says, once; its first attempt at each reply fails, and a person is asked. */
function saver(world: World, cwd: string, people: { asked: number }) {
  let failed = "";
  const model: Model = async function* (request, signal) {
    world.models++;
    const at = JSON.stringify(request.messages.length);
    if (failed !== at) {
      failed = at;
      throw new ModelError("overloaded", { code: "overloaded_error", retryable: true, retryAfter: 1 });
    }
    const last = request.messages.at(-1)!.content;
    const isAnswered = last.some(({ type }) => type === "tool_result");
    const id = `t${request.messages.length}`;
    yield* scripted([isAnswered ? { text: "saved" } : { tools: [{ name: "Put", id, input: { text: id } }] }])(
      request,
      signal,
    );
  };
  const made = agent({
    cwd,
    model,
    tools: [
      tool({
        name: "Put",
        description: "puts",
        effect: "write",
        input: { type: "object", properties: {} },
        run: ({ text }: any) => (world.wrote.push(text), `wrote ${text}`),
      }),
    ],
    permissions: { mode: "default", ask: ["Put"] },
    hooks: [
      hookOn("session-start", ({ source }: any, ctx) => {
        ctx.values.set("began", source);
        return context(`begun by ${source}`);
      }, { name: "begin" }),
      hookOn("stop", (_, ctx) => void ctx.values.set("stops", ((ctx.values.get("stops") as number) ?? 0) + 1), {
        name: "count",
      }),
      hookOn("user-prompt-submit", (_, ctx) => context(`${ctx.values.get("stops") ?? 0} ${ctx.uuid()}`), {
        name: "number",
      }),
    ],
  });
  const permissionAsker = async () => {
    people.asked++;
    return { behavior: "allow" } as const;
  };
  return { made, permissionAsker };
}

test("the second run of a resumed session goes on after a cut anywhere, with failed attempts and a person; all of it replays", async () => {
  await inFolder(async (dir) => {
    const play = (prompt: string, more: object, world: World, people: { asked: number }) => {
      const { made, permissionAsker } = saver(world, dir, people);
      return made.run(prompt, { permissionAsker, ...more });
    };
    const whole = newWorld();
    const people = { asked: 0 };
    const { id } = await play("one", { log: dir }, whole, people);
    const before = { ...whole, people: people.asked };
    const first = await play("two", { log: dir, resume: id }, whole, people);
    assert.equal(first.stop, "done", JSON.stringify(first.error));
    assert.deepEqual(whole.wrote, ["t1", "t5"]);
    const file = join(dir, `${id}.jsonl`);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const begun = lines.findLastIndex((line) => line.startsWith('{"begin":'));
    const began = lines.findIndex((line, i) => i > begun && line.startsWith('{"seal":'));
    for (let k = began + 1; k < lines.findLastIndex((line) => line.startsWith('{"ended":"main"')); k++) {
      writeFileSync(file, `${lines.slice(0, k).join("\n")}\n${lines[k]!.slice(0, lines[k]!.length / 2)}`);
      const kept = keptOf(file);
      const [world, others] = [newWorld(), { asked: 0 }];
      const result = await play("", { log: dir, resume: id }, world, others);
      const where = `cut at ${k}: ${lines[k - 1]!.slice(0, 80)}`;
      const cut = kept.parts.begun.filter(({ begun }) => !kept.parts.tool.some((fact) => fact.tool === begun)).length;
      if (cut === 0) assert.deepEqual(plain(result.messages), plain(first.messages), where);
      assert.equal(kept.parts.tool.length + world.wrote.length + cut, 2, `effects, ${where}`);
      assert.equal(kept.parts.asked.length + others.asked, people.asked, `answers, ${where}`);
      const replies = kept.calls.filter((call) => isWhole(call)).length - before.models;
      assert.ok(replies + world.models <= whole.models - before.models + 1, `replies, ${where}`);
    }
    const log = readLog(file)!;
    let report: any;
    const session = await saver(newWorld(), dir, { asked: 0 }).made.open({
      log: false,
      tape: { tape: log.tape, onReport: (r: unknown) => report = r },
    });
    for (const prompt of log.prompts) await session.prompt(prompt as string);
    await session.close();
    assert.deepEqual([report.ok, report.divergences, report.notes], [true, [], []]);
  });
});
