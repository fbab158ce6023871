import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fire } from "../../lib/core/dispatch.ts";
import type { HookConfig } from "../../lib/hooks/definition.ts";
import { definitions } from "../../lib/hooks/definitions.ts";
import { HookRegistry } from "../../lib/hooks/registry.ts";
import { ToolDeniedError, wrapToolCall } from "../../lib/hooks/wrap-tool-call.ts";
import { scratch } from "../_scratch.ts";
import { ALWAYS, load, one, preToolUse, refused } from "./_definitions.ts";
import { testEnv } from "./_events.ts";

test('S3.38: inline deny on bash "rm": wrapToolCall throws ToolDeniedError with the reason; hooks in code survive load()', async () => {
  const order: string[] = [];
  const hooks = new HookRegistry();
  hooks.register({ preToolUse: () => void order.push("code") });
  hooks.registerSource(definitions({
    hooks: {
      definitions: [{
        name: "no-rm",
        type: "inline",
        matcher: { events: ["PreToolUse"], tools: ["bash"] },
        inline_rules: [
          { field: "args.command", operator: "contains", value: "rm", action: "deny", reason: "No removing here" },
        ],
      }],
    },
  }));
  await hooks.load();
  let ran = 0;
  const run = (command: string) => wrapToolCall(hooks, "session", "bash", { command }, () => ++ran);
  await assert.rejects(
    run("rm -rf /"),
    (error) => error instanceof ToolDeniedError && /No removing here/.test(error.message),
  );
  assert.equal(ran, 0);
  assert.equal(await run("ls"), 1);
  assert.deepEqual(order, ["code", "code"]);
  assert.deepEqual(hooks.records.map((r) => r.name).at(-1), "no-rm");
});

test("S3.13: a definitions file, YAML or JSON, becomes records with all that its fields say", async () => {
  using dir = scratch({
    "hooks.json": JSON.stringify({ hooks: { definitions: [{ name: "j", type: "command", command: "true" }] } }),
    "hooks.yaml": `hooks:
  definitions:
    - name: early
      description: Looks at every call
      enabled: false
      on_error: deny
      type: command
      command: "true"
      matcher: { events: [PreToolUse] }
      priority: 10   # Run early
      timeout: 5
    - name: late
      type: command
      command: "true"
`,
  });
  const yaml = join(dir.path, "hooks.yaml");
  const [early, late] = await definitions(yaml)();
  assert.deepEqual(early!.on.map(({ event }) => event), ["pre-tool-use"]);
  assert.deepEqual([early!.enabled, early!.onError, late!.enabled, late!.onError], [false, "deny", true, undefined]);
  assert.deepEqual([early!.name, early!.kind, early!.priority, early!.timeout, early!.source, early!.lenient], [
    "early",
    "command",
    10,
    5,
    yaml,
    true,
  ]);
  assert.deepEqual([late!.priority, late!.timeout], [100, 30]);
  assert.equal((await definitions(join(dir.path, "hooks.json"))())[0]!.name, "j");
  await assert.rejects(definitions(join(dir.path, "gone.yaml"))(), /Cannot load .*gone\.yaml as it cannot be read/);
});

test("S3.14: lower priority runs earlier, whatever the order in the file", async () => {
  const list = ([[100, "c"], [10, "a"], [50, "b"]] as const).map(([priority, name]): HookConfig => ({
    name,
    type: "internal",
    priority,
    matcher: { events: ["PreToolUse"] },
  }));
  const order: string[] = [];
  const note = (name: string) => () => void order.push(name);
  const load = definitions({ hooks: { definitions: list } }, {
    internal: { a: note("a"), b: note("b"), c: note("c") },
  });
  await preToolUse([...await load()], "Bash", {});
  assert.deepEqual(order, ["a", "b", "c"]);
});

test("S3.15, S3.16: each type needs its own field; the message for inline is the seed's", async () => {
  assert.match(
    await refused("name: guard\ntype: inline"),
    /^Cannot load hooks\.yaml:3:7 as definition 'guard' is incomplete: Inline hook requires 'inline_rules'$/,
  );
  assert.match(await refused("name: guard\ntype: inline\ninline_rules: []"), /Inline hook requires 'inline_rules'$/);
  assert.match(await refused("name: c\ntype: command"), /Command hook requires 'command' or 'script'$/);
  assert.match(await refused("name: l\ntype: llm"), /LLM hook requires 'prompt'$/);
  assert.match(await refused(`name: c\ntype: command\ncommand: ""`), /Command hook requires/);
  assert.match(await refused(`name: l\ntype: llm\nprompt: ""`), /LLM hook requires/);
  for (const field of ["command: ls", "script: definitions.test.ts"]) {
    assert.equal(await refused(`name: c\ntype: command\n${field}`, { workspace: import.meta.dirname! }), "", field);
  }
});

