import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type CodeHooks,
  codeHooks,
  joinedHooks,
  liveHooks,
  matchTool,
  matchToolPost,
  matchToolPostFailure,
} from "../../lib/hooks/code-hooks.ts";
import type { AnyEvent, EventOf } from "../../lib/core/events.ts";
import { type Hook, type HookContext, hookOn } from "../../lib/core/hook.ts";
import { HookRegistry } from "../../lib/hooks/registry.ts";
import { deny, modify, readNative } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { rounds } from "../_counts.ts";
import { calls, echo, fail, named, results, stage, write } from "../core/_stage.ts";

test("U1, S0.7: hooks given in code compile to records of one form, with stable names", () => {
  const guard = () => undefined;
  const hooks = codeHooks([
    { stop: [() => undefined, guard] },
    guard,
    () => undefined,
    { onEvent: () => undefined },
    { name: "audit", onEvent: () => undefined },
    { stop: () => undefined },
  ]);
  assert.deepEqual(hooks.map((h) => [h.name, h.on.length === 1 ? h.on[0]!.event : "every", h.priority, h.timeout]), [
    ["code:stop#0", "stop", 100, 60],
    ["guard", "stop", 100, 60],
    ["guard", "every", 100, 60],
    ["code#2", "every", 100, 60],
    ["code#3", "every", 100, 60],
    ["audit", "every", 100, 60],
    ["code#5:stop#0", "stop", 100, 60],
  ]);
});

/** One function in each form that hooks in code may have. */
const FORMS: { readonly [form: string]: (hook: Hook<"pre-tool-use">) => CodeHooks } = {
  "typed list": (hook) => ({ preToolUse: hook }),
  "onEvent": (hook) => ({ onEvent: (event, ctx) => event.event === "pre-tool-use" ? hook(event, ctx) : undefined }),
  "function": (hook) => (event: AnyEvent, ctx: HookContext) =>
    event.event === "pre-tool-use" ? hook(event, ctx) : undefined,
  "registry": (hook) => new HookRegistry().register({ preToolUse: hook }),
  "record": (hook) => hookOn("pre-tool-use", hook),
};

test("S0.11, C5: a guard behind a rewrite sees what it rewrote, whatever the form of both", async () => {
  const ran: string[] = [];
  const shell: typeof echo = { ...echo, run: ({ text }) => String(ran.push(text)) };
  for (const [first, rewriting] of Object.entries(FORMS)) {
    for (const [second, guarding] of Object.entries(FORMS)) {
      const list = [
        rewriting(() => modify({ text: "rm -rf x" })),
        guarding(({ input }) => String(input.text).startsWith("rm") ? deny("No rm") : undefined),
      ];
      for (const hooks of [list, new HookRegistry().register(...list)]) {
        const model = scripted([calls(["Echo", "ls"]), { text: "done" }]);
        const { denials } = await stage({ model, tools: [shell], hooks }).run();
        assert.deepEqual([denials.map(({ reason }) => reason), ran], [["No rm"], []], `${first}, then ${second}`);
      }
    }
  }
});

test("S0.11: hooks of every form in one list are always asked in its order", async () => {
  const form = fc.constantFrom(...Object.keys(FORMS));
  await fc.assert(
    fc.asyncProperty(fc.array(form, { minLength: 2, maxLength: 8 }), async (forms) => {
      const asked: number[] = [];
      const list = forms.map((form, n) => FORMS[form]!(() => void asked.push(n)));
      const { records } = joinedHooks(liveHooks(list));
      assert.equal(records, records);
      await new HookRegistry().register({ records }).fire({ event: "pre-tool-use", tool_name: "Bash", input: {} });
      assert.deepEqual(asked, forms.map((_, n) => n));
    }),
    { numRuns: rounds(50, 500) },
  );
});

test("wrong hooks in code are refused when they are given", () => {
  const wrong: [unknown, RegExp][] = [
    [{ preTolUse: [] }, /Cannot hook event 'preTolUse' as there is no such event: did you mean 'pre-tool-use'\?/],
    [{ stop: [5] }, /Cannot use hooks.stop\[0\] as it is not a function: current value is 5/],
    [{ stop: "x" }, /Cannot use hooks.stop\[0\] as it is not a function/],
    [5, /Cannot use 5 as hooks: expected a function/],
    [null, /Cannot use null as hooks/],
  ];
  for (const [given, message] of wrong) {
    assert.throws(() => codeHooks([given as never]), { name: "TypeError", message });
  }
});

