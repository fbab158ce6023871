import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { HostName } from "../../lib/hooks/hosts/index.ts";
import { serve } from "../../lib/hooks/serve-hook.ts";
import { CROCHET, ended } from "../_crochet.ts";
import { NO_PTY, Pty } from "../_pty.ts";
import { scratch } from "../_scratch.ts";
import { ask, EVENTS, type Json, moduleAnswering, served } from "./_served.ts";

const inside = (hookEventName: string, fields: Json) => ({ hookSpecificOutput: { hookEventName, ...fields } });

/** A refused call in the words of Claude Code. */
const refusal = (permissionDecisionReason: string) =>
  inside("PreToolUse", { permissionDecision: "deny", permissionDecisionReason });

/** event, answer, and what each host is told; "failed" where it cannot be done there and the failure refuses nothing. */
const TABLE: [event: string, answer: Json, claude: unknown, codex: unknown, gemini: unknown][] = [
  ["pre", { action: "deny", reason: "no" }, refusal("no"), refusal("no"), { decision: "deny", reason: "no" }],
  ["pre", { action: "allow" }, inside("PreToolUse", { permissionDecision: "allow" }), undefined, { decision: "allow" }],
  [
    "pre",
    { action: "ask", reason: "sure?" },
    inside("PreToolUse", { permissionDecision: "ask", permissionDecisionReason: "sure?" }),
    refusal("A person has to decide, but codex asks no one there: sure?"),
    { decision: "ask", reason: "sure?", systemMessage: "sure?" },
  ],
  [
    "pre",
    { action: "modify", value: { command: "ls -a", timeout: 5 } },
    inside("PreToolUse", { updatedInput: { command: "ls -a", timeout: 5 } }),
    inside("PreToolUse", { permissionDecision: "allow", updatedInput: { command: "ls -a", timeout: 5 } }),
    inside("BeforeTool", { tool_input: { command: "ls -a", timeout: 5 } }),
  ],
  [
    "pre",
    { action: "halt", reason: "enough" },
    { continue: false, stopReason: "enough", ...refusal("enough") },
    refusal("enough"),
    { continue: false, stopReason: "enough", decision: "deny", reason: "enough" },
  ],
  [
    "pre",
    { action: "continue", context: "note", systemMessage: "for you" },
    { systemMessage: "for you", ...inside("PreToolUse", { additionalContext: "note" }) },
    { systemMessage: "for you", ...inside("PreToolUse", { additionalContext: "note" }) },
    { decision: "deny", reason: "Cannot use the answer to PreToolUse as gemini cannot pass text to the model there" },
  ],
  [
    "post",
    { action: "deny", reason: "see" },
    { decision: "block", reason: "see" },
    inside("PostToolUse", { additionalContext: "see" }),
    inside("AfterTool", { additionalContext: "see" }),
  ],
  [
    "post",
    { action: "modify", value: "b" },
    inside("PostToolUse", { updatedToolOutput: { stdout: "b", stderr: "" } }),
    "failed",
    { decision: "deny", reason: "b" },
  ],
  [
    "prompt",
    { action: "deny", reason: "no" },
    { decision: "block", reason: "no" },
    { decision: "block", reason: "no" },
    { decision: "deny", reason: "no" },
  ],
  [
    "prompt",
    { action: "continue", context: "note" },
    inside("UserPromptSubmit", { additionalContext: "note" }),
    inside("UserPromptSubmit", { additionalContext: "note" }),
    inside("BeforeAgent", { additionalContext: "note" }),
  ],
  [
    "prompt",
    { action: "modify", value: "other" },
    { decision: "block", reason: "Cannot use the answer to UserPromptSubmit as claude cannot rewrite anything there" },
    { decision: "block", reason: "Cannot use the answer to UserPromptSubmit as codex cannot rewrite anything there" },
    { decision: "deny", reason: "Cannot use the answer to UserPromptSubmit as gemini cannot rewrite anything there" },
  ],
  [
    "stop",
    { continue: true, reason: "go on" },
    { decision: "block", reason: "go on" },
    { decision: "block", reason: "go on" },
    { decision: "deny", reason: "go on" },
  ],
  ["stop", { action: "continue", context: "never continues" }, "failed", "failed", "failed"],
  [
    "stop",
    { action: "deny", reason: "go on", context: "and this" },
    { decision: "block", reason: "go on\nand this" },
    { decision: "block", reason: "go on\nand this" },
    { decision: "deny", reason: "go on\nand this" },
  ],
  ["stop", { action: "halt", reason: "" }, { continue: false }, { continue: false }, { continue: false }],
  [
    "start",
    { action: "continue", context: "hello" },
    inside("SessionStart", { additionalContext: "hello" }),
    inside("SessionStart", { additionalContext: "hello" }),
    inside("SessionStart", { additionalContext: "hello" }),
  ],
  [
    "permission",
    { action: "deny", reason: "no" },
    inside("PermissionRequest", { decision: { behavior: "deny", message: "no" } }),
    inside("PermissionRequest", { decision: { behavior: "deny", message: "no" } }),
    undefined,
  ],
  [
    "permission",
    { action: "allow" },
    inside("PermissionRequest", { decision: { behavior: "allow" } }),
    inside("PermissionRequest", { decision: { behavior: "allow" } }),
    undefined,
  ],
];

