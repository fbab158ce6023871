/** Once, as only Bun tells which files it has loaded. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { crochet } from "../_crochet.ts";
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
