import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHook } from "../../../lib/testing/index.ts";
import { hookFiles, sh, SLOW } from "./_check-files.ts";

const BLOCK = `echo '{"decision":"block","reason":"Look again"}'`;

const RULES = sh(
  'for file in .claude/hold.*.local.md; do [ -f "$file" ] && ' + BLOCK,
  "done; exit 0",
);

test(
  "a hook is played with the state files of the project, those its config names, and those of its examples",
  SLOW,
  async () => {
    using folder = hookFiles({
      // In the folder of the host.
      "plugin/hooks/hooks.json": JSON.stringify({
        hooks: { Stop: [{ hooks: [{ type: "command", command: "${CLAUDE_PLUGIN_ROOT}/hooks/end.sh" }] }] },
      }),
      "plugin/hooks/end.sh": RULES,
      ".claude/hold.mine.local.md": "Hold\n",
      // Named in the config.
      "hooks/stop.named.sh": sh("# crochet: state=work/open.txt", "[ -f work/open.txt ] || exit 0", BLOCK).replace(
        "event=$(cat)\n# crochet",
        "# crochet",
      ),
      "work/open.txt": "something\n",
      // In an example.
      "hooks/stop.given.sh": sh('[ -f .loop ] && [ "$STRICT" = 1 ] || exit 0', BLOCK),
      "hooks/stop.given.examples.yaml": "- given: { .loop: x }\n  env: { STRICT: '1' }\n  expect: deny\n",
      // Declared nowhere.
      "hooks/stop.hidden.sh": sh("[ -f work/open.txt ] || exit 0", BLOCK),
    });
    const options = {
      cwd: folder.path,
      laws: ["terminating", "examples"],
      runs: 2,
      seed: 1,
      rounds: 9,
      timeout: 20,
    } as const;
    const codes = async (path: string) =>
      (await checkHook(path, options)).hooks.map(({ findings }) => findings.map(({ code }) => code).join());
    assert.deepEqual(await codes("plugin"), ["endless.loop"]);
    assert.deepEqual(await codes("hooks"), ["endless.until-cap", "", "endless.loop"]);
  },
);
