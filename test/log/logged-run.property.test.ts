import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { agent, deny, tool } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { addUsage, type Message, NO_USAGE } from "../../lib/core/messages.ts";
import { readLoggedRun } from "../../lib/log/logged-run.ts";
import { tries } from "../_counts.ts";
import { logText } from "../_log.ts";

const root = mkdtempSync(join(tmpdir(), "crochet-logged-run-"));
after(() => rmSync(root, { recursive: true }));
const logged = (id: string) => readLoggedRun(join(root, `${id}.jsonl`));

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

test("a log alone always has the transcript, the usage and the end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(reply, { maxLength: 6 }), fc.boolean(), async (replies, guarded) => {
      const result = await agent({
        model: scripted(replies, { then: { text: "end" } }),
        tools: [echo],
        ...(guarded && { hooks: { preToolUse: (e) => e.input.text === "" ? deny("empty") : undefined } }),
      }).run("go", { log: root });
      const { events, id, notes } = logged(result.id);
      const messages: Message[] = [];
      let [usage, stop] = [NO_USAGE, ""];
      for (const event of events) {
        assert.equal(event.agent_id, id);
        if (event.type === "message") messages[event.index] = event.message;
        else if (event.type === "usage") usage = addUsage(usage, event.usage);
        else if (event.type === "end") stop = event.stop;
      }
      assert.deepEqual([messages, usage, stop], [result.messages, result.usage, result.stop]);
      assert.deepEqual(notes, []);
    }),
    { numRuns: tries(40, 400) },
  );
});

test("a log keeps each hook run with its ledger, and HookInputs; the transcript never keeps the latter", async () => {
  let once = true;
  const result = await agent({
    model: scripted([], { then: { text: "ok" } }),
    hooks: {
      turnEnd: (_, ctx) => {
        if (once) ctx.hookInput("look again");
        once = false;
      },
    },
  }).run("go", { log: root });
  const { events } = logged(result.id);
  const fired = events.filter((e) => e.type === "fired");
  assert.equal(fired.length, 2);
  assert.equal(fired[0]!.folded.runs[0]!.hook, "code:turn-end#0");
  assert.deepEqual(events.filter((e) => e.type === "hook_input").map((e) => e.text), ["look again"]);
  assert.ok(!JSON.stringify(result.messages).includes("look again"));
});

test("a log whose run was cut off is read as far as it goes, with a note of what is missing", async () => {
  const { id } = await agent({ model: scripted([{ text: "ok" }]) }).run("go", { log: root });
  const text = readFileSync(join(root, `${id}.jsonl`), "utf8");
  writeFileSync(join(root, "cut.jsonl"), text.slice(0, text.indexOf('{"ended"') + 5));
  const { events, notes } = logged("cut");
  assert.equal(events.length, logged(id).events.length - 1);
  const continued = `Its last run has not ended: crochet run --resume ${id} continues it`;
  assert.deepEqual(notes, ["Its last line is cut off", continued]);
});

for (
  const [text, why] of [
    [logText("a", []).replace(/"log":\d+/, '"log":99'), /its version is 99: update crochet/],
    ['{"type":"rollout","version":1,"id":"a","at":""}\n', /its line 1 is not the header of a log/],
    [`${logText("a", [])}no\n{}\n`, /line 2 is not JSON/],
    [`${logText("a", [])}{}\n`, /its line 2 is not a log's/],
    [undefined, /no such file: 'crochet runs'/],
  ] as const
) {
  test(`what is no log of ours is refused: ${why.source}`, () => {
    const path = join(root, "other.jsonl");
    if (text === undefined) rmSync(path, { force: true });
    else writeFileSync(path, text);
    assert.throws(() => logged("other"), why);
  });
}
