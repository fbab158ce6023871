import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { crochet } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";
import { EVENTS, type Json, POST, PRE, served } from "./_served.ts";

test("a module is asked with the same event whether or not it is asked before the rest is loaded", async () => {
  const inputs = [
    ["pre-tool-use", PRE],
    ["pre-tool-use@Edit+Bash", { ...PRE, agent_id: "a", agent_type: "explore" }],
    ["post-tool-use", { ...POST, extra: 1 }],
    ["post-tool-use-failure", { ...POST, tool_response: { error: "gone" } }],
    ["user-prompt-submit", EVENTS.prompt!.claude],
    ["stop", EVENTS.stop!.claude],
    ["subagent-stop", { ...EVENTS.stop!.claude, hook_event_name: "SubagentStop", agent_id: "a" }],
    ["session-start", EVENTS.start!.claude],
  ] as const;
  for (const [name, input] of inputs) {
    const seen = async (config: string) => {
      using folder = scratch();
      const file = `${folder.path}/${name}.x.ts`;
      const body = `export default (event) => { (globalThis as any).seen = [event, Object.isFrozen(event)]; };`;
      writeFileSync(file, `export const config = ${config};\n${body}`);
      await served(file, input, "claude", { HOME: folder.path });
      const [{ timestamp: _, ...event }, isFrozen] = (globalThis as unknown as { seen: [Json, boolean] }).seen;
      return { event, isFrozen };
    };
    // A config that names a mode or a scope is read before the hook is asked.
    const asked = await seen("{}");
    assert.deepEqual(asked, await seen(`{ mode: "gate" }`), name);
    assert.ok(asked.isFrozen);
  }
});

test("a module that is asked early has the whole context, and whatever it does with it counts", async () => {
  using folder = scratch();
  const env = { HOME: folder.path };
  const stdin = JSON.stringify({ ...PRE, cwd: folder.path });
  const at = async (body: string) => {
    const file = `${folder.path}/pre-tool-use.x.ts`;
    writeFileSync(file, body);
    return await crochet(["hook", file], { cwd: folder.path, env, stdin });
  };
  const specific = ({ out }: { out: string }) => JSON.parse(out).hookSpecificOutput;
  assert.equal(specific(await at(`export default (_, ctx) => ctx.addContext("note");`)).additionalContext, "note");
  const ran = await at(
    `export default async (_, { $, sleep }) => {
      await sleep(1);
      return { action: "deny", reason: (await $("pwd")).stdout.trim() };
    };`,
  );
  assert.equal(specific(ran).permissionDecisionReason, folder.path);
  const thrown = await at(`export default () => { throw new Error("oh"); };`);
  assert.equal(specific(thrown).permissionDecisionReason, "oh");
  const late = await at(`export const config = { timeout: 0.1 }; export default () => new Promise(() => {});`);
  assert.match(specific(late).permissionDecisionReason, /longer than its limit of 0\.1 s/);
  const aborted = await at(`export default (_, ctx) => ctx.abort("enough");`);
  assert.equal(JSON.parse(aborted.out).stopReason, "enough");
  const stray = await at(`export default async (_, { sleep }) => {
    setTimeout(() => { throw new Error("late"); }, 1);
    Promise.reject(new Error("floating"));
    await sleep(20);
    return { action: "deny", reason: "no" };
  };`);
  assert.equal(specific(stray).permissionDecisionReason, "no");
  const logged = await at(`export default (_, ctx) => ctx.log("seen");`);
  assert.deepEqual(logged, { out: "", err: "pre-tool-use.x.ts: seen\n", code: 0 });
  const counting =
    `export default (_, { values }) => { values.set("n", (values.get("n") ?? 0) + 1); if (values.get("n") > 1) return { action: "deny", reason: "twice" }; };`;
  assert.equal((await at(counting)).out, "");
  assert.equal(specific(await at(counting)).permissionDecisionReason, "twice");
  const { out, err, code } = await at(`export default (_, { values }) => void values.set("big", 1n);`);
  assert.deepEqual([out, code], ["", 0]);
  assert.match(err, /^Cannot keep the value 'big': /);
});

