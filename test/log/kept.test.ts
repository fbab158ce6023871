import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, jsonlStore, type RunEvent } from "../../lib/index.ts";
import { LineLog, type Seal } from "../../lib/log/line-log.ts";
import { newSeal, sweepLogs } from "../../lib/log/own.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Edit, Write } from "../../lib/tools/index.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const SCRIPT = `
import { agent } from "${LIB}/index.ts";
import { scripted } from "${LIB}/testing/index.ts";
await agent({ from: import.meta.url, model: scripted([{ text: "hi" }]) }).run("hello");
`;

test("agent.run() in a script is logged: git ignores it, and own logs of more than 30 days go, no other file and not from a folder that was named", async () => {
  using here = place({ "agent.ts": SCRIPT, ".crochet/runs/old.jsonl": "{}\n", "data/old.jsonl": "{}\n" });
  const at = (...path: string[]) => join(here.cwd, ...path);
  const then = new Date(Date.now() - 31 * 24 * 3600_000);
  for (const folder of [".crochet/runs", "data"]) utimesSync(at(folder, "old.jsonl"), then, then);
  for (const env of [{}, { CROCHET_LOG: "data" }, {}]) {
    const { code, err } = await ended([...OUR_RUNTIME, "agent.ts"] as [string, ...string[]], {
      cwd: here.cwd,
      env: { HOME: here.home, NODE_ENV: "", ...env },
    });
    assert.equal(code, 0, err);
    for (const name of readdirSync(at(".crochet/runs"))) utimesSync(at(".crochet/runs", name), then, then);
  }
  const runs = readdirSync(at(".crochet/runs")).sort();
  assert.deepEqual([runs.length, runs.includes("old.jsonl")], [3, true], String(runs));
  assert.equal(readFileSync(at(".crochet/runs/.gitignore"), "utf8"), "*\n");
  const named = readdirSync(at("data"));
  assert.deepEqual([named.length, named.includes("old.jsonl")], [2, true], String(named));
  assert.ok(!existsSync(at("data/.gitignore")), "it may be a folder of the project");
});

test("the newest 500 own logs are kept, and beyond them the newest 100 that did not end with done", () => {
  using here = scratch();
  const at = (n: number) => join(here.path, `${n}.jsonl`);
  for (let n = 0; n < 720; n++) {
    const log = new LineLog(at(n), newSeal() as Seal);
    const stop = n % 2 === 0 ? "done" : "error";
    log.append([{ log: 2 }, { begin: 0 }, { ended: "main", ending: { stop } }, { note: 1 }], false);
    log.close();
    const time = Date.now() / 1000 - n;
    utimesSync(at(n), time, time);
  }
  writeFileSync(at(720), "not ours\n");
  for (let i = 0; i < 101; i++) sweepLogs(at(0), newSeal() as Seal);
  const left = readdirSync(here.path).map((name) => Number(name.slice(0, -".jsonl".length))).sort((a, b) => a - b);
  const failed = Array.from({ length: 720 }, (_, n) => n).filter((n) => n >= 500 && n % 2 === 1).slice(0, 100);
  assert.deepEqual(left, [...Array.from({ length: 500 }, (_, n) => n), ...failed, 720]);
});

test("a session that was logged is not added to by a store of its folder, and no model is asked", async () => {
  using folder = scratch();
  const helper = (text: string) => agent({ model: scripted([{ text }]), cwd: folder.path });
  const { id } = await helper("one").run("first", { log: folder.path });
  const before = readFileSync(join(folder.path, `${id}.jsonl`), "utf8");
  const resumed = await helper("two").run("second", { store: jsonlStore(folder.path), resume: id });
  assert.match(resumed.error?.message ?? "", /as .* is the log of a run/);
  assert.equal(resumed.text, "");
  assert.equal(readFileSync(join(folder.path, `${id}.jsonl`), "utf8"), before);
});

test("a fork names the files that the run changed after it, as it works on them as they are", async () => {
  using folder = scratch();
  const [at, file] = [(name: string) => join(folder.path, name), "notes.txt"];
  const writes = (file_path: string, content: string) => ({
    tools: [{ name: "Write", input: { file_path, content } }],
  });
  const edits = (name: string) => ({
    tools: [{ name: "Edit", input: { file_path: at(name), old_string: "one", new_string: "two" } }],
  });
  // So large that the log does not have its text.
  writeFileSync(at("large.txt"), `one\n${"x".repeat(9 * 2 ** 20)}`);
  const replies = [
    writes(at(file), "one\n"),
    edits(file),
    writes(at("new.txt"), "new\n"),
    edits("large.txt"),
    { text: "done" },
  ];
  const writer = (answers: typeof replies) =>
    agent({ model: scripted(answers), cwd: folder.path, tools: [Edit, Write], permissions: { mode: "acceptEdits" } });
  const log = at("runs");
  const { id } = await writer(replies).run("go", { log });
  const forkedAt = async (call: number) => {
    const warnings: string[] = [];
    const on = (event: RunEvent) => event.type === "warning" && warnings.push(event.message);
    await writer([{ text: "enough" }]).run("", { log, from: `${id}#${call}`, on });
    return warnings.map((words) => words.split(" ")[0]);
  };
  assert.deepEqual(await forkedAt(5), []);
  assert.deepEqual(await forkedAt(4), ["large.txt"]);
  assert.deepEqual(await forkedAt(3), ["new.txt", "large.txt"]);
  assert.deepEqual(await forkedAt(2), [file, "new.txt", "large.txt"]);
  writeFileSync(at(file), "one\n");
  assert.deepEqual(await forkedAt(2), ["new.txt", "large.txt"]);
});
