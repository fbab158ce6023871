import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import type { EventName } from "../../lib/core/events.ts";
import {
  actionOf,
  allow,
  ask,
  context,
  deny,
  halt,
  keepGoing,
  modify,
  type Opinion,
  readNative,
  UnusableAnswer,
} from "../../lib/core/verdict.ts";
import { readClaude } from "../../lib/hooks/process/read-result.ts";
import { readDefinition, readPrompt } from "../../lib/hooks/read-answer.ts";

type Row = readonly [event: EventName, raw: unknown, expected: Opinion | RegExp];
type Reader = (raw: unknown, event: EventName) => Opinion;

/** Each row is one answer: what it means, or why it is a failure. */
function check(read: Reader, rows: readonly Row[]): void {
  for (const [event, raw, expected] of rows) {
    const label = `${event} ${inspect(raw)}`;
    if (!(expected instanceof RegExp)) {
      assert.deepEqual(read(raw, event), expected, label);
      continue;
    }
    assert.throws(() => read(raw, event), (error: Error) => {
      assert.ok(error instanceof UnusableAnswer, `${label}: ${error}`);
      assert.match(error.message, expected, label);
      assert.match(error.message, /^Cannot use the answer to [A-Z]\w+ as /, label);
      return true;
    });
  }
}

test("U3, S0.9: nothing, and every spelling of nothing, is to continue", () => {
  check(readNative, [
    ["pre-tool-use", undefined, {}],
    ["pre-tool-use", null, {}],
    ["pre-tool-use", "Continue", {}],
    ["pre-tool-use", {}, {}],
    ["pre-tool-use", { action: "continue" }, {}],
    ["pre-tool-use", { action: "Continue" }, {}],
    ["stop", { continue: false }, {}],
    ["stop", { continue: false, reason: "fine" }, {}],
  ]);
});

test("U3, S0.9: our verdicts and the first seed's actions mean the same", () => {
  check(readNative, [
    ["pre-tool-use", deny("no"), { decision: "deny", reason: "no" }],
    ["pre-tool-use", { action: "deny" }, { decision: "deny" }],
    ["pre-tool-use", { action: "block", reason: "no" }, { decision: "deny", reason: "no" }],
    ["pre-tool-use", { Block: "no" }, { decision: "deny", reason: "no" }],
    ["pre-tool-use", allow(), { decision: "allow" }],
    ["pre-tool-use", allow("fine"), { decision: "allow", reason: "fine" }],
    ["pre-tool-use", ask("sure?"), { decision: "ask", reason: "sure?" }],
    ["pre-tool-use", ask(), { decision: "ask" }],
    ["pre-tool-use", modify({ a: 1 }), { value: { to: { a: 1 } } }],
    ["pre-tool-use", { Transform: { a: 1 } }, { value: { to: { a: 1 } } }],
    ["pre-tool-use", { action: "transform", value: { a: 1 } }, { value: { to: { a: 1 } } }],
    ["post-tool-use", { Transform: null }, { value: { to: null } }],
    ["pre-tool-use", halt("enough"), { decision: "deny", reason: "enough", halt: "enough" }],
    ["pre-tool-use", halt(), { decision: "deny", halt: "" }],
    ["permission-request", halt("enough"), { decision: "deny", reason: "enough", halt: "enough" }],
    ["post-tool-use", halt("enough"), { reason: "enough", halt: "enough" }],
    ["pre-tool-use", context("look"), { contexts: [{ text: "look" }] }],
    ["pre-tool-use", { action: "continue", context: "" }, {}],
    ["pre-tool-use", { ...deny("no"), context: "look", systemMessage: "psst" }, {
      decision: "deny",
      reason: "no",
      contexts: [{ text: "look" }],
      systemMessage: "psst",
    }],
  ]);
});

test("U3, S4.3: a StopDecision continues with its reason, in either spelling of its keys", () => {
  check(readNative, [
    ["stop", { continue: true, reason: "go on" }, { decision: "deny", reason: "go on" }],
    ["stop", { Continue: true, Reason: "go on" }, { decision: "deny", reason: "go on" }],
    ["stop", { Continue: false }, {}],
    ["stop", keepGoing("go on"), { decision: "deny", reason: "go on" }],
    ["pre-tool-use", { continue: true, reason: "go on" }, /has no 'action'/],
  ]);
});

