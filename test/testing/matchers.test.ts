import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { allow, ask, context, deny, halt, HookRegistry, keepGoing, modify } from "../../lib/index.ts";
import { matchers } from "../../lib/testing/index.ts";
import { matched } from "./_matched.ts";

type Name = keyof typeof matchers;

const ALL: readonly Name[] = ["toDeny", "toContinueWork", "toAsk", "toAllow", "toModify", "toPass"];

/** The matchers that hold for an answer. */
function holding(answer: unknown): readonly Name[] {
  return ALL.filter((name) => matched(name, answer).pass);
}

const REFUSED = ["toDeny", "toContinueWork"];

test("every spelling of an answer is taken for what it means, and never for anything else", () => {
  const cases: [answer: unknown, holds: readonly string[]][] = [
    [undefined, ["toPass"]],
    [null, ["toPass"]],
    ["Continue", ["toPass"]],
    [{}, ["toPass"]],
    [context("it is Monday"), ["toPass"]],
    [deny("no"), REFUSED],
    [keepGoing("not yet"), REFUSED],
    [{ Block: "no" }, REFUSED],
    [{ continue: true, reason: "not yet" }, REFUSED],
    [{ continue: false }, ["toPass"]],
    [allow(), ["toAllow"]],
    [ask("sure?"), ["toAsk"]],
    [halt("enough"), []],
    [modify({ command: "ls" }), ["toModify"]],
    [{ Transform: { command: "ls" } }, ["toModify"]],
    [{ decision: "block", reason: "no" }, REFUSED],
    [{ decision: "deny", reason: "no" }, REFUSED],
    [{ decision: "approve" }, ["toAllow"]],
    [{ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "ask" } }, ["toAsk"]],
    [{ hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput: { command: "ls" } } }, ["toModify"]],
    [{ hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "deny" } } }, REFUSED],
    [{ opinion: { decision: "deny", reason: "no" } }, REFUSED],
    [{ failure: { message: "it threw" } }, []],
    [{ timedOut: true }, []],
    [{ skipped: "matcher 'Bash' does not match 'Edit'" }, []],
    [{ action: "denny" }, []],
    ["deny", []],
    [42, []],
  ];
  for (const [answer, holds] of cases) assert.deepEqual(holding(answer), holds, JSON.stringify(answer));
});

test("a command that was run is read by its exit code and what it printed", () => {
  const sh = (line: string) => spawnSync("/bin/sh", ["-c", line]);
  const json = (value: unknown) => sh(`cat <<'END'\n${JSON.stringify(value)}\nEND`);
  assert.deepEqual(holding(sh("exit 0")), ["toPass"]);
  assert.deepEqual(holding(sh("echo no >&2; exit 2")), REFUSED);
  assert.deepEqual(holding(sh("echo no >&2; exit 1")), []);
  assert.deepEqual(holding(json({ decision: "block", reason: "no" })), REFUSED);
  assert.deepEqual(holding(json({ continue: false, stopReason: "enough" })), []);
  assert.deepEqual(holding(sh(`echo '{"decision": "block"} {}'`)), []);
  assert.ok(matched("toDeny", sh("echo 'not on main' >&2; exit 2"), /on main/).pass);
  assert.match(matched("toDeny", sh("echo no >&2; exit 1")).says, /it exited with code 1: no/);
});

test("what all hooks of an event decided together is read as one answer", async () => {
  const hooks = new HookRegistry();
  hooks.register({
    preToolUse: ({ input }) =>
      input.command === "rm" ? deny("keep it") : input.command === "ls" ? modify({ command: "ls -l" }) : undefined,
  });
  const fire = (command: string) => hooks.fire({ event: "pre-tool-use", tool_name: "Bash", input: { command } });
  assert.ok(matched("toDeny", await fire("rm"), "keep it").pass);
  assert.ok(matched("toModify", await fire("ls"), { command: "ls -l" }).pass);
  assert.ok(matched("toPass", await fire("pwd")).pass);
  hooks.register({
    preToolUse: () => {
      throw new Error("broken");
    },
  });
  assert.match(matched("toPass", await fire("pwd")).says, /it failed: .*broken/);
});

test("words of a reason must be in it, or match; one that remembers its place is safe", () => {
  assert.ok(matched("toDeny", deny("No --force here"), "--force").pass);
  assert.ok(!matched("toDeny", deny("No --force here"), "--Force").pass);
  const everyTime = /force/g;
  for (let i = 0; i < 3; i++) assert.ok(matched("toDeny", deny("No --force here"), everyTime).pass);
  assert.ok(matched("toContinueWork", { continue: true, reason: "run the tests" }, /tests/).pass);
  assert.ok(!matched("toAsk", ask("sure?"), /certain/).pass);
});

test("toModify() compares by the runner's own equality, and distinguishes undefined from nothing expected", () => {
  const { pass } = matchers.toModify.call({ equals: () => true }, modify({ command: "ls" }), { anything: true });
  assert.ok(pass);
  assert.ok(!matched("toModify", modify({ command: "ls" }), { command: "pwd" }).pass);
  assert.ok(!matched("toModify", modify({ command: "ls" }), undefined).pass);
  assert.ok(matched("toModify", modify({ command: "ls" })).pass);
});

test("a failure says what was expected and what the hook did instead, and so does the negated one", () => {
  assert.equal(
    matched("toDeny", undefined, /force/).says,
    "Expected the hook to deny for /force/, but it had no objection",
  );
  assert.equal(
    matched("toContinueWork", deny("Not yet"), "tests").says,
    `Expected the hook to continue the agent's work for "tests", but it denied: 'Not yet'`,
  );
  assert.equal(matched("toDeny", deny("No")).says, "Expected the hook not to deny, but it denied: 'No'");
  assert.equal(
    matched("toModify", modify({ a: 1 }), { a: 2 }).says,
    `Expected the hook to change the event to {"a":2}, but it changed the event to '{"a":1}'`,
  );
  assert.match(matched("toDeny", { action: "denny" }).says, /but it failed: .*action "denny" is unknown/);
});

const bun = "Bun" in globalThis;

test(
  "expect.extend() of bun:test takes the matchers",
  { skip: !bun && "there is no bun:test on this runtime" },
  async () => {
    const runner = "bun:test";
    const { expect } = await import(runner);
    expect.extend(matchers);
    expect(deny("No force")).toDeny(/force/);
    expect(undefined).not.toDeny();
    expect(undefined).toPass();
    expect(modify({ command: "ls -l", timeout: 1 })).toModify(expect.objectContaining({ command: "ls -l" }));
    await expect(Promise.resolve({ continue: true, reason: "run the tests" })).resolves.toContinueWork(/tests/);
    assert.throws(() => expect(allow()).toDeny(/force/), /Expected the hook to deny for \/force\/, but it allowed it/);
    assert.throws(() => expect(deny("No")).not.toDeny(), /Expected the hook not to deny, but it denied: 'No'/);
  },
);
