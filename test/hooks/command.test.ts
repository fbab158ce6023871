import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandHook } from "../../lib/hooks/command-hook.ts";
import { scratch } from "../_scratch.ts";
import { environment, fireCommand, fireHook, POST, PRE, PROMPT, record, START, STOP } from "./_fire.ts";

const json = (value: unknown, rest = "") => `printf '%s' '${JSON.stringify(value)}'${rest}`;
const specific = (hookEventName: string, fields: object) => ({ hookSpecificOutput: { hookEventName, ...fields } });
const reminder = (text: string) => `<system-reminder>\n${text}\n</system-reminder>`;

test("a command hook reads its event as one compact line and then the end", async () => {
  using folder = scratch();
  const file = join(folder.path, "in");
  await fireCommand({ ...PRE, input: { command: "echo 'café 😀'" } }, `cat > ${file}; echo end >> ${file}`);
  const [line, end, nothing] = readFileSync(file, "utf8").split("\n");
  const { cwd: _, ...input } = JSON.parse(line!);
  assert.equal(line, JSON.stringify(JSON.parse(line!)));
  assert.ok(line!.includes("café 😀"));
  assert.deepEqual([end, nothing], ["end", ""]);
  assert.deepEqual(input, {
    session_id: "s1",
    transcript_path: "",
    permission_mode: "default",
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command: "echo 'café 😀'" },
    tool_use_id: "toolu_1",
  });
});

test("S2.12: exit code 0 with nothing or with plain words on stdout is no opinion, whatever stderr says", async () => {
  for (
    const command of ["true", "echo words", 'echo \'[{"decision":"block"}]\'', "echo 42", "echo w >&2", "echo '{}'"]
  ) {
    const folded = await fireCommand(PRE, command);
    assert.deepEqual([folded.decision, folded.contexts, folded.warnings], ["continue", [], []], command);
  }
});

test("exit code 2 denies with stderr as the reason, in the host's words", async () => {
  const { decision, denials } = await fireCommand(PRE, "echo because >&2; exit 2", { label: "sh x.sh" });
  assert.equal(decision, "deny");
  assert.equal(denials[0]!.text, "PreToolUse:Bash hook error: [sh x.sh]: because");
  const silent = await fireCommand(PRE, "echo only-stdout; exit 2", { label: "x" });
  assert.equal(silent.denials[0]!.text, "PreToolUse:Bash hook error: [x]: No stderr output");
});

test("exit code 2 denies whatever the JSON beside it says, and prefers the JSON's own reason to deny", async () => {
  const block = await fireCommand(PRE, json({ decision: "block", reason: "R" }, "; echo E >&2; exit 2"));
  assert.equal(block.denials[0]!.text, "PreToolUse:Bash hook error: R");
  const allow = specific("PreToolUse", { permissionDecision: "allow", additionalContext: "C" });
  const folded = await fireCommand(PRE, json(allow, "; echo E >&2; exit 2"), { label: "x" });
  assert.equal(folded.denials[0]!.text, "PreToolUse:Bash hook error: [x]: E");
  assert.deepEqual(folded.contexts.map((c) => c.text), ["C"]);
  for (const garbage of ["echo '{\"decision\": '", 'echo \'{"decision":"nonsense"}\'']) {
    assert.equal((await fireCommand(PRE, `${garbage}; echo E >&2; exit 2`)).decision, "deny", garbage);
  }
});

