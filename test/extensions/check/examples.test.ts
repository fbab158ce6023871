import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { resolveEvent } from "../../../lib/core/names.ts";
import { fillEvent } from "../../../lib/extensions/check/examples/play.ts";
import { askHook, matchers, runExamples, testExamples } from "../../../lib/testing/index.ts";
import { hookFiles, played, PUSH_RULES } from "./_check-files.ts";

const LIB = new URL("../../../lib/index.ts", import.meta.url).href;

test("a module carries its examples, which may say { deny: /words/ }", async () => {
  const results = await played({
    "pre-tool-use@Bash.ts": `
      import { deny } from "${LIB}";
      export default ({ input }) => input.command.includes("--force") ? deny("No force") : undefined;
      export const examples = [
        { event: { input: { command: "git push --force" } }, expect: { deny: /FORCE/gi } },
        { event: { tool_input: { command: "git push" } } },
        { name: "fails", event: { tool_input: { command: "git push" } }, expect: { deny: /force/ } },
      ];`,
  });
  assert.deepEqual(results, [
    "git push --force: deny /FORCE/gi",
    "git push: no objection",
    "fails: Expected deny /force/, but it had no objection",
  ]);
});

test("examples of rules stand beside them, under the hook's name with or without its ending", async () => {
  const yaml = `
- event: { tool_input: { command: git push } }
  expect: { deny: /people/ }
- event: { tool_input: { command: git status } }
  expect: continue
`;
  for (const sidecar of ["pre-tool-use@Bash.no-push.examples.yaml", "pre-tool-use@Bash.no-push.rules.examples.yaml"]) {
    assert.deepEqual(await played({ "pre-tool-use@Bash.no-push.rules": PUSH_RULES, [sidecar]: yaml }), [
      "git push: deny /people/",
      "git status: no objection",
    ]);
  }
});

test("every spelling of an expectation is understood, and each can fail", async () => {
  const wants = [
    "deny",
    "{ action: deny }",
    "{ action: deny, reason: /ush/ }",
    "{ deny: Pushing is }",
    '{ deny: "/PUSHING/i" }',
  ];
  const yaml = (expects: readonly string[]) =>
    expects.map((expect) => `- { event: { args: { command: git push } }, expect: ${expect} }\n`).join("");
  using good = hookFiles({ "pre-tool-use.rules": PUSH_RULES, "pre-tool-use.examples.yaml": yaml(wants) });
  assert.deepEqual((await runExamples(good.path)).map(({ ok, why }) => ok || why), wants.map(() => true));
  const not = [
    "continue",
    "allow",
    "ask",
    "modify",
    "halt",
    "fail",
    "{ deny: robots }",
    "{ deny: /PUSH/ }",
  ];
  using bad = hookFiles({ "pre-tool-use.rules": PUSH_RULES, "pre-tool-use.examples.yaml": yaml(not) });
  assert.deepEqual((await runExamples(bad.path)).map(({ ok }) => ok), not.map(() => false));
});

