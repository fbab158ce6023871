import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { agent } from "../../../lib/agent/agent.ts";
import { tool } from "../../../lib/tools/make-tool.ts";
import { fixturesIn } from "../../../lib/replay/fixture.ts";
import { readTape } from "../../../lib/replay/read-tape.ts";
import type { Tape } from "../../../lib/log/tape.ts";
import { type Faultable, type UnderFaults, underFaults } from "../../../lib/extensions/faults/under-faults.ts";
import { faults } from "../../../lib/extensions/faults/schedules.ts";
import { agentTool, Read, Write } from "../../../lib/tools/index.ts";
import { tries } from "../../_counts.ts";
import { taped } from "../../replay/_taped.ts";

interface Example {
  readonly name: string;
  readonly agent: Faultable;
  readonly tape: Tape;
  readonly files: string | undefined;
  /** Whether its transcript depends on who is faster. */
  readonly races?: true;
}

const examples: Example[] = [];
for (const { name, folder, tape, files } of fixturesIn(fileURLToPath(new URL("../../../fixtures", import.meta.url)))) {
  const { default: made } = await import(`${folder}/agent.ts`);
  examples.push({ name, agent: made, tape: await readTape(tape), files });
}

/** Beside the examples: thinking, two tools that read at a time, a stop hook, and agents in parallel or in the background. */
async function scouting(name: string, background: boolean): Promise<Example & { remove: () => void }> {
  const look = tool({
    name: "Look",
    description: "Looks.",
    input: { type: "object", properties: { at: { type: "string" } } },
    effect: "read",
    run: ({ at }: { at: string }) => `${at} — fine 🧶`,
  });
  const options = {
    system: "You lead.",
    tools: [Read, Write, look, agentTool({ agents: { scout: { description: "Scouts", tools: ["Look", "Write"] } } })],
    hooks: {
      stop: ({ last_assistant_message }: { last_assistant_message: string }) =>
        last_assistant_message.includes("all") ? undefined : { deny: "Do all of it" },
    },
  };
  const scout = (task: string, run_in_background: boolean) => ({
    name: "Agent",
    input: { description: task, prompt: task, subagent_type: "scout", ...(run_in_background && { run_in_background }) },
  });
  const made = await taped({
    options: options as never,
    replies: [
      {
        thinking: "Look first.",
        tools: [{ name: "Look", input: { at: "the northern gate, from afar" } }, {
          name: "Look",
          input: { at: "die Brücke über den Fluß 🧶" },
        }],
      },
      { text: "Now the others.", tools: [scout("north", false), scout("south", background)] },
      { text: "I am done." },
      { text: "Once more.", tools: [{ name: "Write", input: { file_path: "log.txt", content: "north, south\n" } }] },
      { text: "That is all." },
      ...(background ? [{ text: "The south is fine too, that is all." }] : []),
    ],
    script: {
      routes: ["north", "south"].map((task) => ({
        when: ({ messages }) => JSON.stringify(messages[0]).includes(`"${task}"`),
        replies: [
          { tools: [{ name: "Write", input: { file_path: `${task}.txt`, content: task } }] },
          { text: `The ${task} is fine.` },
        ],
      })),
    },
  });
  return { name, agent: agent(options as never), ...made, ...(background && { races: true }) };
}

for (const made of [await scouting("sub-agents", false), await scouting("background", true)]) {
  after(made.remove);
  examples.push(made);
}

/** The transcript, wherever the workspace was, without the ids that agents are given. */
function told({ result }: UnderFaults): unknown {
  const text = JSON.stringify([result?.stop, result?.error?.type, result?.messages ?? null]);
  const places: [RegExp, string][] = [
    [/crochet-replay-\w+/g, "workspace"],
    [/\ba[0-9a-f]{16}\b/g, "an agent"],
    [/https?:\/\/[\w.:]+/g, "the API"],
  ];
  return JSON.parse(places.reduce((words, [place, name]) => words.replace(place, name), text));
}

test("the examples of fixtures are all here", () => {
  assert.deepEqual(examples.map(({ name }) => name), [
    "delegate",
    "fix-typo",
    "hello",
    "keep-going",
    "sub-agents",
    "background",
  ]);
});

for (const { name, agent: made, tape, files, races } of examples) {
  test(`${name}: no schedule of faults ever breaks an invariant`, async () => {
    const { observed } = await underFaults(made, tape, [], { files });
    await fc.assert(
      fc.asyncProperty(faults(tape, observed), async (schedule) => {
        assert.deepEqual((await underFaults(made, tape, schedule, { files })).broken, []);
      }),
      { numRuns: tries(5, 1000, 20) },
    );
  });

  if (races) continue;

  test(
    `${name}: a schedule always has the same result over the SDK's wire`,
    async () => {
      await fc.assert(
        fc.asyncProperty(faults(tape), async (schedule) => {
          const seam = await underFaults(made, tape, schedule, { files });
          const wire = await underFaults(made, tape, schedule, { files, wire: true });
          assert.deepEqual(wire.broken, []);
          assert.deepEqual(told(wire), told(seam));
        }),
        { numRuns: tries(3, 100, 6) },
      );
    },
  );
}
