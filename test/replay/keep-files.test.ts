import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { reportLines } from "../../lib/replay/drift/drift-report.ts";
import { keepFiles } from "../../lib/replay/record/keep-files.ts";
import { withEnv } from "../_env.ts";
import { record, runHere, tapeText, TEA } from "../_record.ts";
import { put, scratch } from "../_scratch.ts";

/** What is left out of a copy, in order. */
function leftOut(from: string, to: string): string[] {
  return keepFiles(from, to, []).map(({ path, why }) => `${path}: ${why}`).sort();
}

test("U16: a recording never keeps a file that shows a secret, and says so", async () => {
  using from = scratch({
    ".env": "COLOUR=green\n",
    "app/.env.local": "COLOUR=green\n",
    ".env.example": "COLOUR=\n",
    "notes/deep/log.txt": "it said correct-horse-battery\n",
    "notes/plain.txt": "nothing\n",
    "notes/correct-horse-battery.txt": "nothing\n",
  });
  using to = scratch();
  assert.deepEqual(await withEnv({ MY_TOKEN: "correct-horse-battery" }, () => leftOut(from.path, to.path)), [
    ".env: it is a file for secrets",
    "app/.env.local: it is a file for secrets",
    "notes/correct-horse-battery.txt: its name shows the value of the environment variable MY_TOKEN",
    "notes/deep/log.txt: it shows the value of the environment variable MY_TOKEN",
  ]);
  const kept = [".env", "app/.env.local", "notes/deep/log.txt", ".env.example", "notes/plain.txt"];
  assert.deepEqual(kept.map((path) => existsSync(join(to.path, "files", path))), [false, false, false, true, true]);
});

test("links that stay in the workspace are kept and lead there in a replay; others are reported", async () => {
  using from = scratch({ "project/AGENTS.md": "Be brief.\n", "project/docs/a.md": "a\n", "outside.md": "private\n" });
  using to = scratch();
  const cwd = join(from.path, "project");
  const links = {
    "CLAUDE.md": "AGENTS.md",
    "docs/up.md": "../AGENTS.md",
    "broken": "nowhere",
    "manual": "docs",
    "out": "../outside.md",
    "absolute": join(cwd, "AGENTS.md"),
  };
  for (const [path, to] of Object.entries(links)) symlinkSync(to, join(cwd, path));
  assert.deepEqual(leftOut(cwd, to.path), [
    `absolute: it is a link to ${join(cwd, "AGENTS.md")}`,
    `out: it is a link to ${join(cwd, "../outside.md")}`,
  ]);
  const command = "cat CLAUDE.md manual/up.md; ls out absolute";
  await record(cwd, { replies: [{ tools: [{ name: "Bash", input: { command } }] }, { text: "Hello." }] });
  for (const path of ["CLAUDE.md", "docs/up.md", "broken", "manual"] as const) {
    assert.equal(readlinkSync(join(cwd, "fixtures/fix-the-typo/files", path)), links[path]);
  }
  assert.match(tapeText(cwd), /"Exit code 2\\nBe brief\.\\nBe brief\.\\nls: cannot access/);
  assert.equal((await runHere(cwd)).report.ok, true);
});

test("a file that cannot be read is left out of a recording, and reported", {
  skip: process.platform === "linux" ? false : "a name that is not in UTF-8 cannot be given here",
}, () => {
  using from = scratch({ "tea.md": "tea", "locked/x": "x", "nope": "n" });
  using to = scratch();
  execFileSync("sh", ["-c", "printf x > \"$(printf 'bad\\377')\""], { cwd: from.path });
  for (const path of ["locked", "nope"]) chmodSync(join(from.path, path), 0);
  try {
    const locked = process.getuid?.() === 0
      ? []
      : ["locked: you have no permission to read it", "nope: you have no permission to read it"];
    assert.deepEqual(leftOut(from.path, to.path), ["bad\ufffd: its name is not in UTF-8", ...locked]);
    assert.equal(readFileSync(join(to.path, "files/tea.md"), "utf8"), "tea");
  } finally {
    for (const path of ["locked", "nope"]) chmodSync(join(from.path, path), 0o700);
  }
});

test("a prompt that names a place of this machine is always asked again as it was", async () => {
  using here = scratch();
  await record(here.path, { replies: [{ text: "Empty." }], prompts: [`what is in ${join(homedir(), "notes.md")}?`] });
  assert.match(tapeText(here.path), /\n\{"prompt":"what is in \{HOME\}\/notes\.md\?"\}\n/);
  assert.equal((await runHere(here.path)).report.ok, true);
});

test("an update always renews a run that left other files, without a model", async () => {
  using here = scratch(TEA);
  await record(here.path);
  put(here.path, { "fixtures/fix-the-typo/files/new.md": "new\n" });
  assert.deepEqual(reportLines((await runHere(here.path)).report), ["new.md is a new file"]);
  assert.equal((await runHere(here.path, { mode: "update" })).report.ok, true);
  assert.equal((await runHere(here.path)).report.ok, true);
});

test("tools that are recorded touch nothing in a replay and need no files; to verify them without is said", async () => {
  using here = scratch(TEA);
  await record(here.path, { tools: true });
  assert.equal(readFileSync(join(here.path, "tea.md"), "utf8"), "over the leaves\n", "it worked in the directory");
  assert.equal(existsSync(join(here.path, "fixtures/fix-the-typo/files")), false);
  put(here.path, { "tea.md": "changed\n" });
  assert.deepEqual((await runHere(here.path)).report.ok, true);
  assert.equal(readFileSync(join(here.path, "tea.md"), "utf8"), "changed\n");
  assert.match(
    reportLines((await runHere(here.path, { mode: "verify" })).report).join("\n"),
    /tool: result\.content of Read is not [^]*\nits tools ran in a copy of the directory as it is now, [^]*: 'crochet record --tools' keeps it/,
  );
});
