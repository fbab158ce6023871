import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join, relative } from "node:path";
import { test } from "node:test";
import { agent, type EventOf } from "crochet";
import { scripted } from "crochet/testing";
import { Write } from "crochet/tools";
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

test("memory files are found upwards and put into the system prompt, the nearest last, cut with a notice", async () => {
  using folder = scratch({
    "CLAUDE.md": "Be brief.\n",
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
});
