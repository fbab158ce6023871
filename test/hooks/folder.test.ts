import assert from "node:assert/strict";
import { renameSync, rmSync, symlinkSync } from "node:fs";
import { test } from "node:test";
import { codeHooks } from "../../lib/hooks/code-hooks.ts";
import { fire } from "../../lib/core/dispatch.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import type { HookRunner } from "../../lib/agent/options.ts";
import { hookList } from "../../lib/agent/hook-list.ts";
import { HookFolder, hookFolders } from "../../lib/hooks/folder.ts";
import { hookFolder } from "../../lib/hooks/loaded-when-called.ts";
import { HookRegistry } from "../../lib/hooks/registry.ts";
import { put, scratch } from "../_scratch.ts";
import { environment, POST, PRE, STOP } from "./_fire.ts";

/** A folder of hooks that a test goes on writing to. */
function folderOf(files: Record<string, string>) {
  const folder = scratch(files);
  return {
    ...folder,
    put: (name: string, text: string) => put(folder.path, { [name]: text }),
    drop: (name: string) => rmSync(`${folder.path}/${name}`),
  };
}

/** The hooks of one folder, loaded again at each call. */
function hooksIn(path: string): () => Promise<readonly HookRecord[]> {
  const load = hookFolders([path]);
  return async () => (await load())[0]!;
}

const deny = (words: string) => `export default () => ({ action: "deny", reason: ${words} });\n`;

async function reasons(records: readonly HookRecord[]): Promise<string> {
  const { reason = "-", warnings } = await fire(records, structuredClone(STOP), environment("/tmp").env);
  return [reason.replaceAll("\n", " | "), ...warnings].join(" ! ");
}

test("an edited, added or removed hook file counts from the next load", async () => {
  using folder = folderOf({ "stop.a.ts": deny(`"a1"`) });
  const hooks = hooksIn(folder.path);
  assert.equal(await reasons(await hooks()), "a1");
  folder.put("stop.a.ts", deny(`"a2"`));
  assert.equal(await reasons(await hooks()), "a2");
  folder.put("20-stop.b.ts", deny(`"b1"`));
  assert.equal(await reasons(await hooks()), "b1 | a2");
  folder.drop("stop.a.ts");
  assert.equal(await reasons(await hooks()), "b1");
  folder.put("20-stop.b.ts", deny(`"b2"`));
  folder.put("20-stop.b.ts", deny(`"b3"`));
  assert.equal(await reasons(await hooks()), "b3");
});

test("however many sessions load hooks at once, the process has at most one more listener, and the same ways out afterwards", async () => {
  const seen: number[] = [];
  Object.assign(globalThis, { listenersSeen: seen });
  const looks = `await new Promise((done) => setTimeout(done, 20));
globalThis.listenersSeen.push(process.listenerCount("exit"));\n`;
  using stack = new DisposableStack();
  const folders = Array.from({ length: 12 }, () => stack.use(folderOf({ "stop.a.ts": looks + deny(`"a"`) })));
  const before = process.listenerCount("exit");
  const { exit } = process;
  await Promise.all(folders.map(({ path }) => hooksIn(path)()));
  assert.equal(seen.length, 12);
  assert.ok(seen.every((count) => count <= before + 1), `${before}, then ${seen}`);
  assert.equal(process.listenerCount("exit"), before);
  assert.equal(process.exit, exit);
});

test("an edit of the same length in the same moment counts too", async () => {
  using folder = folderOf({ "stop.a.ts": deny(`"0"`) });
  const hooks = hooksIn(folder.path);
  for (let i = 0; i < 10; i++) {
    folder.put("stop.a.ts", deny(`"${i}"`));
    assert.equal(await reasons(await hooks()), String(i));
  }
});

test("a changed _ file reloads the hooks that share it, through other _ files and folders", async () => {
  using folder = folderOf({
    "_words.ts": `export { word } from "./_deep/word.ts";`,
    "stop.a.ts": `import { word } from "./_words.ts";\n${deny("`a ${word}`")}`,
    "stop.b.mjs": `import { word } from "./_words.ts";\n${deny("`b ${word}`")}`,
  });
  folder.put("_deep/word.ts", `export const word: string = "one";`);
  const hooks = hooksIn(folder.path);
  assert.equal(await reasons(await hooks()), "a one | b one");
  folder.put("_deep/word.ts", `export const word: string = "two";`);
  assert.equal(await reasons(await hooks()), "a two | b two");
  folder.put("_words.ts", `export const word = "three";`);
  assert.equal(await reasons(await hooks()), "a three | b three");
  folder.put("stop.a.ts", `import { word } from "./_words.ts";\n${deny("`A ${word}`")}`);
  assert.equal(await reasons(await hooks()), "A three | b three");
});

