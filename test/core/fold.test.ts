import assert from "node:assert/strict";
import { test } from "node:test";
import { fire } from "../../lib/core/dispatch.ts";
import { type EventName, EVENTS, type Fired } from "../../lib/core/events.ts";
import { allow, ask, deny, halt, modify, type Opinion, UnusableAnswer } from "../../lib/core/verdict.ts";
import { env, folded, POST, post, PRE, pre, ran, STOP, stop } from "./_fired.ts";
import { named } from "./_stage.ts";

test("U5: nothing said is to continue, with nothing beside it", async () => {
  const { runs, ...rest } = await folded([pre("a", () => undefined), pre("b", () => undefined)], PRE);
  assert.deepEqual(rest, {
    decision: "continue",
    denials: [],
    modified: false,
    contexts: [],
    inputs: [],
    systemMessages: [],
    warnings: [],
  });
  assert.equal(runs.length, 2);
});

test("U5, S4.7, S4.15: each hook sees what the one before left; the last value counts", async () => {
  const seen: unknown[] = [];
  const add = (name: string) =>
    pre(name, (event) => {
      seen.push([event.input, event.original_input]);
      return modify({ n: event.input.n + 1 });
    });
  const { value, modified } = await folded([add("a"), add("b"), add("c")], PRE);
  assert.deepEqual({ value, modified }, { value: { n: 3 }, modified: true });
  assert.deepEqual(seen, [0, 1, 2].map((n) => [{ n }, { n: 0 }]));
});

test("U5: a value changed back to nothing is still a change", async () => {
  const { value, modified } = await folded([post("a", () => modify("x")), post("b", () => modify(null))], POST);
  assert.deepEqual({ value, modified }, { value: null, modified: true });
});

test("U6: if a subject has parts, a hook changes those it names and keeps the others' changes", async () => {
  const fired: Fired<"turn-start"> = {
    event: "turn-start",
    trigger: "user",
    prompt: "hi",
    turn: { system: "base", messages: [] },
  };
  const seen: unknown[] = [];
  const { value } = await folded([
    named("a", "turn-start", () => modify({ system: "A" })),
    named("b", "turn-start", (event) => {
      seen.push(event.turn);
      return modify({ messages: [] });
    }),
    named("c", "turn-start", (event) => modify({ system: `${event.turn.system}C` })),
  ], fired);
  assert.deepEqual(value, { system: "AC", messages: [] });
  assert.deepEqual(seen, [{ system: "A", messages: [] }]);
});

test("U5, S4.8: the first denial ends the walk, in its own name, and voids modify, allow and ask", async () => {
  const f = await folded([
    pre("m", () => modify({ n: 9 })),
    pre("k", () => ask("sure?")),
    pre("y", () => allow("fine")),
    pre("no", () => deny("because")),
    pre("later", () => deny("too late")),
  ], PRE);
  assert.equal(f.decision, "deny");
  assert.equal(f.reason, "because");
  assert.equal(f.deniedBy, "no");
  assert.equal(f.modified, false);
  assert.equal("value" in f, false);
  assert.equal(f.asked, undefined);
  assert.deepEqual(f.denials, [{ hook: "no", reason: "because" }]);
  assert.deepEqual(f.runs.at(-1), { hook: "later", skipped: "denied by no" });
});

test("U5, S4.9: contexts, messages and halt survive a denial", async () => {
  const f = await folded([
    pre("c", () => ({ action: "continue", context: "one", systemMessage: "psst" })),
    // As a command says it by `continue: false`: a halt of ours refuses the call itself.
    pre("h", () => ({}), { read: () => ({ halt: "enough" }) }),
    pre("x", (_, ctx) => ctx.addContext("two")),
    pre("no", () => ({ action: "deny", reason: "because", context: "three" })),
  ], PRE);
  assert.deepEqual(f.contexts, [
    { text: "one", hook: "c" },
    { text: "two", hook: "x" },
    { text: "three", hook: "no" },
  ]);
  assert.deepEqual(f.systemMessages, [{ hook: "c", text: "psst" }]);
  assert.deepEqual(f.halt, { hook: "h", reason: "enough" });
});