test("U10, S4.3: going on without a reason is a failure, in every native spelling", () => {
  const blank = /gives no reason: the agent needs one to read/;
  check(readNative, [
    ["stop", { continue: true }, blank],
    ["stop", { continue: true, reason: " \n" }, blank],
    ["stop", { Continue: true, Reason: "" }, blank],
    ["stop", deny(""), blank],
    ["stop", { action: "deny" }, blank],
    ["stop", { Block: "  " }, blank],
  ]);
});

test("U3: an unknown action and anything that is not a verdict is a failure, never a silent continue", () => {
  check(readNative, [
    [
      "pre-tool-use",
      { action: "refuse" },
      /action "refuse" is unknown: expected continue, allow, deny, modify, ask or halt/,
    ],
    ["pre-tool-use", { action: 5 }, /has no 'action'/],
    ["pre-tool-use", { decision: "block" }, /has no 'action'/],
    ["pre-tool-use", { ok: false }, /has no 'action'/],
    ["pre-tool-use", { Block: 5 }, /has no 'action'/],
    ["pre-tool-use", "deny", /it answered "deny"/],
    ["pre-tool-use", true, /it answered true/],
    ["pre-tool-use", 7n, /it answered 7n/],
    ["pre-tool-use", [deny("no")], /it answered \[/],
    ["pre-tool-use", Symbol("x"), /it answered Symbol\(x\)/],
    ["pre-tool-use", { action: "deny", reason: 5 }, /its 'reason' is 5, not a text/],
    ["pre-tool-use", { action: "continue", context: {} }, /its 'context' is \{\}, not a text/],
    ["pre-tool-use", { action: "continue", systemMessage: 1 }, /its 'systemMessage' is 1, not a text/],
    ["pre-tool-use", { action: "modify" }, /its 'modify' has no 'value'/],
  ]);
});

test("U3: an answer that cannot be shown is a failure too", () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  check(readNative, [
    ["stop", loop, /has no 'action'/],
    ["stop", [loop], /it answered /],
    ["stop", { action: loop }, /has no 'action'/],
    ["stop", { action: "deny", reason: loop }, /its 'reason' is .*, not a text/],
  ]);
});

test("U6: modify replaces the whole subject, and a value of the wrong kind is a failure that says what fits", () => {
  check(readNative, [
    ["user-prompt-submit", modify("hi"), { value: { to: "hi" } }],
    ["user-prompt-submit", modify(5), /gives 5 where a text is expected/],
    ["agent-start", modify("task"), { value: { to: "task" } }],
    ["agent-start", modify({}), /where a text is expected/],
    ["model-switch", modify("m"), { value: { to: "m" } }],
    ["model-switch", modify(null), /where a text is expected/],
    ["pre-compact", modify("short"), { value: { to: "short" } }],
    ["turn-start", modify({ system: "s" }), { value: { to: { system: "s" } } }],
    ["turn-start", modify("s"), /where an object/],
    ["turn-start", modify({ system: 5 }), /its 'system' a text/],
    ["iteration", modify({ append: "a" }), { value: { to: { append: "a" } } }],
    ["iteration", modify([]), /where an object/],
    ["iteration", modify({ system: [] }), /its 'system' a text/],
    ["error", modify(true), { value: { to: true } }],
    ["error", modify("yes"), /where true or false/],
    ["post-tool-use", modify("other"), { value: { to: "other" } }],
  ]);
});

test("U6: modify on an event without a subject is a failure that names the event", () => {
  const events: EventName[] = [
    ...["session-start", "stop", "turn-end", "agent-stop", "session-end", "notification"] as const,
    ...["checkpoint", "memory-update", "agent-prompt", "tool-denied"] as const,
  ];
  check(
    readNative,
    events.map((event) => [event, modify("x"), /nothing can be modified on [A-Z]/]),
  );
});

