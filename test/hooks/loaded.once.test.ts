/** Once, as only Bun tells which files it has loaded. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { crochet, ended } from "../_crochet.ts";
import { LIB } from "../house/_files.ts";
import { scratch } from "../_scratch.ts";
import { EVENTS, type Json, POST, PRE } from "./_served.ts";

test("no event loads more files than another, and a hook with nothing to say loads less than half", async () => {
  using folder = scratch();
  const files = async (name: string, input: Json, answer: string) => {
    const file = `${folder.path}/${name}.x.ts`;
    const count = `Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes("/lib/")).length`;
    writeFileSync(
      file,
      `import { createRequire } from "node:module";
       process.on("exit", () => console.error("files", ${count}));
       export default () => (${answer});`,
    );
    const { err } = await crochet(["hook", file], { cwd: folder.path, stdin: JSON.stringify(input) });
    return Number(/^files (\d+)$/m.exec(err)![1]);
  };
  const silent = await files("pre-tool-use", PRE, "undefined");
  const speaking = await files("pre-tool-use", PRE, `{ action: "deny", reason: "no" }`);
  assert.ok(silent > 2 && silent * 2 < speaking, `${silent} and ${speaking}`);
  for (const [name, input] of [["stop", EVENTS.stop!.claude], ["post-tool-use", POST]] as const) {
    assert.equal(await files(name, input, "undefined"), silent, name);
    assert.equal(await files(name, input, `{ action: "deny", reason: "no" }`), speaking, name);
  }
});

test("a hook of files that Codex asks about a command without a patch loads no more than a silent hook", async () => {
  using folder = scratch({
    "list.ts":
      `process.on("exit", () => console.error(Object.keys(require.cache).filter((path) => path.includes("/lib/")).join("\\n")));`,
    "pre-tool-use@Bash.silent.ts": "export default () => undefined;",
    "pre-tool-use@Edit+Write.guard.ts": "export default () => { throw new Error('asked'); };",
    "pre-tool-use@Edit+Write.guard.sh": "#!/bin/sh\nexit 2\n",
  });
  const start = [process.execPath, "-r", `${folder.path}/list.ts`, join(LIB, "cli/hook.ts")] as const;
  const loaded = async (name: string) => {
    const stdin = JSON.stringify({ ...PRE, turn_id: "t" });
    const given = { cwd: folder.path, stdin, env: { PATH: process.env.PATH, HOME: folder.path } };
    const { err, out, code } = await ended([...start, `${folder.path}/${name}`, "--dialect", "codex"], given);
    assert.deepEqual([out, code], ["", 0], name);
    return err.trim().split("\n");
  };
  const silent = await loaded("pre-tool-use@Bash.silent.ts");
  assert.ok(silent.length > 5, "the list sees what is loaded");
  for (const name of ["pre-tool-use@Edit+Write.guard.ts", "pre-tool-use@Edit+Write.guard.sh"]) {
    const all = await loaded(name);
    assert.deepEqual(all.filter((path) => !silent.includes(path)), [], name);
  }
});

test("a silent hook makes no AsyncLocalStorage, which takes longer to load than all of ours", async () => {
  using folder = scratch({
    "list.ts": `const get = process.getBuiltinModule;
process.getBuiltinModule = (name) => (console.error("built-in", name), get(name));`,
    "stop.a.ts": "export default () => undefined;",
  });
  const start = [process.execPath, "-r", `${folder.path}/list.ts`, join(LIB, "cli/hook.ts")] as const;
  const given = { cwd: folder.path, stdin: JSON.stringify(EVENTS.stop!.claude), env: { HOME: folder.path } };
  const { err, code } = await ended([...start, `${folder.path}/stop.a.ts`], given);
  assert.equal(code, 0);
  assert.deepEqual([/built-in node:module/.test(err), /built-in node:async_hooks/.test(err)], [true, false], err);
});

test("a folder of modules alone loads neither YAML nor the other kinds", async () => {
  using folder = scratch({ "stop.a.ts": `export default () => ({ action: "deny", reason: "a" });` });
  const module = new URL("../../lib/hooks/folder.ts", import.meta.url).href;
  writeFileSync(
    `${folder.path}/_look.mjs`,
    `import { hookFolders } from ${JSON.stringify(module)};
     import { createRequire } from "node:module";
     console.log((await hookFolders([${JSON.stringify(folder.path)}])()).flat().length);
     console.log(Object.keys(createRequire(import.meta.url).cache).filter((p) => /yaml|hooks\\/(rules|prompt|command)\\.ts/.test(p)).join());`,
  );
  assert.equal(execFileSync(process.execPath, [`${folder.path}/_look.mjs`], { encoding: "utf8" }), "1\n\n");
});
