import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { askHook, testExamples } from "../../../lib/testing/index.ts";
import { hookFiles, played, PUSH_RULES } from "./_check-files.ts";

test("a fix is what makes the hook let go: one that does not is reported", async () => {
  const hook = `
    import { existsSync } from "node:fs";
    import { join } from "node:path";
    export default (_event, ctx) => existsSync(join(ctx.cwd, "left.txt")) ? { action: "deny", reason: "left" } : undefined;`;
  const results = await played({
    "stop.one.ts": hook,
    "stop.one.examples.yaml": `
- { name: mended, given: { left.txt: x }, expect: deny, fix: { left.txt: null } }
- { name: by a command, given: echo x > left.txt, expect: deny, fix: rm left.txt }
- { name: not mended, given: { left.txt: x }, expect: deny, fix: { right.txt: x } }
- { name: each in a project of its own }
- { name: outside, given: { ../left.txt: x } }
- { name: fails, given: "echo 'no such thing' >&2; exit 3" }
- { name: in the way, given: { README.md/x: x } }`,
  });
  assert.deepEqual(results, [
    "mended",
    "by a command",
    "not mended: Expected no objection, but it denied: 'left' (after its fix)",
    "each in a project of its own",
    "outside: Cannot play the example: '../left.txt' is outside the project: name files in it",
    "fails: Cannot play the example: 'echo 'no such thing' >&2; exit 3' ended with code 3: no such thing",
    results[6]!,
  ]);
  assert.match(
    results[6]!,
    /^in the way: Cannot play the example: 'README\.md\/x' cannot be put into the project: E/,
  );
});

test("a hook that never comes back costs its time limit, and nothing else", async () => {
  const results = await played({
    "stop.ts": "export default () => { for (;;); };\nexport const examples = [{ name: 'endless' }, { name: 'again' }];",
  }, 0.3);
  assert.deepEqual(results, [
    "endless: Expected no objection, but it ran out of time",
    "again: Expected no objection, but it ran out of time",
  ]);
});

test("testExamples() makes a test of each example, which fails with all one needs to know", async () => {
  using folder = hookFiles({
    "pre-tool-use.rules": PUSH_RULES,
    "pre-tool-use.examples.yaml":
      "- event: { args: { command: git push } }\n  expect: { deny: /robots/ }\n- expect: continue",
  });
  const tests = new Map<string, () => Promise<void>>();
  await testExamples(folder.path, (name, run) => tests.set(name, run));
  const [[name, wrong] = [], [, right] = []] = tests;
  assert.equal(name, "pre-tool-use.rules: git push: deny /robots/");
  await right!();
  await assert.rejects(wrong!(), (error: Error) => {
    assert.match(error.message, /Expected deny \/robots\/, but it denied: 'Pushing is for people'/);
    assert.match(error.message, /in pre-tool-use\.examples\.yaml example 1/);
    assert.match(error.message, /"command":"git push"/);
    return true;
  });
});

test("askHook() loads a module once for all questions in a row, and anew once it is edited", async () => {
  const module = (word: string) => `
    import { appendFileSync } from "node:fs";
    appendFileSync(process.env.LOADED, "${word} ");
    export default ({ input }) => input.command.includes("${word}") ? { action: "deny", reason: "${word}" } : undefined;`;
  using folder = hookFiles({ "pre-tool-use@Bash.a.ts": module("push"), "pre-tool-use@Bash.b.ts": module("pull") });
  const loaded = join(folder.path, "loaded.txt");
  const ask = async (name: string, command: string) => {
    const { opinion } = await askHook(join(folder.path, `pre-tool-use@Bash.${name}.ts`), { tool_input: { command } }, {
      env: { LOADED: loaded },
    });
    return opinion?.decision;
  };
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => ask("a", i % 2 === 0 ? "git push" : "ls")));
  assert.equal(answers.filter((decision) => decision === "deny").length, 15);
  assert.equal(readFileSync(loaded, "utf8"), "push ");
  // Another hook takes its place once it has answered.
  assert.deepEqual(await Promise.all([ask("a", "git push"), ask("b", "git pull")]), ["deny", "deny"]);
  writeFileSync(join(folder.path, "pre-tool-use@Bash.b.ts"), module("fetch"));
  assert.deepEqual([await ask("b", "git pull"), await ask("b", "git fetch")], [undefined, "deny"]);
  assert.equal(readFileSync(loaded, "utf8"), "push pull fetch ");
});
