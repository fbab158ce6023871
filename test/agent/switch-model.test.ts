import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelError } from "../../lib/core/model.ts";
import { recovery } from "../../lib/agent/recovery.ts";
import { ask, context, deny, modify } from "../../lib/core/verdict.ts";
import { scripted, type ScriptEntry } from "../../lib/testing/index.ts";
import { last, named, stage } from "../core/_stage.ts";

/** A model that is overloaded, or refuses, unless it has one of these names. */
function busyUnless(names: readonly string[], how: "overloaded" | "refusal") {
  const then: ScriptEntry = (request) => {
    if (names.includes(request.model)) return { text: `I am ${request.model}` };
    if (how === "refusal") return { text: "no", stop_reason: "refusal" };
    throw new ModelError("busy", { code: "overloaded_error" });
  };
  return scripted([], { then });
}

test("U6, S3.8, C16: model-switch fires before another model stands in: deny keeps the old one, modify names a third", async () => {
  const rows: [answer: unknown, text: string, models: string[]][] = [
    [undefined, "I am spare", ["claude-test", "spare"]],
    [modify("third"), "I am third", ["claude-test", "third"]],
    [deny("too dear"), "", ["claude-test"]],
    [ask("sure?"), "", ["claude-test"]],
  ];
  for (const how of ["overloaded", "refusal"] as const) {
    for (const [answer, text, models] of rows) {
      const noted: unknown[] = [];
      const model = busyUnless(["spare", "third"], how);
      const s = stage({
        model,
        recovery: recovery("spare", undefined),
        hooks: named("m", "model-switch", (e) => {
          noted.push([e.old_model, e.new_model, e.triggered_by]);
          return answer;
        }),
      });
      const result = await s.run();
      assert.deepEqual(noted, [["claude-test", "spare", "fallback"]]);
      assert.deepEqual(model.requests.map((r) => r.model), models);
      assert.equal(result.stop, text !== "" ? "done" : how === "refusal" ? "refused" : "error");
      if (text !== "") assert.equal(result.text, text);
      if (how === "refusal" && text !== "") {
        assert.equal(result.usage.output_tokens, 10, "the refused reply was paid for");
      }
    }
  }
});

test("a hook that names another model each time never keeps a call going forever", async () => {
  let n = 0;
  const model = busyUnless([], "overloaded");
  const s = stage({
    model,
    recovery: recovery("spare", undefined),
    hooks: { modelSwitch: () => modify(`model-${n++}`) },
  });
  assert.equal((await s.run()).stop, "error");
  assert.deepEqual(model.requests.map((r) => r.model), ["claude-test", "model-0"]);
});

test("a session's model can be changed between prompts, also after an interrupt; a hook may keep it", async () => {
  const model = busyUnless(["claude-test", "b"], "overloaded");
  const s = stage({ model, hooks: { modelSwitch: (e) => e.new_model === "c" ? deny("no") : undefined } });
  await s.session.prompt("one", { signal: AbortSignal.abort() });
  assert.equal(await s.session.setModel("b"), true);
  assert.equal(await s.session.setModel("c"), false);
  assert.equal((await s.session.prompt("two")).text, "I am b");
});

test("post-model-switch comes once the new model is used, and its context is read by that model", async () => {
  const seen: unknown[] = [];
  const model = busyUnless(["claude-test", "b"], "overloaded");
  const s = stage({
    model,
    hooks: {
      postModelSwitch: ({ old_model, new_model }) => {
        seen.push([old_model, new_model]);
        return context("You are new here");
      },
      modelSwitch: (e) => e.new_model === "c" ? deny("no") : undefined,
    },
  });
  await s.session.prompt("one");
  for (const name of ["b", "b", "c"]) await s.session.setModel(name);
  await s.session.prompt("two");
  assert.deepEqual(seen, [["claude-test", "b"]]);
  assert.match(last(model.requests.at(-1)).join("\n"), /You are new here/);
});
