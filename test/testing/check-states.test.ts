import assert from "node:assert/strict";
import { test } from "node:test";
import { pathsIn } from "../../lib/testing/check/laws/_state-paths.ts";
import { checkHook } from "../../lib/testing/index.ts";
import type { LettingGo } from "../../lib/testing/index.ts";
import { hookFiles, sh, SLOW } from "./_check-files.ts";

const BLOCK = `echo '{"decision":"block","reason":"Once more"}'`;
/** The value of a key in the frontmatter of a file. */
const field = (name: string, file: string) => `$(sed -n 's/^${name}: *//p' ${file})`;

/** Stop hooks that somebody has to switch on by a file, and how each lets go. */
const HOOKS: readonly (readonly [claim: string, text: string, letsGo: LettingGo])[] = [
  [
    "goes on without end where its file sets no limit",
    sh(
      'file=".claude/again.local.md"',
      '[ -f "$file" ] || exit 0',
      `round=${field("round", '"$file"')}`,
      `max=${field("max_rounds", '"$file"')}`,
      '[ -n "$round" ] && [ -n "$max" ] || exit 0',
      'if [ "$max" -gt 0 ] && [ "$round" -ge "$max" ]; then rm "$file"; exit 0; fi',
      'sed -i "s/^round: .*/round: $((round + 1))/" "$file"',
      BLOCK,
    ),
    "relies on the cap",
  ],
  [
    "counts to three in the file that switches it on",
    sh(
      'dir="$CLAUDE_PROJECT_DIR/.work"',
      '[ -e "$dir/on.txt" ] || exit 0',
      'n=$(cat "$dir/on.txt")',
      '[ "$n" -ge 3 ] && exit 0',
      'echo $((n + 1)) > "$dir/on.txt"',
      BLOCK,
    ),
    "by its own counter",
  ],
  [
    "holds on while JSON of the session says that it is active",
    sh(
      `session=$(printf '%s' "$event" | sed 's/.*"session_id":"\\([^"]*\\)".*/\\1/')`,
      'grep -q \'"active": true\' "$HOME/.keep/$session.json" 2>/dev/null || exit 0',
      `# jq -r '.active' "$HOME/.keep/$session.json"`,
      BLOCK,
    ),
    "relies on the cap",
  ],
  [
    "goes through the tasks of a file that another names",
    sh(
      'state=".claude/march.local.md"',
      '[ -f "$state" ] || exit 0',
      `value() { sed -n "s/^$1: *//p" "$state" | tr -d '"'; }`,
      'MODE=$(value "mode")',
      'TASKS=$(value "tasks_file")',
      '[ "$MODE" != "march" ] && exit 0',
      "grep -q '^- \\[ \\]' \"$TASKS\" || exit 0",
      BLOCK,
    ),
    "relies on the cap",
  ],
  [
    "is switched on by a file and looks at stop_hook_active",
    sh(
      `case "$event" in *'"stop_hook_active":true'*) exit 0;; esac`,
      "[ -e .claude/strict ] || exit 0",
      BLOCK,
    ),
    "on stop_hook_active",
  ],
];

for (const [claim, text, letsGo] of HOOKS) {
  test(`a hook that ${claim} is tried with that file: ${letsGo}`, SLOW, async () => {
    using folder = hookFiles({ "stop.sh": text });
    const { hooks: [hook] } = await checkHook(`${folder.path}/stop.sh`, {
      cwd: folder.path,
      laws: ["terminating"],
      runs: 2,
      seed: 1,
      rounds: 10,
    });
    assert.equal(hook!.termination?.letsGo, letsGo);
    assert.equal(hook!.findings.length, letsGo === "relies on the cap" ? 1 : 0);
    for (const { message } of hook!.findings) {
      assert.match(message, /; tried with a file [\w.~/-]+(?: \(\w+: 0\))?: refuted$/);
    }
  });
}

const RULES = sh(
  "# import rules",
  'for file in .claude/hold.*.local.md; do [ -f "$file" ] || continue',
  `[ "${field("enabled", '"$file"')}" = true ] || continue`,
  `[ "${field("at", '"$file"')}" = stop ] && ${BLOCK}`,
  "done; exit 0",
);
const RULE = "---\nenabled: true\nat: stop\n---\nHold\n";

test("a hook that reads rules is tried with those of the person's own project", SLOW, async () => {
  using folder = hookFiles({ "stop.sh": RULES, ".claude/hold.mine.local.md": RULE });
  const options = { cwd: folder.path, laws: ["terminating"], runs: 2, seed: 1, rounds: 10 } as const;
  const { hooks: [hook] } = await checkHook("stop.sh", options);
  assert.deepEqual(hook!.findings.map(({ code }) => code), ["terminating.cap"]);
});

test("a plugin whose hook reads rules is tried with its examples, switched on", SLOW, async () => {
  using folder = hookFiles({
    "hooks/hooks.json": JSON.stringify({
      hooks: { Stop: [{ hooks: [{ type: "command", command: "${CLAUDE_PLUGIN_ROOT}/hooks/end.sh" }] }] },
    }),
    "hooks/end.sh": RULES,
    "examples/notes.md": "nothing",
    "examples/tests.local.md": RULE.replace("true", "false"),
  });
  const { hooks: [hook] } = await checkHook(folder.path, { laws: ["terminating"], runs: 2, seed: 1, rounds: 10 });
  assert.deepEqual(hook!.findings.map(({ code }) => code), ["terminating.cap"]);
});

test("pathsIn() finds what scripts look for, and no script, log, setting or list of extensions", () => {
  const found: readonly (readonly [text: string, paths: readonly string[]])[] = [
    ['STATE=".claude/loop.md"; [ -f "$STATE" ]', ["project/.claude/loop.md"]],
    ["os.path.join('.claude', 'rules.*.md')", ["project/.claude/rules.check.md"]],
    ['const dir = join(cwd, ".work", "state");\nreadFileSync(join(dir, "loop.json"), "utf8")', [
      "project/.work/state/loop.json",
    ]],
    ['Path.home() / ".keep" / "on.json"', ["home/.keep/on.json"]],
    ['FILE="/tmp/stops-${SESSION_ID}"', ["outside/stops-s1"]],
    ['existsSync("PROGRESS.md")', ["project/PROGRESS.md"]],
    ['[".ts", ".tsx"].includes(extname(path))', []],
    ['echo x >> "$HOME/.claude/logs/stop.log"; . "$HOME/.claude/hooks/lib.sh"', []],
    ["jq -r '.transcript_path' < .claude/settings.json", []],
  ];
  for (const [text, paths] of found) assert.deepEqual(pathsIn(text, "s1"), paths, text);
});