test("U7: a mistake names the file, its place, the definition, the field and the fix", async () => {
  const cases: [string, RegExp][] = [
    [
      "name: x\ntype: inlin",
      /^Cannot load hooks\.yaml:4:13 as in definition 'x' 'type' must be "internal" or "command" or .*: current value is "inlin"/,
    ],
    [
      "name: x\ntype: command\ncomand: ls",
      /hooks\.yaml:5:15 as in definition 'x' option 'comand' is unknown: did you mean 'command'/,
    ],
    [
      "name: x\ntype: command\ncommand: ls\ntimeout: soon",
      /:6:16 as in definition 'x' 'timeout' must be a number of seconds: current value is "soon"/,
    ],
    ["name: x\ntype: command\ncommand: ls\npriority: 1.5", /'priority' must be a whole number: current value is 1\.5/],
    ["name: x\ntype: command\ncommand: ls\nprompt: hm", /the field 'prompt', which means nothing with type 'command'/],
    ["name: x\ntype: command\ncommand: ls\nscript: a.sh", /has both 'command' and 'script'/],
    ["name: x\ntype: command\nscript: gone.sh", /has a script that cannot be read/],
    [
      "name: x\ntype: command\ncommand: ls\nmatcher: { tool: [Bash] }",
      /in the matcher of definition 'x' option 'tool' is unknown: did you mean 'tools'/,
    ],
    [
      "name: x\ntype: command\ncommand: ls\nmatcher: { events: [PreTolUse] }",
      /definition 'x' has a mistake: .*did you mean 'pre-tool-use'/,
    ],
    [
      "name: x\ntype: command\ncommand: ls\nmatcher: { tools: ['('] }",
      /definition 'x' has a mistake: Cannot use matcher '\('/,
    ],
    [
      "name: x\ntype: command\ncommand: ls\nmatcher:\n  tools: [Edit]\n  path_patterns: ['[a']",
      /:8:24 as definition 'x' has a mistake: Cannot use glob '\[a' as its '\[' is never closed/,
    ],
    [
      "name: x\ntype: command\ncommand: ls\nmatcher: { tools: [3] }",
      /'tools' must be a text or a list of texts: current value is \[3\]/,
    ],
    ["name: x\ntype: internal", /definition 'x' names no function that was given in code/],
    [
      "name: x\ntype: command\ncommand: ls\non_error: maybe",
      /'on_error' must be "continue" or "deny" or "abort": current/,
    ],
    ["just text", /"just text" is not an object: expected definition/],
  ];
  for (const [lines, message] of cases) assert.match(await refused(lines), message, lines);
  await assert.rejects(
    load("hooks:\n  definitons: []"),
    /in 'hooks' option 'definitons' is unknown: did you mean 'definitions'/,
  );
  await assert.rejects(load("definitions: []"), /in a file of hooks option 'definitions' is unknown: expected hooks/);
  await assert.rejects(load("hooks: ["), /hooks\.yaml:\d+:\d+ as it is not valid YAML/);
});

test("U1: a name is an id: the second of the same name is an error, one without has its place", async () => {
  await assert.rejects(
    load(`hooks: { definitions: [{ name: a, type: command, command: ls }, { name: a, type: command, command: ls }] }`),
    /definition 'a' is there twice/,
  );
  assert.equal((await one("type: command\ncommand: ls"))[0]!.name, "hooks.yaml#1");
});

test("a bad definition is dropped and reported, the others work", async () => {
  const problems: string[] = [];
  const records = await load(
    `hooks:\n  definitions:\n    - { name: bad, type: inline }\n    - { name: good, type: command, command: ls }\n`,
    { onProblem: (message) => problems.push(message) },
  );
  assert.deepEqual(records.map((r) => r.name), ["good"]);
  assert.equal(problems.length, 1);
  assert.match(problems[0]!, /definition 'bad'/);
  assert.deepEqual(await load("hooks: [", { onProblem: (message) => problems.push(message) }), []);
  assert.equal(problems.length, 2);
});

