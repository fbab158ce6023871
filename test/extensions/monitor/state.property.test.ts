import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { promptTypeOf } from "../../../lib/extensions/monitor/note.ts";
import { type AgentEvent, type AgentState, nextState, stateOf } from "../../../lib/extensions/monitor/monitor-log.ts";
import { tries } from "../../_counts.ts";

const at = fc.constant("2026-01-01T00:00:00.000Z");
const event: fc.Arbitrary<AgentEvent> = fc.oneof(
  fc.record({ type: fc.constant("start" as const), at }),
  fc.record({
    type: fc.constant("prompt" as const),
    prompt_type: fc.constantFrom("plan_approval" as const, "question" as const, "permission" as const),
    message: fc.string(),
    at,
  }),
  fc.record({ type: fc.constant("activity" as const), at }),
  fc.record({ type: fc.constant("turn_end" as const), at }),
  fc.record({ type: fc.constant("left" as const), at }),
  fc.record({ type: fc.constant("end" as const), failed: fc.boolean(), at }),
);

test("U14: an agent that has ended is never brought back", () => {
  fc.assert(
    fc.property(fc.array(event), fc.boolean(), fc.array(event), (before, failed, later) => {
      const ended = stateOf([...before, { type: "end", failed, at: "" }]);
      assert.deepEqual(stateOf([...before, { type: "end", failed, at: "" }, ...later]), ended);
    }),
    { numRuns: tries(200, 2000) },
  );
});

const asked = (prompt_type: "plan_approval" | "question" | "permission"): AgentEvent => {
  return { type: "prompt", prompt_type, message: "", at: "" };
};

// Kills: the latest prompt wins, which hides a question behind the permission that asking it needs.
test("U14: a permission prompt never takes the place of a question or a plan", () => {
  const first = fc.constantFrom("plan_approval" as const, "question" as const);
  const before = fc.array(event.filter(({ type }) => type !== "end"));
  fc.assert(
    fc.property(before, first, (events, type) => {
      const pending = stateOf([...events, asked(type)])!;
      assert.deepEqual([pending.state, "prompt_type" in pending && pending.prompt_type], ["prompting", type]);
      assert.deepEqual(nextState(pending, asked("permission")), pending);
    }),
    { numRuns: tries(200, 2000) },
  );
});

test("U14: activity always dismisses what is pending, and only a prompting agent has something pending", () => {
  fc.assert(
    fc.property(fc.array(event), event, (before, next) => {
      const now = stateOf(before);
      const then = nextState(now, next);
      if (!isEnded(now)) assert.equal(nextState(now, { type: "activity", at: "" }).state, "working");
      assert.equal("prompt_type" in then, then.state === "prompting");
    }),
    { numRuns: tries(200, 2000) },
  );
});

function isEnded(state: AgentState | undefined): boolean {
  return state?.state === "stopped" || state?.state === "failed";
}

for (
  const [tool, type] of [
    ["ExitPlanMode", "plan_approval"],
    ["EnterPlanMode", "plan_approval"],
    ["AskUserQuestion", "question"],
    ["Bash", undefined],
    ["toString", undefined],
    [undefined, undefined],
    [5, undefined],
  ] as const
) {
  test(`S2.4, S2.5, S2.18: tool ${String(tool)} waits for ${type ?? "nothing"}`, () => {
    assert.equal(promptTypeOf(tool), type);
  });
}
