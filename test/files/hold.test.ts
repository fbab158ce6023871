import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { edit, grep, read } from "crochet/tools";
import { commit } from "../../lib/files/change-file.ts";
import { hold } from "../../lib/files/confine.ts";
import { rounds } from "../_counts.ts";
import { RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const skip = process.platform === "linux" ? false : "only Linux tells what a process has opened";

/** A workspace with a folder `d`, and beside it what nobody may touch. */
function places(root: string) {
  const [inside, outside] = [join(root, "workspace"), join(root, "outside")];
  for (const path of [join(inside, "d"), outside]) mkdirSync(path, { recursive: true });
  writeFileSync(join(inside, "d/note.txt"), "plain words\n");
  writeFileSync(join(outside, "note.txt"), "a plain dull secret\n");
  return { inside, outside };
}

test(
  "a file is never written through a link that took the place of its folder after it was found allowed",
  { skip },
  async () => {
    using folder = scratch();
    const { inside, outside } = places(folder.path);
    renameSync(join(inside, "d"), join(inside, "was"));
    symlinkSync(outside, join(inside, "d"));
    const change = { real: join(inside, "d/new.txt"), original: undefined, splices: [] };
    await assert.rejects(commit(change), /ENOTDIR|ELOOP|a link has taken the place/);
    assert.deepEqual(readdirSync(outside), ["note.txt"]);
  },
);

test("a held folder stays the same one whatever takes its name, and is never held through a link above it", {
  skip,
}, () => {
  using folder = scratch();
  const { inside, outside } = places(folder.path);
  const held = hold(join(inside, "d"));
  renameSync(inside, `${inside}-was`);
  symlinkSync(outside, inside);
  mkdirSync(join(outside, "d"));
  assert.deepEqual(readdirSync(held.path), ["note.txt"]);
  held.close();
  assert.throws(() => hold(join(inside, "d")), { code: "changed", message: /a link has taken the place/ });
});

/** Puts a link in the place of the folder and the folder back, until it is ended. */
const SWAP = `
import { renameSync, symlinkSync, unlinkSync } from "node:fs";
console.log("began");
for (const until = Date.now() + 120_000; Date.now() < until;) { // also where nobody is left to end it
  renameSync("d", "was");
  symlinkSync("../outside", "d");
  unlinkSync("d");
  renameSync("was", "d");
}
`;

test("no race of links ever leads Read, Edit or Grep out of the workspace", { skip }, async () => {
  using folder = scratch();
  const { inside, outside } = places(folder.path);
  const script = join(folder.path, "swap.mjs");
  writeFileSync(script, SWAP);
  const [program, ...args] = RUNTIME;
  const swapping = spawn(program, [...args, script], { cwd: inside, stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(swapping.stdout, "data");
    const options = { cwd: inside };
    const answers: PromiseSettledResult<unknown>[] = [];
    const someCame = () => answers.some(({ status }) => status === "fulfilled");
    // On a busy machine the other process may stand still all the while, with the link in place.
    for (let i = 0; i < rounds(300, 3000) || !someCame(); i++) {
      const calls = [
        read({ file_path: "d/note.txt" }, options),
        edit(
          { file_path: "d/note.txt", old_string: i % 2 ? "dull" : "plain", new_string: i % 2 ? "plain" : "dull" },
          options,
        ),
        ...(i % 10 === 0 ? [grep({ pattern: "secret|words", path: "d", output_mode: "content" }, options)] : []),
      ];
      answers.push(...await Promise.allSettled<unknown>(calls));
    }
    assert.ok(!JSON.stringify(answers).includes("secret"), "nothing from outside is told");
    assert.deepEqual(readdirSync(outside), ["note.txt"]);
    assert.equal(readFileSync(join(outside, "note.txt"), "utf8"), "a plain dull secret\n");
    assert.equal(swapping.exitCode, null, "it goes on to the end");
  } finally {
    const gone = once(swapping, "exit"); // until then it still moves what is about to be taken away
    swapping.kill("SIGKILL");
    await gone;
  }
});
