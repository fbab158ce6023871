import assert from "node:assert/strict";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ended } from "../_crochet.ts";
import { scratch } from "../_scratch.ts";
import { ROOT } from "./_files.ts";

test("a last save that is not waited for is named, with its line, and 'void' is no way out", async () => {
  using folder = scratch();
  for (const name of ["lib/core", ".ci/oxlint.json", "tsconfig.json"]) {
    cpSync(join(ROOT, name), join(folder.path, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder.path, "node_modules"));
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const [program, ...options] = scripts.floats.split(" ").slice(0, 4);
  const words = [join(ROOT, "node_modules/.bin", program), ...options, "--format=unix", "lib"] as const;
  const floats = () => ended(words, { cwd: folder.path });
  assert.equal((await floats()).code, 0);
  const file = join(folder.path, "lib/core/prompt.ts");
  const text = readFileSync(file, "utf8");
  const line = text.split("\n").indexOf("    await run.commit();") + 1;
  assert.ok(line > 0, "lib/core/prompt.ts saves last in another line");
  for (const planted of ["run.commit()", "void run.commit()"]) {
    writeFileSync(file, text.replace("await run.commit()", planted));
    const { code, out } = await floats();
    assert.equal(code, 1, out);
    assert.match(out, new RegExp(`^lib/core/prompt\\.ts:${line}:.*no-floating-promises`, "m"));
  }
});
