import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { agent, type AgentOptions } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { conversation, rough } from "./_arbitraries.ts";
import { Fail, inFolder, Look, Note, offline, recordWire, take, tapeIn, type Told } from "./_stage.ts";

const tools = [Look, Note, Fail];

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
  assert.deepEqual(again.rollout, recorded.rollout);
  assert.equal(again.report?.ok, true);
}

test("a run recorded over the wire always replays to the same result, transcript, rollout and files, at the seam and over the wire", async () => {
  await fc.assert(
    fc.asyncProperty(rough, async (replies) => {
      await inFolder(async (folder) => {
        const recorded = await recordWire(telling, [...replies, { text: "at last" }], {
          folder,
          script: { then: { text: "over" } },
        });
        assert.deepEqual(recorded.warnings.filter((w) => w.includes("Cannot write")), []);
        assertSame(await take(offline(telling), { folder, tape: { path: folder } }), recorded);
        assertSame(await take(offline(telling), { folder, tape: { path: folder, wire: true } }), recorded);
      });
    }),
    { numRuns: tries(8, 300) },
  );
});

test("a run recorded at the Model seam always replays the same, at the seam and over the wire", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async (replies) => {
      await inFolder(async (folder) => {
        const plain = replies.filter((reply) => reply.http === undefined);
        const model = scripted([...plain, { text: "at last" }], { then: { text: "over" } });
        const recorded = await take(agent({ ...telling, model }), { folder, tape: { path: folder, mode: "record" } });
        const again = agent({ ...telling, model: scripted([]) });
        assertSame(await take(again, { folder, tape: { path: folder } }), recorded);
        assertSame(await take(again, { folder, tape: { path: folder, wire: true } }), recorded);
      });
    }),
    { numRuns: tries(8, 300) },
  );
});

test("re-chunking a recorded body never changes anything", async () => {
  await fc.assert(
    fc.asyncProperty(
      rough,
      fc.array(fc.integer({ min: 1, max: 4000 }), { maxLength: 40 }),
      fc.integer({ min: 1, max: 21 }),
      async (replies, cuts, size) => {
        await inFolder(async (folder) => {
          const recorded = await recordWire(telling, [...replies, { text: "at last" }], {
            folder,
            script: { then: { text: "over" } },
          });
          for (const cutAt of [size, () => cuts]) {
            assertSame(await take(offline(telling), { folder, tape: { path: folder, wire: true, cutAt } }), recorded);
          }
        });
      },
    ),
    { numRuns: tries(6, 150) },
  );
});

test("a tape always replays in another workspace: its own paths are put in place of the recorded ones", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async (replies) => {
      await inFolder(async (folder) => {
        const here = join(folder, "work");
        const told = replies.map((reply) => ({ ...reply, text: `${reply.text ?? ""} see ${here}/notes.txt` }));
        const recorded = await recordWire(telling, [...told, { text: "at last" }], {
          folder,
          script: { then: { text: "over" } },
        });
        assert.equal(readFileSync(tapeIn(folder), "utf8").includes(here), false);
        const elsewhere = await take(offline(telling), { folder, work: "quite/elsewhere", tape: { path: folder } });
        assert.deepEqual(elsewhere.report?.divergences, []);
        const moved = JSON.stringify(recorded.result.messages).replaceAll(here, join(folder, "quite/elsewhere"));
        assert.equal(JSON.stringify(elsewhere.result.messages), moved);
      });
    }),
    { numRuns: tries(6, 150) },
  );
});
