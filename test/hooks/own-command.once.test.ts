import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ended } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";

test("a bundled program never starts itself in the place of a script of ours", async () => {
  using folder = scratch();
  const own = fileURLToPath(new URL("../../lib/hooks/own-command.ts", import.meta.url));
  const entry = join(folder.path, "entry.ts");
  writeFileSync(entry, `import { ownArgv } from ${JSON.stringify(own)};\nconsole.log(ownArgv("cli/hook", "x"));\n`);
  const alone = await ended([process.execPath, "run", entry], { cwd: folder.path });
  assert.match(alone.out, /cli\/hook\.ts/);
  const out = join(folder.path, "built/x/program.js");
  const built = await ended([process.execPath, "build", "--target", "bun", entry, "--outfile", out], {
    cwd: folder.path,
  });
  assert.equal(built.code, 0, built.err);
  const ran = await ended([process.execPath, "run", out], { cwd: folder.path });
  assert.deepEqual([ran.code, ran.out], [1, ""]);
  assert.match(ran.err, /Cannot start 'cli\/hook' as this program was bundled without it/);
});