test("a module that would end the process fails, and what it guards is refused", async () => {
  const bodies = {
    asked: "export default () => process.exit(0);",
    loaded: "process.exit(0); export default () => {};",
    named: `import { exit } from "node:process"; export default async () => { await 1; exit(1); };`,
  };
  for (const [name, body] of Object.entries(bodies)) {
    using folder = scratch({ [`pre-tool-use.${name}.ts`]: body });
    const stdin = JSON.stringify({ ...PRE, cwd: folder.path });
    const { out, err } = await crochet(["hook", `${folder.path}/pre-tool-use.${name}.ts`], { cwd: folder.path, stdin });
    assert.equal(JSON.parse(out).hookSpecificOutput.permissionDecision, "deny", name);
    // What Deno exports by name calls what it hides.
    assert.match(
      err,
      /Cannot call process\.(?:exit|reallyExit)\([01]\) in a hook as that ends the run: return a verdict/,
      name,
    );
  }
});

test("what a module prints never comes before its answer, which a host would then read as plain text", async () => {
  const body = `import { say } from "./lib/say.ts";
console.log("loaded");
export default () => {
  console.log("looks"); console.info("at it"); console.table([1]); process.stdout.write("raw\\n");
  console.count("twice"); console.time("took"); console.timeEnd("took"); console.trace("from"); console.write?.("bit\\n");
  say("below");
  return { action: "deny", reason: "no" };
};`;
  const say = `import { stdout } from "node:process"; export const say = (words) => stdout.write(words + "\\n");`;
  using folder = scratch({ "pre-tool-use.x.ts": body, "stop.x.ts": body, "lib/say.ts": say });
  const told = { session_id: "s", cwd: folder.path, hook_event_name: "Stop", stop_hook_active: false };
  for (const [name, event] of [["pre-tool-use", PRE], ["stop", told]] as const) {
    const stdin = JSON.stringify({ ...event, cwd: folder.path });
    const { out, err } = await crochet(["hook", `${folder.path}/${name}.x.ts`], { cwd: folder.path, stdin });
    assert.match(JSON.stringify(JSON.parse(out)), /"(?:deny|block)"/);
    for (const words of ["loaded", "looks", "at it", "raw", "below"]) assert.ok(err.includes(`${words}\n`), words);
    for (const words of ["twice: 1", "took: ", "from"]) assert.ok(err.includes(words), words);
  }
});

test("a module with a mistake in its config refuses what it guards, though it is asked early", async () => {
  using folder = scratch();
  const file = `${folder.path}/pre-tool-use.x.ts`;
  const stdin = JSON.stringify({ ...PRE, cwd: folder.path });
  for (const config of [`{ timeout: "5" }`, `{ onError: "block" }`, `{ also: ["nope"] }`, `5`]) {
    writeFileSync(file, `export const config = ${config}; export default () => ({ action: "deny", reason: "no" });`);
    const { out, code } = await crochet(["hook", file], { cwd: folder.path, stdin });
    assert.match(
      out,
      /"permissionDecision":"deny".*Cannot load hook 'pre-tool-use\.x\.ts' as it has a mistake/,
      config,
    );
    assert.equal(code, 0);
  }
});

test("a module is not run for what its config rules out", async () => {
  using folder = scratch();
  const mark = `${folder.path}/ran`;
  const file = `${folder.path}/pre-tool-use.x.ts`;
  const stdin = JSON.stringify({ ...PRE, cwd: folder.path });
  for (
    const [config, runs] of [[`{ matcher: "^Edit" }`, false], [`{ scope: "sub" }`, false], [
      `{ mode: "observe" }`,
      true,
    ]] as const
  ) {
    writeFileSync(
      file,
      `import { writeFileSync } from "node:fs"; export const config = ${config};
       export default () => { writeFileSync(${JSON.stringify(mark)}, "x"); return { action: "deny", reason: "no" }; };`,
    );
    const { out } = await crochet(["hook", file], { cwd: folder.path, stdin });
    assert.equal(out, "", config);
    assert.equal(existsSync(mark), runs, config);
  }
});
