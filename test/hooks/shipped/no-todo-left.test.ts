import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { STOP } from "../_fire.ts";
import { git, shipped } from "./_shipped.ts";

const NAME = "stop.no-todo-left.ts";
const MARK = ["TO", "DO"].join("");

async function inRepository(work: (cwd: string, stop: () => Promise<string | undefined>) => Promise<void>) {
  using folder = scratch();
  const cwd = folder.path;
  git(cwd, "init", "-q");
  writeFileSync(`${cwd}/old.ts`, `// ${MARK}: from before\nexport {};\n`);
  git(cwd, "add", ".");
  git(cwd, "commit", "-qm", "begin");
  const { fire } = await shipped(NAME, cwd);
  await work(cwd, async () => (await fire(STOP)).reason);
}

test("no-todo-left says nothing of marks that were there before", async () => {
  await inRepository(async (_cwd, stop) => assert.equal(await stop(), undefined));
});

test("no-todo-left names each new mark, in changed and in new files", async () => {
  await inRepository(async (cwd, stop) => {
    writeFileSync(`${cwd}/old.ts`, `// ${MARK}: from before\nexport {};\n// FIXME handle null\n`);
    writeFileSync(`${cwd}/new file.ts`, `let x; // ${MARK}\n`);
    writeFileSync(`${cwd}/image.bin`, new Uint8Array([0, 1, ...new TextEncoder().encode(MARK)]));
    const reason = await stop();
    assert.match(reason!, /You left 2 to do/);
    assert.match(reason!, /old\.ts: \/\/ FIXME handle null/);
    assert.match(reason!, /new file\.ts: let x;/);
  });
});

test("no-todo-left ignores what git names and is not a file", async () => {
  await inRepository(async (cwd, stop) => {
    git(cwd, "init", "-q", "inner");
    writeFileSync(`${cwd}/inner/a.ts`, "export {};\n");
    git(`${cwd}/inner`, "add", ".");
    git(`${cwd}/inner`, "commit", "-qm", "begin");
    symlinkSync("nowhere", `${cwd}/dangling`);
    writeFileSync(`${cwd}/new.ts`, `// ${MARK}: this one\n`);
    assert.match(await stop() ?? "", /You left 1 to do/);
  });
});

test("no-todo-left lets the agent stop once the marks are gone, and if there is no repository", async () => {
  await inRepository(async (cwd, stop) => {
    writeFileSync(`${cwd}/new.ts`, "export const done = true;\n");
    assert.equal(await stop(), undefined);
  });
  using folder = scratch();
  const { fire } = await shipped(NAME, folder.path);
  assert.equal((await fire(STOP)).decision, "continue");
});
