import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/index.ts";
import { ended } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";
import { LIB } from "./_files.ts";

/** Every file takes time to open: a change that loads more of them must say why. (138 before every run was logged, 146 before extensions, 148 before the table of tools.) */
const MOST = 150;

test(`'crochet run' never loads more than ${MOST} files of ours`, async () => {
  using folder = scratch({
    "list.ts":
      `process.on("exit", () => require("node:fs").writeFileSync("loaded", Object.keys(require.cache).join("\\n")));`,
  });
  const server = await scriptedServer([{ text: "hi" }]);
  try {
    const { code, out, err } = await ended(
      [process.execPath, "-r", join(folder.path, "list.ts"), join(LIB, "cli/main.ts"), "run", "hi"],
      {
        cwd: folder.path,
        env: { HOME: folder.path, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url },
      },
    );
    assert.deepEqual([code, out], [0, "hi\n"], err);
  } finally {
    await server.close();
  }
  const loaded = readFileSync(join(folder.path, "loaded"), "utf8").split("\n").filter((path) => path.startsWith(LIB))
    .map((path) => relative(LIB, path));
  assert.ok(loaded.includes("core/loop.ts"), "the list sees the loop");
  assert.ok(loaded.length <= MOST, `${loaded.length} files: ${loaded.sort().join(" ")}`);
});
