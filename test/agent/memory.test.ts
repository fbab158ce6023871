import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { agent, type EventOf, type RunEvent } from "crochet";
import { scripted } from "crochet/testing";
import { Agent, Bash, Write } from "crochet/tools";
import { scratch } from "../_scratch.ts";

test("S3.9, S3.10: writing a memory file fires MemoryUpdate after the write, with both hashes", async () => {
  using folder = scratch({ "AGENTS.md": "old\n" });
  const cwd = folder.path;
  const seen: EventOf<"memory-update">[] = [];
  const write = (content: string, file_path = join(cwd, "AGENTS.md")) => ({
    tools: [{ name: "Write", input: { file_path, content } }],
  });
  await agent({
    model: scripted([
      write("new\n"),
      write("same\n", join(cwd, "other.txt")),
      write("fresh\n", join(cwd, "CLAUDE.md")),
      { text: "ok" },
    ]),
    tools: [Write],
    memory: true,
    cwd,
    hooks: { memoryUpdate: (e) => void seen.push(e) },
  }).run("go");
  assert.deepEqual(seen.map((e) => [e.file_path, e.update_type, e.content_size]), [
    [join(cwd, "AGENTS.md"), "modified", 4],
    [join(cwd, "CLAUDE.md"), "created", 6],
  ]);
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  assert.deepEqual(seen.map((e) => [e.previous_hash, e.new_hash]), [
    [hash("old\n"), hash("new\n")],
    [null, hash("fresh\n")],
  ]);
});

test("S3.10: MemoryUpdate fires for every memory file that a tool writes, in folders below too, with memory or without", async () => {
  for (const memory of [undefined, false, true, ["NOTES.md"]]) {
    using folder = scratch({ "AGENTS.md": "old\n", "sub/CLAUDE.md": "old\n", "node_modules/a/AGENTS.md": "theirs\n" });
    const cwd = folder.path;
    const seen: string[] = [];
    const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
    const write = (file_path: string) => ({ tools: [{ name: "Write", input: { file_path, content: "new\n" } }] });
    const result = await agent({
      model: scripted([
        write("sub/deep/AGENTS.md"),
        bash("echo more >> sub/CLAUDE.md; echo x > other.md; echo y > node_modules/a/AGENTS.md"),
        bash("rm AGENTS.md; echo note > NOTES.md; ln -s ../AGENTS.md sub/AGENTS.md"),
        write("other.txt"),
        { text: "ok" },
      ]),
      tools: [Write, Bash],
      ...(memory !== undefined && { memory }),
      cwd,
      hooks: { memoryUpdate: (e) => void seen.push(`${e.update_type} ${relative(cwd, e.file_path)}`) },
    }).run("go");
    assert.equal(result.stop, "done");
    const notes = typeof memory === "object" ? ["created NOTES.md"] : [];
    assert.deepEqual(seen, ["created sub/deep/AGENTS.md", "modified sub/CLAUDE.md", "deleted AGENTS.md", ...notes]);
  }
});

