import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { agent } from "crochet";
import { scripted } from "crochet/testing";
import { Bash } from "../../lib/tools/index.ts";
import { ended } from "../_crochet.ts";
import { RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

test("output that cannot be kept on disk ends a call, and a hook, with an error that says so", async () => {
  using folder = scratch();
  const script = fileURLToPath(new URL("./_full-disk.ts", import.meta.url));
  // Ignored, so that a write beyond the limit is an error, as on a full disk, and not the end of the process.
  const ignoring = ["sh", "-c", `trap "" XFSZ; exec "$@"`, "sh"] as const;
  const { code, out } = await ended([...ignoring, ...RUNTIME, script, folder.path], { cwd: folder.path });
  assert.equal(code, 0);
  const { bash, hook } = JSON.parse(out) as { bash: string; hook: string };
  assert.match(
    bash,
    /^Cannot keep the 100000 bytes that the command printed: (EFBIG|File too large).*: free some space/,
  );
  assert.match(hook, /^Cannot keep the output of 'head .*': (EFBIG|File too large)/);
});

test("output of a call with an id of 300 characters is kept all the same", async () => {
  using folder = scratch();
  const command = "head -c 100000 /dev/zero | tr '\\\\0' x";
  const id = `toolu_${"x".repeat(294)}`;
  const model = scripted([{ tools: [{ name: "Bash", id, input: { command, description: "long" } }] }, { text: "ok" }]);
  const { messages } = await agent({ model, tools: [Bash], cwd: folder.path }).run("go");
  assert.match(JSON.stringify(messages[2]), /output of 100000 bytes is too long to show; all of it is in/);
  const kept = readdirSync(join(folder.path, ".crochet/tool-results")).filter((name) => name.endsWith(".txt"));
  assert.equal(kept.length, 1);
});
