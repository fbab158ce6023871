import assert from "node:assert/strict";
import { test } from "node:test";
import { readPrinted } from "../../lib/testing/check/laws/_printed.ts";
import { checkHook } from "../../lib/testing/index.ts";
import { hookFiles, settings, sh, SLOW } from "./_check-files.ts";

test("an empty answer is no echo, though the event holds the same two characters", () => {
  const event = { tool_input: { content: 'export {};\n{"decision":"block"}\n' } };
  assert.deepEqual(readPrinted("{}\n", event), { form: "answer", json: {} });
  assert.deepEqual(readPrinted('{"decision":"block"}', event), { form: "echo" });
});

test("a hook of SessionStart whose matcher names no way to start is at fault, and is not asked", SLOW, async () => {
  using folder = hookFiles({ ".claude/settings.json": settings("SessionStart", { command: "echo '{'" }, "init") });
  const { hooks: [hook], ok } = await checkHook(`${folder.path}/.claude/settings.json`, { runs: 2, seed: 1 });
  assert.equal(ok, false);
  assert.deepEqual(hook!.findings.map(({ code }) => code), ["lawful.matcher"]);
  assert.match(hook!.skipped!, /never matches/);
});

test("a Gemini extension is known by its manifest, and its path is put into the command", SLOW, async () => {
  using folder = hookFiles({
    "gemini-extension.json": "{}",
    "hooks/hooks.json": settings("BeforeTool", { command: "sh ${extensionPath}/scripts/look.sh" }),
    "scripts/look.sh": sh(`echo '{"decision":"deny","reason":"not here"}'`),
  });
  const { hooks: [hook], ok } = await checkHook(folder.path, { runs: 4, seed: 1 });
  assert.deepEqual([hook!.findings.filter(({ severity }) => severity === "fault"), ok], [[], true]);
  assert.deepEqual(hook!.events, ["BeforeTool"]);
});

test("a hook that a runner runs is named by what is run", SLOW, async () => {
  using folder = hookFiles({
    "hooks/hooks.json": settings("Notification", {
      command: 'sh "${CLAUDE_PLUGIN_ROOT}"/run.sh "${CLAUDE_PLUGIN_ROOT}"/tell.sh',
    }),
    "run.sh": sh('sh "$1"'),
    "tell.sh": sh("exit 0"),
  });
  const { hooks: [hook] } = await checkHook(folder.path, { runs: 2, seed: 1 });
  assert.match(hook!.hook, /\(tell\.sh\)$/);
  assert.deepEqual(hook!.findings, []);
});
