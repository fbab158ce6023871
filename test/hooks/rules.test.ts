import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { EventName } from "../../lib/core/events.ts";
import { readHookFile } from "../../lib/hooks/discover.ts";
import { loadRules } from "../../lib/hooks/hook-rules.ts";
import { scratch } from "../_scratch.ts";
import { call, fired, testContext, testEnv } from "./_events.ts";
import { rulesHook } from "./_rules.ts";

const PRE: readonly EventName[] = ["pre-tool-use"];

async function decide(rules: string, event = call("Bash", { command: "rm -rf /tmp/x" }), form?: "yaml") {
  const hook = await rulesHook(rules, form ? "guard.rules.yaml" : "guard.rules", [event.event]);
  return hook.read(hook.run(event, testContext()), event);
}

async function refused(rules: string, form: "yaml" | "lines" = "lines", events = PRE): Promise<string> {
  try {
    await rulesHook(rules, form === "yaml" ? "g.rules.yaml" : "g.rules", events);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`Cannot go on as this loaded: ${rules}`);
}

test("S3.27: each operator compares a field with a value", async () => {
  const event = call("Bash", { command: "git push --force", path: "src/a/b.ts", count: 3, flag: true });
  const cases: [string, boolean][] = [
    [`args.command equals "git push --force"`, true],
    [`args.command equals "git push"`, false],
    [`args.command contains "--force"`, true],
    [`args.command contains "--Force"`, false],
    [`args.command matches '^git\\s+push\\b'`, true],
    [`args.command matches '^push'`, false],
    [`args.command matches '(?i)^GIT'`, true],
    [`path glob "*.ts"`, true],
    [`path glob "src/*"`, true],
    [`path glob "**/b.ts"`, true],
    [`path glob "{lib,src}/?/[!c].ts"`, true],
    [`path glob "*.js"`, false],
    [`args.count equals 3`, true],
    [`args.count equals "3"`, true],
    [`args.flag equals true`, true],
    [`tool equals "Bash"`, true],
    [`tool_name equals "Bash"`, true],
    [`tool_input.command contains "git"`, true],
    [`event equals "PreToolUse"`, true],
  ];
  for (const [condition, holds] of cases) {
    const opinion = await decide(`${condition} -> deny("no")`, event);
    assert.equal(opinion.decision === "deny", holds, condition);
  }
});

test("S3.27, U13: a dot path reaches into objects and lists; a missing or null field never matches", async () => {
  const event = call("Edit", { edits: [{ old: "a" }, { old: "b" }], none: null, deep: { x: { y: 1 } } });
  assert.equal((await decide(`args.edits.1.old equals "b" -> deny("x")`, event)).decision, "deny");
  assert.equal((await decide(`args.deep.x.y equals 1 -> deny("x")`, event)).decision, "deny");
  for (
    const field of ["args.none", "args.gone", "args.gone.more", "new_model", "args.edits.length", "args.deep.x.y.z"]
  ) {
    for (const test of [`contains ""`, `matches ''`, `glob "*"`]) {
      assert.equal((await decide(`${field} ${test} -> deny("x")`, event)).decision, undefined, `${field} ${test}`);
    }
  }
  for (const field of ["constructor", "toString", "toJSON", "args.constructor", "args.edits.map"]) {
    assert.equal((await decide(`${field} contains "" -> deny("x")`, event)).decision, undefined, field);
  }
});

test("U13: an object or list is compared as its JSON", async () => {
  const event = call("MultiEdit", { edits: [{ new_string: "api_key" }] });
  assert.equal((await decide(`args.edits contains "api_key" -> deny("x")`, event)).decision, "deny");
  assert.equal((await decide(`args contains "api_key" -> deny("x")`, event)).decision, "deny");
});