/** Rules that cannot be read, in one of both forms, and how the call that one of them may be about ends. */
const UNREAD: readonly (readonly [rules: string, decision: string, says: RegExp])[] = [
  [
    "- { field: args.command, operator: matches, value: '(a+)+', action: deny }",
    "deny",
    /:7:\d+ as '\(a\+\)\+' cannot be/,
  ],
  [
    "- { field: args.command, operator: matches, value: '(', action: deny }",
    "deny",
    /'\(' is not a regular expression/,
  ],
  ["- { field: args.command, operator: glob, value: '[a', action: ask }", "deny", /its '\[' is never closed/],
  ["- { field: args.command, operator: mtches, value: a, action: deny }", "deny", /did you mean 'matches'/],
  ["- { field: args.command, operator: equals, value: a, action: dney }", "deny", /did you mean 'deny'/],
  // As the founding YAML leaves them out.
  ["- { field: args.command, value: a, action: deny }", "deny", /has no operator: expected equals/],
  ["- { field: args.command, operator: contains, value: a }", "deny", /has no action: expected/],
  ["- { field: args.command, value: a }", "deny", /has no operator/],
  ["- { operator: equals, value: a, action: deny }", "deny", /it has no 'field'/],
  ["- { field: args.command, operator: equals, action: deny }", "deny", /is not a text, number/],
  ["- { field: args.command, value: a, action: continue }", "continue", /has no operator/],
  ["- { field: args.command, operator: matches, value: '(', action: continue }", "continue", /is not a regular/],
  ["- { field: args.command, operator: matches, value: '(', action: allow }", "continue", /is not a regular/],
  ["|\n  args.command matches '(' -> deny('no')\n  args.command equals 'rm' -> deny('not rm')", "deny", /'\('/],
  [
    "|\n  args.command mtches 'x' -> deny('no')\n  args.command equals 'rm' -> deny('not rm')",
    "deny",
    /'mtches' is not/,
  ],
];

// Kills: a definition that is dropped whole, so that a mistake in one guard opens all of them.
test("S3.27, S3.28: a rule that cannot be read leaves the others, and denies what its definition matches", async () => {
  for (const [rules, decision, says] of UNREAD) {
    const problems: string[] = [];
    const others = rules.startsWith("|")
      ? ""
      : "\n  - { field: args.command, operator: equals, value: rm, action: deny, reason: not rm }";
    const head = "name: x\ntype: inline\nmatcher: { events: [PreToolUse], tools: [Bash] }\ninline_rules:";
    const text = `${head}${rules.startsWith("|") ? " " : "\n  "}${rules}${others}`;
    const records = await one(text, { onProblem: (message) => problems.push(message) });
    const asked = async (tool_name: string, command: string) => {
      const call = { tool_name, input: { command }, original_input: { command }, tool_use_id: "1" };
      return await fire(records, { event: "pre-tool-use", ...call } as never, testEnv());
    };
    const ls = await asked("Bash", "ls");
    assert.equal(ls.decision, decision, rules);
    if (decision === "deny") assert.equal(ls.reason, "One of its rules cannot be read", rules);
    assert.equal((await asked("Bash", "rm")).decision, "deny", rules);
    assert.equal((await asked("Read", "rm")).decision, "continue", rules);
    assert.equal(problems.length, 1, rules);
    assert.match(problems[0]!, says, rules);
  }
});

test("a definition or all of them can be switched off", async () => {
  assert.equal((await one(`name: x\ntype: command\ncommand: ls\nenabled: false`))[0]!.enabled, false);
  assert.deepEqual(await load("hooks:\n  enabled: false\n  definitions: [{ type: command, command: ls }]"), []);
  assert.deepEqual(await load(""), []);
});

