import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { install, uninstall } from "../../lib/cli/hooks/install.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";

const LAUNCHER = new URL("../../lib/cli/crochet", import.meta.url).pathname;
const PLUGIN = ".claude/skills/hooks";
const HOOKS = {
  "hooks/pre-tool-use@Bash.guard.ts":
    `import { WORD } from "./_lib/word.ts";\nexport default () => ({ action: "deny", reason: WORD });`,
  "hooks/_lib/word.ts": `export const WORD: string = "no";`,
};
const AS_PLUGIN = ["--for", "claude", "--as", "plugin"];

test("a plugin of Claude Code holds its hooks, and its line finds them wherever the project is", async () => {
  using here = place(HOOKS);
  const done = await here.call(install.default, join(here.cwd, "hooks"), ...AS_PLUGIN);
  assert.equal(done.code, 0, done.err);
  const read = (name: string) => JSON.parse(readFileSync(join(here.cwd, PLUGIN, name), "utf8"));
  assert.equal(read(".claude-plugin/plugin.json").name, "hooks");
  const [group] = read("hooks/hooks.json").hooks.PreToolUse;
  assert.equal(group.matcher, "Bash");
  rmSync(join(here.cwd, "hooks"), { recursive: true });
  const cwd = join(here.home, `a "$project"`);
  renameSync(here.cwd, cwd);
  mkdirSync(join(cwd, "node_modules/.bin"), { recursive: true });
  const asked = async () => {
    const env = {
      PATH: "/usr/bin:/bin",
      HOME: here.home,
      CLAUDE_PROJECT_DIR: cwd,
      CLAUDE_PLUGIN_ROOT: join(cwd, PLUGIN),
    };
    const stdin = JSON.stringify({ hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: {}, session_id: "s" });
    const { out, err } = await ended(["/bin/sh", "-c", group.hooks[0].command], { cwd, env, stdin });
    assert.notEqual(out, "", err);
    return JSON.parse(out).hookSpecificOutput;
  };
  const absent = "crochet is not installed, so crochet/pre-tool-use@Bash.guard.ts cannot check this: npm install";
  assert.equal((await asked()).permissionDecisionReason, absent);
  symlinkSync(LAUNCHER, join(cwd, "node_modules/.bin/crochet"));
  assert.equal((await asked()).permissionDecisionReason, "no");
});

test("installing a plugin again replaces its hooks, and uninstalling leaves what others put there", async () => {
  using here = place({ ...HOOKS, "hooks/stop.x.ts": "export default () => {};" });
  const call = async (command: typeof install, ...more: string[]) => {
    const { code, err } = await here.call(command.default, join(here.cwd, "hooks"), ...AS_PLUGIN, ...more);
    assert.equal(code, 0, err);
  };
  await call(install, "--dry-run");
  assert.ok(!existsSync(join(here.cwd, ".claude")));
  await call(install);
  rmSync(join(here.cwd, "hooks/stop.x.ts"));
  await call(install);
  assert.deepEqual(readdirSync(join(here.cwd, PLUGIN, "crochet")).sort(), ["_lib", "pre-tool-use@Bash.guard.ts"]);
  assert.doesNotMatch(readFileSync(join(here.cwd, PLUGIN, "hooks/hooks.json"), "utf8"), /stop\.x/);
  await call(uninstall);
  assert.ok(!existsSync(join(here.cwd, ".claude")));
  await call(install);
  here.put({ [`${PLUGIN}/SKILL.md`]: "of a person" });
  await call(uninstall);
  assert.deepEqual(readdirSync(join(here.cwd, PLUGIN)), ["SKILL.md"]);
});

test("a plugin that crochet did not write is left alone", async () => {
  using here = place({ ...HOOKS, "theirs/hooks/hooks.json": `{"hooks":{}}` });
  const to = ["--to", join(here.cwd, "theirs")];
  const refused = await here.call(install.default, join(here.cwd, "hooks"), ...AS_PLUGIN, ...to);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /crochet did not write it: name another folder with --to/);
  assert.match((await here.call(uninstall.default, ...AS_PLUGIN, ...to)).out, /nothing to change/);
  assert.deepEqual(readdirSync(join(here.cwd, "theirs")), ["hooks"]);
});

for (
  const [args, why] of [
    [["--for", "codex", "--as", "plugin"], /only --for claude/],
    [["--for", "codex", "--as", "mod"], /Cannot install as 'mod' for codex: only claude has mods/],
    [["--for", "claude", "--as", "mod", "--scope", "local"], /Cannot install a mod in scope local: project or user/],
    [["--for", "claude", "--as", "mod", "--runtime", "bun"], /did you mean 'crochet hooks install --for claude'\?/],
    [[...AS_PLUGIN, "--no-belt"], /Cannot use --no-belt without --as mod/],
    [["--for", "claude", "--as", "skill"], /write --as plugin/],
    [["--for", "claude", "--to", "x"], /write --as plugin/],
    [[...AS_PLUGIN, "--scope", "user"], /Cannot use --scope for a plugin/],
  ] as const
) {
  test(`hooks install ${args.join(" ")} is refused`, async () => {
    using here = place(HOOKS);
    const { code, err } = await here.call(install.default, ...args);
    assert.equal(code, 2);
    assert.match(err, why);
  });
}