test("the list stays the same list while nothing changes, also if a file is written again", async () => {
  using folder = folderOf({ "stop.a.ts": deny(`"a"`) });
  const hooks = hooksIn(folder.path);
  const first = await hooks();
  assert.equal(await hooks(), first);
  folder.put("stop.a.ts", deny(`"a"`));
  assert.equal(await hooks(), first);
});

test("a hook broken by an edit keeps failing with its load error, and comes back when it is fixed", async () => {
  using folder = folderOf({
    "_w.ts": "export const w = 1;",
    "stop.a.ts": `import { w } from "./_w.ts";\n${deny("`a${w}`")}`,
  });
  const hooks = hooksIn(folder.path);
  assert.equal(await reasons(await hooks()), "a1");
  folder.put("_w.ts", "export const w = (;");
  for (let i = 0; i < 2; i++) {
    assert.match(
      await reasons(await hooks()),
      /^- ! Hook stop\.a\.ts failed on stop: Cannot load hook 'stop\.a\.ts' as /,
    );
  }
  folder.put("_w.ts", "export const w = 2;");
  assert.equal(await reasons(await hooks()), "a2");
  for (
    const broken of [
      "export default 5;",
      "throw new Error('top'); export default () => {};",
      "export const config = { timeot: 1 }; export default () => {};",
    ]
  ) {
    folder.put("stop.a.ts", broken);
    assert.match(await reasons(await hooks()), /Cannot load (?:hook ')?stop\.a\.ts/);
  }
  folder.put("stop.a.ts", deny(`"back"`));
  assert.equal(await reasons(await hooks()), "back");
});

test("U7: a gate that was broken by an edit does not open", async () => {
  using folder = folderOf({
    "pre-tool-use.a.ts": "export default () => {};",
    "pre-tool-use.b.rules": `tool equals "X" -> deny("x")`,
  });
  const hooks = hooksIn(folder.path);
  const gate = async () => await fire(await hooks(), structuredClone(PRE), environment("/tmp").env);
  assert.equal((await gate()).decision, "continue");
  folder.put("pre-tool-use.b.rules", "tool equal");
  const { decision, reason } = await gate();
  assert.equal(decision, "deny");
  assert.match(reason!, /Cannot load pre-tool-use\.b\.rules:1:/);
  folder.put("pre-tool-use.b.rules", `tool equals "X" -> deny("x")`);
  folder.put("pre-tool-use.a.ts", "export default");
  assert.equal((await gate()).decision, "deny");
  rmSync(`${folder.path}/pre-tool-use.a.ts`);
  assert.equal((await gate()).decision, "continue");
  symlinkSync("../gone.ts", `${folder.path}/pre-tool-use.a.ts`);
  assert.match((await gate()).reason!, /it is a link that leads nowhere/);
});

test("a file of no event that appears is reported at each turn of the next run and stops nothing", async () => {
  using folder = folderOf({ "stop.a.ts": deny(`"a"`) });
  const hooks = hooksIn(folder.path);
  await hooks();
  folder.put("stp.ts", "");
  const records = await hooks();
  const turn = {
    event: "turn-start" as const,
    trigger: "user" as const,
    prompt: "",
    turn: { system: "", messages: [] },
  };
  const folded = await fire(records, turn, environment("/tmp").env);
  assert.match(
    folded.warnings.join(),
    /Cannot load hook 'stp\.ts' as 'stp' is not an event: did you mean 'stop\.ts'\?/,
  );
  assert.equal(folded.decision, "continue");
  assert.equal(folded.abort, undefined);
});

test("an agent that names a folder with a file that cannot be loaded does not start with it", async () => {
  using folder = folderOf({ "stop.a.ts": "export default", "stp.sh": "" });
  await assert.rejects(hooksIn(folder.path)(), (error: Error) => {
    assert.match(error.message, /stop\.a\.ts/);
    assert.match(error.message, /stp\.sh/);
    return true;
  });
  await assert.rejects(hooksIn(`${folder.path}/none`)(), /Cannot read hooks folder/);
});

test("S0.11: a hook in two folders runs once, and folders keep their place among hooks in code", async () => {
  using one = folderOf({ "stop.a.ts": deny(`"a"`) });
  using two = folderOf({ "stop.b.ts": deny(`"b"`) });
  symlinkSync(`${one.path}/stop.a.ts`, `${two.path}/10-stop.a.ts`);
  const inCode = codeHooks([{ stop: () => ({ action: "deny", reason: "code" }) }]);
  const asked = async (...members: (string | { records: HookRecord[] })[]) => {
    const list = await hookList({ members, found: undefined, runner: {} as HookRunner })();
    return await reasons(list.records);
  };
  assert.equal(await asked({ records: inCode }, one.path, two.path), "code | a | b");
  assert.equal(await asked(two.path, { records: inCode }, one.path), "a | b | code");
});

test("U8: a post-tool-use file sees successes, a post-tool-use-failure file the rest", async () => {
  using folder = folderOf({
    "post-tool-use.a.ts": deny(`"success"`),
    "post-tool-use-failure.b.ts": deny(`"failure"`),
    "post-tool-use@Read.c.ts": deny(`"read"`),
  });
  const records = await hooksIn(folder.path)();
  const at = async (failed: boolean) => {
    const event = { ...structuredClone(POST), failed, outcome: failed ? "failure" as const : "success" as const };
    return (await fire(records, event, environment("/tmp").env)).reason;
  };
  assert.equal(await at(false), "success");
  assert.equal(await at(true), "failure");
});

test("a module's config decides matcher, mode, scope, time and further moments", async () => {
  using folder = folderOf({
    "pre-tool-use.a.ts": `export const config = { matcher: "^Ba", timeout: 0.05, onError: "deny" };
      export default () => new Promise(() => {});`,
    "pre-tool-use@Edit.b.ts": `export const config = { also: ["post-tool-use@Bash"] };\n${deny("`b`")}`,
    "stop.c.ts": `export const config = { mode: "observe", scope: "sub" };\n${deny(`"c"`)}`,
  });
  const records = await hooksIn(folder.path)();
  const pre = await fire(records, structuredClone(PRE), environment("/tmp").env);
  assert.equal(pre.deniedBy, "pre-tool-use.a.ts");
  assert.match(pre.reason!, /longer than its limit of 0\.05 s/);
  assert.equal((await fire(records, structuredClone(POST), environment("/tmp").env)).reason, "b");
  const { runs } = await fire(records, structuredClone(STOP), environment("/tmp").env);
  assert.equal(runs[0]!.skipped, "only for sub-agents");
  assert.deepEqual(records.map((r) => [r.name, r.mode, r.timeout]), [
    ["pre-tool-use.a.ts", "gate", 0.05],
    ["pre-tool-use@Edit.b.ts", "gate", 60],
    ["stop.c.ts", "observe", 60],
  ]);
});

test("two ways to match at once, or an unknown further moment, are load errors", async () => {
  using folder = folderOf({
    "pre-tool-use@Bash.a.ts": `export const config = { matcher: "x" };\nexport default () => {};`,
    "stop.b.ts": `export const config = { also: ["stpo"] };\nexport default () => {};`,
    "pre-tool-use.c.sh": `#!/bin/sh\n# crochet: matcher="("\n`,
  });
  const hooks = new HookFolder(folder.path);
  await hooks.load();
  const messages = hooks.problems.map((problem) => problem.message).join("\n");
  assert.match(messages, /by '@Bash' and by matcher 'x': keep one/);
  assert.match(messages, /'stpo' is not an event: did you mean 'stop'\?/);
  assert.match(messages, /matcher '\(' as it is not a regular expression/);
});

test("a folder that is taken away and put back takes its hooks along", async () => {
  using outer = scratch({ "hooks/stop.a.ts": deny(`"a"`) });
  const path = `${outer.path}/hooks`;
  const hooks = hooksIn(path);
  assert.equal(await reasons(await hooks()), "a");
  renameSync(path, `${path}-away`);
  assert.equal(await reasons(await hooks()), "-");
  renameSync(`${path}-away`, path);
  assert.equal(await reasons(await hooks()), "a");
});

test("hookFolder() gives a registry the hooks of a folder, and load() says what is wrong with it", async () => {
  using folder = scratch({
    "pre-tool-use@Bash.guard.rules": 'args.command contains "rm" -> deny("No rm")\n',
    "pre-tool-use@Bash.who.ts":
      `export default async (_, ctx) => ({ action: "deny", reason: (await ctx.$("echo", ["asked"])).stdout.trim() });`,
  });
  const hooks = new HookRegistry().registerSource(hookFolder(folder.path));
  await hooks.load();
  const why = async (command: string) =>
    (await hooks.fire({ event: "pre-tool-use", tool_name: "Bash", input: { command } })).reason;
  assert.deepEqual([await why("rm x"), await why("ls")], ["No rm", "asked"]);
  const missing = new HookRegistry().registerSource(hookFolder(`${folder.path}/none`));
  await assert.rejects(missing.load(), { name: "TypeError", message: /^Cannot read hooks folder '.*\/none': / });
  assert.throws(() => hookFolder(".", { model: 1 } as never), /Cannot use hookFolder\(\).*'model'/);
});