test("S3.28, S3.39, U13: the first rule that matches decides, also a continue; no match is no opinion", async () => {
  const rules = `args.command contains "git" -> continue\nargs.command contains "push" -> deny("first")\n` +
    `args.command contains "p" -> deny("second")`;
  assert.deepEqual(await decide(rules, call("Bash", { command: "git push" })), {});
  assert.deepEqual(await decide(rules, call("Bash", { command: "push it" })), { decision: "deny", reason: "first" });
  assert.deepEqual(await decide(rules, call("Bash", { command: "up" })), { decision: "deny", reason: "second" });
  assert.deepEqual(await decide(rules, call("Bash", { command: "ls" })), {});
});

test("S3.8: the model-switch policy of the seed: no expensive models", async () => {
  const rules = `new_model contains "opus" -> deny("Too expensive for CI")`;
  const event = (new_model: string) => fired("model-switch", { old_model: "small", new_model });
  assert.equal((await decide(rules, event("big-opus-1"))).reason, "Too expensive for CI");
  assert.equal((await decide(rules, event("small-2"))).decision, undefined);
});

test("S3.30: the one-line form has and, or, not, brackets and comments, and may go over lines", async () => {
  const rules = `# crochet: timeout=5
    # guard
    tool equals "Bash" and (args.command contains "rm"   # any removal
      or args.command contains "shred")
      and not args.command contains "--dry-run" -> deny("No removing")
    not (tool equals "Bash") -> ask("Sure?")`;
  assert.equal((await decide(rules, call("Bash", { command: "shred x" }))).reason, "No removing");
  assert.equal((await decide(rules, call("Bash", { command: "rm --dry-run x" }))).decision, undefined);
  assert.equal((await decide(rules, call("Read", { path: "x" }))).decision, "ask");
});

test("S3.30: 'and' binds closer than 'or', 'not' closest", async () => {
  const rules = `not tool equals "A" and tool equals "B" or tool equals "C" -> deny("x")`;
  const denied = async (tool: string) => (await decide(rules, call(tool, {}))).decision === "deny";
  assert.deepEqual([await denied("A"), await denied("B"), await denied("C"), await denied("D")], [
    false,
    true,
    true,
    false,
  ]);
});

test("S3.27: rules in YAML have the same fields, and nest", async () => {
  const yaml = `
- and:
    - { field: tool, operator: equals, value: Bash }
    - not: { field: args.command, operator: matches, value: '^ls\\b' }
    - or:
        - { field: args.command, operator: contains, value: rm }
        - { field: args.command, operator: glob, value: "*sudo*" }
  action: deny
  reason: Only looking
`;
  assert.equal((await decide(yaml, call("Bash", { command: "sudo x" }), "yaml")).reason, "Only looking");
  assert.equal((await decide(yaml, call("Bash", { command: "ls; rm" }), "yaml")).decision, undefined);
});

test("U13: modify sets a path inside the subject in a copy; the event stays as it was", async () => {
  const event = call("Bash", { command: "npm i", opts: { a: 1, list: [1, 2] }, text: "t" });
  const before = JSON.stringify(event);
  const set = async (change: string) => (await decide(`tool equals "Bash" -> modify(${change})`, event)).value?.to;
  const rest = { opts: { a: 1, list: [1, 2] }, text: "t" };
  assert.deepEqual(await set(`args.command = "bun i"`), { command: "bun i", ...rest });
  assert.deepEqual(await set(`tool_input.timeout = 5`), { command: "npm i", ...rest, timeout: 5 });
  assert.deepEqual(await set(`args.opts.b.c = true`), {
    command: "npm i",
    opts: { a: 1, list: [1, 2], b: { c: true } },
    text: "t",
  });
  assert.deepEqual(await set(`input.opts.list.2 = 3`), {
    command: "npm i",
    opts: { a: 1, list: [1, 2, 3] },
    text: "t",
  });
  assert.deepEqual(await set(`args = {"command": "ls"}`), { command: "ls" });
  assert.deepEqual(await set(`args.text.x = null`), { command: "npm i", opts: rest.opts, text: { x: null } });
  assert.equal(JSON.stringify(event), before);
});

