import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { agent } from "../../../lib/agent/agent.ts";
import type { AgentOptions } from "../../../lib/agent/options.ts";
import { hookOn } from "../../../lib/core/hook.ts";
import { isToolResult } from "../../../lib/core/messages.ts";
import type { RunEvent } from "../../../lib/core/run-events.ts";
import { deny, modify } from "../../../lib/core/verdict.ts";
import { FAULTS, faultText, readFault } from "../../../lib/extensions/faults/fault.ts";
import { INVARIANTS } from "../../../lib/extensions/faults/invariants.ts";
import type { Invariant, Observed } from "../../../lib/replay/invariants.ts";
import { type Faultable, underFaults } from "../../../lib/extensions/faults/under-faults.ts";
import { faults } from "../../../lib/extensions/faults/schedules.ts";
import { searchFaults } from "../../../lib/extensions/faults/search-faults.ts";
import { Write } from "../../../lib/tools/index.ts";
import { tool } from "../../../lib/tools/make-tool.ts";
import { rounds } from "../../_counts.ts";
import { asProcess } from "../../mcp/_start.ts";
import { taped } from "../../replay/_taped.ts";

const look = tool({
  name: "mcp__files__look",
  description: "Looks.",
  input: { type: "object", properties: {} },
  effect: "read",
  run: () => "It is fine.",
});

const guard = hookOn(
  "pre-tool-use",
  ({ input }) => String(input.file_path).endsWith(".env") ? deny("Secrets stay") : undefined,
  { name: "guard" },
);

const shorten = hookOn(
  "post-tool-use",
  ({ result }) => JSON.stringify(result).length > 10_000 ? modify("It was too long") : undefined,
  { name: "shorten", onError: "abort" },
);

const SOUND: AgentOptions = {
  system: "You write.",
  tools: [Write, look],
  hooks: [guard, shorten],
  limits: { seconds: 600 },
};

const made = await taped({
  options: SOUND,
  replies: [
    { tools: [{ name: "mcp__files__look", input: {} }] },
    { tools: [{ name: "Write", input: { file_path: "a.txt", content: "a" } }] },
    { tools: [{ name: "Write", input: { file_path: ".env", content: "b" } }] },
    { tools: [{ name: "mcp__files__look", input: {} }] },
    { text: "It is written." },
  ],
});
after(() => made.remove());

const never = (name: string, is: (seen: Observed) => boolean): Invariant => ({
  name,
  broken: (seen) => is(seen) ? "it does" : undefined,
});

const ALL: readonly Invariant[] = [
  ...INVARIANTS,
  never("it never gives up", ({ results }) => results.some(({ error }) => error?.message.includes("I give up"))),
  never("it never needs a person to end it", ({ results }) => results.some(({ stop }) => stop === "aborted")),
  never("it never writes twice", ({ files }) => files.get("a.txt") === "aa"),
  never("it never sends 100 kB", ({ run }) => JSON.stringify(run.asked.at(-1) ?? []).length > 100_000),
];

/** Gives up at a failure of a tool that it does not bear, once the tool has worked some times. */
function givesUpAt(words: RegExp, of: string, worked = 0): AgentOptions {
  let count = 0;
  const begin = hookOn("session-start", () => void (count = 0), { name: "begin" });
  const works = hookOn(
    "post-tool-use",
    ({ tool_name, outcome }) => void (count += Number(tool_name === of && outcome === "success")),
    { name: "works" },
  );
  const error = hookOn("error", ({ tool, error_message }, { abort }) => {
    if (tool === of && words.test(error_message) && count >= worked) abort("I give up");
  }, { name: "error" });
  return { ...SOUND, hooks: [begin, guard, shorten, works, error] };
}

/** Writes a file again whose write has failed, as somebody would pay again. */
const startsAgain: AgentOptions = {
  ...SOUND,
  hooks: [
    guard,
    shorten,
    hookOn("error", ({ tool }, { cwd }) => {
      if (tool === "Write") appendFileSync(join(cwd, "a.txt"), "a");
    }, { name: "error" }),
  ],
};

/** A listener that throws at a failure of a hook. */
const deafAt = (words: string): AgentOptions => ({
  ...SOUND,
  on: (event: RunEvent) => {
    if (event.type === "hook_end" && event.failure?.includes(words)) throw new Error("I give up");
  },
});

/** Begins its task anew when it is resumed. */
const forgetful: Faultable = {
  open: async ({ resume, store, ...given }) => {
    const session = await agent(SOUND).open({ ...given, ...(resume === undefined && store && { store }) });
    return { prompt: () => session.prompt("Do it"), close: () => session.close() };
  },
};