for (const [event, answer, claude, codex, gemini] of TABLE) {
  test(`${JSON.stringify(answer)} on ${event} means the same in every host`, async () => {
    for (
      const [host, expected] of [["claude", claude], ["codex", codex], ["gemini", gemini]] as [HostName, unknown][]
    ) {
      if (host === "gemini" && event === "permission") continue;
      const { output, stderr, code } = await ask(moduleAnswering(answer), event, host);
      if (expected === "failed") {
        assert.deepEqual({ output, code }, { output: undefined, code: 1 }, host);
        assert.match(stderr, /^Hook .* failed on /, host);
      } else assert.deepEqual({ output, code }, { output: expected, code: 0 }, `${host}: ${stderr}`);
    }
  });
}

test("Codex has no limit for Stop hooks: after eight times the agent may stop, and a new turn counts anew", async () => {
  using folder = scratch({ "stop.x.ts": moduleAnswering({ action: "deny", reason: "go on" }) });
  const stop = async (stop_hook_active: boolean): Promise<{ output: Json }> => {
    const told = { session_id: "s", turn_id: "t", cwd: folder.path, hook_event_name: "Stop", stop_hook_active };
    const { stdout } = await served(`${folder.path}/stop.x.ts`, told, "codex", { HOME: folder.path });
    return { output: JSON.parse(stdout) };
  };
  for (const _ of [1, 2]) {
    assert.equal((await stop(false)).output.decision, "block");
    for (let i = 0; i < 7; i++) assert.equal((await stop(true)).output.decision, "block", `${i}`);
    const { output } = await stop(true);
    assert.equal(output.decision, undefined);
    assert.match(String(output.systemMessage), /sent the agent back 8 times, so it may stop now: go on/);
  }
});

const HOSTS = ["claude", "codex", "gemini"] as const;

/** The refusal of a call in the words of each host. */
const REFUSED: { readonly [H in (typeof HOSTS)[number]]: (reason: string) => Json } = {
  claude: refusal,
  codex: refusal,
  gemini: (reason) => ({ decision: "deny", reason }),
};

test("what a hook says by its context is part of its answer, which no host can mistake for another", async () => {
  for (const call of ["addContext", "hookInput"]) {
    const says = (more = "") => `export default (_, ctx) => { ctx.${call}("note"); ${more} };`;
    for (const host of HOSTS) {
      // There a context of a stop hook keeps the agent going (claude), or voids the whole answer (codex).
      const { output, stderr, code } = await ask(says(), "stop", host);
      assert.deepEqual({ output, code }, { output: undefined, code: 1 }, host);
      assert.match(stderr, new RegExp(`${host} cannot pass text to the model there`));
      const back = await ask(says(`return { action: "deny", reason: "go on" }`), "stop", host);
      assert.equal(back.output?.reason, "go on\nnote", host);
      assert.equal(back.output?.hookSpecificOutput, undefined, host);
      const thrown = await ask(says(`throw new Error("oh")`), "stop", host);
      assert.deepEqual({ output: thrown.output, code: thrown.code }, { output: undefined, code: 1 }, host);
      assert.match(thrown.stderr, /oh[^]*: note\n$/);
    }
    const refused = await ask(says(`return { action: "deny", reason: "no" }`), "permission", "codex");
    assert.deepEqual(
      refused.output,
      inside("PermissionRequest", { decision: { behavior: "deny", message: "no\nnote" } }),
    );
    assert.match(JSON.stringify((await ask(says(), "pre", "gemini")).output), /"deny".*cannot pass text to the model/);
  }
});

