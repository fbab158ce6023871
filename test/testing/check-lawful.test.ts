import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Host } from "../../lib/hooks/serving/from-host.ts";
import type { RanCommand } from "../../lib/testing/check/asking/probe.ts";
import { readPrinted } from "../../lib/testing/check/laws/_printed.ts";
import type { Judged } from "../../lib/testing/check/laws/judged.ts";
import { lawful } from "../../lib/testing/check/laws/lawful.ts";
import { total } from "../../lib/testing/check/laws/total.ts";
import { rounds } from "../_counts.ts";

interface Said {
  readonly event?: string;
  readonly host?: Host;
  readonly code?: number;
  readonly out?: unknown;
  readonly err?: string;
  readonly given?: { readonly [field: string]: unknown };
}

function judged({ event = "PreToolUse", host = "claude", code = 0, out = "", err = "", given = {} }: Said): Judged {
  const stdout = typeof out === "string" ? out : JSON.stringify(out);
  const ran: RanCommand = { code, signal: null, stdout, stderr: err };
  return {
    subject: {
      name: "hook.sh",
      path: "hook.sh",
      kind: "command",
      target: { type: "command", command: "sh hook.sh" },
      host,
      text: "",
      env: {},
      copies: [],
      visible: [],
      seen: [],
    },
    loaded: { moments: [{ event }], mode: "gate", nondeterministic: false },
    probe: {
      event: { session_id: "s", hook_event_name: event, tool_name: "Bash", tool_input: { command: "ls" }, ...given },
    },
    probed: { ms: 1, ran },
    limit: 1000,
    secrets: [],
  };
}

const inside = (hookEventName: string | undefined, more: object) => ({
  hookSpecificOutput: { hookEventName, ...more },
});
const DENY = { permissionDecision: "deny", permissionDecisionReason: "no" };