test("U13: what one answer gave cannot change the next", async () => {
  const hook = await rulesHook(`tool equals "Bash" -> modify(args.list = [1])`);
  const event = call("Bash", {});
  const first = hook.read(hook.run(event, testContext()), event).value!.to as { list: number[] };
  first.list.push(2);
  assert.deepEqual(hook.read(hook.run(event, testContext()), event).value!.to, { list: [1] });
});

test("U6, U13: modify knows the subject of every event", async () => {
  const value = async (event: EventName, fields: object, rule: string) =>
    (await decide(`event contains "" -> modify(${rule})`, fired(event, fields as never))).value?.to;
  assert.equal(await value("user-prompt-submit", { prompt: "p" }, `prompt = "q"`), "q");
  assert.equal(await value("model-switch", { old_model: null, new_model: "a" }, `new_model = "b"`), "b");
  assert.equal(await value("error", { error_type: "E", error_message: "m" }, `retry = true`), true);
  assert.equal(await value("agent-start", { task: "t", agent_type: "" }, `task = "u"`), "u");
  assert.equal(await value("pre-compact", { trigger: "auto", instructions: "" }, `instructions = "short"`), "short");
  const turn = { trigger: "user", prompt: "p", turn: { system: "s", messages: [] } };
  assert.deepEqual(await value("turn-start", turn, `turn.system = "z"`), { system: "z" });
  const result = { content: "c", is_error: false, response: { stdout: "secret", code: 0 } };
  const post = { tool_name: "Bash", input: {}, original_input: {}, tool_use_id: "1", result, failed: false };
  assert.equal(await value("post-tool-use", post, `result = "hidden"`), "hidden");
  assert.deepEqual(await value("post-tool-use", post, `result.stdout = ""`), { response: { stdout: "", code: 0 } });
});

test("U13: modify outside the subject is a load error with its place", async () => {
  assert.match(
    await refused(`tool equals "x" -> modify(path = "y")`),
    /^Cannot load g\.rules:1:27 as 'path' is not inside what pre-tool-use can modify: expected args/,
  );
  assert.match(
    await refused(`tool equals "x" -> modify(args = 3)`),
    /1:27 as 'args' is the tool's whole input, an object/,
  );
  assert.match(
    await refused(`event contains "" -> modify(args.x = 3)`, "lines", ["stop"]),
    /nothing can be modified on stop/,
  );
  assert.match(
    await refused(`event contains "" -> modify(prompt = 3)`, "lines", ["user-prompt-submit"]),
    /'prompt' is a text and cannot be set to 3/,
  );
  assert.match(
    await refused(
      `- field: tool\n  operator: equals\n  value: x\n  action: modify\n  modify_field: result.x\n  modify_value: 1`,
      "yaml",
    ),
    /^Cannot load g\.rules\.yaml:5:17 as 'result.x' is not inside/,
  );
});

test("U13: a rule that means nothing at one of several events is passed over there", async () => {
  const rules = `event contains "" -> modify(args.x = 1)\nevent contains "" -> deny("second")`;
  const hook = await rulesHook(rules, "g.rules", ["pre-tool-use", "model-switch"]);
  const answer = (event: ReturnType<typeof call>) => hook.read(hook.run(event, testContext()), event);
  assert.deepEqual(answer(call("Bash", {})).value, { to: { x: 1 } });
  assert.equal(answer(fired("model-switch", { old_model: null, new_model: "m" })).reason, "second");
});

