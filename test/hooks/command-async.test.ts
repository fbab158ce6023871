import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandHook, type CommandOptions } from "../../lib/hooks/command-hook.ts";
import { scratch } from "../_scratch.ts";
import { environment, fireHook, POST, PRE, record } from "./_fire.ts";

const late = JSON.stringify({
  systemMessage: "S",
  decision: "block",
  reason: "R",
  hookSpecificOutput: { hookEventName: "PostToolUse", additionalContext: "C" },
});
const reminder = (text: string) => `<system-reminder>\n${text}\n</system-reminder>`;

/** A hook that is fired and then left to itself: what came of the event, and what comes later. */
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
  return {
    ...run,
    folded,
    hasEnded: () => existsSync(join(folder.path, "ended")),
    goOn: () => writeFileSync(join(folder.path, "go"), ""),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const leftAsync = (command: string) => left(command, { async: true, mode: "async" });

/** Ends when it is told to go on, and not before. */
const WAITING = "while [ ! -e DIR/go ]; do sleep 0.02; done; touch DIR/ended";

test("an async hook is not waited for, its verdict is void, and what it says comes later and bare", async () => {
  using hook = await leftAsync(`${WAITING}; printf '%s' '${late}'; exit 2`);
  assert.deepEqual([hook.folded.decision, hook.hasEnded()], ["continue", false]);
  assert.equal(hook.folded.runs[0]!.skipped, "runs in the background");
  hook.goOn();
  await Promise.all(hook.background);
  assert.deepEqual([hook.hasEnded(), hook.delivered], [true, [reminder("S"), reminder("C")]]);
});

test("an async hook's plain words and exit code never count", async () => {
  using all = await leftAsync("echo words; exit 1");
  await Promise.all(all.background);
  assert.deepEqual(all.delivered, []);
});

test("an async hook that may rewake is heard when it exits with code 2", async () => {
  using hook = await left("echo fix it >&2; exit 2", { async: true, rewake: true, mode: "async", label: "x" });
  await Promise.all(hook.background);
  assert.deepEqual(hook.delivered, [reminder('PostToolUse:Bash hook blocking error from command: "x": [x]: fix it\n')]);
});

test("a first line {async:true} sends a hook into the background, and its answer comes later", async () => {
  using hook = await left(`echo '{"async":true}'; ${WAITING}; printf '%s' '${late}'`);
  assert.deepEqual([hook.folded.decision, hook.hasEnded(), hook.background.length], ["continue", false, 1]);
  hook.goOn();
  await Promise.all(hook.background);
  assert.deepEqual([hook.hasEnded(), hook.delivered], [true, [reminder("S"), reminder("C")]]);
});

test("a hook in the background has the time it asked for and no more", async () => {
  using hook = await left(`echo '{"async":true,"asyncTimeout":200}'; sleep 5; touch DIR/ended; printf '%s' '${late}'`);
  await Promise.all(hook.background);
  assert.deepEqual([hook.delivered, hook.hasEnded()], [[], false]);
});

test("a hook in the background is ended with its run", async () => {
  const stop = new AbortController();
  using hook = await left(`echo '{"async":true}'; sleep 5; touch DIR/ended; printf '%s' '${late}'`, { stop });
  stop.abort();
  await Promise.all(hook.background);
  assert.deepEqual([hook.delivered, hook.hasEnded()], [[], false]);
});

test("{async:true} as all there is, or not at the beginning, sends nothing anywhere", async () => {
  using whole = await left(`printf '{"async":true}'`, { fired: PRE });
  assert.deepEqual([whole.folded.decision, whole.folded.warnings, whole.background], ["continue", [], []]);
  using second = await left(`printf 'words\\n{"async":true}\\n'`, { fired: PRE });
  assert.deepEqual([second.folded.warnings, second.background], [[], []]);
});