test("a hook that ends the run prevents the call, in hosts that would still run it too", async () => {
  const enders = [
    `export default (_, ctx) => ctx.abort("enough");`,
    `export const config = { onError: "abort" }; export default () => { throw new Error("enough"); };`,
  ];
  for (const text of enders) {
    for (const host of HOSTS) {
      const { output } = await ask(text, "pre", host);
      const { continue: goesOn, stopReason: _, ...refusal } = output!;
      assert.match(JSON.stringify(refusal), /"deny".*enough/, host);
      // Codex takes an answer that has this for none at all.
      assert.equal(goesOn, host === "codex" ? undefined : false, host);
    }
    // Where a host may not heed it, the person reads it.
    assert.match(String((await ask(text, "start", "claude")).output?.systemMessage), /enough/);
  }
  for (const text of [...enders, moduleAnswering({ action: "halt", reason: "enough" })]) {
    for (const host of ["claude", "qwen", "codex"] as const) {
      const { output } = await ask(text, "permission", host);
      const { decision } = output!.hookSpecificOutput as { decision: Json };
      assert.match(String(decision.message), /enough/);
      assert.deepEqual([decision.behavior, decision.interrupt], ["deny", host === "codex" ? undefined : true]);
      assert.equal(output!.continue, undefined);
    }
  }
});

test("U3: a refusal without words has some in every host: codex takes one without for none", async () => {
  const wordless = [
    ...[undefined, "", " \n"].map((reason) => moduleAnswering({ action: "deny", reason })),
    `export default (_, ctx) => { ctx.abort(""); };`,
    `export default () => { throw ""; };`,
  ];
  for (const text of wordless) {
    for (const host of HOSTS) {
      const { continue: _, ...output } = (await ask(text, "pre", host)).output!;
      assert.deepEqual(output, REFUSED[host]("Denied by hook pre-tool-use.x.ts"), text);
    }
  }
});

test("U3, U6: no host refuses or ends a session that starts, and the user is informed", async () => {
  for (const action of ["deny", "halt"]) {
    for (const host of HOSTS) {
      const { output, stderr, code } = await ask(moduleAnswering({ action, reason: "no" }), "start", host);
      assert.deepEqual({ output, code }, { output: undefined, code: 1 }, host);
      assert.match(stderr, /: ignored\n$/);
    }
  }
});

test("gemini, which lays the new input over the old, is never given one that would leave something in", async () => {
  const { output } = await ask(moduleAnswering({ action: "modify", value: { command: "ls" } }), "pre", "gemini");
  assert.deepEqual(output, {
    decision: "deny",
    reason: "Cannot use the answer to PreToolUse as gemini cannot remove 'timeout' from the input",
  });
});

test("U7: a hook that throws, runs out of time or cannot be loaded refuses what it guards, and is reported elsewhere", async () => {
  const broken: [string, RegExp][] = [
    [`export default () => { throw new Error("oh"); };`, /oh/],
    [
      `export const config = { timeout: 0.05 }; export default () => new Promise(() => {});`,
      /longer than its limit of 0\.05 s/,
    ],
    [`export default () => ({ action: "maybe" });`, /action "maybe" is unknown/],
    [`export default 5;`, /default export is not a function/],
    [`export default (`, /Cannot load hook/],
  ];
  for (const [text, why] of broken) {
    const { output } = await ask(text, "pre", "claude");
    const { permissionDecision, permissionDecisionReason } = output!.hookSpecificOutput as Json;
    assert.equal(permissionDecision, "deny", text);
    assert.match(String(permissionDecisionReason), why);
    const { output: quiet, stderr, code } = await ask(text, "stop", "claude");
    assert.deepEqual({ quiet, code }, { quiet: undefined, code: 1 }, text);
    assert.match(stderr, why);
  }
});

test("onError decides for a script that fails, in every host", async () => {
  const failing = (header: string) => `#!/bin/sh\n${header}\necho broken >&2\nexit 1\n`;
  const at = (header: string, host: HostName) => ask(failing(header), "pre", host, { name: "pre-tool-use.x.sh" });
  assert.equal((await at("", "claude")).code, 1);
  assert.equal((await at("", "codex")).output, undefined);
  for (const host of HOSTS) {
    const { output } = await at("# crochet: onError=deny", host);
    assert.match(JSON.stringify(output), /"deny".*exited with code 1: broken/, host);
  }
});