test("U5: the first ask is remembered and the walk goes on; ask is stronger than allow", async () => {
  const f = await folded([
    pre("y", () => allow("fine")),
    pre("k1", () => ask("first?")),
    pre("k2", () => ask("second?")),
    pre("m", () => modify({ n: 4 })),
  ], PRE);
  assert.equal(f.decision, "ask");
  assert.deepEqual(f.asked, { hook: "k1", reason: "first?" });
  assert.equal(f.reason, "first?");
  assert.deepEqual(f.value, { n: 4 });
});

test("U5: what asks has its own reason and words, never those of an earlier allow", async () => {
  const read = (): Opinion => ({ decision: "ask", text: "Sure?" });
  const f = await folded([pre("y", () => allow("fine")), named("k", "pre-tool-use", () => 1, { read })], PRE);
  assert.deepEqual(f.asked, { hook: "k", text: "Sure?" });
  assert.equal("reason" in f, false);
});

test("U5: allow is stronger than nothing, and its reason is the first one's", async () => {
  const f = await folded([pre("a", () => undefined), pre("y", () => allow("fine")), pre("z", () => allow("too"))], PRE);
  assert.equal(f.decision, "allow");
  assert.equal(f.reason, "fine");
});

test("U5, U10, S4.4: on stop every hook is asked and all reasons are kept in order", async () => {
  const f = await folded([
    stop("a", () => deny("one")),
    stop("b", () => undefined),
    stop("c", () => ({ continue: true, reason: "two" })),
  ], STOP);
  assert.equal(f.decision, "deny");
  assert.equal(f.reason, "one\ntwo");
  assert.deepEqual(f.denials, [{ hook: "a", reason: "one" }, { hook: "c", reason: "two" }]);
  assert.deepEqual(ran(f), ["a", "b", "c"]);
});

test("U5, U6: on post-tool-use a denial is feedback: every hook is asked and changes of the result stay", async () => {
  const f = await folded([
    post("redact", () => modify("[secret]")),
    post("lint", () => deny("not formatted")),
    post("again", () => deny("and too long")),
  ], POST);
  assert.deepEqual(f.denials.map((d) => d.reason), ["not formatted", "and too long"]);
  assert.equal(f.value, "[secret]");
});

test("U5, U6: one answer may both refuse and replace a result; on a call the replacement is void", async () => {
  const both: Opinion = { decision: "deny", reason: "no", value: { to: "other" } };
  const f = await folded([post("a", () => 0, { read: () => both })], POST);
  assert.deepEqual([f.decision, f.value], ["deny", "other"]);
  const g = await folded([pre("a", () => 0, { read: () => ({ ...both, value: { to: {} } }) })], PRE);
  assert.deepEqual([g.decision, g.modified], ["deny", false]);
});

test("U3: a denial without a reason is named after its hook", async () => {
  const f = await folded([pre("guard", () => ({ action: "deny" }))], PRE);
  assert.equal(f.reason, "Denied by hook guard");
});

test("U6: a denial of what cannot be denied is ignored with a warning, and ends nothing", async () => {
  const events = (Object.keys(EVENTS) as EventName[]).filter((event) => EVENTS[event].deny === "ignored");
  for (const event of events) {
    const no = (name: string) => named(name, event, () => deny("no"));
    const f = await folded([no("a"), no("b")], { event } as Fired<EventName>);
    assert.equal(f.decision, "continue");
    assert.deepEqual(f.denials, []);
    assert.deepEqual(
      f.warnings,
      ["a", "b"].map((hook) => `Hook ${hook} denied ${event}, which cannot be denied: ignored`),
    );
  }
});

test("U3: halt is ignored on session-start, with a warning", async () => {
  const f = await folded([named("a", "session-start", () => halt("no"))], {
    event: "session-start",
    source: "startup",
    model: "m",
    profile: null,
    config: null,
  });
  assert.equal(f.halt, undefined);
  assert.deepEqual(f.warnings, ["Hook a cannot halt at session start: ignored"]);
});

test("U6: a value that does not fit is the hook's failure, found when the event is fired", async () => {
  const accept = (value: unknown) => {
    if (value !== "good") throw new UnusableAnswer("bad value");
    return "GOOD";
  };
  const offer = (value: string) => fire([post("a", () => modify(value))], { ...POST }, env(), { accept });
  assert.equal((await offer("good")).value, "GOOD");
  const bad = await offer("bad");
  assert.equal(bad.modified, false);
  assert.deepEqual(bad.warnings, ["Hook a failed on post-tool-use: bad value"]);
});