test("U7, U13: mistakes are reported when loading, with file, line, column and the fix", async () => {
  const cases: [string, RegExp][] = [
    [
      `\n  tool like "x" -> deny("x")`,
      /^Cannot load g\.rules:2:8 as 'like' is not a known operator: expected equals, contains/,
    ],
    [
      `tool equals Bash -> deny("x")`,
      /g\.rules:1:13 as 'Bash' is not a text, number, true or false: put a text in quotes/,
    ],
    [`tool equals "x" deny`, /g\.rules:1:17 as 'and', 'or' or '->' and what to do is expected instead of 'deny'/],
    [`tool equals "x" -> explode`, /g\.rules:1:20 as 'explode' is not a known action/],
    [`tool equals "x" -> modify`, /1:26 as 'modify' needs what to set/],
    [`tool matches '(' -> deny("x")`, /g\.rules:1:14 as '\(' is not a regular expression/],
    [`tool glob "[a" -> deny("x")`, /g\.rules:1:11 as .*'\[' is never closed/],
    [
      `args.command matches "\\brm" -> deny("x")`,
      /1:22 as '\\b' in double quotes is not an escape: .*use single quotes/,
    ],
    [`tool equals "x`, /1:13 as the " is never closed/],
    [`(tool equals 1 -> deny`, /1:16 as '\)' is expected instead of '->'/],
    [`tool equals 1`, /is expected instead of the end of the file/],
    [`__proto__.x equals 1 -> deny("x")`, /1:1 as a field such as args.command is expected instead of '__proto__.x'/],
    [`# nothing here\n`, /^Cannot load g\.rules as it holds no rule/],
    [`tool equals null -> deny("x")`, /1:13 as 'null' is not a text/],
  ];
  for (const [rules, message] of cases) assert.match(await refused(rules), message, rules);
});

test("U7, U13: mistakes in YAML have their line and column too", async () => {
  const cases: [string, RegExp][] = [
    [
      `- field: tool\n  operator: like\n  value: 3\n  action: deny`,
      /^Cannot load g\.rules\.yaml:2:13 as 'like' is not a known operator/,
    ],
    [`- field: tool\n  operator: equals\n  value: [3]\n  action: deny`, /:3:10 as \[3\] is not a text/],
    [`- field: tool\n  operator: equals\n  value: 3`, /it has no action: expected continue/],
    [`- and: []\n  action: deny`, /:1:8 as 'and' needs a list of conditions/],
    [`- field: a\n  or: []\n  action: deny`, /'field' and 'or' exclude each other/],
    [`rules: 1`, /:1:1 as its rules are not a list/],
    [`- field: tool\n  opertor: equals`, /:2:12 as option 'opertor' is unknown: did you mean 'operator'/],
    [`- field: tool\n  operator: matches\n  value: "("\n  action: deny`, /:3:10 as '\(' is not a regular expression/],
    [`- x: [`, /is not valid YAML/],
    [
      `- field: x\n  operator: equals\n  value: 1\n  action: deny\n  modify_field: args.x`,
      /:5:17 as 'modify_field' means nothing/,
    ],
    [`- field: x\n  operator: equals\n  value: 1\n  action: modify\n  modify_field: args.x`, /has no value/],
    [`- x: &a 1\n- x: *b\n- &b 2`, /as it is not valid YAML: Unresolved alias .*: b$/],
  ];
  for (const [rules, message] of cases) {
    const why = await refused(rules, "yaml");
    assert.match(why, /^Cannot load g\.rules\.yaml:\d+:\d+ as /, rules);
    assert.match(why, message, rules);
  }
});

test("U13: conditions or groups nested deeper than can be walked are a mistake with its place, not a full stack", async () => {
  const deep = (open: string, close: string, depth: number) =>
    `\n${open.repeat(depth)}tool equals "x"${close.repeat(depth)} -> deny`;
  assert.equal((await decide(deep("(", ")", 200))).decision, undefined);
  for (const rules of [deep("(", ")", 15_000), deep("not ", "", 15_000)]) {
    assert.match(await refused(rules), /^Cannot load g\.rules:2:\d+ as its conditions are nested more than 200 deep$/);
  }
  const yaml = `- ${"{not: ".repeat(500)}{field: tool, operator: equals, value: x}${"}".repeat(499)}, action: deny}`;
  assert.match(await refused(yaml, "yaml"), /^Cannot load g\.rules\.yaml:1:\d+ as its conditions are nested more than/);
  const groups = `tool matches '${"(".repeat(15_000)}a${")".repeat(15_000)}' -> deny`;
  assert.match(await refused(groups), /^Cannot load g\.rules:1:14 as .* cannot be used safely, its groups are nested/);
});

test("U3, U10: an action that means nothing at the event is a load error", async () => {
  assert.match(await refused(`event contains "" -> deny`, "lines", ["stop"]), /gives no reason/);
  assert.match(await refused(`event contains "" -> ask("x")`, "lines", ["stop"]), /'ask' means nothing on Stop/);
  assert.match(
    await refused(`event contains "" -> deny("x")`, "lines", ["session-end"]),
    /session-end cannot be denied/,
  );
});

test("U13: a long text is searched whole, and if the result cannot be sure in time the strict rule wins", async () => {
  const long = "x".repeat(300_000);
  const denied = async (rule: string, command: string) => (await decide(rule, call("Bash", { command }))).decision;
  assert.equal(await denied(`args.command matches '\\brm\\b' -> deny("x")`, `${long} rm ${long}`), "deny");
  assert.equal(await denied(`args.command matches '\\brm\\b' -> deny("x")`, long), undefined);
  const allowing = (expression: string) =>
    `args.command matches '${expression}' -> continue\ntool equals "Bash" -> deny("x")`;
  assert.equal(await denied(allowing("^git "), `git ${long}`), undefined);
  assert.equal(await denied(allowing("^git "), `${long} git `), "deny");
  assert.equal(await denied(`not args.command matches '^git ' -> deny("x")`, `git ${long}`), undefined);
  const unsure = "^(?=git).*x.*y$";
  assert.equal(await denied(allowing(unsure), `git ${long}y`), "deny");
  assert.equal(await denied(allowing(unsure), "git xy"), undefined);
  assert.equal(await denied(`args.command matches '${unsure}' -> deny("x")`, `git ${long}y`), "deny");
  assert.equal(await denied(`not args.command matches '${unsure}' -> deny("x")`, `git ${long}y`), "deny");
  assert.equal(
    await denied(`tool equals "Edit" or args.command matches '${unsure}' -> deny("x")`, `git ${long}y`),
    "deny",
  );
  const both = `tool equals "Bash" and args.command matches '${unsure}' -> continue\ntool equals "Bash" -> deny("x")`;
  assert.equal(await denied(both, `git ${long}y`), "deny");
});

test("loadRules() makes the record of a file, with its header and tools", async () => {
  using folder = scratch();
  const path = join(folder.path, "20-pre-tool-use@Bash.guard.rules");
  writeFileSync(path, `# crochet: mode=observe\nargs.command contains "rm" -> deny("no")\n`);
  const record = await loadRules(readHookFile(path), "hooks");
  assert.deepEqual([record.name, record.kind, record.priority, record.mode, record.matcher], [
    "20-pre-tool-use@Bash.guard.rules",
    "rules",
    20,
    "observe",
    "Bash",
  ]);
  const event = call("Bash", { command: "rm x" });
  assert.deepEqual(record.read(record.run(event, testContext()), event), { decision: "deny", reason: "no" });
});

test("S3.29: rules are decided in this process, at once, and never spawn one", async () => {
  const { run, read } = await rulesHook('args.command contains "rm" -> deny("no rm")');
  const event = call("Bash", { command: "rm -rf /" });
  const answer = run(event, testContext({ ...testEnv(), exec: () => assert.fail("a process was asked for") }));
  assert.ok(!(answer instanceof Promise), "nothing is waited for");
  assert.equal(read(answer, event).decision, "deny");
});