test("a JSON verdict counts on every exit code", async () => {
  const deny = specific("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: "no" });
  for (const code of [0, 1, 3, 127]) {
    const { denials } = await fireCommand(PRE, json(deny, `; exit ${code}`));
    assert.equal(denials[0]?.text, "PreToolUse:Bash hook error: no", `exit ${code}`);
  }
});

test("U7: another exit code or a signal without a JSON verdict is a failure that is reported and blocks nothing", async () => {
  const failing = { "echo bad >&2; exit 1": /code 1: bad/, "exit 127": /code 127/, "kill -9 $$": /SIGKILL/ };
  for (const [command, why] of Object.entries(failing)) {
    const folded = await fireCommand(PRE, command);
    assert.equal(folded.decision, "continue");
    assert.match(folded.warnings.join(), why, command);
  }
});

test("U7: what looks like an answer and cannot be read is a failure, never plain words", async () => {
  const verdict = JSON.stringify({ decision: "block" });
  const garbage = [
    '{"decision": "block", ',
    `${verdict}\n${verdict}`,
    `${verdict} trailing`,
    `checking...\n${verdict}`,
    "{ decision: block }",
    '{"decision":"allow"}',
    '{"reason":5}',
    '{"continue":"no"}',
    '{"hookSpecificOutput":{"permissionDecision":"deny"}}',
    JSON.stringify(specific("PostToolUse", { permissionDecision: "deny" })),
    JSON.stringify(specific("PreToolUse", { permissionDecision: "Deny" })),
  ];
  for (const fired of [PRE, PROMPT]) {
    for (const text of garbage) {
      const folded = await fireCommand(fired, `cat > /dev/null; cat <<'END'\n${text}\nEND`);
      assert.deepEqual([folded.decision, folded.contexts], ["continue", []], text);
      assert.match(folded.warnings.join(), /failed on/, text);
    }
  }
});

test("unknown keys in an answer are ignored and the rest counts", async () => {
  const folded = await fireCommand(
    PRE,
    json({ decision: "block", reason: "R", foo: { a: 1 }, permissionDecision: "allow" }),
  );
  assert.equal(folded.denials[0]!.text, "PreToolUse:Bash hook error: R");
});

test("a hook that gives its input back has no opinion", async () => {
  const folded = await fireCommand(PRE, "cat");
  assert.deepEqual([folded.decision, folded.warnings], ["continue", []]);
});

test("PreToolUse: ask, allow, a new input and context are what the host makes of them", async () => {
  const ask = await fireCommand(PRE, json(specific("PreToolUse", { permissionDecision: "ask" })));
  assert.equal(ask.asked!.text, "Hook PreToolUse:Bash asked for confirmation for this tool");
  const why = specific("PreToolUse", { permissionDecision: "ask", permissionDecisionReason: "sure?" });
  assert.equal((await fireCommand(PRE, json(why))).asked!.text, "sure?");
  const given = await fireCommand(PRE, json(specific("PreToolUse", { updatedInput: { command: "pwd" } })));
  assert.deepEqual([given.decision, given.value], ["continue", { command: "pwd" }]);
  assert.equal((await fireCommand(PRE, json({ decision: "approve" }))).decision, "allow");
  const said = await fireCommand(PRE, json(specific("PreToolUse", { additionalContext: "C" })));
  assert.deepEqual(said.contexts, [{ text: "C", label: "PreToolUse:Bash hook additional context", hook: "hook" }]);
});

test("S2.12: PreToolUse: a denial without a reason, and one with a halt beside it", async () => {
  const bare = await fireCommand(PRE, json({ decision: "block", reason: "" }));
  assert.equal(bare.denials[0]!.text, "PreToolUse:Bash hook error: Blocked by hook");
  const halt = await fireCommand(PRE, json({ continue: false, stopReason: "S" }));
  assert.deepEqual([halt.decision, halt.halt?.reason], ["continue", "S"]);
  const deferred = await fireCommand(PRE, json(specific("PreToolUse", { permissionDecision: "defer" })));
  assert.deepEqual([deferred.decision, deferred.halt?.reason], ["deny", "deferred"]);
});

test("PostToolUse: feedback stands inside the result, in the host's words", async () => {
  const exit = await fireCommand(POST, "echo fix it >&2; exit 2", { label: "x" });
  assert.equal(
    exit.denials[0]!.text,
    reminder('PostToolUse:Bash hook blocking error from command: "x": [x]: fix it\n'),
  );
  const both = { decision: "block", reason: "R", ...specific("PostToolUse", { additionalContext: "C" }) };
  const folded = await fireCommand(POST, json(both), { label: "x" });
  assert.equal(folded.denials[0]!.text, reminder('PostToolUse:Bash hook blocking error from command: "x": R'));
  assert.deepEqual(folded.contexts.map((c) => [c.label, c.place]), [[
    "PostToolUse:Bash hook additional context",
    "result",
  ]]);
});

test("PostToolUse: a failed call is PostToolUseFailure on the wire and in words", async () => {
  const failed = { ...POST, outcome: "failure", failed: true, error: "Exit code 3" } as const;
  const folded = await fireCommand(failed, json(specific("PostToolUseFailure", { additionalContext: "C" })));
  assert.equal(folded.contexts[0]!.label, "PostToolUseFailure:Bash hook additional context");
});

test("PostToolUse: a new output of another kind than the tool's is a failure, and the result stays", async () => {
  const wrong = await fireCommand(POST, json(specific("PostToolUse", { updatedToolOutput: "text" })));
  assert.deepEqual([wrong.modified, wrong.warnings.length], [false, 1]);
  const right = await fireCommand(POST, json(specific("PostToolUse", { updatedToolOutput: { stdout: "b" } })));
  assert.deepEqual(right.value, { response: { stdout: "b" } });
  const mcp = { ...POST, tool_name: "mcp__srv__echo" };
  const output = await fireCommand(mcp, json(specific("PostToolUse", { updatedMCPToolOutput: "new" })));
  assert.equal(output.value, "new");
});

test("UserPromptSubmit: plain words and context stand before the prompt, a mark for each hook", async () => {
  const plain = await fireCommand(PROMPT, "echo '  words '; echo more");
  assert.deepEqual(plain.contexts, [
    { text: reminder("UserPromptSubmit hook success: words \nmore"), verbatim: true, place: "before", hook: "hook" },
  ]);
  const said = await fireCommand(PROMPT, json(specific("UserPromptSubmit", { additionalContext: "C" })));
  assert.equal(said.contexts[0]!.text, reminder("UserPromptSubmit hook additional context: C"));
  assert.equal(
    (await fireCommand(PROMPT, "echo '{not json'")).contexts[0]!.text,
    reminder("UserPromptSubmit hook success: {not json"),
  );
});

test("UserPromptSubmit: a dropped prompt is shown with the reason, unless the hook hides it", async () => {
  const block = await fireCommand(PROMPT, json({ decision: "block", reason: "R" }));
  assert.equal(block.denials[0]!.text, "UserPromptSubmit operation blocked by hook:\nR\n\nOriginal prompt: go");
  const exit = await fireCommand(PROMPT, "echo E >&2; exit 2", { label: "x" });
  assert.equal(exit.denials[0]!.text, "UserPromptSubmit operation blocked by hook:\n[x]: E\n\n\nOriginal prompt: go");
  const hidden = { decision: "block", reason: "R", ...specific("UserPromptSubmit", { suppressOriginalPrompt: true }) };
  const folded = await fireCommand(PROMPT, json(hidden));
  assert.equal(folded.denials[0]!.text, "UserPromptSubmit operation blocked by hook:\nR");
});

test("SessionStart: words and context go to the model, a refusal only to the person", async () => {
  assert.equal(
    (await fireCommand(START, "echo hi")).contexts[0]!.text,
    reminder("SessionStart:startup hook success: hi"),
  );
  const said = await fireCommand(START, json(specific("SessionStart", { additionalContext: "C" })));
  assert.equal(said.contexts[0]!.label, "SessionStart hook additional context");
  const exit = await fireCommand(START, "echo no >&2; exit 2", { label: "x" });
  assert.deepEqual([exit.decision, exit.systemMessages], ["continue", [{ hook: "hook", text: "[x]: no" }]]);
});

test("SessionStart: a first message of a hook is input for the agent", async () => {
  const folded = await fireCommand(START, json(specific("SessionStart", { initialUserMessage: "begin" })));
  assert.deepEqual(folded.inputs, [{ hook: "hook", text: "begin" }]);
});

test("Stop: a decision is shown twice, stderr once, context by itself keeps the agent going", async () => {
  const block = await fireCommand(STOP, json({ decision: "block", reason: "R" }), { label: "x" });
  assert.deepEqual(block.contexts.map((c) => [c.label, c.text]), [['Stop hook blocking error from command: "x"', "R"]]);
  assert.equal(block.denials[0]!.text, "Stop hook feedback:\nR");
  const exit = await fireCommand(STOP, "echo E >&2; exit 2", { label: "x" });
  assert.deepEqual([exit.contexts, exit.denials[0]!.text], [[], "Stop hook feedback:\n[x]: E\n"]);
  const said = await fireCommand(STOP, json(specific("Stop", { additionalContext: "C" })));
  assert.deepEqual([said.decision, said.denials[0]!.text, said.contexts[0]!.label], [
    "deny",
    "",
    "Stop hook additional context",
  ]);
});

test("SubagentStop and SubagentStart carry their own names, and SubagentStart refuses nothing", async () => {
  const sub = { parent_agent_id: "s1", agent_id: "a1" };
  const block = await fireCommand(STOP, json({ decision: "block", reason: "R" }), {
    registered: "SubagentStop",
    label: "x",
    env: sub,
  });
  assert.equal(block.contexts[0]!.label, 'SubagentStop hook blocking error from command: "x"');
  assert.equal(block.denials[0]!.text, "Stop hook feedback:\nR");
  const start = { event: "agent-start", task: "t", agent_type: "g" } as const;
  const on = { registered: "SubagentStart", env: sub };
  for (const command of ["echo no >&2; exit 2", json({ decision: "block", reason: "R" })]) {
    assert.equal((await fireCommand(start, command, on)).decision, "continue", command);
  }
  const said = await fireCommand(start, json(specific("SubagentStart", { additionalContext: "C" })), on);
  assert.deepEqual(said.contexts.map((c) => [c.label, c.place]), [["SubagentStart hook additional context", "before"]]);
  assert.equal((await fireCommand(start, "exit 2")).decision, "deny", "agent-start is ours, and can be refused");
});

const PERMISSION = { ...PRE, event: "permission-request", reason: "r", permission_suggestions: [] } as const;

test("PermissionRequest: only its own decision counts", async () => {
  const decide = (decision: object) => json(specific("PermissionRequest", { decision }));
  for (const command of ["exit 2", json({ decision: "approve" }), json({ decision: "block" }), "echo x"]) {
    assert.equal((await fireCommand(PERMISSION, command)).decision, "continue", command);
  }
  const allow = await fireCommand(PERMISSION, decide({ behavior: "allow", updatedInput: { command: "pwd" } }));
  assert.deepEqual([allow.decision, allow.value], ["allow", { command: "pwd" }]);
  const deny = await fireCommand(PERMISSION, decide({ behavior: "deny", message: "M" }));
  assert.equal(deny.denials[0]!.text, "M");
  const bare = await fireCommand(PERMISSION, decide({ behavior: "deny" }));
  assert.equal(bare.denials[0]!.text, "Permission denied by hook");
  const end = await fireCommand(PERMISSION, decide({ behavior: "deny", message: "M", interrupt: true }));
  assert.equal(end.abort?.reason, "M");
});

test("PermissionRequest: rules allowed along with a call are handed on for the session", async () => {
  const remembered: unknown[] = [];
  const rules = [{ toolName: "Bash" }, { toolName: "Edit", ruleContent: "src/**" }];
  const updatedPermissions = [{ type: "addRules", behavior: "allow", rules, destination: "session" }];
  await fireCommand(
    PERMISSION,
    json(specific("PermissionRequest", { decision: { behavior: "allow", updatedPermissions } })),
    {
      host: { remember: (...given) => void remembered.push(given) },
    },
  );
  assert.deepEqual(remembered, [["allow", ["Bash", "Edit(src/**)"]]]);
});

test("PreCompact: plain words are further instructions, a refusal names the hook", async () => {
  const compact = { event: "pre-compact", trigger: "manual", instructions: "short" } as const;
  assert.equal((await fireCommand(compact, "echo keep names")).value, "short\n\nkeep names");
  const denied = await fireCommand(compact, "echo no >&2; exit 2", { label: "x" });
  assert.equal(denied.denials[0]!.text, "Compaction blocked by PreCompact hook: [x]: no\n");
});

test("a systemMessage is for the person and never for the model", async () => {
  const folded = await fireCommand(PRE, json({ systemMessage: "S", suppressOutput: true }));
  assert.deepEqual([folded.systemMessages, folded.contexts], [[{ hook: "hook", text: "S" }], []]);
});

test("contexts over 10,000 characters are kept in a file and shown by their beginning; reasons never are", async () => {
  using folder = scratch();
  const host = { outputDir: () => join(folder.path, "o") };
  const print = (n: number) => `head -c ${n} /dev/zero | tr '\\0' u`;
  const whole = await fireCommand(PROMPT, print(10_000), { host });
  assert.ok(whole.contexts[0]!.text.includes("u".repeat(10_000)));
  const cut = (await fireCommand(PROMPT, print(12_000), { host })).contexts[0]!.text;
  const [, file] =
    /^<system-reminder>\nUserPromptSubmit hook success: <persisted-output>\nOutput too large \(11\.7KB\)\. Full output saved to: (\S+)\n\nPreview \(first 2KB\):\nu{2000}\n\.\.\.\n<\/persisted-output>\n<\/system-reminder>$/
      .exec(cut) ?? assert.fail(cut);
  assert.equal(readFileSync(file!, "utf8"), "u".repeat(12_000));
  const reason = await fireCommand(PRE, `${print(300_000)} >&2; exit 2`, { host, label: "x" });
  assert.equal(reason.denials[0]!.text!.length, "PreToolUse:Bash hook error: [x]: ".length + 300_000);
});

test("U7: at its time limit a command hook is a failure, and what it had said does not count", async () => {
  const folded = await fireCommand(PRE, `${json({ decision: "block", reason: "R" })}; sleep 20`, {
    record: { timeout: 0.3 },
  });
  assert.equal(folded.decision, "continue");
  assert.match(folded.warnings[0]!, /took longer than its limit of 0\.3 s/);
});

test("a failure that blocks says so in the host's words", async () => {
  const blocking = { label: "x", blocking: 'onFailure is "block"' };
  const deny = { onError: "deny" } as const;
  const failed = await fireCommand(PRE, "echo oops >&2; exit 1", { ...blocking, record: deny });
  assert.equal(
    failed.denials[0]!.text,
    'PreToolUse:Bash hook error: [x]: failed; blocking because onFailure is "block"\noops',
  );
  const late = await fireCommand(PRE, "sleep 20", { ...blocking, record: { ...deny, timeout: 0.2 } });
  assert.equal(
    late.denials[0]!.text,
    'PreToolUse:Bash hook error: [x]: timed out; blocking because onFailure is "block"',
  );
  const prompt = await fireCommand(PROMPT, "echo '{\"a\": '", { label: "x", record: deny });
  assert.match(
    prompt.denials[0]!.text!,
    /^UserPromptSubmit operation blocked by hook:\n\[x\]: failed; blocking because onError is "deny"\n/,
  );
});

test("a command hook runs in the session's directory, and elsewhere when that is gone", async () => {
  using folder = scratch();
  const gone = join(folder.path, "gone");
  mkdirSync(gone);
  const parts = commandHook({ name: "hook", command: "pwd" }, { projectDir: folder.path });
  const told = async () => {
    const { env } = environment(gone);
    return (await fireHook(record("user-prompt-submit", parts), PROMPT, env)).contexts[0]!.text;
  };
  assert.equal(await told(), reminder(`UserPromptSubmit hook success: ${gone}`));
  rmSync(gone, { recursive: true });
  assert.equal(await told(), reminder(`UserPromptSubmit hook success: ${folder.path}`));
});
