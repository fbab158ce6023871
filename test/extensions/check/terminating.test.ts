import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookReport } from "../../../lib/extensions/check/check-report.ts";
import { rounds } from "../../_counts.ts";
import { checked, sh, SLOW } from "./_check-files.ts";

const BLOCK = `echo '{"decision":"block","reason":"Look again"}'`;
const UNTIL_ACTIVE = `case "$event" in *'"stop_hook_active":true'*) exit 0;; esac`;
const count = (most: number, file: string) =>
  sh(`n=$(cat ${file} 2>/dev/null || echo 0)`, `echo $((n + 1)) > ${file}`, `[ "$n" -ge ${most} ] && exit 0`, BLOCK);

/** Stop hooks by how each lets go: one of each kind first. */
const HOOKS: { readonly [file: string]: string } = {
  "stop.on-flag.sh": sh(UNTIL_ACTIVE, "echo 'Look again' >&2", "exit 2"),
  "stop.always.sh": sh(BLOCK),
  "stop.wants-words.sh": sh(`case "$event" in *DONE*) exit 0;; esac`, BLOCK),
  "stop.memory.ts": `let n = 0;\nexport default () => n++ < 5 ? { action: "deny", reason: "more" } : undefined;`,
  "stop.never-blocks.sh": sh("exit 0"),
  "stop.counts.sh": count(3, ".rounds"),
  "stop.counts-to-1000.sh": count(1000, '"$HOME/.rounds"'),
  "subagent-stop.always.sh": sh(BLOCK),
  "stop.wants-tests.sh": sh(`grep -q '"exit 1"' package.json && ${BLOCK}`, "exit 0"),
  "stop.wants-tool.sh": sh(
    `path=$(printf '%s' "$event" | sed 's/.*"transcript_path":"\\([^"]*\\)".*/\\1/')`,
    `grep -q '"name":"Edit"' "$path" && exit 0`,
    BLOCK,
  ),
  "stop.continuations.ts":
    `export default ({ continuations }) => continuations < 3 ? { action: "deny", reason: "more" } : undefined;`,
  "turn-end.forever.ts": `export default (_event, ctx) => ctx.hookInput("again");`,
  "turn-end.once.ts": `export default ({ trigger }, ctx) => { if (trigger !== "hook_input") ctx.hookInput("again"); };`,
};

/** What is found of each. */
const LETS_GO: { readonly [file: string]: readonly [how: string, code: string | undefined] } = {
  "stop.never-blocks.sh": ["never blocks", undefined],
  "stop.on-flag.sh": ["on stop_hook_active", undefined],
  "stop.counts.sh": ["by itself", undefined],
  "stop.counts-to-1000.sh": ["still blocking", "endless.loop"],
  "stop.always.sh": ["still blocking", "endless.loop"],
  "subagent-stop.always.sh": ["still blocking", "endless.loop"],
  "stop.wants-tests.sh": ["relies on the cap", "endless.until-cap"],
  "stop.wants-words.sh": ["relies on the cap", "endless.until-cap"],
  "stop.wants-tool.sh": ["relies on the cap", "endless.until-cap"],
  "stop.memory.ts": ["by itself", undefined],
  "stop.continuations.ts": ["by itself", undefined],
  "turn-end.forever.ts": ["still blocking", "endless.loop"],
  "turn-end.once.ts": ["by itself", undefined],
};

const FEW = Object.keys(HOOKS).slice(0, rounds(3, 13, 13));
const tried = <T>(table: { readonly [file: string]: T }) => Object.fromEntries(FEW.map((file) => [file, table[file]!]));

test("terminating reports how each hook lets go, and every hook that can block some model forever", SLOW, async () => {
  const { hooks } = await checked(tried(HOOKS), { laws: ["terminating"], runs: 2, rounds: rounds(7, 50, 10) });
  const shown = ({ hook, termination, findings }: HookReport) => [hook, termination?.letsGo, findings[0]?.code];
  assert.deepEqual(Object.fromEntries(hooks.map(shown).map(([hook, ...rest]) => [hook, rest])), tried(LETS_GO));
  const find = (name: string) => hooks.find(({ hook }) => hook === name)!;
  assert.match(find("stop.always.sh").findings[0]!.message, /refuted$/);
  assert.match(find("stop.always.sh").findings[0]!.trace![0]!, /^round 1 {2}model .* → blocked: Look again/);
});

test("an example with a fix shows that a hook can be satisfied: it relies on the cap", SLOW, async () => {
  const { hooks: [hook] } = await checked({
    "stop.sh": sh("[ -e CHANGELOG.md ] && exit 0", "echo 'Write CHANGELOG.md' >&2", "exit 2"),
    "stop.examples.yaml": "- expect: deny\n  fix: { CHANGELOG.md: '# Changes' }\n",
  }, { laws: ["terminating", "examples"], runs: 2, rounds: 9 });
  assert.deepEqual(hook!.findings.map(({ code }) => code), ["endless.until-cap"]);
});