test("U3: ask is a failure on events that cannot ask a person", () => {
  check(readNative, [
    ["pre-tool-use", ask(), { decision: "ask" }],
    ["model-switch", ask(), { decision: "ask" }],
    ["stop", ask(), /'ask' means nothing on Stop/],
    ["post-tool-use", ask(), /'ask' means nothing on PostToolUse/],
    ["permission-request", ask(), /'ask' means nothing on PermissionRequest/],
  ]);
});

test("U3: a prompt hook answers { ok } or { action }", () => {
  check(readPrompt, [
    ["pre-tool-use", { ok: true }, {}],
    ["pre-tool-use", { ok: true, reason: "fine" }, {}],
    ["pre-tool-use", { ok: false, reason: "no" }, { decision: "deny", reason: "no" }],
    ["pre-tool-use", { ok: false }, { decision: "deny", reason: "A prompt hook said no" }],
    ["stop", { ok: false, reason: "more" }, { decision: "deny", reason: "more" }],
    ["pre-tool-use", { action: "deny", reason: "no" }, { decision: "deny", reason: "no" }],
    ["pre-tool-use", { action: "modify", modified_data: { args: { a: 1 } } }, { value: { to: { a: 1 } } }],
    ["pre-tool-use", { ok: "yes" }, /has no 'action'/],
    ["pre-tool-use", "no", /not a JSON object/],
  ]);
});

test("U3, S3.23, S3.33: a definition answers { action, modified_data }, read by the key of the subject", () => {
  check(readDefinition, [
    ["pre-tool-use", { action: "continue" }, {}],
    ["pre-tool-use", { action: "deny", reason: "no" }, { decision: "deny", reason: "no" }],
    ["pre-tool-use", { action: "deny" }, { decision: "deny" }],
    ["pre-tool-use", { action: "modify", modified_data: { args: { a: 1 } } }, { value: { to: { a: 1 } } }],
    ["pre-tool-use", { action: "modify", modified_data: { input: { a: 1 } } }, { value: { to: { a: 1 } } }],
    ["pre-tool-use", { action: "modify", modified_data: { tool_input: { a: 1 } } }, { value: { to: { a: 1 } } }],
    ["pre-tool-use", { action: "modify", modified_data: { other: 1 } }, {}],
    ["pre-tool-use", { action: "modify" }, {}],
    ["post-tool-use", { action: "modify", modified_data: { result: "r" } }, { value: { to: "r" } }],
    ["model-switch", { action: "modify", modified_data: { new_model: "m" } }, { value: { to: "m" } }],
    ["user-prompt-submit", { action: "modify", modified_data: { prompt: "p" } }, { value: { to: "p" } }],
    ["agent-start", { action: "modify", modified_data: { task: "t" } }, { value: { to: "t" } }],
    ["pre-tool-use", { action: "allow" }, /action 'allow' is unknown: expected continue, deny or modify/],
    ["pre-tool-use", { action: "modify", modified_data: "x" }, /'modified_data' is not an object/],
    ["stop", { action: "modify", modified_data: {} }, /nothing can be modified on Stop/],
    ["pre-tool-use", {}, /has no 'action'/],
    ["pre-tool-use", null, /not a JSON object/],
  ]);
});

const about = (hookEventName: string, fields: Record<string, unknown> = {}) => ({
  hookSpecificOutput: { hookEventName, ...fields },
});

