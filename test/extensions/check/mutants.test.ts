import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Mutant, mutantsOf } from "../../../lib/extensions/check/mutants/mutate.ts";
import { checkHook, runExamples } from "../../../lib/testing/index.ts";
import { hookFiles, SLOW } from "./_check-files.ts";

const changes = (mutants: readonly Mutant[]) => mutants.map(({ was, is }) => `${was} → ${is}`);

test("each mutant of a module changes one place that decides its answer", () => {
  const text = (line: string) => `${line}\n`;
  const table: readonly (readonly [line: string, mutants: readonly string[]])[] = [
    ["a === 1", ["a === 1 → a !== 1", "a === 1 → a === 2"]],
    ["a && !b", ["a && !b → a || !b", "a && !b → a && b"]],
    ["a >= b", ["a >= b → a > b"]],
    ["if (a.some(f)) g()", [
      "if (a.some(f)) g() → if (true) g()",
      "if (a.some(f)) g() → if (false) g()",
      "if (a.some(f)) g() → if (a.every(f)) g()",
    ]],
    ["return f(a);", ["return f(a); → return;"]],
    ["return undefined;", []],
    ["x(/^a|b?/i)", [
      "x(/^a|b?/i) → x(/a|b?/i)",
      "x(/^a|b?/i) → x(/b?/i)",
      "x(/^a|b?/i) → x(/^a/i)",
      "x(/^a|b?/i) → x(/^a|b/i)",
      "x(/^a|b?/i) → x(/^a|b?/)",
    ]],
    ["x(/[^a]\\b(?!c)/)", [
      "x(/[^a]\\b(?!c)/) → x(/[a]\\b(?!c)/)",
      "x(/[^a]\\b(?!c)/) → x(/[^a](?!c)/)",
      "x(/[^a]\\b(?!c)/) → x(/[^a]\\b(?=c)/)",
    ]],
    ['"a === 1" + `b && c`; // d === 1', []],
    ["/* a === 1 */ a / b / c", []],
    ["export const config = { timeout: 5 };", []],
    ["export const examples = [{ expect: a === 1 }];", []],
  ];
  for (const [line, expected] of table) {
    const mutants = mutantsOf({ kind: "module", name: "stop.ts", text: text(line) });
    assert.deepEqual(changes(mutants), expected, line);
  }
});

test("mutants of shell scripts and of rules change neither comments nor what is said", () => {
  const shell = `#!/bin/sh\n# exit 2 && exit 0\n[ -n "$a" ] || exit 2\necho 'x && y'\n`;
  assert.deepEqual(changes(mutantsOf({ kind: "command", name: "stop.sh", text: shell })), [
    '[ -n "$a" ] || exit 2 → [ -z "$a" ] || exit 2',
    '[ -n "$a" ] || exit 2 → [ -n "$a" ] && exit 2',
    '[ -n "$a" ] || exit 2 → [ -n "$a" ] || exit 0',
    "echo 'x && y' → : echo 'x && y'",
  ]);
  const yaml = "- field: args.command\n  operator: matches\n  value: 'a|b'\n  action: deny\n  reason: deny and not\n";
  assert.deepEqual(changes(mutantsOf({ kind: "rules", name: "a.rules.yaml", text: yaml })), [
    "value: 'a|b' → value: 'b'",
    "value: 'a|b' → value: 'a'",
    "action: deny → action: ask",
  ]);
  const rules = 'args.command contains "not and" -> deny("and")\n';
  assert.deepEqual(mutantsOf({ kind: "rules", name: "a.rules", text: rules }).map(({ is }) => is), [
    'args.command equals "not and" -> deny("and")',
    'args.command contains "not and" -> ask("and")',
  ]);
  assert.deepEqual(mutantsOf({ kind: "command", name: "stop.py", text: "#!/usr/bin/env python3\nexit(0)\n" }), []);
});

test("a generated event tells a survivor apart, and --save keeps an example that catches it", SLOW, async () => {
  const sidecar = "pre-tool-use@Bash.no-force.examples.yaml";
  using folder = hookFiles({
    "pre-tool-use@Bash.no-force.ts":
      `export default ({ input }) => / (?:--force|-f)/.test(input.command) ? { action: "deny", reason: "No" } : undefined;`,
    [sidecar]: "- event: { tool_input: { command: git push --force } }\n  expect: deny\n",
  });
  const path = join(folder.path, "pre-tool-use@Bash.no-force.ts");
  const options = { runs: 1, seed: 3, laws: ["examples"], mutants: true, time: 600, save: true } as const;
  const { ok, hooks: [hook] } = await checkHook(path, options);
  const { made, caught, survived } = hook!.mutants!;
  assert.deepEqual([ok, made], [true, caught + survived.length]);
  assert.deepEqual(survived.map(({ is, example }) => [is.includes("(?:--force)"), example !== undefined]), [[
    true,
    true,
  ]]);
  assert.equal(hook!.saved!.examples, 1);
  assert.match(readFileSync(join(folder.path, sidecar), "utf8"), /expect: deny\n- event:[^]* -f/);
  for (const { ok, why } of await runExamples(path)) assert.ok(ok, why ?? "");
});

test("--save keeps events that break a law as examples that expect any answer", SLOW, async () => {
  using folder = hookFiles({
    "pre-tool-use@Bash.ts": `export default ({ input }) => {
      if (String(input.command).includes("rm")) throw new Error("not for me");
    };`,
  });
  await checkHook(folder.path, { runs: 60, seed: 3, laws: ["reliable"], save: true });
  const path = join(folder.path, "pre-tool-use@Bash.examples.yaml");
  assert.ok(existsSync(path), "nothing was saved");
  assert.match(readFileSync(path, "utf8"), /expect: any/);
  const [example] = await runExamples(folder.path);
  assert.match(example!.why!, /Expected any answer, but it failed: not for me/);
});
