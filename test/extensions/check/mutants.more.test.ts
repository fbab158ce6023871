import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkHook, runExamples } from "../../../lib/testing/index.ts";
import { checked, hookFiles, sh, SLOW } from "./_check-files.ts";

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
  const { hooks } = await checked({
    "pre-tool-use@Bash.ts": String.raw`export default ({ input }) => {
      const command = String(input.command ?? "");
      if (command.length > 500) return { action: "deny", reason: "Put it into a script" };
      if (/\bsvn (?:rm|mv)\b/.test(command)) return { action: "deny", reason: "Not there" };
      return undefined;
    };`,
    "pre-tool-use@Bash.sh": '#!/bin/sh\ncase "$(cat)" in *frobnicate*) echo no >&2; exit 2 ;; esac\nexit 0\n',
  }, { runs: 0, seed: 3, laws: ["examples"], mutants: true });
  const untold = hooks.flatMap(({ mutants }) => mutants!.survived.filter(({ example }) => !example));
  assert.deepEqual(untold.map(({ was, is }) => `${was} → ${is}`), []);
  assert.ok(hooks.every(({ mutants }) => mutants!.survived.length > 1));
});

test("what does not load does not count, and a hook whose examples fail has no mutants", SLOW, async () => {
  const { hooks } = await checked({
    "stop.ts": "if (Math.max(1) === 1) { } else throw new Error('no');\nexport default () => {};\n",
    "stop.examples.yaml": "- name: lets go\n",
    "notification.sh": sh("exit 0"),
    "notification.examples.yaml": "- expect: deny\n",
  }, { runs: 1, seed: 3, laws: ["examples"], mutants: true });
  const mutants = Object.fromEntries(hooks.map(({ hook, mutants }) => [hook, mutants]));
  // Those that make the condition false throw while they load.
  assert.equal(mutants["stop.ts"]?.made, mutants["stop.ts"]?.survived.length);
  assert.ok(mutants["stop.ts"]!.survived.every(({ is }) => is.includes("(true)")), "only what loads is counted");
  assert.equal(mutants["notification.sh"], undefined);
});