/** What a command said, and the one thing that is wrong with it; nothing where all is well. */
const ANSWERS: readonly (readonly [claim: string, said: Said, code?: string])[] = [
  ["silence", {}],
  ["plain words that nobody reads", { out: "checked" }],
  ["an empty object", { out: {} }],
  ["continue: true with suppressOutput", { out: { continue: true, suppressOutput: true } }],
  ["a denial", { out: inside("PreToolUse", DENY) }],
  ["exit code 2 with a reason", { code: 2, err: "not here" }],
  ["a denial with exit code 1, which the host honours", { code: 1, out: inside("PreToolUse", DENY) }],
  ["decision approve", { out: { decision: "approve" } }],
  ["words at SessionStart", { event: "SessionStart", out: "Use tabs" }],
  ["words at SessionStart that begin with a brace", { event: "SessionStart", out: "{not json" }],
  ["a first line that sends it into the background", { out: '{"async":true}\n{"systemMessage":"done"}' }],
  ["its own input back", {
    out: { session_id: "s", hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: {} },
  }],
  ["a whole new input", { out: inside("PreToolUse", { updatedInput: { command: "ls -l" } }) }],
  ["a reason to go on at Stop", { event: "Stop", out: { decision: "block", reason: "more" } }],
  ["a permission", {
    event: "PermissionRequest",
    out: inside("PermissionRequest", { decision: { behavior: "allow" } }),
  }],
  ["a denial after a byte order mark", { out: `\uFEFF${JSON.stringify(inside("PreToolUse", DENY))}` }],
  [
    "permissionDecision at PostToolUse",
    { event: "PostToolUse", out: inside("PostToolUse", DENY) },
    "lawful.wrong-event",
  ],
  ["permissionDecision at PermissionRequest", {
    event: "PermissionRequest",
    out: inside("PermissionRequest", { permissionDecision: "allow" }),
  }, "lawful.wrong-event"],
  ["additionalContext at the top", { out: { additionalContext: "x" } }, "lawful.top-level-context"],
  ["additional_context at the top", { out: { additional_context: "x" } }, "lawful.top-level-context"],
  ["permissionDecision at the top", { out: { permissionDecision: "deny" } }, "lawful.top-level"],
  ["JSON on stderr", { err: JSON.stringify({ decision: "block", reason: "x" }) }, "lawful.json-on-stderr"],
  [
    "JSON on stderr with exit code 2",
    { code: 2, err: JSON.stringify({ decision: "block", reason: "x" }) },
    "lawful.json-on-stderr",
  ],
  [
    "words before its JSON",
    { out: `checking\n${JSON.stringify({ decision: "block", reason: "x" })}` },
    "lawful.text-around-json",
  ],
  [
    "words before its JSON on one line",
    { out: `ok: ${JSON.stringify({ decision: "block", reason: "x" })}` },
    "lawful.text-around-json",
  ],
  [
    "words after its JSON",
    { out: `${JSON.stringify({ decision: "block", reason: "x" })}\ndone` },
    "lawful.text-around-json",
  ],
  ["JSON that was pasted together", { out: '{"decision":"block","reason":"say "hi""}' }, "lawful.invalid-json"],
  ["JSON that is cut off", { out: '{"decision":"block",' }, "lawful.invalid-json"],
  ["exit code 2 without a word", { code: 2 }, "lawful.empty-refusal"],
  ["exit code 2 with its reason on stdout", { code: 2, out: "no" }, "lawful.empty-refusal"],
  ["exit code 1 meant as a block", { code: 1, err: "Blocked: rm" }, "lawful.exit-1"],
  ["exit code 3 meant as a block at Stop", { event: "Stop", code: 3, out: "not yet" }, "lawful.exit-1"],
  ["exit code 1 after a tool", { event: "PostToolUse", code: 1, err: "3 problems" }, "lawful.exit-code"],
  ["another event's name", { out: inside("PostToolUse", { additionalContext: "x" }) }, "lawful.event-name"],
  ["no event's name", { out: inside(undefined, { additionalContext: "x" }) }, "lawful.event-name"],
  ["a decision that is none", { out: { decision: "deny", reason: "x" } }, "lawful.value"],
  ["a permission that is none", { out: inside("PreToolUse", { permissionDecision: "Deny" }) }, "lawful.value"],
  ["a reason that is a number", { out: { decision: "block", reason: 5 } }, "lawful.value"],
  ["continue as a text", { out: { continue: "no" } }, "lawful.value"],
  ["a key spelled wrongly", { out: { system_message: "x" } }, "lawful.unknown-key"],
  ["a key of another host", { out: { permission: "deny" } }, "lawful.unknown-key"],
  ["a key of nobody", { out: { version: 1 } }, "lawful.unknown-key"],
  ["a block at SessionStart", { event: "SessionStart", out: { decision: "block", reason: "x" } }, "lawful.no-effect"],
  ["exit code 2 at PermissionRequest", { event: "PermissionRequest", code: 2, err: "no" }, "lawful.no-effect"],
  ["exit code 2 at Notification", { event: "Notification", code: 2, err: "no" }, "lawful.no-effect"],
  ["a block without a reason", { event: "Stop", out: { decision: "block" } }, "lawful.no-reason"],
  [
    "a new input that lacks the command",
    { out: inside("PreToolUse", { updatedInput: { description: "x" } }) },
    "lawful.updated-input",
  ],
  ["a text for a structured output", {
    event: "PostToolUse",
    out: inside("PostToolUse", { updatedToolOutput: "x" }),
    given: { tool_response: { stdout: "" } },
  }, "lawful.tool-output"],
  ["a piece of the event", {
    out: '{"decision":"block"}',
    given: { tool_input: { command: 'echo {"decision":"block"}' } },
  }, "lawful.echo"],
  ["codex: any key it does not know", { host: "codex", out: { version: 1 } }, "lawful.unknown-key"],
  ["codex: allow alone", { host: "codex", out: inside("PreToolUse", { permissionDecision: "allow" }) }, "lawful.value"],
  ["codex: ask", { host: "codex", out: inside("PreToolUse", { permissionDecision: "ask" }) }, "lawful.value"],
  ["codex: words at Stop", { host: "codex", event: "Stop", out: "done" }, "lawful.words"],
  ["codex: a denial", { host: "codex", out: inside("PreToolUse", DENY) }],
  ["gemini: decision deny", { host: "gemini", event: "BeforeTool", out: { decision: "deny", reason: "no" } }],
  ["gemini: decision approve", { host: "gemini", event: "BeforeTool", out: { decision: "approve" } }, "lawful.value"],
  [
    "gemini: updatedInput",
    { host: "gemini", event: "BeforeTool", out: inside("BeforeTool", { updatedInput: {} }) },
    "lawful.unknown-key",
  ],
];

for (const [claim, said, code] of ANSWERS) {
  test(`lawful ${code === undefined ? "has nothing against" : `names ${code} for`} ${claim}`, () => {
    assert.deepEqual(lawful(judged(said)).map((found) => found.code), code === undefined ? [] : [code]);
  });
}

