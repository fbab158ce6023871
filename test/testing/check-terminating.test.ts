import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHook } from "../../lib/testing/index.ts";
import type { LettingGo } from "../../lib/testing/index.ts";
import { rounds } from "../_counts.ts";
import { hookFiles, sh, SLOW } from "./_check-files.ts";

const BLOCK = `echo '{"decision":"block","reason":"Look again"}'`;
const UNTIL_ACTIVE = `case "$event" in *'"stop_hook_active":true'*) exit 0;; esac`;
const count = (most: number, file: string) =>
  sh(
    `n=$(cat ${file} 2>/dev/null || echo 0)`,
    `echo $((n + 1)) > ${file}`,
    `[ "$n" -ge ${most} ] && exit 0`,
    BLOCK,
    "exit 0",
  );

/** Stop hooks, and how each lets go. */
const HOOKS: readonly (readonly [claim: string, file: string, text: string, letsGo: LettingGo])[] = [
  ["says nothing", "stop.sh", sh("exit 0"), "never blocks"],
  ["looks at stop_hook_active", "stop.sh", sh(UNTIL_ACTIVE, BLOCK), "on stop_hook_active"],
  [
    "blocks by exit code 2 until then",
    "stop.sh",
    sh(UNTIL_ACTIVE, "echo 'Look again' >&2", "exit 2"),
    "on stop_hook_active",
  ],
  ["counts in a file of the project", "stop.sh", count(3, ".rounds"), "by its own counter"],
  ["counts in a file of the home", "stop.sh", count(4, '"$HOME/.rounds"'), "by its own counter"],
  ["always blocks", "stop.sh", sh(BLOCK), "still blocking"],
  [
    "always blocks, and says so as context",
    "stop.sh",
    sh(`echo '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"more"}}'`),
    "still blocking",
  ],
  ["always blocks sub-agents", "subagent-stop.sh", sh(BLOCK), "still blocking"],
  ["counts further than anybody waits", "stop.sh", count(1000, ".rounds"), "still blocking"],
  [
    "wants tests that pass, come what may",
    "stop.sh",
    sh(`grep -q '"exit 1"' package.json && ${BLOCK}`, "exit 0"),
    "relies on the cap",
  ],
  [
    "wants them once",
    "stop.sh",
    sh(UNTIL_ACTIVE, `grep -q '"exit 1"' package.json && ${BLOCK}`, "exit 0"),
    "on stop_hook_active",
  ],
  [
    "wants no marks in the project, come what may",
    "stop.sh",
    sh(`grep -rq FIXME src && ${BLOCK}`, "exit 0"),
    "relies on the cap",
  ],
  [
    "wants words that a model may say",
    "stop.sh",
    sh(`case "$event" in *DONE*) exit 0;; esac`, BLOCK),
    "relies on the cap",
  ],
  ["wants a tool to be used", "stop.sh", sh(`grep -q changed notes.txt && exit 0`, BLOCK), "relies on the cap"],
  [
    "reads the transcript, and waits for a tool in it",
    "stop.sh",
    sh(
      `path=$(printf '%s' "$event" | sed 's/.*"transcript_path":"\\([^"]*\\)".*/\\1/')`,
      `grep -q '"name":"Edit"' "$path" && exit 0`,
      BLOCK,
    ),
    "relies on the cap",
  ],
  [
    "a module that counts its continuations",
    "stop.ts",
    `export default ({ continuations }) => continuations < 3 ? { action: "deny", reason: "more" } : undefined;`,
    "by itself",
  ],
  // Kills: plays of a module that still knows what it was asked before.
  [
    "a module that counts in a variable",
    "stop.ts",
    `let n = 0;\nexport default () => n++ < 5 ? { action: "deny", reason: "more" } : undefined;`,
    "by itself",
  ],
  [
    "a module that counts where all modules could see it",
    "stop.ts",
    `export default () => (globalThis.n = (globalThis.n ?? 0) + 1) < 5 ? { action: "deny", reason: "more" } : undefined;`,
    "by itself",
  ],
  [
    "a module that looks once",
    "stop.ts",
    `export default ({ stop_hook_active }) => stop_hook_active ? undefined : { action: "deny", reason: "more" };`,
    "on stop_hook_active",
  ],
  [
    "a module that never lets go",
    "stop.ts",
    `export default () => ({ continue: true, reason: "more" });`,
    "still blocking",
  ],
  [
    "a turn that ends in another, for ever",
    "turn-end.ts",
    `export default (_event, ctx) => ctx.hookInput("again");`,
    "still blocking",
  ],
  [
    "a turn that ends in one more",
    "turn-end.ts",
    `export default ({ trigger }, ctx) => { if (trigger !== "hook_input") ctx.hookInput("again"); };`,
    "by itself",
  ],
];

