import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { AgentOptions } from "../../lib/agent/options.ts";
import { hooksAt } from "../../lib/hooks/folder.ts";
import { memoryStore } from "../../lib/index.ts";
import { reportLines } from "../../lib/replay/drift/drift-report.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { Write } from "../../lib/tools/index.ts";
import { noSandbox } from "../_needs.ts";
import { type OnTape, onTape, record, runHere, subject, tapeText } from "../_record.ts";
import { put, scratch } from "../_scratch.ts";

const READS: ScriptedReply[] = [{ tools: [{ name: "Read", input: { file_path: "tea.md" } }] }, { text: "green" }];

/** What is reported of a run on a tape, which is asked to look. */
async function taped(cwd: string, asked: Partial<OnTape> = {}): Promise<readonly string[]> {
  return (await onTape(cwd, { replies: READS, ...asked })).warnings;
}

async function replayed(cwd: string, options?: AgentOptions, more = {}) {
  const { report } = await runHere(cwd, { fixture: "x", ...(options && { with: options }), ...more });
  return { ok: report.ok, text: reportLines(report).join("\n") };
}

test("memory that a run chose is in its replay too, as the project has it now", async () => {
  using here = scratch({ "tea.md": "green\n", "AGENTS.md": "Be brief.\n" });
  assert.deepEqual(await taped(here.path, { memory: true }), []);
  assert.equal((await replayed(here.path)).ok, true);
  put(here.path, { "AGENTS.md": "Be long.\n" });
  const { ok, text } = await replayed(here.path);
  assert.equal(ok, false);
  assert.match(text, /memory AGENTS\.md, is not .*\n.*\n +- Be brief\.\n +\+ Be long\./);
  const [warned] = await taped(here.path, { mode: "replay", memory: true });
  assert.match(warned!, /- Be brief\.\n.*\+ Be long\.\n/);
});

test("a run that did without its agent's memory is replayed without", async () => {
  using here = scratch({ "tea.md": "green\n", "AGENTS.md": "Be brief.\n" });
  const remembers = { memory: true };
  assert.deepEqual(await taped(here.path, { with: remembers, memory: false }), []);
  assert.deepEqual(await replayed(here.path, remembers), { ok: true, text: "" });
});

test("a replay gives the model memory from above the workspace, as in a repository of packages", async () => {
  using here = scratch({
    ".git/HEAD": "ref: refs/heads/main\n",
    "AGENTS.md": "Be kind.\n",
    "packages/tea/AGENTS.md": "Be brief.\n",
  });
  const cwd = join(here.path, "packages/tea");
  const tea = { with: { memory: true }, replies: [{ text: "green" }] };
  assert.deepEqual(await taped(cwd, tea), []);
  assert.equal((await replayed(cwd, tea.with)).ok, true);
  put(here.path, { "AGENTS.md": "Be strict.\n" });
  const [warned] = await taped(cwd, { ...tea, mode: "replay" });
  assert.match(warned!, /system, memory \.\.\/\.\.\/AGENTS\.md, is not .*\n.*\n {2}- Be kind\.\n {2}\+ Be strict\.\n/);
  rmSync(join(cwd, "fixtures"), { recursive: true });
  rmSync(join(here.path, "AGENTS.md"));
  await record(cwd, { ...tea, fixture: "x" });
  put(here.path, { "AGENTS.md": "Be late.\n" });
  assert.deepEqual(await taped(cwd, { ...tea, replies: [{ text: "black" }], mode: "update" }), []);
  assert.equal((await replayed(cwd, tea.with)).ok, true);
  const without = await replayed(cwd, { memory: false });
  assert.deepEqual([without.ok, /- Be late\./.test(without.text)], [false, true], without.text);
});

test("the files that an agent or only its run names are its memory wherever it runs, and watched by a replay", async () => {
  for (const who of ["the agent", "its run"]) {
    using here = scratch({ "NOTES.md": "Be brief.\n", "AGENTS.md": "No.\n" });
    const updated: string[] = [];
    const memory = ["NOTES.md"];
    const named: AgentOptions = {
      tools: [Write],
      hooks: [{ memoryUpdate: [({ file_path }) => void updated.push(file_path.split("/").at(-1)!)] }],
      ...(who === "the agent" && { memory }),
    };
    const writes = { tools: [{ name: "Write", input: { file_path: "NOTES.md", content: "Be long.\n" } }] };
    const replies = [writes, { text: "done" }];
    assert.deepEqual(await taped(here.path, { with: named, replies, ...(who === "its run" && { memory }) }), []);
    const tape = tapeText(here.path, "x");
    assert.ok(/# From NOTES\.md.*Be brief/.test(tape) && !tape.includes("AGENTS.md"), who);
    put(here.path, { "NOTES.md": "Be brief.\n" }); // as it was when the run began
    assert.deepEqual(await replayed(here.path, named), { ok: true, text: "" }, who);
    assert.deepEqual(updated, ["NOTES.md", "NOTES.md"], who);
  }
});

test("drift of a run that had hooks of its own names them", async () => {
  using here = scratch({
    "more/stop.more.ts":
      "export default (e) => e.stop_hook_active ? undefined : { action: 'deny', reason: 'Say more' };\n",
  });
  const hooks = hooksAt(join(here.path, "more"));
  assert.deepEqual(await taped(here.path, { hooks, replies: [{ text: "green" }, { text: "more" }] }), []);
  const without = await replayed(here.path);
  assert.equal(without.ok, false);
  assert.match(without.text, /recorded with hooks that are not the agent's own: pass them with --hooks\n/);
  assert.equal((await replayed(here.path, undefined, { hooks })).ok, true);
});

test("a replay is in the sandbox of its recording", { skip: noSandbox }, async () => {
  using outside = scratch();
  using here = scratch();
  const command = `echo x > ${outside.path}/x; echo done`;
  await taped(here.path, { sandbox: "workspace", replies: [{ tools: [{ name: "Bash", input: { command } }] }, {}] });
  const { ok, text } = await replayed(here.path);
  assert.deepEqual([ok, readdirSync(outside.path)], [true, []], text);
});

test("drift of a run that had limits of its own, or an earlier run, says so", async () => {
  using here = scratch({ "tea.md": "green\n" });
  const cwd = here.path;
  assert.match(String(await taped(cwd, { limits: { iterations: 1 } })), /its limit of 1 model calls/);
  const limited = /recorded with limits that are not the agent's own: set them in the agent\n/;
  assert.match((await replayed(cwd)).text, limited);
  const store = memoryStore();
  const { id } = await subject(cwd, { model: scripted([{ text: "first" }]), store }).run("hi", { cwd });
  assert.deepEqual(await taped(cwd, { fixture: "y", with: { store }, resume: id }), []);
  assert.match(
    (await replayed(cwd, {}, { fixture: "y" })).text,
    /earlier run, which is not on the tape: record one that starts/,
  );
});
