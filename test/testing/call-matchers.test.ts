import assert from "node:assert/strict";
import { test } from "node:test";
import fixer from "../../fixtures/fix-typo/agent.ts";
import type { CallOutcome } from "../../lib/core/run-events.ts";
import { matchers, replay } from "../../lib/testing/index.ts";
import { matched } from "./_matched.ts";
import { ROOT } from "../_runtime.ts";

const call = (name: string, input: unknown = {}, outcome: CallOutcome = "success") => ({
  ...{ id: "t", name, input, outcome, content: "" },
});

const notes = { file_path: "{ROOT}/notes.md" };
const RUN = [
  call("Read", notes),
  call("Edit", { ...notes, old_string: "teh", new_string: "the" }),
  call("Bash", { command: "rm -r /", timeout: 5 }, "denied"),
  call("Grep", { pattern: 1 }, "invalid"),
  call("Bash", { command: "npm test", options: { quiet: true, env: ["CI=1", "X=2"] } }, "failure"),
  call("Wait", {}, "interrupted"),
];

test("a call counts if it ran: denied and invalid ones do not", () => {
  const called = ["Read", "Edit", "Bash", "Grep", "Wait", "Write"].filter((tool) =>
    matched("toHaveCalled", RUN, tool).pass
  );
  assert.deepEqual(called, ["Read", "Edit", "Bash", "Wait"]);
  assert.ok(!matched("toHaveCalled", RUN, "Bash", { command: /rm/ }).pass);
  assert.ok(matched("toNeverHaveCalled", RUN, "Bash", { command: /rm/ }).pass);
  assert.ok(matched("toHaveDenied", RUN, "Bash", { command: /rm/ }).pass);
  assert.ok(!matched("toHaveDenied", RUN, "Bash", { command: /npm/ }).pass);
  assert.ok(!matched("toHaveDenied", RUN, "Grep").pass);
});

test("named fields of an input must fit: equal, by a regular expression, a function, or field by field", () => {
  const cases: [input: unknown, fits: boolean][] = [
    [undefined, true],
    [{}, true],
    [{ command: "npm test" }, true],
    [{ command: "npm" }, false],
    [{ command: /^npm/g }, true],
    [{ command: /^rm/ }, false],
    [{ command: (text: string) => text.length === 8 }, true],
    [{ command: () => false }, false],
    [(input: { command: string }) => input.command === "npm test", true],
    [{ options: { quiet: true } }, true],
    [{ options: { quiet: /true/ } }, false],
    [{ options: { env: [/CI/, "X=2"] } }, true],
    [{ options: { env: [/CI/] } }, false],
    [{ options: { env: {} } }, false],
    [{ timeout: undefined }, true],
    [{ toString: undefined }, true],
    [{ timeout: 5 }, false],
    ["npm test", false],
    [null, false],
    [new Date(0), false],
  ];
  for (const [input, fits] of cases) {
    assert.equal(
      matched("toHaveCalled", RUN, "Bash", input).pass,
      fits,
      matched("toHaveCalled", RUN, "Bash", input).says,
    );
  }
});

test("the runner's equality is asked first, at every depth, and a matcher without fields never fits by itself", () => {
  class Opaque {}
  const any = new Opaque();
  const equals = (a: unknown, b: unknown) => b === any ? typeof a === "string" : a === b;
  const { toHaveCalled } = matchers;
  assert.ok(toHaveCalled.call({ equals }, RUN, "Bash", { command: any }).pass);
  assert.ok(toHaveCalled.call({ equals }, RUN, "Bash", { options: { env: [any, any] } }).pass);
  assert.ok(!toHaveCalled.call({ equals }, RUN, "Bash", { options: any }).pass);
  assert.ok(!toHaveCalled.call({}, RUN, "Bash", { command: any }).pass);
  assert.ok(!toHaveCalled.call({}, RUN, "Bash", { options: any }).pass);
});

