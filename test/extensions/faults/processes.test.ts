import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import replay from "../../../lib/cli/replay.ts";
import { WRITER, written } from "../../cli/_writer.ts";

/** The agent with a module beside it, which it calls at each prompt and each run of its tool. */
const remembering = (run: string) =>
  `import { prompted, ran } from "./state.ts";
` + WRITER.replace("tools: [Write]", "tools: [{ ...Write, run }]").replace(
    "system:",
    "from: import.meta.url, hooks: { userPromptSubmit: ({ prompt }) => prompted(prompt) }, system:",
  ) + `
function run(input, context) {
  return ${run};
}
`;

test("what a module remembers in its variables never outlives a kill", async () => {
  using w = await written();
  w.given.processes = true;
  w.put({
    "fixtures/write/agent.ts": remembering('ran() ? Write.run(input, context) : "I know of no prompt"'),
    "fixtures/write/state.ts": `let prompts = 0;
export const prompted = (prompt) => void (prompts += prompt === "Write it" ? 1 : 0);
export const ran = () => prompts > 0;\n`,
    "fixtures/write/invariants.ts": `export default [{
      name: "it knows its prompt",
      broken: ({ calls }) => calls("Write").some(({ content }) => content === "I know of no prompt") ? "it does not" : undefined,
    }];\n`,
  });
  assert.equal((await w.call(replay, "write")).code, 0);
  const kept = [{ broke: "once", faults: ["kill after message 1"] }];
  w.put({ "fixtures/write/write.fault.json": JSON.stringify(kept) });
  assert.match(
    (await w.call(replay, "write")).out,
    /not survive 'kill after message 1' .*it knows its prompt: it does not/,
  );
});

/** An invariant that is broken once the tool of the agent has failed so. */
const WORN = `export default [{
  name: "it is never worn out",
  broken: ({ calls }) => calls("Write").some(({ content }) => /worn out/.test(content)) ? "it is" : undefined,
}];\n`;

test("what a module remembers never reaches the next schedule", async () => {
  using w = await written();
  w.given.processes = true;
  w.put({
    "fixtures/write/agent.ts": remembering("ran(Write.run(input, context))"),
    // Bad from its second run on in one process, and good in every process of its own.
    "fixtures/write/state.ts": `let runs = 0;
export const prompted = () => {};
export const ran = (result) => ++runs < 2 ? result : Promise.reject(new Error("It is worn out"));\n`,
    "fixtures/write/invariants.ts": WORN,
  });
  assert.match((await w.call(replay, "--faults", "overloaded")).out, /write +1 +held/);
});

test("what breaks without faults is no fault", async () => {
  using w = await written();
  w.put({
    "fixtures/write/agent.ts": remembering("ran()"),
    "fixtures/write/state.ts": `export const prompted = () => {};
export const ran = () => Promise.reject(new Error("It is worn out"));\n`,
    "fixtures/write/invariants.ts": WORN,
  });
  const { code, out } = await w.call(replay, "--faults", "20", "--seed", "1", "--junit", "plain.xml");
  assert.equal(code, 1);
  assert.match(
    out,
    /write +0 +broken\n\n✗ write: it is never worn out: it is\n {2}without any fault: no schedule was tried\n\nbroken: 1 fixture\n$/,
  );
  assert.ok(!existsSync(`${w.cwd}/fixtures/write/write.fault.json`));
  assert.match(
    readFileSync(`${w.cwd}/plain.xml`, "utf8"),
    /Cannot search for faults that break 'write' as its run breaks without any: it is never worn out: it is/,
  );
  assert.deepEqual(JSON.parse((await w.call(replay, "--faults", "overloaded", "--json")).out).items[0].faults, []);
});

test("an agent that ends its process under a fault has not survived it", async () => {
  using w = await written();
  w.given.processes = true;
  w.put({
    "fixtures/write/agent.ts": WRITER.replace(
      "system:",
      "hooks: { error: () => process.exit(0) }, system:",
    ),
  });
  w.put({ "fixtures/write/write.fault.json": JSON.stringify([{ broke: "once", faults: ["call 1: http:400"] }]) });
  const { items: [{ broke, faults }] } = JSON.parse((await w.call(replay, "--faults", "1", "--json")).out);
  assert.deepEqual([broke, faults], ["the run ends: its process ended", ["call 1: http:400"]]);
});
