import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostName } from "../../../lib/hooks/hosts/index.ts";
import type { Judged } from "../../../lib/extensions/check/laws/judged.ts";
import { readPrinted } from "../../../lib/extensions/check/laws/printed.ts";
import { protocol, safe } from "../../../lib/extensions/check/laws/protocol.ts";
import { reliable } from "../../../lib/extensions/check/laws/reliable.ts";
import type { Probed, RanCommand } from "../../../lib/extensions/check/subject.ts";
import { rounds } from "../../_counts.ts";

interface Said {
  readonly event?: string;
  readonly host?: HostName;
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
      project: "/project",
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

const BLOCK = JSON.stringify({ decision: "block", reason: "x" });

/** What a command said, and the one thing that is wrong with it, if anything. */
const ANSWERS: readonly (readonly [claim: string, said: Said, code?: string])[] = [
  ["silence", {}],
  ["plain words at an event that ignores them", { out: "checked" }],
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
  ["permissionDecision at PostToolUse", { event: "PostToolUse", out: inside("PostToolUse", DENY) }, "misplaced-key"],
  ["permissionDecision at PermissionRequest", {
    event: "PermissionRequest",
    out: inside("PermissionRequest", { permissionDecision: "allow" }),
  }, "misplaced-key"],
  ["additionalContext at the top", { out: { additionalContext: "x" } }, "misplaced-key"],
  ["additional_context at the top", { out: { additional_context: "x" } }, "misplaced-key"],
  ["permissionDecision at the top", { out: { permissionDecision: "deny" } }, "misplaced-key"],
  ["JSON on stderr", { err: BLOCK }, "json-on-stderr"],
  ["JSON on stderr with exit code 2", { code: 2, err: BLOCK }, "json-on-stderr"],
  ["words before its JSON", { out: `checking\n${BLOCK}` }, "text-around-json"],
  ["words before its JSON on one line", { out: `ok: ${BLOCK}` }, "text-around-json"],
  ["words after its JSON", { out: `${BLOCK}\ndone` }, "text-around-json"],
  ["JSON that was pasted together", { out: '{"decision":"block","reason":"say "hi""}' }, "invalid-json"],
  ["JSON that is cut off", { out: '{"decision":"block",' }, "invalid-json"],
  ["JSON with a key that has no quotes", { out: "{decision: block}" }, "invalid-json"],
  ["gemini: JSON with a key that has no quotes", {
    host: "gemini",
    event: "BeforeTool",
    out: "{decision: deny}",
  }, "invalid-json"],
  ["exit code 2 and no text", { code: 2 }, "no-reason"],
  ["exit code 2 with its reason on stdout", { code: 2, out: "no" }, "no-reason"],
  ["exit code 1 meant as a block", { code: 1, err: "Blocked: rm" }, "exit-1"],
  ["exit code 3 meant as a block at Stop", { event: "Stop", code: 3, out: "not yet" }, "exit-1"],
  ["exit code 1 after a tool", { event: "PostToolUse", code: 1, err: "3 problems" }, "exit-code"],
  ["another event's name", { out: inside("PostToolUse", { additionalContext: "x" }) }, "wrong-event-name"],
  ["no event's name", { out: inside(undefined, { additionalContext: "x" }) }, "wrong-event-name"],
  ["an unknown decision", { out: { decision: "deny", reason: "x" } }, "wrong-value"],
  ["an unknown permission", { out: inside("PreToolUse", { permissionDecision: "Deny" }) }, "wrong-value"],
  ["a reason that is a number", { out: { decision: "block", reason: 5 } }, "wrong-value"],
  ["continue as a text", { out: { continue: "no" } }, "wrong-value"],
  ["a key spelled wrongly", { out: { system_message: "x" } }, "unknown-key"],
  ["a key of another host", { out: { permission: "deny" } }, "unknown-key"],
  ["a key that no host knows", { out: { version: 1 } }, "unknown-key"],
  ["a block at SessionStart", { event: "SessionStart", out: { decision: "block", reason: "x" } }, "no-effect"],
  ["exit code 2 at PermissionRequest", { event: "PermissionRequest", code: 2, err: "no" }, "no-effect"],
  ["exit code 2 at Notification", { event: "Notification", code: 2, err: "no" }, "no-effect"],
  ["a block without a reason", { event: "Stop", out: { decision: "block" } }, "no-reason"],
  [
    "a new input that lacks the command",
    { out: inside("PreToolUse", { updatedInput: { description: "x" } }) },
    "incomplete-input",
  ],
  ["a text for a structured output", {
    event: "PostToolUse",
    out: inside("PostToolUse", { updatedToolOutput: "x" }),
    given: { tool_response: { stdout: "" } },
  }, "wrong-output-type"],
  ["a piece of the event", {
    out: '{"decision":"block"}',
    given: { tool_input: { command: 'echo {"decision":"block"}' } },
  }, "echoes-event"],
  ["codex: any key it does not know", { host: "codex", out: { version: 1 } }, "unknown-key"],
  ["codex: allow alone", { host: "codex", out: inside("PreToolUse", { permissionDecision: "allow" }) }, "wrong-value"],
  ["codex: ask", { host: "codex", out: inside("PreToolUse", { permissionDecision: "ask" }) }, "wrong-value"],
  ["codex: words at Stop", { host: "codex", event: "Stop", out: "done" }, "plain-text"],
  ["codex: a denial", { host: "codex", out: inside("PreToolUse", DENY) }],
  ["codex: the end of the run at a call", { host: "codex", out: { continue: false } }, "no-effect"],
  ["codex: no end of the run at a call", { host: "codex", out: { continue: true } }],
  ["codex: a block without a reason", { host: "codex", out: { decision: "block" } }, "no-reason"],
  ["gemini: decision deny", { host: "gemini", event: "BeforeTool", out: { decision: "deny", reason: "no" } }],
  ["gemini: decision approve", { host: "gemini", event: "BeforeTool", out: { decision: "approve" } }, "wrong-value"],
  [
    "gemini: updatedInput",
    { host: "gemini", event: "BeforeTool", out: inside("BeforeTool", { updatedInput: {} }) },
    "unknown-key",
  ],
];

for (const [claim, said, code] of ANSWERS) {
  test(`protocol ${code === undefined ? "accepts" : `reports ${code} for`} ${claim}`, () => {
    const codes = protocol(judged(said)).map((found) => found.code);
    assert.deepEqual(codes, code === undefined ? [] : [`protocol.${code}`]);
  });
}

/** How interpreters and programs end by themselves. */
const ENDS: readonly (readonly [claim: string, said: Said, code?: string])[] = [
  ["a guard's own refusal", { code: 2, err: "rm -rf is not allowed" }],
  ["a refusal that begins with 'Error:'", { code: 2, err: "Error: blocked" }],
  ["python without its script", {
    code: 2,
    err: "python3: can't open file '/x/guard.py': [Errno 2] No such file or directory",
  }, "interpreter-exit-2"],
  ["a usage text", {
    code: 2,
    err: "usage: guard.py [-h] file\nguard.py: error: the following arguments are required: file",
  }, "interpreter-exit-2"],
  ["a syntax error of dash", { code: 2, err: 'hook.sh: 3: Syntax error: "fi" unexpected' }, "interpreter-exit-2"],
  [
    "a syntax error of bash",
    { code: 2, err: "hook.sh: line 3: syntax error near unexpected token `fi'" },
    "interpreter-exit-2",
  ],
  ["a variable that is not set", { code: 2, err: "hook.sh: 4: FOO: parameter not set" }, "interpreter-exit-2"],
  [
    "a panic of Go",
    { code: 2, err: "panic: runtime error\n\ngoroutine 1 [running]:\nmain.main()" },
    "interpreter-exit-2",
  ],
  ["grep without its file", { code: 2, err: "grep: rules.txt: No such file or directory" }, "interpreter-exit-2"],
  ["a traceback of Python", {
    code: 1,
    err: "Traceback (most recent call last):\n  File \"x\", line 1\nKeyError: 'tool_input'",
  }, "crash"],
  ["a stack of Node", { code: 1, err: "TypeError: x is undefined\n    at main (/x/hook.js:3:5)" }, "crash"],
  [
    "a line of perl",
    { code: 255, err: 'Can\'t call method "x" on undefined at hook.pl line 3, <STDIN> line 1.' },
    "crash",
  ],
  [
    "an exception of Ruby",
    { code: 1, err: "hook.rb:3:in `<main>': undefined method `[]' for nil (NoMethodError)" },
    "crash",
  ],
  ["jq that cannot parse", { code: 5, err: "jq: error (at <stdin>:1): Cannot index string with string" }, "crash"],
  ["a command that is not there", { code: 127, err: "/bin/sh: 1: guard: not found" }, "missing-program"],
  ["a segmentation fault", { code: 139 }, "crash"],
  ["an exit code and no text", { code: 1 }, "silent-exit"],
  ["a failure for lack of network", { code: 1, err: "curl: (6) Could not resolve host: example.com" }],
];

for (const [claim, said, code] of ENDS) {
  test(`reliable ${code === undefined ? "accepts" : `reports ${code} for`} ${claim}`, () => {
    const codes = reliable(judged(said)).map((found) => found.code);
    assert.deepEqual(codes, code === undefined ? [] : [`fails.${code}`]);
  });
}

test("a crash of a guard always says whether it fails open or closed", () => {
  const crash = judged({ code: 1, err: "KeyError: 'x'\n    at a (b:1:1)" });
  assert.match(reliable(crash)[0]!.message, /fails open/);
  assert.match(reliable({ ...crash, loaded: { ...crash.loaded, onError: "deny" } })[0]!.message, /is refused/);
  assert.doesNotMatch(
    reliable(judged({ event: "Notification", code: 1, err: "KeyError: 'x'\n    at a (b:1:1)" }))[0]!.message,
    /open/,
  );
});

test("readPrinted() never accepts an answer with text around it, and always one alone", () => {
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

const SECRET = "sk-ant-api03-0123456789abcdef";

/** What came of one event, and what safe reports. */
const EFFECTS: readonly (readonly [claim: string, probed: Partial<Probed>, code?: string])[] = [
  ["a file in the project", { changed: ["project/notes.txt"] }],
  ["a file in /tmp", { changed: ["outside/all.log"] }, "unsafe.writes-outside"],
  ["a file that only a shell in the event makes", { changed: ["canary"] }, "unsafe.shell-injection"],
  ["a secret in its output", { printed: `key ${SECRET}` }, "unsafe.secret-leak"],
  ["a secret in base64", { printed: btoa(SECRET) }, "unsafe.secret-leak"],
  ["a long reason", { opinion: { decision: "deny", reason: "x".repeat(10_001) } }, "unsafe.long-output"],
  ["a call that needs the network", { failure: { at: "run", message: "fetch failed" } }, "unsafe.needs-network"],
];

for (const [claim, probed, code] of EFFECTS) {
  test(`safe ${code === undefined ? "accepts" : `reports ${code} for`} ${claim}`, () => {
    const given = { ...judged({}), probed: { ms: 1, ...probed }, secrets: [SECRET] };
    assert.deepEqual(safe(given).map((found) => found.code), code === undefined ? [] : [code]);
  });
}
