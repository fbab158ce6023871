import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandHook, type CommandOptions } from "../../lib/hooks/command.ts";
import { scratch } from "../_scratch.ts";
import { environment, fireHook, POST, PRE, record } from "./_fire.ts";

const late = JSON.stringify({
  systemMessage: "S",
  decision: "block",
  reason: "R",
  hookSpecificOutput: { hookEventName: "PostToolUse", additionalContext: "C" },
});
const reminder = (text: string) => `<system-reminder>\n${text}\n</system-reminder>`;

async function left(
  command: string,
  options: Partial<CommandOptions> & { mode?: "async"; stop?: AbortController; fired?: typeof PRE | typeof POST } = {},
) {
  const folder = scratch();
  const { mode, stop, fired = POST, ...rest } = options;
  const parts = commandHook({ name: "hook", command: command.replaceAll("DIR", folder.path), ...rest }, {
    projectDir: folder.path,
  });
  const hook = record(fired.event, { ...parts, ...(mode && { mode }), timeout: 20 });
  const run = environment(folder.path, stop ? { signal: stop.signal } : {});
  const folded = await fireHook(hook, fired, run.env);
  return { ...run, folded, folder };
}

test("an async hook is not waited for, its verdict is void, and what it says comes later and bare", async () => {
  using all = await leftAsync(`sleep 0.3; touch DIR/ended; printf '%s' '${late}'; exit 2`);
  const { folded, folder, delivered, background } = all;
  assert.deepEqual([folded.decision, existsSync(join(folder.path, "ended"))], ["continue", false]);
  assert.equal(folded.runs[0]!.skipped, "runs in the background");
  await Promise.all(background);
  assert.deepEqual(delivered, [reminder("S"), reminder("C")]);
});

test("an async hook's plain words and exit code never count", async () => {
  using all = await leftAsync("echo words; exit 1");
  await Promise.all(all.background);
  assert.deepEqual(all.delivered, []);
});

test("an async hook that may rewake is heard when it exits with code 2", async () => {
  const { delivered, background, folder } = await left("echo fix it >&2; exit 2", {
    async: true,
    rewake: true,
    mode: "async",
    label: "x",
  });
  using _ = folder;
  await Promise.all(background);
  assert.deepEqual(delivered, [reminder('PostToolUse:Bash hook blocking error from command: "x": [x]: fix it\n')]);
});

test("a first line {async:true} sends a hook into the background from where it speaks later", async () => {
  const command = `echo '{"async":true}'; sleep 0.3; touch DIR/ended; printf '%s' '${late}'`;
  const { folded, folder, delivered, background } = await left(command);
  using _ = folder;
  assert.deepEqual([folded.decision, existsSync(join(folder.path, "ended"))], ["continue", false]);
  assert.equal(background.length, 1);
  await Promise.all(background);
  assert.equal(existsSync(join(folder.path, "ended")), true);
  assert.deepEqual(delivered, [reminder("S"), reminder("C")]);
});

test("a hook in the background has the time it asked for and no more", async () => {
  const command = `echo '{"async":true,"asyncTimeout":200}'; sleep 5; touch DIR/ended; printf '%s' '${late}'`;
  const { folder, delivered, background } = await left(command);
  using _ = folder;
  await Promise.all(background);
  assert.deepEqual([delivered, existsSync(join(folder.path, "ended"))], [[], false]);
});

test("a hook in the background is ended with its run", async () => {
  const stop = new AbortController();
  const { folder, delivered, background } = await left(`echo '{"async":true}'; sleep 20; printf '%s' '${late}'`, {
    stop,
  });
  using _ = folder;
  stop.abort();
  await Promise.all(background);
  assert.deepEqual(delivered, []);
});

test("{async:true} as all there is, or not at the beginning, sends nothing anywhere", async () => {
  const whole = await left(`printf '{"async":true}'`, { fired: PRE });
  using _ = whole.folder;
  assert.deepEqual([whole.folded.decision, whole.folded.warnings, whole.background], ["continue", [], []]);
  const second = await left(`printf 'words\\n{"async":true}\\n'`, { fired: PRE });
  using __ = second.folder;
  assert.deepEqual([second.folded.warnings, second.background], [[], []]);
});

async function leftAsync(command: string) {
  const all = await left(command, { async: true, mode: "async" });
  return { ...all, [Symbol.dispose]: () => all.folder[Symbol.dispose]() };
}
