import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { agent, deny, tool } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { addUsage, type Message, NO_USAGE } from "../../lib/core/messages.ts";
import { readRollout } from "../../lib/transcript/rollout.ts";
import { tries } from "../_counts.ts";

const root = mkdtempSync(join(tmpdir(), "crochet-rollout-"));
after(() => rmSync(root, { recursive: true }));
let n = 0;

const echo = tool({
  name: "Echo",
  description: "",
  effect: "read",
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  run: ({ text }: { text: string }) => text,
});

const call = fc.record({ name: fc.constantFrom("Echo", "Nope"), input: fc.record({ text: fc.string() }) });
const reply: fc.Arbitrary<ScriptedReply> = fc.oneof(
  fc.record({ text: fc.string({ minLength: 1 }) }),
  fc.record({ tools: fc.array(call, { minLength: 1, maxLength: 3 }) }),
);

test("a rollout alone always has the transcript, the usage and the end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(reply, { maxLength: 6 }), fc.boolean(), async (replies, guarded) => {
      const rollout = join(root, `${n++}.rollout.jsonl`);
      const result = await agent({
        model: scripted(replies, { then: { text: "end" } }),
        tools: [echo],
        ...(guarded && { hooks: { preToolUse: (e) => e.input.text === "" ? deny("empty") : undefined } }),
      }).run("go", { rollout });
      const { lines, id, notes } = readRollout(rollout);
      const messages: Message[] = [];
      let [usage, stop] = [NO_USAGE, ""];
      for (const line of lines) {
        assert.equal(line.agent_id, id);
        if (line.type === "message") messages[line.index] = line.message;
        else if (line.type === "usage") usage = addUsage(usage, line.usage);
        else if (line.type === "end") stop = line.stop;
      }
      assert.deepEqual([messages, usage, stop], [result.messages, result.usage, result.stop]);
      assert.deepEqual(notes, []);
    }),
    { numRuns: tries(40, 400) },
  );
});

test("a rollout keeps each hook run with its ledger, and HookInputs; the transcript never keeps the latter", async () => {
  const rollout = join(root, "hooks.rollout.jsonl");
  let once = true;
  const result = await agent({
    model: scripted([], { then: { text: "ok" } }),
    hooks: {
      turnEnd: (_, ctx) => {
        if (once) ctx.hookInput("look again");
        once = false;
      },
    },
  }).run("go", { rollout });
  const { lines } = readRollout(rollout);
  const fired = lines.filter((l) => l.type === "fired");
  assert.equal(fired.length, 2);
  assert.equal(fired[0]!.folded.runs[0]!.hook, "code:turn-end#0");
  assert.deepEqual(lines.filter((l) => l.type === "hook_input").map((l) => l.text), ["look again"]);
  assert.ok(!JSON.stringify(result.messages).includes("look again"));
});

const HEADER = '{"type":"rollout","version":1,"id":"a","at":""}\n';
const EVENT = '{"type":"warning","agent_id":"a","message":"x","at":""}\n';

test("a damaged rollout is read as far as it can be, with a note of what was left out", () => {
  const path = join(root, "damaged.jsonl");
  const read = (text: string) => {
    writeFileSync(path, text);
    const { lines, notes, id } = readRollout(path);
    return [id, lines.length, ...notes];
  };
  const left = "Lines left out because they are not";
  assert.deepEqual(read(HEADER + EVENT), ["a", 1]);
  assert.deepEqual(read(`${HEADER}${EVENT}{"type":"war`), ["a", 1, `${left} JSON: 3 (1 in all)`]);
  assert.deepEqual(read(`${HEADER}no\n${EVENT}{}\nnull\n`), [
    "a",
    1,
    `${left} JSON: 2 (1 in all)`,
    `${left} events of a run: 2`,
  ]);
  assert.deepEqual(read(EVENT), ["damaged", 1, "The log has no header: its beginning is missing"]);
});

test("a file that is not a rollout, or of an unknown version, is refused", () => {
  const path = join(root, "other.rollout.jsonl");
  writeFileSync(path, HEADER.replace("1", "9"));
  assert.throws(() => readRollout(path), /its version is 9/);
  writeFileSync(path, `{"type":"other"}\n`);
  assert.throws(() => readRollout(path), /no line of it is a rollout's/);
  assert.throws(() => readRollout(join(root, "none")), /no such file/);
});