test("DOORS 11: memory files are found up to the folder with .git, the nearest last, cut with a notice", async () => {
  using folder = scratch({
    "CLAUDE.md": "Be brief.\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    "deep/er/AGENTS.md": `Be kind.\n${"x".repeat(50_000)}`,
    "deep/er/CLAUDE.md": "Be bold.\n",
    "deep/er/below/AGENTS.md": "Be loud.\n",
  });
  const model = scripted([{ text: "ok" }]);
  const loaded: string[] = [];
  const hooks = { instructionsLoaded: (e: EventOf<"instructions-loaded">) => void loaded.push(e.file_path) };
  await agent({ model, system: "You help.", memory: true, cwd: join(folder.path, "deep/er"), hooks }).run("go");
  const { system } = model.requests[0]!;
  assert.match(
    system,
    /^You help\.[^]*Be brief\.[^]*Be kind\.[^]*The rest of this file, \d+ characters, is left out[^]*Be bold\.$/,
  );
  assert.doesNotMatch(system, /Be loud/);
  const below = loaded.filter((path) => path.startsWith(folder.path)).map((path) => relative(folder.path, path));
  assert.deepEqual(below, ["CLAUDE.md", "deep/er/AGENTS.md", "deep/er/CLAUDE.md"], "and hooks learn of each");
  assert.deepEqual(system.match(/# From .*/g), ["# From ../../CLAUDE.md", "# From AGENTS.md", "# From CLAUDE.md"]);
});

test("DOORS 11: above the root of a repository no memory is read, and without one none above the project", async () => {
  using folder = scratch({
    "CLAUDE.md": "FROM-ABOVE\n",
    "repo/.git/HEAD": "ref: refs/heads/main\n",
    "repo/CLAUDE.md": "of the root\n",
    "repo/sub/AGENTS.md": "of the folder\n",
    "plain/AGENTS.md": "of the project\n",
  });
  const systemIn = async (cwd: string) => {
    const model = scripted([{ text: "ok" }]);
    await agent({ model, system: "x", memory: true, cwd: join(folder.path, cwd) }).run("go");
    return model.requests[0]!.system;
  };
  assert.match(await systemIn("repo/sub"), /of the root\n\n# From AGENTS\.md\n\nof the folder$/);
  for (const cwd of ["repo/sub", "repo", "plain"]) assert.doesNotMatch(await systemIn(cwd), /FROM-ABOVE/);
  assert.match(await systemIn("plain"), /of the project$/);
});

const KEY = "PRIVATE KEY of this person";

/** What a checkout may put in the place of a file that a model reads. */
const PUTS: readonly [what: string, put: (path: string, secret: string) => void][] = [
  ["a link out", (path, secret) => symlinkSync(secret, path)],
  ["a device", (path) => symlinkSync("/dev/zero", path)],
  ["a pipe", (path) => void execFileSync("mkfifo", [path])],
  ["a huge file", (path) => {
    writeFileSync(path, "");
    truncateSync(path, 20_000_000);
  }],
];

test("U16: AGENTS.md, CLAUDE.md and agents/*.md that are a link out, a device, a pipe or huge are never read, and said", async () => {
  for (const name of ["AGENTS.md", "CLAUDE.md", "agents/spy.md"]) {
    for (const [what, put] of PUTS) {
      using folder = scratch({ "key": `---\ndescription: ${KEY}\n---\n${KEY}`, "project/agents/_": "" });
      const cwd = join(folder.path, "project");
      put(join(cwd, name), join(folder.path, "key"));
      const model = scripted([{ text: "ok" }]);
      const warnings: string[] = [];
      const on = (event: RunEvent) => void (event.type === "warning" && warnings.push(event.message));
      const result = await agent({ model, memory: true, tools: [Agent], cwd, on }).run("go");
      assert.deepEqual([result.stop, model.requests.length], ["done", 1], `${name} as ${what}`);
      assert.doesNotMatch(JSON.stringify(model.requests), new RegExp(KEY), `${name} as ${what}`);
      assert.match(warnings.join(), new RegExp(`Cannot use \\S+${name} .*'${name}' is `), `${name} as ${what}`);
    }
  }
});

test("U16: a folder of agents that leads out of the project is not read, and a link inside counts", async () => {
  using folder = scratch({
    "others/spy.md": `---\ndescription: ${KEY}\n---\n`,
    "project/AGENTS.md": "Be kind.",
  });
  const cwd = join(folder.path, "project");
  symlinkSync("../others", join(cwd, "agents"));
  symlinkSync("AGENTS.md", join(cwd, "CLAUDE.md"));
  const model = scripted([{ text: "ok" }]);
  await agent({ model, memory: ["CLAUDE.md"], tools: [Agent], cwd }).run("go");
  const sent = JSON.stringify(model.requests);
  assert.deepEqual([sent.includes(KEY), sent.includes("Be kind.")], [false, true]);
});