test("readNative() is what records made in code read their answers with", () => {
  const [hook] = codeHooks([() => undefined]);
  const event = { event: "pre-tool-use" } as never;
  assert.deepEqual(hook!.read(deny("x"), event), readNative(deny("x"), "pre-tool-use"));
});

test("S4.17, S4.19: all lists in one object, and sets from several packages compose", async () => {
  const seen: string[] = [];
  const set = (who: string) => ({
    preGeneration: [() => void seen.push(`${who} PreGeneration`)],
    preIteration: [() => void seen.push(`${who} PreIteration`)],
    preToolUse: [() => void seen.push(`${who} PreToolUse`)],
    postToolUse: [() => void seen.push(`${who} PostToolUse`)],
    postToolUseFailure: [() => void seen.push(`${who} PostToolUseFailure`)],
    stop: [() => void seen.push(`${who} Stop`)],
    postGeneration: [() => void seen.push(`${who} PostGeneration`)],
  });
  const model = scripted([calls(["Echo", "a"], ["Fail"]), { text: "done" }]);
  await stage({
    model,
    tools: [{ ...echo, effect: "write" }, { ...fail, effect: "write" }],
    hooks: [set("a"), set("b")],
  }).run();
  const order = ["PreGeneration", "PreIteration", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUseFailure"];
  assert.deepEqual(
    seen,
    [...order, "PreIteration", "Stop", "PostGeneration"].flatMap((e) => [`a ${e}`, `b ${e}`]),
  );
});

test("S4.25: a host's own concerns are hooks like any other: permission and saving on the same context", async () => {
  const saved: unknown[] = [];
  const permission = named(
    "permission",
    "pre-tool-use",
    (e) => e.tool_name === "Write" ? deny("read only") : undefined,
  );
  const saving = named("saving", "turn-end", (e) => void saved.push(e.messages.length));
  const model = scripted([calls(["Write", "a"]), { text: "done" }]);
  const result = await stage({ model, tools: [write], hooks: [permission, saving] }).run();
  assert.deepEqual(results(result.messages), [{ content: "Denied by hook permission: read only", is_error: true }]);
  assert.deepEqual(saved, [4]);
});

test("S4.10: matchTool and its like run a hook only for tools whose name matches", async () => {
  const seen: string[] = [];
  const note = (who: string) => (e: EventOf<"pre-tool-use" | "post-tool-use">) =>
    void seen.push(`${who} ${e.tool_name}`);
  const model = scripted([calls(["Echo", "a"]), calls(["Fail"]), { text: "done" }]);
  await stage({
    model,
    tools: [echo, fail],
    hooks: [{
      preToolUse: [
        matchTool("Echo", note("list")),
        matchTool("Ech", note("never")),
        matchTool("^E|ail", note("regex")),
        matchTool(/a/g, note("global")),
        matchTool("*", note("all")),
      ],
      postToolUse: [matchToolPost(/o$/, note("post")), matchToolPostFailure("*", note("never"))],
      postToolUseFailure: [matchToolPostFailure(/Fail/y, note("failure"))],
    }],
  }).run();
  assert.deepEqual(seen, [
    ...["list Echo", "regex Echo", "all Echo", "post Echo"],
    ...["regex Fail", "global Fail", "all Fail", "failure Fail"],
  ]);
});

test("S4.10: the pattern is compiled once, when the hook is made: a bad one is an error then", () => {
  assert.throws(() => matchTool("(", () => undefined), /Cannot use matcher '\(' as it is not a regular expression/);
});

test("S4.10: an expression that remembers its place is searched from the start for every call", async () => {
  let ran = 0;
  const hook = matchTool(/Bash/g, () => void ran++);
  const hooks = new HookRegistry().register({ preToolUse: hook });
  for (let i = 0; i < 4; i++) await hooks.fire({ event: "pre-tool-use", tool_name: "Bash", input: {} });
  assert.equal(ran, 4);
});
