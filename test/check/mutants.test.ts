import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Mutant, mutantsOf } from "../../lib/check/mutants/mutate.ts";
import { checkHook, runExamples } from "../../lib/testing/index.ts";
import { hookFiles, sh, SLOW } from "./_check-files.ts";

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

const HOOK = "pre-tool-use@Bash.no-force.ts";
const NO_FORCE = String.raw`
  const noForce = ({ input }) => {
    if (/^git push.* (?:--force|-f)$/.test(String(input.command))) return { action: "deny", reason: "No force" };
  };
  export default noForce;
`;

test("generated events tell survivors apart, and --save keeps an example that catches them", SLOW, async () => {
  const sidecar = "pre-tool-use@Bash.no-force.examples.yaml";
  using folder = hookFiles({
    [HOOK]: NO_FORCE,
    [sidecar]: "# ours\n- event: { tool_input: { command: git push --force } }\n  expect: deny\n" +
      "- event: { tool_input: { command: git push } }",
  });
  const path = join(folder.path, HOOK);
  const options = { runs: 1, seed: 3, laws: ["examples"], mutants: true, time: 600 } as const;
  const { ok, hooks: [first] } = await checkHook(path, { ...options, save: true });
  assert.ok(ok, "survivors warn");
  const { made, caught, survived } = first!.mutants!;
  assert.equal(made, caught + survived.length);
  const dropped = survived.find(({ is }) => is.includes("(?:--force)$"));
  assert.equal(dropped?.line, 3);
  assert.ok(dropped.example, "no event tells it apart");
  assert.ok(first!.saved!.examples > 0);
  const saved = readFileSync(join(folder.path, sidecar), "utf8");
  assert.match(saved, /^# ours\n- event: .*\n {2}expect: deny\n- event: .*git push \} \}\n- event:/);
  for (const { ok, why } of await runExamples(path)) assert.ok(ok, why ?? "");

  const { hooks: [second] } = await checkHook(path, options);
  assert.ok(!second!.mutants!.survived.some(({ is }) => is.includes("(?:--force)$")), "it is caught now");
  assert.equal(readFileSync(join(folder.path, sidecar), "utf8"), saved, "nothing is written unasked");
});

// Kills: events that know nothing of the hook, which reach neither 501 characters nor the edge of a word.
test("the hook's own constants make events that tell every mutant of their conditions apart", SLOW, async () => {
  using folder = hookFiles({
    "pre-tool-use@Bash.ts": String.raw`export default ({ input }) => {
      const command = String(input.command ?? "");
      if (command.length > 500) return { action: "deny", reason: "Put it into a script" };
      if (/\bsvn (?:rm|mv)\b/.test(command)) return { action: "deny", reason: "Not there" };
      return undefined;
    };`,
    "pre-tool-use@Bash.sh": '#!/bin/sh\ncase "$(cat)" in *frobnicate*) echo no >&2; exit 2 ;; esac\nexit 0\n',
  });
  const { hooks } = await checkHook(folder.path, { runs: 0, seed: 3, laws: ["examples"], mutants: true, time: 600 });
  const untold = hooks.flatMap(({ mutants }) => mutants!.survived.filter(({ example }) => !example));
  assert.deepEqual(untold.map(({ was, is }) => `${was} → ${is}`), []);
  assert.ok(hooks.every(({ mutants }) => mutants!.survived.length > 1));
});

test("what does not load does not count, and a hook whose examples fail has no mutants", SLOW, async () => {
  using folder = hookFiles({
    "stop.ts": "if (Math.max(1) === 1) { } else throw new Error('no');\nexport default () => {};\n",
    "stop.examples.yaml": "- name: lets go\n",
    "notification.sh": sh("exit 0"),
    "notification.examples.yaml": "- expect: deny\n",
  });
  const { hooks } = await checkHook(folder.path, { runs: 1, seed: 3, laws: ["examples"], mutants: true });
  const mutants = Object.fromEntries(hooks.map(({ hook, mutants }) => [hook, mutants]));
  // Those that make the condition false throw while they load.
  assert.equal(mutants["stop.ts"]?.made, mutants["stop.ts"]?.survived.length);
  assert.ok(mutants["stop.ts"]!.survived.every(({ is }) => is.includes("(true)")), "only what loads is counted");
  assert.equal(mutants["notification.sh"], undefined);
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
