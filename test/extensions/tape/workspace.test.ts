import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Fixture, fixtureAt } from "../../../lib/replay/fixture.ts";
import {
  type CommandReplayOptions,
  recordCommand,
  type RecordOptions,
  replayCommand,
} from "../../../lib/extensions/tape/run-command.ts";
import { RUNTIME } from "../../_runtime.ts";
import { put, scratch } from "../../_scratch.ts";
import { serve } from "../../_server.ts";

/** A program that sends a text, and does something afterwards. */
const program = (text: string, then = "") => `
import * as fs from "node:fs";
import { execSync } from "node:child_process";
const read = (path) => fs.readFileSync(path, "utf8");
const shell = (line) => execSync(line, { encoding: "utf8" });
const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: ${text} }] });
const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body });
${then}
process.exit(answer.status === 200 ? 0 : 1);
`;

const COMMAND = [...RUNTIME, "ask.mjs"];
/** All names in a directory but those in .git and of packages. */
const NAMES = `shell("find . -path '*/.git/*' -prune -o -path '*/node_modules/*' -prune -o -print | sort")`;

/** A project in a folder of its own, whose program is recorded and replayed. */
function project(files: Readonly<Record<string, string>>) {
  const folder = scratch();
  const cwd = join(folder.path, "project");
  mkdirSync(cwd);
  put(cwd, files);
  const fixture = (): Fixture => fixtureAt(join(cwd, "fixtures", "one"));
  return {
    cwd,
    fixture,
    put: (more: Readonly<Record<string, string>>) => put(cwd, more),
    git: (...args: string[]) => assert.equal(spawnSync("git", args, { cwd }).status, 0),
    record: async (more: Partial<RecordOptions> = {}) => {
      using api = await serve((_, response) => response.end("{}"));
      const env = { ...process.env, ANTHROPIC_BASE_URL: api.url, ...more.env };
      return await recordCommand(fixture(), { command: COMMAND, cwd, quiet: true, ...more, env });
    },
    replay: (more: Partial<CommandReplayOptions> = {}) =>
      replayCommand(fixture(), { cwd, env: process.env, quiet: true, ...more }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const drift = ({ report: { divergences: [first] } }: Awaited<ReturnType<typeof replayCommand>>) =>
  first && [first.path, first.actual];

test("a replay runs the program of today, and what it reads by itself is that of today", async () => {
  using here = project({ "ask.mjs": program(`read("CLAUDE.md")`), "CLAUDE.md": "Be brief." });
  await here.record();
  assert.equal((await here.replay()).report.ok, true);
  here.put({ "CLAUDE.md": "Be kind." });
  const memory = await here.replay();
  assert.deepEqual([memory.report.ok, drift(memory)], [false, ["messages.0.content.0.text", "Be kind."]]);
  here.put({ "ask.mjs": program(`read("CLAUDE.md")`).replace(`"m"`, `"other"`), "CLAUDE.md": "Be brief." });
  assert.deepEqual(drift(await here.replay()), ["model", "other"]);
});

test("a fixture keeps what the run changed or removed as it was, and the names of what it made", async () => {
  const acts = `fs.writeFileSync("state.txt", "after"); fs.rmSync("gone", { recursive: true }); fs.rmSync("link");
    fs.mkdirSync("new/er", { recursive: true }); fs.writeFileSync("new/er/a", "a"); fs.writeFileSync("src/b", "b");
    fs.chmodSync("run.txt", 0o755); fs.writeFileSync("same.txt", "same");`;
  const says = `${NAMES} + read("state.txt")`;
  using here = project({
    ...{ "ask.mjs": program(says, acts), "state.txt": "before", "gone/a/b.txt": "b", "src/a": "a", "same.txt": "same" },
    "run.txt": "run",
  });
  symlinkSync("src/a", join(here.cwd, "link"));
  const { tape } = await here.record();
  const { files = "" } = here.fixture();
  const kept = readdirSync(files, { recursive: true }).map(String).sort();
  assert.deepEqual(kept, ["gone", "gone/a", "gone/a/b.txt", "link", "run.txt", "state.txt"]);
  assert.deepEqual([tape.header.made, readFileSync(join(files, "state.txt"), "utf8")], [["new", "src/b"], "before"]);
  // The recorded directory is now as the run left it: a replay begins as it was before.
  const { report } = await here.replay();
  assert.equal(report.ok, true, JSON.stringify(report));
  assert.ok(existsSync(join(here.cwd, "new/er/a")) && !existsSync(join(here.cwd, "gone")));
});

test("a recording does not see itself, and neither does its program, whose PWD is where it runs", async () => {
  using here = project({ "ask.mjs": program(`${NAMES} + (process.env.PWD === process.cwd())`) });
  const { tape } = await here.record();
  assert.deepEqual(tape.calls[0]!.sent!.body!.messages, [{ role: "user", content: ".\n./ask.mjs\ntrue" }]);
  assert.deepEqual(readdirSync(here.cwd).sort(), ["ask.mjs", "fixtures"]);
  assert.deepEqual(readdirSync(here.fixture().folder), ["tape.jsonl"]);
  assert.equal((await here.replay()).report.ok, true);
});

test("the copy of a replay has no fixtures and a fresh repository, packages are linked, ignored files are few", async () => {
  using here = project({
    ".gitignore": "node_modules\n*.log\nbig\n.env\n",
    "ask.mjs": program(
      `${NAMES} + shell("git log 2>&1; git status --short --ignored .env; cat .env dep/node_modules/a/x small.log")`,
    ),
    ...{ ".env": "A=1", "small.log": "s", "dep/node_modules/a/x": "package", "untracked.txt": "u" },
  });
  here.git("init", "--quiet");
  await here.record();
  here.put({ ".crochet/x": "x", "big/a/b": "x".repeat(6 * 2 ** 20), "big/c": "x".repeat(5 * 2 ** 20), "big/d": "d" });
  const { report } = await here.replay();
  assert.equal(report.ok, true, JSON.stringify(report));
  const left = report.notes.filter((note) => note.includes("not in the copy"));
  assert.deepEqual(left, ["big is not in the copy: git ignores it, and ignored files have over 10 MB"]);
  here.put({ "ask.mjs": program(`read("big/d")`) });
  await assert.rejects(
    here.replay(),
    /before its first request: exit 1\n[^]*no such file[^]*\n {2}it ran in [^]*\n {2}big is not in the copy/,
  );
  here.put({ "many/x": "x".repeat(11 * 2 ** 20) });
  await assert.rejects(here.replay(), /Cannot work in a copy of .* more than 2000 files or 10 MB: .*--files none/);
  rmSync(here.fixture().folder, { recursive: true });
  await assert.rejects(here.record(), /more than 2000 files or 10 MB: .*--files none/);
  const { tape } = await here.record({ keeps: "nothing" });
  assert.deepEqual([tape.header.made, here.fixture().files], [undefined, undefined]);
  assert.equal((await here.replay()).report.ok, true, "it works in the directory itself, as nothing was kept");
});

test("links of the copy lead to the files of the copy, or to the same place outside", async () => {
  using here = project({ "ask.mjs": program(`read("a") + read("b") + read("c")`, `fs.writeFileSync("a", "changed")`) });
  const outside = join(here.cwd, "..", "outside.txt");
  writeFileSync(outside, "outside ");
  here.put({ "inside.txt": "inside " });
  symlinkSync(join(here.cwd, "inside.txt"), join(here.cwd, "a"));
  symlinkSync("../outside.txt", join(here.cwd, "b"));
  symlinkSync("inside.txt", join(here.cwd, "c"));
  symlinkSync("nowhere", join(here.cwd, "node_modules"));
  await here.record();
  here.put({ "inside.txt": "now" });
  const { report } = await here.replay();
  assert.equal(report.ok, true, JSON.stringify(report));
  assert.equal(readFileSync(join(here.cwd, "inside.txt"), "utf8"), "now", "a replay changed the project");
});

test("what a fixture puts back or has absent never leads out of the copy", async () => {
  const inside = { "ask.mjs": program(`"x"`, `fs.writeFileSync("sub/a.txt", "b");`), "sub/a.txt": "a" };
  for (
    const [name, change] of Object.entries({
      "a file through a link": (cwd: string, outside: string) => {
        rmSync(join(cwd, "sub"), { recursive: true });
        symlinkSync(outside, join(cwd, "sub"));
      },
      "a name above": (cwd: string, outside: string) => {
        const path = join(cwd, "fixtures/one/tape.jsonl");
        writeFileSync(path, readFileSync(path, "utf8").replace(`"made":[]`, `"made":["ask.mjs","..","../${outside}"]`));
      },
    })
  ) {
    using here = project(inside);
    using outside = scratch({ "a.txt": "mine" });
    await here.record();
    change(here.cwd, outside.path);
    await assert.rejects(here.replay(), /outside the workspace/, name);
    assert.equal(readFileSync(join(outside.path, "a.txt"), "utf8"), "mine", name);
    assert.ok(existsSync(here.cwd) && existsSync(join(here.cwd, "ask.mjs")), name);
  }
});

test("with --files a run works in a copy of a folder, all of which is kept; the program is still that of today", async () => {
  const words = [...RUNTIME, "ask.mjs", "notes.txt"];
  using here = project({
    "ask.mjs": program(`${NAMES} + read(process.argv[2])`, `fs.writeFileSync("notes.txt", "changed");`),
    ...{ "input/notes.txt": "note", "input/more.txt": "more", "notes.txt": "another" },
  });
  const files = join(here.cwd, "input");
  const { tape } = await here.record({ command: words, files });
  assert.deepEqual([tape.header.input, tape.header.command!.at(-2)], [true, "ask.mjs"]);
  assert.equal(readFileSync(join(files, "notes.txt"), "utf8"), "note");
  here.put({ "input/notes.txt": "moved", "notes.txt": "moved" });
  assert.equal((await here.replay()).report.ok, true);
  assert.equal((await here.replay({ command: words })).report.ok, true);
  here.put({ "ask.mjs": program(`"other"`) });
  assert.deepEqual(drift(await here.replay()), ["messages.0.content.0.text", "other"]);
  rmSync(here.fixture().folder, { recursive: true });
  here.put({ "input/ask.mjs": program(`"frozen"`), "input/ask.sh": "#!/bin/sh\nexit 0\n" });
  const frozen = [[...RUNTIME, "input/ask.mjs"], ["./input/ask.sh"], ["env", "A=1", "sh", "-e", "ask.sh", "ask.mjs"]];
  for (const command of frozen) {
    await assert.rejects(here.record({ command, files }), /Cannot keep .* as the command runs .* which is in it/);
  }
});

test("a fixture may lie anywhere in the directory: the copy is without it", async () => {
  using here = project({ "ask.mjs": program(NAMES) });
  await here.record();
  renameSync(join(here.cwd, "fixtures"), join(here.cwd, "recorded"));
  const elsewhere = fixtureAt(join(here.cwd, "recorded", "one"));
  const run = { cwd: here.cwd, env: process.env, quiet: true };
  const { report } = await replayCommand(elsewhere, run);
  assert.deepEqual(String(report.divergences[0]?.actual).split("\n").slice(0, 4), [".", "./ask.mjs", "./recorded", ""]);
  assert.ok(lstatSync(elsewhere.tape).isFile());
});

test("the tape of a program that a signal ended ends there, and its replay ends when the calls are used up", async () => {
  const more = `
    if (answer.status !== 200) process.exit(1);
    if (process.env.KILL) process.kill(process.pid, process.env.KILL);
    await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body: "{}" });
    await new Promise((resolve) => setTimeout(resolve, 60_000));`;
  using here = project({ "ask.mjs": program(`read("say.txt")`, more), "say.txt": "one" });
  const { end, tape } = await here.record({ env: { KILL: "SIGKILL" } });
  assert.deepEqual([end.end, tape.end!.end, tape.calls.length], ["SIGKILL", "SIGKILL", 1]);
  const { report } = await here.replay({ timeout: 30 });
  assert.deepEqual([report.ok, report.notes.filter((note) => note.includes("ended"))], [true, []]);
  here.put({ "say.txt": "two" });
  assert.deepEqual(drift(await here.replay()), ["messages.0.content.0.text", "two"]);
});
