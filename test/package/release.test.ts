/** What a release refuses before it builds or tags anything, and what the package says to bundlers. */
import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { packedFiles, packedManifest } from "../../lib/extensions/setup/packed.ts";
import { ASIDE } from "../../lib/hooks/file/file-name.ts";
import { ended } from "../_crochet.ts";
import { put, scratch } from "../_scratch.ts";
import { filesUnder, LIB, ROOT } from "../house/_files.ts";

const MANIFEST = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

test("a release stops if package.json does not say where its repository is, and goes on if it does", async () => {
  using copy = scratch();
  const rooms = ["extensions/setup", "hooks/file", "core", "input"].map((room) => `lib/${room}`);
  for (const path of [".ci/release.ts", ...rooms]) {
    cpSync(join(ROOT, path), join(copy.path, path), { recursive: true });
  }
  const released = async (more: object) => {
    put(copy.path, { "package.json": JSON.stringify({ version: "1.0.0", type: "module", ...more }) });
    return await ended([join(ROOT, "node_modules/.bin/bun"), "run", ".ci/release.ts"], { cwd: copy.path });
  };
  const { code, err } = await released({});
  const fix = 'add "repository": { "type": "git", "url": "git+https://HOST/PATH.git" }';
  assert.equal(err.trim(), `Cannot release as package.json does not say where its repository is: ${fix}`);
  assert.equal(code, 1);
  assert.match((await released({ repository: { type: "git", url: "x" } })).err, /not a git repository/);
});

test("neither what init brings and a tag has nor 'bun pm pack' takes files that were put aside", async () => {
  const folders = ["dist/", "docs/", "hooks/", "lib/hooks/adapters/", "lib/extensions/view/page/"];
  const kept = [...folders.map((folder) => `${folder}stop.z.md`), "lib/cli/crochet", "llms.txt", "package.json"];
  const aside = ASIDE.flatMap((end) => folders.map((folder) => `${folder}stop.z.md${end}`));
  using copy = scratch(Object.fromEntries([...kept, ...aside].map((path) => [path, path])));
  put(copy.path, { "package.json": packedManifest(JSON.stringify(MANIFEST)) });
  assert.deepEqual(packedFiles(copy.path).map(({ path }) => path).sort(), kept.toSorted());
  const { out } = await ended([join(ROOT, "node_modules/.bin/bun"), "pm", "pack", "--dry-run"], { cwd: copy.path });
  assert.deepEqual([...out.matchAll(/^packed \S+ (.*)$/gm)].map(([, path]) => path!).sort(), kept.toSorted());
});

test("sideEffects names every file that is imported for what it does, and each entry without names", () => {
  const kept = (MANIFEST.sideEffects as string[]).map((glob) =>
    new RegExp(`${glob.replace("**/", "(^|/)").replace(/\/\*\*$/, "/").replace(".*", "\\.[jt]s$")}`)
  );
  const bare = filesUnder(LIB, ".ts").flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^import "(\..+)";$/gm)].map(([, to]) => join(dirname(file), to!))
  );
  const entries = Object.values<{ readonly bun?: string }>(MANIFEST.exports).flatMap(({ bun }) => bun ?? []);
  const nameless = entries.map((path) => join(ROOT, path)).filter((file) =>
    !/^export /m.test(readFileSync(file, "utf8"))
  );
  const found = [...new Set([...bare, ...nameless])].map((file) => relative(LIB, file));
  assert.ok(found.includes("extensions/tape/preload.ts"), found.join());
  assert.deepEqual(found.filter((file) => !kept.some((glob) => glob.test(file))), []);
  assert.ok(kept.some((glob) => glob.test("cli/main.js")) && !kept.some((glob) => glob.test("core/loop.ts")));
});