test("U3: the host's JSON: decision, permissionDecision, updatedInput, additionalContext, continue", () => {
  check(readClaude, [
    ["pre-tool-use", {}, {}],
    ["pre-tool-use", { foo: 1, permissionDecision: "deny" }, {}],
    ["pre-tool-use", { decision: "approve" }, { decision: "allow" }],
    ["pre-tool-use", { decision: "block", reason: "no" }, { decision: "deny", reason: "no" }],
    ["pre-tool-use", { decision: "block" }, { decision: "deny", reason: "Blocked by hook" }],
    ["pre-tool-use", about("PreToolUse", { permissionDecision: "allow" }), { decision: "allow" }],
    ["pre-tool-use", about("PreToolUse", { permissionDecision: "ask", permissionDecisionReason: "sure?" }), {
      decision: "ask",
      reason: "sure?",
    }],
    ["pre-tool-use", about("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: "no" }), {
      decision: "deny",
      reason: "no",
    }],
    ["pre-tool-use", about("PreToolUse", { permissionDecision: "deny" }), {
      decision: "deny",
      reason: "Blocked by hook",
    }],
    ["pre-tool-use", about("PreToolUse", { updatedInput: { a: 1 } }), { value: { to: { a: 1 } } }],
    ["pre-tool-use", about("PreToolUse", { updatedInput: { a: 1 }, permissionDecision: "allow" }), {
      decision: "allow",
      value: { to: { a: 1 } },
    }],
    ["pre-tool-use", about("PreToolUse", { additionalContext: "look" }), { contexts: [{ text: "look" }] }],
    ["pre-tool-use", { continue: false, stopReason: "enough" }, { halt: "enough" }],
    ["pre-tool-use", { continue: true }, {}],
    ["pre-tool-use", { systemMessage: "psst" }, { systemMessage: "psst" }],
    ["pre-tool-use", { decision: "block", reason: "R", ...about("PreToolUse", { permissionDecision: "allow" }) }, {
      decision: "deny",
      reason: "R",
    }],
    ["pre-tool-use", { decision: "approve", ...about("PreToolUse", { permissionDecision: "deny" }) }, {
      decision: "deny",
      reason: "Blocked by hook",
    }],
    ["post-tool-use", about("PostToolUse", { updatedToolOutput: { a: 1 } }), { value: { to: { response: { a: 1 } } } }],
  ]);
});

test("U3: in the host's dialect context from a stop hook is a reason to go on; a native context never is", () => {
  const opinion = readClaude(about("Stop", { additionalContext: "not yet" }), "stop");
  assert.equal(opinion.decision, "deny");
  assert.equal(opinion.reason, "not yet");
  assert.deepEqual(readNative(context("not yet"), "stop"), { contexts: [{ text: "not yet" }] });
});

test("U3: the host's permission answer is { behavior } alone", () => {
  check(readClaude, [
    ["permission-request", about("PermissionRequest", { decision: { behavior: "allow" } }), { decision: "allow" }],
    [
      "permission-request",
      about("PermissionRequest", { decision: { behavior: "allow", updatedInput: { a: 1 } } }),
      { decision: "allow", value: { to: { a: 1 } } },
    ],
    ["permission-request", about("PermissionRequest", { decision: { behavior: "deny", message: "no" } }), {
      decision: "deny",
      reason: "no",
      text: "no",
    }],
    ["permission-request", about("PermissionRequest", { decision: { behavior: "deny" } }), {
      decision: "deny",
      reason: "Permission denied by hook",
      text: "Permission denied by hook",
    }],
    ["permission-request", { decision: "approve" }, {}],
    ["permission-request", { decision: "block" }, {}],
    ["permission-request", about("PermissionRequest", { decision: { behavior: "maybe" } }), /behavior "maybe" is not/],
  ]);
});

test("U3: a known key of the wrong type, or of another event, makes the host's whole answer a failure", () => {
  check(readClaude, [
    ["pre-tool-use", { decision: "allow" }, /decision "allow" is not 'approve' or 'block'/],
    ["pre-tool-use", { reason: 5 }, /'reason' is 5, expected string/],
    ["pre-tool-use", { continue: "no" }, /'continue' is "no", expected boolean/],
    ["pre-tool-use", about("PreToolUse", { permissionDecision: "Allow" }), /permissionDecision "Allow" is not/],
    ["pre-tool-use", about("PreToolUse", { updatedInput: "x" }), /updatedInput' is "x", expected object/],
    ["pre-tool-use", { hookSpecificOutput: {} }, /is missing required field "hookEventName"/],
    ["pre-tool-use", about("PostToolUse"), /expected 'PreToolUse' but got 'PostToolUse'/],
    ["pre-tool-use", [1], /not a JSON object/],
  ]);
});

test("an opinion is shown as the one action that says most of it", () => {
  const modified = { value: { to: 1 } };
  assert.deepEqual(
    [undefined, {}, { decision: "ask" as const, ...modified }, { halt: "", ...modified }, {
      decision: "deny" as const,
      halt: "",
    }].map(actionOf),
    ["continue", "continue", "ask", "halt", "halt"],
  );
});