const PLANTED: { readonly [fault: string]: Faultable } = {
  "tool 1, mcp__files__look: throws": agent(givesUpAt(/^A fault of the schedule$/, look.name)),
  "tool 1, Write: fails after it worked": agent(startsAgain),
  "tool 1, Write: ENOSPC": agent(givesUpAt(/^ENOSPC/, "Write")),
  "tool 1, mcp__files__look: never ends": agent({ ...SOUND, limits: {} }),
  "tool 1, mcp__files__look: huge": agent({ ...SOUND, hooks: [guard] }),
  "hook guard, 3: crash": agent({ ...SOUND, hooks: [{ ...guard, onError: "continue" }, shorten] }),
  "hook guard, 1: timeout": agent(deafAt("longer than its limit")),
  "hook guard, 1: nonsense": agent(deafAt("nonsense")),
  "mcp files: gone after 1": agent(givesUpAt(/server is gone/, look.name, 1)),
  "kill after message 5": forgetful,
};

test("each kind of fault beside replies is planted here", () => {
  const planted = Object.keys(PLANTED).map((text) => readFault(text).what);
  const kinds = Object.entries(FAULTS).flatMap(([kind, { places }]) =>
    places.some((place) => ["tool", "hook", "mcp", "message"].includes(place)) ? [kind] : []
  );
  assert.deepEqual(planted.sort(), kinds.sort(), "test/extensions/faults/seams.test.ts");
});

/** One of each place, and soon found: others are searched for in `test:more`. */
const SEARCHED = new Set([
  "tool 1, mcp__files__look: throws",
  "hook guard, 3: crash",
  "mcp files: gone after 1",
  "kill after message 5",
]);

for (const [fault, planted] of Object.entries(PLANTED)) {
  test(`a search always finds and shrinks what is planted: ${fault}`, async () => {
    const how = { files: made.files, invariants: ALL };
    for (const seed of [1, 2, 3].slice(0, rounds(SEARCHED.has(fault) ? 1 : 0, 3, 3))) {
      const { found } = await searchFaults(planted, made.tape, { ...how, runs: 1000, seed });
      assert.deepEqual(found?.faults.map(faultText), [fault]);
    }
    const brokenIn = async (subject: Faultable) =>
      (await underFaults(subject, made.tape, [readFault(fault)], how)).broken.length;
    assert.deepEqual([await brokenIn(agent(SOUND)), await brokenIn(planted) > 0], [0, true]);
  });
}

test(
  "a tool in which the process is killed, or that fails afterwards, has always done its work once",
  async () => {
    const came = async (fault: string, subject: Faultable = agent(SOUND)) => {
      const { broken, result, observed } = await underFaults(subject, made.tape, [readFault(fault)], {
        files: made.files,
      });
      const results = result!.messages.flatMap(({ content }) => content.filter(isToolResult));
      return { broken: broken.map(({ seen }) => seen), file: observed.files.get("a.txt"), text: result?.text, results };
    };
    for (const fault of ["tool 1, Write: kill", "tool 1, Write: fails after it worked"]) {
      const { broken, file, text, results } = await came(fault);
      assert.deepEqual([broken, file, text], [[], "a", "It is written."], fault);
      assert.equal(results[1]!.is_error, true, fault);
    }
    assert.equal((await came("tool 1, Write: throws")).file, undefined);
    assert.match((await came("tool 1, Write: kill", forgetful)).broken[0]!, /^Write \(\w+\) ran 2 times$/);
  },
);

test("no schedule of faults ever breaks an agent that bears each of them", async () => {
  const sound = agent(SOUND);
  const { observed } = await underFaults(sound, made.tape, [], { files: made.files });
  const hit = new Set<string>();
  await fc.assert(
    fc.asyncProperty(faults(made.tape, observed), async (schedule) => {
      for (const { on } of schedule) hit.add(on ?? "reply");
      assert.deepEqual((await underFaults(sound, made.tape, schedule, { files: made.files })).broken, []);
    }),
    { numRuns: rounds(12, 1000, 60) },
  );
  assert.deepEqual([...hit].sort(), ["hook", "mcp", "message", "reply", "tool"]);
});

test("an MCP server that is gone answers no further call, and the run goes on", async () => {
  const options = { system: "You echo.", mcp: { servers: { srv: asProcess() } } };
  const echo = (text: string) => ({ tools: [{ name: "mcp__srv__echo", input: { text } }] });
  const run = await taped({ options, replies: [echo("a"), echo("b"), { text: "It is over." }] });
  const { broken, observed, result } = await underFaults(agent(options), run.tape, [
    readFault("mcp srv: gone after 1"),
  ]);
  run.remove();
  assert.deepEqual([broken, result?.text], [[], "It is over."]);
  assert.deepEqual(observed.calls().map(({ outcome, content }) => [outcome, content]), [
    ["success", "echo a"],
    ["failure", "Cannot call mcp__srv__echo as the MCP server is gone: A fault of the schedule"],
  ]);
});