test("U12: all given conditions must hold, and one on a field the event lacks does not", async () => {
  const matches = async (matcher: string, tool: string, input: object) => {
    const records = await one(`name: x\ntype: inline\nmatcher: ${matcher}\n${ALWAYS}`);
    return (await preToolUse(records, tool, input)).decision === "deny";
  };
  const edit = { file_path: "/repo/src/deep/a.ts" };
  assert.equal(await matches(`{ events: [PreToolUse], tools: [Edit] }`, "Edit", edit), true);
  assert.equal(await matches(`{ tools: [Edit, Write] }`, "Write", edit), true);
  assert.equal(await matches(`{ tools: [EDIT] }`, "Edit", edit), false);
  assert.equal(await matches(`{ tools: ["mcp__.*"] }`, "mcp__x__y", {}), true);
  assert.equal(await matches(`{ events: [PostToolUse], tools: [Edit] }`, "Edit", edit), false);
  assert.equal(await matches(`{ tools: [Edit], path_patterns: ["*.ts"] }`, "Edit", edit), true);
  assert.equal(await matches(`{ tools: [Edit], path_patterns: ["*.md"] }`, "Edit", edit), false);
  assert.equal(await matches(`{ tools: [Edit], path_patterns: ["a.ts"] }`, "Edit", edit), true);
  assert.equal(await matches(`{ tools: [Edit], path_patterns: ["src/*"] }`, "Edit", edit), true);
  assert.equal(await matches(`{ tools: [Edit], path_patterns: ["/repo/*"] }`, "Edit", edit), true);
  assert.equal(await matches(`{ tools: [Edit], path_patterns: ["/other/*"] }`, "Edit", edit), false);
  const dotted = { file_path: "/repo/..drafts/a.ts" };
  assert.equal(await matches(`{ path_patterns: ["..drafts/*"] }`, "Edit", dotted), true, "a name may begin with dots");
  assert.equal(await matches(`{ path_patterns: ["../*"] }`, "Edit", { file_path: "/other/a.ts" }), false);
  assert.equal(await matches(`{ path_patterns: ["*"] }`, "Bash", { command: "ls" }), false);
  assert.equal(await matches(`{ tools: [Edit], model_patterns: ["*"] }`, "Edit", edit), false);
});

test("S3.7, S3.8, U12: model_patterns are globs on the new model", async () => {
  const records = await one(
    `name: x\ntype: inline\nmatcher: { events: [ModelSwitch], model_patterns: ["*opus*"] }\n${ALWAYS}`,
  );
  const decide = async (new_model: string) =>
    (await fire(records, {
      event: "model-switch",
      old_model: null,
      new_model,
      reason: null,
      profile: null,
      triggered_by: "user",
    }, testEnv())).decision;
  assert.equal(await decide("org/big-opus-3"), "deny");
  assert.equal(await decide("small"), "continue");
});

test("S3.10: path_patterns select memory files at any depth", async () => {
  const seen: string[] = [];
  const records = await one(
    `name: note\ntype: internal\nmatcher: { events: [MemoryUpdate], path_patterns: ["*.md", "**/AGENTS.txt"] }`,
    { internal: { note: (event: { file_path: string }) => void seen.push(event.file_path) } },
  );
  const update = {
    event: "memory-update",
    update_type: "modified",
    content_size: null,
    previous_hash: null,
    new_hash: null,
  } as const;
  for (const file_path of ["AGENTS.md", "/repo/docs/x.md", "AGENTS.txt", "/repo/a/AGENTS.txt", "/repo/a.txt"]) {
    await fire(records, { ...update, file_path }, testEnv());
  }
  assert.deepEqual(seen, ["AGENTS.md", "/repo/docs/x.md", "AGENTS.txt", "/repo/a/AGENTS.txt"]);
});

test("S3.4: error events are matchable by the tool they came from", async () => {
  const seen: unknown[] = [];
  const records = await one(`name: note\ntype: internal\nmatcher: { events: [Error], tools: [Bash] }`, {
    internal: { note: (event: { tool: unknown }) => void seen.push(event.tool) },
  });
  const error = {
    event: "error",
    error_type: "E",
    error_message: "m",
    stack_trace: null,
    severity: "error",
    retry: false,
  } as const;
  for (const tool of ["Bash", "Edit", null]) await fire(records, { ...error, tool }, testEnv());
  assert.deepEqual(seen, ["Bash"]);
});

test("U8: a definition on PostToolUse sees successes and failures", async () => {
  const seen: unknown[] = [];
  const hooks = new HookRegistry().registerSource(definitions({
    hooks: { definitions: [{ name: "note", type: "internal", matcher: { events: ["PostToolUse"] } }] },
  }, { internal: { note: (event: { failed: boolean }) => void seen.push(event.failed) } }));
  await hooks.load();
  await wrapToolCall(hooks, "s", "x", {}, () => 1);
  await assert.rejects(wrapToolCall(hooks, "s", "x", {}, () => {
    throw new Error("no");
  }));
  assert.deepEqual(seen, [false, true]);
});