test("scripts speak the language of Claude Code, and other hosts hear it in theirs", async () => {
  const script = (body: string) => `#!/bin/sh\ncat >/dev/null\n${body}\n`;
  const rewrite = script(
    `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"x","timeout":5}}}'`,
  );
  const at = (text: string, event: string, host: HostName) =>
    ask(text, event, host, { name: `${EVENTS[event]!.name}.x.sh` });
  assert.deepEqual(
    (await at(rewrite, "pre", "gemini")).output,
    inside("BeforeTool", { tool_input: { command: "x", timeout: 5 } }),
  );
  assert.deepEqual(
    (await at(rewrite, "pre", "codex")).output,
    inside("PreToolUse", { permissionDecision: "allow", updatedInput: { command: "x", timeout: 5 } }),
  );
  const block = script(`echo '{"decision":"block","reason":"not done"}'`);
  assert.deepEqual((await at(block, "stop", "gemini")).output, { decision: "deny", reason: "not done" });
  const words = script("echo some words");
  assert.deepEqual(
    (await at(words, "prompt", "gemini")).output,
    inside("BeforeAgent", { additionalContext: "some words" }),
  );
  assert.equal((await at(words, "stop", "codex")).output, undefined);
  const two = script("echo why >&2; exit 2");
  assert.deepEqual((await at(two, "stop", "codex")).output, { decision: "block", reason: "why" });
  assert.deepEqual((await at(two, "start", "codex")).output, { systemMessage: "why" });
  assert.equal((await at(script("exit 2"), "start", "codex")).output, undefined);
  assert.deepEqual((await at(two, "permission", "codex")).output, { systemMessage: "why" });
  const ends = script(`echo '{"continue":false,"stopReason":"enough"}'; echo why >&2; exit 2`);
  assert.deepEqual(
    (await at(ends, "stop", "codex")).output,
    { continue: false, stopReason: "enough", decision: "block", reason: "why" },
  );
  const said = script(`echo '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"more"}}'`);
  assert.deepEqual((await at(said, "stop", "codex")).output, { decision: "block", reason: "more" });
  const opens = script(`echo '{"hookSpecificOutput":{"hookEventName":"SessionStart","initialUserMessage":"begin"}}'`);
  assert.deepEqual(
    (await at(opens, "start", "codex")).output,
    inside("SessionStart", { additionalContext: "begin" }),
  );
  const goes = script(`echo '{"async":true}'; echo '{"decision":"block","systemMessage":"later"}'; exit 2`);
  assert.deepEqual((await at(goes, "stop", "gemini")).output, { systemMessage: "later" });
});

test("a script's verdict that a host would ignore silently is reported, never accepted", async () => {
  const around = `#!/bin/sh\necho checking\necho '{"decision":"block","reason":"no"}'\n`;
  for (const host of HOSTS) {
    const { output, stderr, code } = await ask(around, "pre", host, { name: "pre-tool-use.x.sh" });
    assert.deepEqual({ output, code }, { output: undefined, code: 1 }, host);
    assert.match(stderr, /there is other text before its JSON object/);
  }
});

test("a question to a person whom gemini cannot reach is a refusal: without a terminal it would wait forever", async () => {
  using folder = scratch({ "pre-tool-use.x.ts": moduleAnswering({ action: "ask", reason: "sure?" }) });
  const at = async (isAttended: boolean) => {
    const { signal } = new AbortController();
    const options = { host: "gemini", env: { HOME: folder.path }, signal, isAttended: () => isAttended } as const;
    const { stdout } = await serve(`${folder.path}/pre-tool-use.x.ts`, JSON.stringify(EVENTS.pre!.gemini), options);
    return JSON.parse(stdout).decision;
  };
  assert.deepEqual([await at(true), await at(false)], ["ask", "deny"]);
});

test("a terminal is never looked for where nothing is asked: that takes longer than the answer", async () => {
  for (const [action, looked] of [["ask", 1], ["deny", 0], ["allow", 0]] as const) {
    using folder = scratch({ "pre-tool-use.x.ts": moduleAnswering({ action, reason: "so" }) });
    let times = 0;
    await serve(`${folder.path}/pre-tool-use.x.ts`, JSON.stringify(EVENTS.pre!.gemini), {
      host: "gemini",
      env: { HOME: folder.path },
      signal: new AbortController().signal,
      isAttended: () => ++times > 0,
    });
    assert.equal(times, looked, action);
  }
});

test("crochet hook finds out by itself whether there is a terminal", { skip: NO_PTY ?? false }, async () => {
  using folder = scratch({
    "pre-tool-use.x.ts": moduleAnswering({ action: "ask", reason: "sure?" }),
    "event.json": JSON.stringify(EVENTS.pre!.gemini),
  });
  const line = [...CROCHET, "hook", join(folder.path, "pre-tool-use.x.ts"), "--dialect", "gemini"];
  const given = { cwd: folder.path, env: { HOME: folder.path } };
  const stdin = JSON.stringify(EVENTS.pre!.gemini);
  const { out } = await ended(["setsid", "--wait", ...line], { ...given, stdin });
  assert.match(out, /"decision":"deny".*asks no one there: sure\?/);
  await using terminal = new Pty(line, { ...given, behind: "< event.json" });
  await terminal.end();
  assert.match(terminal.raw, /"decision":"ask"/);
});