test("a change is expected by the fields it must have, a context by its words", async () => {
  const results = await played({
    "pre-tool-use@Bash.ts": `
      export default ({ input }) => ({ action: "modify", value: { ...input, command: "timeout 5 " + input.command } });
      export const examples = [
        { event: { input: { command: "ls" } }, expect: { modify: { command: "timeout 5 ls" } } },
        { event: { input: { command: "ls" } }, expect: { modify: { command: /^timeout/ } } },
        { name: "no", event: { input: { command: "ls" } }, expect: { modify: { command: "ls" } } },
      ];`,
    "user-prompt-submit.sh": "#!/bin/sh\necho It is Monday\n",
    "user-prompt-submit.examples.yaml":
      "- { expect: { context: /Monday/ } }\n- { name: no, expect: { context: Tuesday } }",
  });
  assert.deepEqual(results.map((line) => line.split(":")[0]), ["ls", "ls", "no", "the usual event", "no"]);
  assert.match(results[2]!, /changed the event to '\{"command":"timeout 5 ls"/);
  assert.match(results[4]!, /it gave the model '.*It is Monday/s);
});

test("what came before is known to the hook, and only in its own example", async () => {
  const results = await played({
    "pre-tool-use.ts": `
      export default (_event, ctx) => {
        const times = (ctx.values.get("times") ?? 0) + 1;
        ctx.values.set("times", times);
        if (times > 2) return { action: "deny", reason: "three times" };
      };
      export const examples = [
        { after: [{}, {}], expect: "deny" },
        { after: [{}], expect: "continue" },
        { expect: "continue" },
      ];`,
  });
  assert.equal(results.length, 3);
  assert.ok(results.every((line) => !line.includes("Expected")), results.join("\n"));
});

test("an event is filled up: paths are absolute, an input is laid over the usual one, an error means failure", async () => {
  const results = await played({
    "pre-tool-use@Edit+Write.ts": `
      export default ({ tool_name, input, original_input }) => ({
        action: "deny",
        reason: JSON.stringify([tool_name, input.file_path.startsWith("/"), Object.keys(input), original_input === input]),
      });
      export const config = { also: ["post-tool-use-failure"] };
      export const examples = [
        { name: "a", event: { tool_input: { file_path: "a.ts" } }, expect: { deny: '["Edit",true,["file_path","old_string","new_string","replace_all"]' } },
        { name: "b", event: { tool: "Write", args: { file_path: "a.ts" } }, expect: { deny: '["Write",true,["file_path","content"]' } },
        { name: "c", event: { tool_input: { old_string: undefined } }, expect: { deny: '["Edit",true,["file_path","new_string","replace_all"]' } },
        { name: "d", event: { hook_event_name: "PostToolUseFailure", tool_name: "Read", error: "gone" }, expect: { deny: "Read" } },
        { name: "e", event: { tool_inputs: { command: "ls" } } },
      ];`,
  });
  assert.deepEqual(results.slice(0, 4), ["a", "b", "c", "d"]);
  assert.match(results[4]!, /'tool_inputs' is not a field of PreToolUse: did you mean 'tool_input'\?/);
});

test("a script gets its environment and a prompt its model's words", async () => {
  const results = await played({
    "stop.env.sh": '#!/bin/sh\n[ -z "$MODE" ] || { echo "mode $MODE" >&2; exit 2; }\n',
    "stop.env.examples.yaml": "- { name: a, env: { MODE: strict }, expect: { deny: mode strict } }\n- { name: b }",
    "stop.judge.prompt.md": "Is it done? {{last_assistant_message}}",
    "stop.judge.examples.yaml": `- { name: c, says: '{"ok": false, "reason": "half"}', expect: { deny: half } }
- { name: d, says: '{"ok": true}' }
- { name: e, says: no idea, expect: fail }`,
  });
  assert.deepEqual(results, ["a", "b", "c", "d", "e"]);
});

test("a mistake in examples is reported with file, line and fix", async () => {
  const cases: [yaml: string, message: RegExp][] = [
    ["event: {}", /Cannot load stop\.examples\.yaml:1:1 as its examples are not a list/],
    ["[]", /list of examples is empty/],
    ["- 5", /stop\.examples\.yaml:1:3 as example 1 is 5: expected \{ event/],
    [
      "- { expect: deny }\n- { expects: deny }",
      /stop\.examples\.yaml:2:14 as example 2 has a field 'expects': did you mean 'expect'/,
    ],
    [
      "- expect: denied",
      /stop\.examples\.yaml:1:11 as what example 1 expects cannot be read, "denied" is not a verdict/,
    ],
    ["- expect: { deny: x, allow: y }", /both 'deny' and 'allow'/],
    ["- expect: { deny: /(/ }", /\/\(\/ is not a regular expression/],
    ["- expect: { deny: /(a+)+$/ }", /\/\(a\+\)\+\$\/ cannot be used safely/],
    ["- expect: { deny: 5 }", /its 'reason' is 5: expected a text/],
    ["- expect: {}", /it is empty/],
    ["- leaves: [a]", /leaves of example 1 does not fit: expected paths in the project and words/],
    ["- leaves: { a: /(/ }", /leaves of example 1 do not fit: .*not a regular expression/],
    ["- event: [1]", /event of example 1 does not fit/],
    ["- event: { event: stopp }", /"stopp" is not an event/],
    ["- given: { a: 1 }", /given of example 1 does not fit: expected paths/],
    ["- fix: []", /fix of example 1 does not fit/],
    ["- env: { A: 1 }", /env of example 1/],
    ["- after: {}", /after of example 1 does not fit: expected a list/],
    ["- says: 1", /says of example 1/],
    ["- name: 1", /name of example 1/],
    ["- {", /not valid YAML/],
  ];
  for (const [yaml, message] of cases) {
    using folder = hookFiles({ "stop.sh": "#!/bin/sh\n", "stop.examples.yaml": yaml });
    await assert.rejects(runExamples(folder.path), message, yaml);
  }
  using folder = hookFiles({ "stop.ts": "export default () => {};\nexport const examples = { expect: 1 };" });
  await assert.rejects(runExamples(folder.path), /Cannot load stop\.ts as its examples are not a list/);
});

test("testExamples() of hooks without examples, or of no hooks, is a mistake", async () => {
  using folder = hookFiles({ "stop.sh": "#!/bin/sh\n" });
  await assert.rejects(testExamples(folder.path, () => {}), /there are none\. Export examples from a module/);
  await assert.rejects(testExamples(join(folder.path, "nowhere"), () => {}), /there is no such file or folder/);
  using wrong = hookFiles({ "stpo.sh": "#!/bin/sh\n", "stop.shh": "" });
  await assert.rejects(testExamples(wrong.path, () => {}), /Cannot load/);
});

test("testExamples() reads all examples before it makes a test: Deno passes over what a file throws after one", async () => {
  using folder = hookFiles({
    "stop.a.ts": `export default () => {};\nexport const examples = [{ expect: "continue" }];`,
    "stop.b.ts": "export default () => {};\nexport const examples = { expect: 1 };",
  });
  const made: string[] = [];
  await assert.rejects(testExamples(folder.path, (name) => made.push(name)), /its examples are not a list/);
  assert.deepEqual(made, []);
});

test("askHook() asks one hook one question, whatever the file is called", async () => {
  using folder = hookFiles({
    "guard.sh": '#!/bin/sh\ngrep -q "rm -rf" && { echo "$WHO says no" >&2; exit 2; }\nexit 0\n',
  });
  const ask = (command: string) =>
    askHook(join(folder.path, "guard.sh"), { tool_input: { command } }, {
      event: "pre-tool-use@Bash",
      env: { WHO: "Ada" },
    });
  assert.ok(matchers.toDeny.call({}, await ask("rm -rf /"), /Ada says no/).pass);
  assert.ok(matchers.toPass.call({}, await ask("ls")).pass);
  await assert.rejects(
    askHook(join(folder.path, "guard.sh"), {}, { event: "stop", timeout: 0 }),
    /'timeout' must be more than 0/,
  );
  using two = hookFiles({ "stop.sh": "#!/bin/sh\n", "notification.sh": "#!/bin/sh\n", "_none/README.md": "" });
  await assert.rejects(
    askHook(two.path, {}, { time: 5 } as object),
    /option 'time' is unknown: did you mean 'timeout'/,
  );
  await assert.rejects(testExamples(two.path, { timeout: 5 } as never), /\{"timeout":5\} is not a function: /);
  await assert.rejects(askHook(two.path), /it is a folder with several hooks\. Name a hook file/);
  await assert.rejects(askHook(join(two.path, "_none")), /it is a folder with no hook\. Name a hook file/);
});

test("what an example says a tool gave back is its result: a text is also what the model read, an error is a failure", () => {
  const of = (given: object) => {
    const on = resolveEvent("post-tool-use")!;
    const { result, failed } = fillEvent({ ...given }, { on, tools: ["Bash"] }, "/");
    const { content, is_error, response } = result as { [field: string]: unknown };
    return [content, is_error, response, failed];
  };
  assert.deepEqual(of({ tool_response: "3 tests" }), ["3 tests", false, "3 tests", false]);
  assert.deepEqual(of({ tool_response: { stdout: "x" } }).slice(1), [false, { stdout: "x" }, false]);
  assert.deepEqual(of({ result: "done" }), ["done", false, "done", false]);
  assert.deepEqual(of({ error: "boom", tool_response: "half" }), ["boom", true, "half", true]);
});

test("what an example says of a stop is never changed, and what hangs on it follows", () => {
  /** As given, and then: stop_hook_active, continuations, stalled, remaining. */
  const cases: [given: object, filled: unknown[]][] = [
    [{}, [false, 0, 0, 8]],
    [{ stop_hook_active: true }, [true, 1, 1, 7]],
    [{ stop_hook_active: true, stalled: 4 }, [true, 4, 4, 4]],
    [{ stop_hook_active: true, remaining: 2 }, [true, 1, 1, 2]],
    [{ stop_hook_active: true, stalled: 0 }, [true, 1, 0, 8]],
    [{ continuations: 3 }, [true, 3, 0, 8]],
    [{ continuations: 0 }, [false, 0, 0, 8]],
  ];
  for (const [given, filled] of cases) {
    const event = fillEvent({ ...given }, { on: resolveEvent("stop")!, tools: [] }, "/");
    const fields = ["stop_hook_active", "continuations", "stalled", "remaining"].map((field) => event[field]);
    assert.deepEqual(fields, filled, JSON.stringify(given));
  }
});

test("any answer fits 'any', a failure does not; what a hook leaves is compared file by file", async () => {
  const results = await played({
    "post-tool-use@Bash.log.sh": "#!/bin/sh\nmkdir -p logs && echo called >> logs/calls.txt\nrm -f notes.txt\n",
    "post-tool-use@Bash.log.examples.yaml": `
- { name: a, expect: any, leaves: { logs/calls.txt: /^called$/m, notes.txt: null } }
- { name: b, leaves: { logs/calls.txt: twice } }
- { name: c, leaves: { logs/other.txt: "" } }
- { name: d, leaves: { logs/calls.txt: null } }
- { name: e, leaves: { ../x: null } }
- { name: f, given: { notes.txt: x }, leaves: { notes.txt: null } }
`,
    "stop.ts":
      'export default () => { throw new Error("no"); };\nexport const examples = [{ name: "g", expect: "any" }];',
  });
  assert.deepEqual(results, [
    "a",
    `b: Expected "twice" in logs/calls.txt, but it has 'called\n'`,
    'c: Expected "" in logs/other.txt, but there is no such file',
    "d: Expected no file logs/calls.txt, but it left one: 'called\n'",
    "e: Cannot play the example: '../x' is outside the project: name files in it",
    "f",
    "g: Expected any answer, but it failed: no",
  ]);
});
