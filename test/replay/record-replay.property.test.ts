import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { type Agent, agent, type AgentOptions } from "../../lib/index.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { conversation, rough } from "./_arbitraries.ts";
import { Fail, inFolder, Look, Note, offline, recordWire, take, tapeIn, type Told } from "./_stage.ts";

const tools = [Look, Note, Fail];
const script = { then: { text: "over" } };

/** A hook that shows the model everything a tape must bring back: time, chance, its place. */
const telling: AgentOptions = {
  system: "You look and note.",
  tools,
  hooks: [{
    name: "tell",
    onEvent(event, ctx) {
      if (event.event === "iteration" || event.event === "post-tool-use") {
        ctx.addContext(`${ctx.now().toISOString()} ${ctx.uuid()} ${ctx.random()} ${ctx.cwd} ${event.timestamp}`);
      }
      return event.event === "stop" && event.continuations === 0
        ? { action: "deny", reason: `not at ${ctx.now()}` }
        : undefined;
    },
  }],
};

function assertSame(again: Told, recorded: Told): void {
  assert.deepEqual(again.report?.divergences, []);
  assert.deepEqual(again.result, recorded.result);
  assert.deepEqual(again.files, recorded.files);
  assert.deepEqual(again.events, recorded.events);
  assert.equal(again.report?.ok, true);
}

/** How a run is recorded, and the agent that only its tape can answer. */
const WAYS: [
  how: string,
  record: (replies: readonly ScriptedReply[], folder: string) => Promise<Told>,
  again: Agent,
][] = [
  ["over the wire", (replies, folder) => recordWire(telling, replies, { folder, script }), offline(telling)],
  ["at the Model seam", (replies, folder) => {
    const model = scripted(replies.filter(({ http }) => http === undefined), script);
    return take(agent({ ...telling, model }), { folder, tape: { path: folder, mode: "record" } });
  }, agent({ ...telling, model: scripted([]) })],
];

for (const [how, record, again] of WAYS) {
  test(`a run recorded ${how} always replays to the same result, transcript, events and files, at the seam and over the wire, wherever its bytes are cut`, async () => {
    await fc.assert(
      fc.asyncProperty(
        how === "over the wire" ? rough : conversation,
        fc.array(fc.integer({ min: 1, max: 4000 }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 21 }),
        async (replies, cuts, size) => {
          await inFolder(async (folder) => {
            const recorded = await record([...replies, { text: "at last" }], folder);
            assert.deepEqual(recorded.warnings.filter((w) => w.includes("Cannot write")), []);
            const wires = [{ wire: false }, { wire: true }, { wire: true, cutAt: size }, {
              wire: true,
              cutAt: () => cuts,
            }];
            for (const wire of wires) {
              assertSame(await take(again, { folder, tape: { path: folder, ...wire } }), recorded);
            }
          });
        },
      ),
      { numRuns: tries(3, 300, 8) },
    );
  });
}

test("a tape always replays in another workspace: its own paths are put in place of the recorded ones", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async (replies) => {
      await inFolder(async (folder) => {
        const here = join(folder, "work");
        const told = replies.map((reply) => ({ ...reply, text: `${reply.text ?? ""} see ${here}/notes.txt` }));
        const recorded = await recordWire(telling, [...told, { text: "at last" }], { folder, script });
        assert.equal(readFileSync(tapeIn(folder), "utf8").includes(here), false);
        const elsewhere = await take(offline(telling), { folder, work: "quite/elsewhere", tape: { path: folder } });
        assert.deepEqual(elsewhere.report?.divergences, []);
        const moved = JSON.stringify(recorded.result.messages).replaceAll(here, join(folder, "quite/elsewhere"));
        assert.equal(JSON.stringify(elsewhere.result.messages), moved);
      });
    }),
    { numRuns: tries(3, 150, 6) },
  );
});
