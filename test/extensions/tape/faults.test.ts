import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { faultText, readFault } from "../../../lib/extensions/faults/fault.ts";
import { FaultRun } from "../../../lib/extensions/faults/fault-run.ts";
import { INVARIANTS } from "../../../lib/extensions/faults/invariants.ts";
import { underFaults } from "../../../lib/extensions/faults/under-faults.ts";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { COMMAND_INVARIANTS, commandAgent } from "../../../lib/extensions/tape/faults.ts";
import { recordCommand } from "../../../lib/extensions/tape/run-command.ts";
import { searchFaults } from "../../../lib/extensions/faults/search-faults.ts";
import { RUNTIME } from "../../_runtime.ts";
import { scratch } from "../../_scratch.ts";
import { serve } from "../../_server.ts";

/** A client that runs what the model calls; a careless one takes an answer for granted. */
const client = (careless: boolean) => `
const body = JSON.stringify({ model: "gpt", stream: true, messages: [{ role: "user", content: "read a.md" }] });
let json = "";
try {
  const response = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", body });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  for (const [, data] of text.matchAll(/^data: ({.*})$/gm)) {
    json += JSON.parse(data).choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? "";
  }
} catch (error) {
  if (!${careless}) throw error;
}
console.log("input " + json);`;

const FRAMES = ['{"path":', '"a.md"', "}"].map((piece, i) =>
  JSON.stringify({
    id: "c",
    model: "gpt",
    choices: [{
      index: 0,
      delta: {
        tool_calls: [{
          index: 0,
          ...(i === 0 && { id: "t" }),
          function: { ...(i === 0 && { name: "read" }), arguments: piece },
        }],
      },
      ...(i === 2 && { finish_reason: "tool_calls" }),
    }],
  })
);

async function recorded() {
  const folder = scratch({ "careless.mjs": client(true), "careful.mjs": client(false) });
  using api = await serve((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end([...FRAMES, "[DONE]"].map((data) => `data: ${data}\n\n`).join(""));
  });
  const fixture = fixtureAt(join(folder.path, "fixtures", "one"));
  const env = { ...process.env, OPENAI_BASE_URL: api.url };
  const command = [...RUNTIME, "careful.mjs"];
  const { tape } = await recordCommand(fixture, { command, cwd: folder.path, env, quiet: true });
  return { tape, files: folder.path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const agentOf = (file: string) => commandAgent(() => [...RUNTIME, file], process.env);
const invariants = [...INVARIANTS, ...COMMAND_INVARIANTS];

test("a search finds the fault that a careless program hides, makes it small, and finds none in a careful one", async () => {
  using run = await recorded();
  const { tape, files } = run;
  const { found } = await searchFaults(agentOf("careless.mjs"), tape, { files, invariants, runs: 30, seed: 1 });
  assert.match(found!.broke, /^the command reports a failure if its last request failed/);
  assert.equal(found!.faults.length, 1, found!.faults.map(faultText).join());
  const careful = await searchFaults(agentOf("careful.mjs"), tape, { files, invariants, runs: 6, seed: 1 });
  assert.equal(careful.found, undefined);
});

test("faults fall on the frames of another API: pieces of a tool's input are lost, streams cut, statuses sent", async () => {
  using run = await recorded();
  const printed = async (fault: string) => {
    const { result } = await underFaults(agentOf("careful.mjs"), run.tape, [readFault(fault)], {
      files: run.files,
      invariants,
    });
    return [result!.stop, result!.text.trim()];
  };
  assert.deepEqual(await printed("call 1, tool_use:read: json truncate"), ["done", "input"]);
  assert.deepEqual(await printed("call 1, tool_use:read, delta 1: cut"), ["done", 'input {"path":']);
  assert.deepEqual(await printed("call 1: http:529"), ["error", ""]);
});

test("a status that asks for a wait has its header in every API", async () => {
  using run = await recorded();
  const [{ lane, request, sent }] = run.tape.calls as [typeof run.tape.calls[0]];
  const faults = new FaultRun(run.tape, [readFault("call 1: http:429:retry-after=2")]);
  const [attempt] = faults.take(lane, request, request, sent).attempts;
  assert.deepEqual([attempt?.status, attempt?.headers?.["retry-after"]], [429, "2"]);
});

test("an invariant may ask for what a command printed and how it ended", async () => {
  using run = await recorded();
  const seen: unknown[] = [];
  const own = {
    name: "it prints its input",
    broken: ({ results }: { results: readonly { text: string; stop: string }[] }) => {
      seen.push(results.map(({ text, stop }) => [text, stop]));
      return undefined;
    },
  };
  await underFaults(agentOf("careful.mjs"), run.tape, [readFault("call 1: http:400")], {
    files: run.files,
    invariants: [own],
  });
  assert.deepEqual(seen, [[["", "error"]]]);
});
