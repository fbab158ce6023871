import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunOptions } from "../../lib/agent/options.ts";
import type { TypedHooks } from "../../lib/hooks/code-hooks.ts";
import { agent, type AgentOptions, ask, keepGoing } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Agent } from "../../lib/tools/index.ts";
import { inFolder, Note, note, take } from "./_stage.ts";

const REPLIES = [note("one"), note("two"), { text: "done" }];

/** An agent whose model answers, or that has only its tape. */
const subject = (replies: Parameters<typeof scripted>[0], more: AgentOptions = {}) =>
  agent({ tools: [Note], ...more, model: scripted(replies) });

const OUTSIDE: [who: string, run: RunOptions][] = [
  ["a rule", { permissions: { deny: ["Note"] } }],
  ["rules, as nobody could be asked,", { permissions: { ask: ["Note"] } }],
  ["a person", {
    permissions: { ask: ["Note"] },
    permissionAsker: () => Promise.resolve({ behavior: "deny", reason: "not now" }),
  }],
];

for (const [who, run] of OUTSIDE) {
  test(`a call that was refused by ${who} is refused in the same words on replay, without that rule, person or hook`, async () => {
    await inFolder(async (folder) => {
      const path = join(folder, "kept");
      const was = await take(subject(REPLIES), { folder, tape: { path, mode: "record" }, run });
      const is = await take(subject([]), { folder, tape: { path } });
      assert.equal(is.report!.ok, true);
      assert.deepEqual(is.result.messages, was.result.messages);
      assert.equal(is.files.has("notes.txt"), false);
    });
  });
}

test("a replay decides by the rules of today's script, and never by those that a run brings along", async () => {
  await inFolder(async (folder) => {
    const path = join(folder, "kept");
    const denies = { permissions: { deny: ["Note"] } };
    await take(subject(REPLIES, denies), { folder, tape: { path, mode: "record" } });
    assert.match(readFileSync(join(path, "tape.jsonl"), "utf8"), /"permissions":\{"deny":\["Note"\]\}/);
    const run: RunOptions = { permissions: { allow: ["Note"] } };
    const same = await take(subject([], denies), { folder, tape: { path }, run });
    assert.deepEqual([same.files.has("notes.txt"), same.report!.ok], [false, true]);
    const lost = await take(subject([]), { folder, tape: { path } });
    assert.deepEqual(lost.report!.divergences[0]!.words, "permissions.deny lost a rule");
    const file = join(path, "tape.jsonl");
    writeFileSync(file, readFileSync(file, "utf8").replace(/"own":\{.*?\}\},/, ""));
    const older = await take(subject([]), { folder, tape: { path } });
    assert.deepEqual([older.files.has("notes.txt"), older.report!.ok], [false, true]);
    assert.deepEqual(older.report!.notes, ["rules not compared: record again"]);
  });
});

test("each answer of a person is on the tape: a replay asks no person and does the same, also below another agent", async () => {
  const delegate = { tools: [{ name: "Agent", input: { description: "notes", prompt: "note both" } }] };
  const asking: [more: AgentOptions, run?: RunOptions, replies?: Parameters<typeof scripted>[0]][] = [
    [{ permissions: { ask: ["Note"] } }],
    [{ hooks: { preToolUse: () => ask("really?") } }],
    [{ tools: [Agent, Note] }, { permissions: { ask: ["Note"] } }, [delegate, ...REPLIES, { text: "all done" }]],
  ];
  for (const [more, own = {}, replies = REPLIES] of asking) {
    await inFolder(async (folder) => {
      const tape = { path: join(folder, "kept") };
      let asked = 0;
      const person = () => Promise.resolve({ behavior: asked++ === 0 ? "allow" : "deny" } as const);
      const run = { ...own, permissionAsker: person };
      const was = await take(subject(replies, more), { folder, tape: { ...tape, mode: "record" }, run });
      const never: RunOptions = { permissionAsker: () => Promise.reject(new Error("asked")) };
      const is = await take(subject([], more), { folder, tape, run: never });
      assert.deepEqual([asked, is.report!.ok, is.files.get("notes.txt")], [2, true, "one\n"]);
      assert.deepEqual([is.result.messages, is.files], [was.result.messages, was.files]);
    });
  }
});

test("an older tape, without rules and answers, replays by the agent's own rules, else without any, and drift says so", async () => {
  await inFolder(async (folder) => {
    const path = join(folder, "kept");
    const file = join(path, "tape.jsonl");
    const run: RunOptions = {
      permissions: { ask: ["Note"] },
      permissionAsker: () => Promise.resolve({ behavior: "allow" }),
    };
    await take(subject(REPLIES), { folder, tape: { path, mode: "record" }, run });
    const lines = readFileSync(file, "utf8").split("\n").filter((line) => !line.startsWith('{"asked"'));
    writeFileSync(file, lines.join("\n").replace(/"permissions":\{[^}]*\},/, ""));
    const plain = await take(subject([]), { folder, tape: { path }, run: { permissions: { deny: ["Note"] } } });
    assert.deepEqual([plain.files.get("notes.txt"), plain.report!.ok], ["one\ntwo\n", true]);
    const { report } = await take(subject([], { permissions: { ask: ["Note"] } }), { folder, tape: { path } });
    assert.match(report!.divergences[0]!.words, /, as it is refused here: a replay asks no person/);
  });
});

test("refusals outlast an update", async () => {
  await inFolder(async (folder) => {
    const path = join(folder, "kept");
    const [, run] = OUTSIDE[0]!;
    await take(subject(REPLIES), { folder, tape: { path, mode: "record" }, run });
    const again = {
      stop: ({ stop_hook_active }) => stop_hook_active ? undefined : keepGoing("look again"),
    } satisfies TypedHooks;
    const goesOn = (replies: Parameters<typeof scripted>[0]) => subject(replies, { hooks: again });
    const was = await take(goesOn([{ text: "looked" }]), { folder, tape: { path, mode: "update" } });
    const is = await take(goesOn([]), { folder, tape: { path } });
    assert.deepEqual([is.report!.ok, is.report!.calls.served], [true, 4]);
    assert.deepEqual(is.result.messages, was.result.messages);
  });
});

test("hooks see again that a person was asked and refused", async () => {
  await inFolder(async (folder) => {
    const path = join(folder, "kept");
    const told: string[] = [];
    const hooks = { notification: ({ message }) => void told.push(message) } satisfies TypedHooks;
    const asking: RunOptions = {
      permissions: { ask: ["Note"] },
      permissionAsker: () => Promise.resolve({ behavior: "deny" }),
    };
    const was = await take(subject(REPLIES, { hooks }), { folder, tape: { path, mode: "record" }, run: asking });
    const is = await take(subject([], { hooks }), { folder, tape: { path }, run: asking });
    assert.deepEqual(is.events, was.events);
    assert.deepEqual(told.slice(2), told.slice(0, 2));
    assert.equal(told.length, 4);
  });
});
