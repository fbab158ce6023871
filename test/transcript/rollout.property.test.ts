import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { agent, deny, tool } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { readRollout, retell } from "../../lib/transcript/rollout.ts";
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

test("a rollout alone always tells the transcript, the usage and the end again", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(reply, { maxLength: 6 }), fc.boolean(), async (replies, guarded) => {
      const rollout = join(root, `${n++}.rollout.jsonl`);
      const result = await agent({
        model: scripted(replies, { then: { text: "end" } }),
        tools: [echo],
        ...(guarded && { hooks: { preToolUse: (e) => e.input.text === "" ? deny("empty") : undefined } }),
      }).run("go", { rollout });
      const { lines, id, torn } = readRollout(rollout);
      const told = retell(lines).get(id)!;
      assert.deepEqual([told.messages, told.usage, told.stop], [result.messages, result.usage, result.stop]);
      assert.equal(torn, 0);
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

test("a torn last line is dropped and reported; a version or file it does not know is refused", () => {
  const path = join(root, "torn.rollout.jsonl");
  writeFileSync(
    path,
    `{"type":"rollout","version":1,"id":"a","at":""}\n{"type":"warning","agent_id":"a","message":"x","at":""}\n{"type":"war`,
  );
  assert.deepEqual([readRollout(path).lines.length, readRollout(path).torn], [1, 12]);
  writeFileSync(path, `{"type":"rollout","version":9,"id":"a","at":""}\n`);
  assert.throws(() => readRollout(path), /its version is 9/);
  writeFileSync(path, `{"type":"other"}\n`);
  assert.throws(() => readRollout(path), /no rollout header/);
  assert.throws(() => readRollout(join(root, "none")), /no such file/);
  writeFileSync(path, `{"type":"rollout","version":1,"id":"a","at":""}\nnot json\n{}\n`);
  assert.throws(() => readRollout(path), /line 2 is not JSON/);
  assert.ok(readFileSync(path, "utf8").endsWith("{}\n"));
});
