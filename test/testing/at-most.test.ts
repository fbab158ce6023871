import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import fixer from "../../fixtures/fix-typo/agent.ts";
import { judge } from "../../lib/replay/invariants.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import { atMost, replay, type Tape } from "../../lib/testing/index.ts";
import type { Limits } from "../../lib/testing/at-most.ts";
import type { Observed } from "../../lib/replay/invariants.ts";
import { put } from "../_scratch.ts";
import { inFolder } from "../replay/_stage.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures", import.meta.url));
const TESTING = new URL("../../lib/testing/index.ts", import.meta.url).href;

/** What a tape breaks, as a replay says it. */
const broken = (limits: Limits, tape: Tape) =>
  judge(atMost(limits), { tape } as Observed).flatMap(({ invariant, seen }) =>
    seen === undefined ? [] : [`${invariant}: ${seen}`]
  );

test("atMost() counts calls, tool calls, tokens and dollars, and lets through what is just at its limits", async () => {
  const tape = await readTape(join(FIXTURES, "fix-typo"));
  assert.deepEqual(broken({ calls: 4, tools: 3, tokens: 60, dollars: 1 }, tape), []);
  assert.deepEqual(broken({ calls: 3, tools: 2, tokens: 59 }, tape), [
    "at most 3 calls: 4",
    "at most 2 tools: 3",
    "at most 59 tokens: 60",
  ]);
  assert.match(broken({ dollars: 0.0001 }, tape).join(), /^at most \$0\.0001: \$0\.000\d+$/);
});

test("atMost() counts over all lanes of a tape", async () => {
  const tape = await readTape(join(FIXTURES, "delegate"));
  const lanes = new Set(tape.calls.map(({ lane }) => lane));
  const ofMain = tape.calls.filter(({ lane }) => lane === "main");
  assert.ok(lanes.size > 1 && ofMain.length < tape.calls.length);
  assert.deepEqual(broken({ calls: ofMain.length }, tape), [`at most ${ofMain.length} calls: ${tape.calls.length}`]);
  const tokens = (calls: Tape["calls"]) => Number(/\d+$/.exec(broken({ tokens: 0 }, { ...tape, calls }).join())![0]);
  assert.ok(tokens(ofMain) < tokens(tape.calls));
});

test("a run whose price or tape is not known breaks a limit, and says so", async () => {
  const tape = await readTape(join(FIXTURES, "fix-typo"));
  const calls = tape.calls.map((call, i) => i === 2 ? { ...call, request: { ...call.request, model: "own" } } : call);
  assert.deepEqual(broken({ dollars: 1_000 }, { ...tape, calls }), ["at most $1000: not known, as own has no price"]);
  assert.deepEqual(broken({ calls: 9 }, { ...tape, header: {} as Tape["header"], calls: [] }), [
    "at most 9 calls: not known, as the run has no tape",
  ]);
});

test("limits that are none are refused", () => {
  assert.throws(
    () => atMost({}),
    /^TypeError: Cannot limit a run as no limit is given: set calls, tools, tokens, dollars/,
  );
  assert.throws(() => atMost({ tokens: -1 }), /'tokens' must be 0 or more: current value is -1/);
  assert.throws(() => atMost({ token: 1 } as Limits), /did you mean 'tokens'\?/);
});

test("replay() judges a run by the limits of invariants.ts beside its tape", async () => {
  await inFolder(async (folder) => {
    cpSync(join(FIXTURES, "fix-typo"), join(folder, "fixtures/fix-typo"), { recursive: true });
    put(folder, {
      "fixtures/fix-typo/invariants.mjs": `import { atMost } from ${
        JSON.stringify(TESTING)
      };\nexport default atMost({ calls: 8, tokens: 20 });\n`,
    });
    await assert.rejects(
      replay(fixer, "fix-typo", { cwd: folder }),
      /Cannot accept the agent of 'fix-typo': at most 20 tokens: 60/,
    );
  });
});
