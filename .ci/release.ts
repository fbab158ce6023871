/**
 * Commits the package as it is packed, without a parent, and tags it: `bun add` and `npm install` of that tag get what a
 * registry would give them, with nothing to build. Pushes nothing.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packedFiles } from "../lib/extensions/setup/packed.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const { version, repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const tag = `v${version}-package`;
const folder = mkdtempSync(join(tmpdir(), "crochet-release-"));
try {
  if (!repository) {
    const fix = 'add "repository": { "type": "git", "url": "git+https://HOST/PATH.git" }';
    throw new Error(`Cannot release as package.json does not say where its repository is: ${fix}`);
  }
  const changed = git(ROOT, {}, "status", "--porcelain", "--untracked-files=no");
  if (changed !== "") throw new Error(`Cannot release as not everything is committed: ${changed.split("\n")[0]}`);
  execFileSync(process.execPath, ["run", ".ci/build.ts"], { cwd: ROOT, stdio: "inherit" });
  const tree = join(folder, "package");
  for (const { path, bytes, executable } of packedFiles(ROOT)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), bytes, { mode: executable ? 0o755 : 0o644 });
  }
  // The files of another folder, and an index of their own, for the repository of this one.
  const at = { GIT_DIR: git(ROOT, {}, "rev-parse", "--absolute-git-dir"), GIT_WORK_TREE: tree };
  const beside = { ...at, GIT_INDEX_FILE: join(folder, "index") };
  git(tree, beside, "-c", "core.autocrlf=false", "add", "--all", "--force", ".");
  const files = git(tree, beside, "write-tree");
  const commit = git(ROOT, {}, "commit-tree", files, "-m", `crochet ${version}, as packed`);
  git(ROOT, {}, "tag", tag, commit);
  console.log(`${tag} is ${commit.slice(0, 10)}: git push origin ${tag}`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function git(cwd: string, env: { readonly [name: string]: string }, ...args: string[]): string {
  return execFileSync("git", args, { cwd, env: { ...process.env, ...env }, encoding: "utf8" }).trim();
}