/** How interpreters and programs end on their own account. */
const ENDS: readonly (readonly [claim: string, said: Said, code?: string])[] = [
  ["a guard's own refusal", { code: 2, err: "rm -rf is not allowed" }],
  ["a refusal that begins with 'Error:'", { code: 2, err: "Error: blocked" }],
  ["python without its script", {
    code: 2,
    err: "python3: can't open file '/x/guard.py': [Errno 2] No such file or directory",
  }, "total.own-exit-2"],
  ["a usage text", {
    code: 2,
    err: "usage: guard.py [-h] file\nguard.py: error: the following arguments are required: file",
  }, "total.own-exit-2"],
  ["a syntax error of dash", { code: 2, err: 'hook.sh: 3: Syntax error: "fi" unexpected' }, "total.own-exit-2"],
  [
    "a syntax error of bash",
    { code: 2, err: "hook.sh: line 3: syntax error near unexpected token `fi'" },
    "total.own-exit-2",
  ],
  ["a variable that is not set", { code: 2, err: "hook.sh: 4: FOO: parameter not set" }, "total.own-exit-2"],
  [
    "a panic of Go",
    { code: 2, err: "panic: runtime error\n\ngoroutine 1 [running]:\nmain.main()" },
    "total.own-exit-2",
  ],
  ["grep without its file", { code: 2, err: "grep: rules.txt: No such file or directory" }, "total.own-exit-2"],
  ["a traceback of Python", {
    code: 1,
    err: "Traceback (most recent call last):\n  File \"x\", line 1\nKeyError: 'tool_input'",
  }, "total.crash"],
  ["a stack of Node", { code: 1, err: "TypeError: x is undefined\n    at main (/x/hook.js:3:5)" }, "total.crash"],
  [
    "a line of perl",
    { code: 255, err: 'Can\'t call method "x" on undefined at hook.pl line 3, <STDIN> line 1.' },
    "total.crash",
  ],
  [
    "an exception of Ruby",
    { code: 1, err: "hook.rb:3:in `<main>': undefined method `[]' for nil (NoMethodError)" },
    "total.crash",
  ],
  [
    "jq that cannot parse",
    { code: 5, err: "jq: error (at <stdin>:1): Cannot index string with string" },
    "total.crash",
  ],
  ["a command that is not there", { code: 127, err: "/bin/sh: 1: guard: not found" }, "total.cannot-start"],
  ["a segmentation fault", { code: 139 }, "total.crash"],
  ["an end without a word", { code: 1 }, "total.silent-exit"],
  ["what only a check without network does", { code: 1, err: "curl: (6) Could not resolve host: example.com" }],
];

for (const [claim, said, code] of ENDS) {
  test(`total ${code === undefined ? "has nothing against" : `names ${code} for`} ${claim}`, () => {
    assert.deepEqual(total(judged(said)).map((found) => found.code), code === undefined ? [] : [code]);
  });
}

test("a crash of a guard is always told with what it lets through, and one that fails closed with what it refuses", () => {
  const crash = judged({ code: 1, err: "KeyError: 'x'\n    at a (b:1:1)" });
  assert.match(total(crash)[0]!.message, /fails open/);
  assert.match(total({ ...crash, loaded: { ...crash.loaded, onError: "deny" } })[0]!.message, /is refused/);
  assert.doesNotMatch(
    total(judged({ event: "Notification", code: 1, err: "KeyError: 'x'\n    at a (b:1:1)" }))[0]!.message,
    /open/,
  );
});

test("readPrinted() never takes an answer with anything around it for an answer, and always one alone", () => {
  const object = fc.dictionary(fc.constantFrom("reason", "continue", "x"), fc.jsonValue()).map((o) => ({
    decision: "block",
    ...o,
  }));
  const words = fc.stringMatching(/^[a-z ,.:]{1,20}$/).filter((text) => text.trim() !== "");
  fc.assert(
    fc.property(object, words, fc.constantFrom("", " ", "\n"), (json, text, gap) => {
      const alone = JSON.stringify(json);
      assert.equal(readPrinted(` ${alone}\n`, {}).form, "answer");
      assert.equal(readPrinted(`${text}${gap}${alone}`, {}).form, "surrounded");
      assert.equal(readPrinted(`${alone}${gap}${text}`, {}).form, "surrounded");
      assert.equal(readPrinted(alone, { prompt: `say ${alone}` }).form, "echo");
    }),
    { numRuns: rounds(100, 5000) },
  );
});