for (const [claim, file, text, letsGo] of HOOKS) {
  const refuted = letsGo === "still blocking" || letsGo === "relies on the cap";
  test(`terminating tells of one that ${claim}: ${letsGo}, ${refuted ? "refuted" : "not refuted"}`, SLOW, async () => {
    using folder = hookFiles({ [file]: text });
    const { hooks: [hook] } = await checkHook(`${folder.path}/${file}`, {
      laws: ["terminating"],
      runs: 4,
      seed: 1,
      rounds: rounds(10, 50),
    });
    assert.equal(hook!.termination?.letsGo, letsGo);
    assert.equal(hook!.termination?.verdict, refuted ? "refuted" : "not refuted");
    assert.deepEqual(hook!.findings.map(({ severity }) => severity), refuted ? ["fault"] : []);
    const [found] = hook!.findings;
    if (found) {
      assert.equal(found.code, letsGo === "still blocking" ? "terminating.loops" : "terminating.cap");
      assert.match(found.message, /refuted$/);
      assert.match(found.trace![0]!, /^round 1 {2}model .* → blocked/);
    }
  });
}

test("terminating never says that anything is proven, and names the file a hook counts in", SLOW, async () => {
  using folder = hookFiles({ "stop.sh": count(2, ".rounds") });
  const { hooks: [hook] } = await checkHook(`${folder.path}/stop.sh`, { laws: ["terminating"], runs: 2, rounds: 12 });
  assert.deepEqual(hook!.termination, {
    verdict: "not refuted",
    rounds: 12,
    letsGo: "by its own counter",
    state: [".rounds"],
  });
});

test(
  "terminating applies the fix an example gives: a hook that is then content relies on the cap, and is not blocking for good",
  SLOW,
  async () => {
    using folder = hookFiles({
      "stop.sh": sh("[ -e CHANGELOG.md ] && exit 0", "echo 'Write CHANGELOG.md' >&2", "exit 2"),
      "stop.examples.yaml": "- expect: deny\n  fix: { CHANGELOG.md: '# Changes' }\n",
    });
    const { hooks: [hook] } = await checkHook(`${folder.path}/stop.sh`, {
      laws: ["terminating", "examples"],
      runs: 2,
      rounds: 10,
    });
    assert.equal(hook!.termination?.letsGo, "relies on the cap");
    assert.deepEqual(hook!.findings.map(({ code }) => code), ["terminating.cap"]);
  },
);

test("a hook of .agent/hook.toml that always gives an input is found to go on for ever", SLOW, async () => {
  using folder = hookFiles({
    ".agent/hook.toml": '[turn_end]\ncommand = "sh"\nargs = ["again.sh"]\n',
    "again.sh": "echo 'once more' >&2\n",
  });
  const { hooks: [hook] } = await checkHook(`${folder.path}/.agent/hook.toml`, { runs: 2, rounds: 10 });
  assert.deepEqual(hook!.findings.map(({ code }) => code), ["terminating.loops"]);
});
