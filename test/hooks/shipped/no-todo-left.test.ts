import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { STOP } from "../_fire.ts";
import { git, served, shipped } from "./_shipped.ts";

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

test("S4.6: shipped Stop hooks let go in another host when its transcript ends in an API error", async () => {
  const said = (text: string, more: object = {}) => ({
    type: "assistant",
    message: { content: [{ type: "text", text }] },
    ...more,
  });
  const failed = said("API Error: 529 overloaded", { isApiErrorMessage: true });
  const ends: [entries: object[], letsGo: boolean][] = [
    [[said("Done")], false],
    [[said("Done"), failed], true],
    [[failed, { type: "system", subtype: "stop_hook_summary" }], true],
    [[failed, { type: "user", message: { content: "again" } }, said("Done")], false],
    [[], false],
  ];
  await inRepository(async (cwd) => {
    writeFileSync(`${cwd}/new.ts`, `// ${MARK}: this one\n`);
    writeFileSync(`${cwd}/package.json`, `{ "scripts": { "test": "exit 1" } }`);
    const env = { PATH: process.env.PATH, HOME: cwd };
    for (const [entries, letsGo] of ends) {
      // What lets it go runs no tests, which take long.
      for (const name of letsGo || entries.length === 0 ? [NAME, "stop.tests-pass.ts"] : [NAME]) {
        const transcript_path = `${cwd}/.git/transcript.jsonl`;
        const half = `"half a line","type":"assistant"}`;
        writeFileSync(transcript_path, [half, ...entries.map((entry) => JSON.stringify(entry)), ""].join("\n"));
        const stop = {
          session_id: `${Math.random()}`,
          transcript_path,
          cwd,
          hook_event_name: "Stop",
          stop_hook_active: false,
        };
        const { output } = await served(name, stop, { env });
        assert.equal(output?.decision, letsGo ? undefined : "block", `${name} ${JSON.stringify(entries)}`);
      }
    }
    const gone = {
      session_id: "g",
      transcript_path: "/no/such",
      cwd,
      hook_event_name: "Stop",
      stop_hook_active: false,
    };
    assert.equal(
      (await served(NAME, gone, { env })).output?.decision,
      "block",
      "a transcript that is not there says nothing",
    );
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