test("calls are found in order, with others between", () => {
  assert.ok(matched("toHaveCalledInOrder", RUN, ["Read", ["Bash", { command: /npm/ }]]).pass);
  assert.ok(!matched("toHaveCalledInOrder", RUN, ["Bash", "Read"]).pass);
  assert.ok(!matched("toHaveCalledInOrder", RUN, ["Read", "Read"]).pass, "one call is not two");
  assert.ok(!matched("toHaveCalledInOrder", RUN, [["Bash", { command: /rm/ }], "Bash"]).pass, "a denied one is none");
});

test("a failure says what was expected and what the run called, and so does the negated one", () => {
  assert.equal(
    matched("toHaveCalledInOrder", RUN.slice(0, 2), ["Edit", "Read"]).says,
    `Expected a run that calls Edit, then Read, but Read is not there after Edit: it called
  1. Read {"file_path":"{ROOT}/notes.md"}
  2. Edit {"file_path":"{ROOT}/notes.md","old_string":"teh","new_string":"the"}`,
  );
  assert.equal(matched("toHaveCalled", [], "Edit").says, "Expected a run that calls Edit, but it called nothing");
  assert.equal(
    matched("toNeverHaveCalled", RUN.slice(0, 1), "Read", { file_path: /notes/ }).says,
    `Expected a run that never calls Read {"file_path":"/notes/"}, but it called\n  1. Read {"file_path":"{ROOT}/notes.md"}`,
  );
  assert.equal(
    matched("toHaveDenied", [call("Bash", { command: "ls" }, "failure")], "Bash", { command: () => true }).says,
    `Expected a run with a denied call of Bash {"command":"(function)"}, but it called\n  1. Bash {"command":"ls"} (failure)`,
  );
  const long = matched("toHaveCalled", Array(60).fill(call("Write", { content: "x".repeat(9_999) })), "Edit").says;
  assert.match(long, /\n {2}50\. Write \{"content":"x+…\n {2}… 10 more$/);
  assert.ok(long.length < 20_000, `${long.length}`);
});

test("what is not a run is refused, so that a forgotten await never passes", () => {
  for (const run of [undefined, null, {}, "Read", Promise.resolve(RUN), [{ name: "Read" }], { calls: [] }]) {
    for (const name of ["toHaveCalled", "toNeverHaveCalled", "toHaveDenied"] as const) {
      assert.throws(() => matched(name, run, "Read"), /^TypeError: Cannot look for calls as .* is not a run: pass /);
    }
  }
  assert.throws(() => matched("toHaveCalledInOrder", RUN, []), /Cannot look for calls as \[\] lists none/);
  assert.throws(() => matched("toNeverHaveCalled", RUN, ""), /Cannot look for calls of "" as it names no tool/);
});

test("the matchers take what replay() gives, and its calls", async () => {
  const run = await replay(fixer, "fix-typo", { cwd: ROOT });
  for (const subject of [run, run.calls()]) {
    assert.ok(matched("toHaveCalledInOrder", subject, ["Read", ["Edit", { new_string: "over the leaves" }]]).pass);
    assert.ok(matched("toHaveDenied", subject, "Edit").pass);
    assert.ok(matched("toNeverHaveCalled", subject, "Bash").pass);
  }
});

test(
  "expect.extend() of bun:test takes them, with its own asymmetric matchers",
  { skip: !("Bun" in globalThis) && "there is no bun:test on this runtime" },
  async () => {
    const runner = "bun:test";
    const { expect } = await import(runner);
    expect.extend(matchers);
    expect(RUN).toHaveCalled("Bash", { command: expect.stringContaining("npm"), options: expect.any(Object) });
    expect(RUN).toHaveCalled("Bash", expect.objectContaining({ command: "npm test" }));
    expect(RUN).not.toHaveCalled("Bash", { command: expect.stringContaining("yarn") });
    expect(RUN).toNeverHaveCalled("Write");
    assert.throws(() => expect(RUN).toNeverHaveCalled("Read"), /never calls Read, but it called\n {2}1\. Read/);
    assert.throws(() => expect(RUN).not.toHaveDenied("Bash"), /Expected a run with no denied call of Bash/);
  },
);
