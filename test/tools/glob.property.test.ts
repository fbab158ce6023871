import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { ToolError } from "../../lib/core/tool.ts";
import { selectGlobs } from "../../lib/files/ignore.ts";
import { findRipgrep } from "../../lib/tools/search/ripgrep.ts";
import { comparePaths } from "../../lib/tools/search/search-files.ts";
import { glob as globFiles } from "../../lib/tools/index.ts";
import { tries } from "../_counts.ts";
import { withEnv } from "../_env.ts";
import { globsFor, ignoreFilesFor, paths, repository } from "./_search-arbitraries.ts";
import { plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

const ripgrep = findRipgrep();
const needed = { ...(ripgrep === undefined && { skip: "ripgrep is not here" }) };

function list(root: string, args: readonly string[]): string[] {
  const whole = ["--no-config", "--files", "--hidden", "--null", ...args, "./"];
  try {
    return read(execFileSync(ripgrep!, whole, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string };
    if (status === 1) return read(stdout);
    throw error;
  }
}

function read(stdout: string): string[] {
  return stdout.split("\0").filter((path) => path !== "").map((path) => path.slice(2));
}

/** Files, and what is made of their paths. */
function treeAnd<T>(make: (files: string[]) => fc.Arbitrary<T>): fc.Arbitrary<[files: string[], made: T]> {
  return paths.chain((files) => fc.tuple(fc.constant(files), make(files)));
}

/** Plants files and ignore files, with a repository in some folder. */
function planted(
  root: string,
  files: readonly string[],
  ignores: Record<string, string>,
  top: string | undefined,
): void {
  plant(root, { ...Object.fromEntries(files.map((path) => [path, ""])), ...ignores });
  if (top === undefined) return;
  try {
    mkdirSync(join(root, top, ".git"), { recursive: true });
  } catch {
    // A file is in the way: then there is no repository.
  }
}

/**
 * To ripgrep these are comments, blanks or a bracket it refuses as nothing closes it; to us they are globs like any other.
 * And `./` is the folder searched to us, two letters to ripgrep.
 */
function isReadOtherwise(glob: string): boolean {
  if (/^!?\s*$|^!?#|^!!|^!\\[#!]|^!?\.\//.test(glob)) return true;
  // A ']' that comes first, or first after '!' or '^', is one of the letters and closes nothing.
  return glob.replaceAll(/\\.|\[(?=([!^]?\]?))\1[^\]]*\]/g, "").includes("[");
}

test("selectGlobs() always selects the files that ripgrep selects by --glob", needed, async () => {
  let selected = 0;
  const globs = treeAnd((files) => fc.array(globsFor(files), { minLength: 1, maxLength: 3 }));
  const law = fc.asyncProperty(globs, ([files, globs]) =>
    inWorkspace((root) => {
      fc.pre(!globs.some(isReadOtherwise));
      planted(root, files, {}, undefined);
      let selects: ((path: string) => boolean) | undefined;
      try {
        ({ selects } = selectGlobs(globs));
      } catch (error) {
        assert.ok(error instanceof ToolError);
      }
      const args = ["--no-ignore", ...globs.map((text) => `--glob=${text}`)];
      if (selects === undefined) return void assert.throws(() => list(root, args));
      const theirs = list(root, args);
      assert.deepEqual(list(root, ["--no-ignore"]).filter(selects).sort(), theirs.sort());
      if (theirs.length > 0) selected++;
    }));
  await fc.assert(law, { numRuns: tries(25, 3000, 50) });
  assert.ok(selected > 0);
});

test("Glob always finds the selected files that .gitignore leaves, in order, and never another", needed, async () => {
  let some = 0;
  const tree = treeAnd((files) => fc.tuple(globsFor(files), ignoreFilesFor(files)));
  const law = fc.asyncProperty(tree, repository, ([files, [pattern, ignores]], top) =>
    inWorkspace(async (root) => {
      planted(root, files, ignores, top);
      const found = await globFiles({ pattern }, { cwd: root }).catch((error: Error) => error.message);
      if (typeof found === "string") return;
      const inRepository = top === "" ? [] : ["--no-require-git"];
      const visible = list(root, [
        ...["--sort=path", "--no-ignore-global", "--no-ignore-exclude", "--glob=!.git", ...inRepository],
      ]);
      assert.deepEqual(found.filenames, visible.filter(selectGlobs([pattern]).selects));
      if (found.numFiles > 0) some++;
    }));
  await fc.assert(law, { numRuns: tries(20, 2000, 40) });
  assert.ok(some > 0);
});

test("comparePaths() always orders as ripgrep's --sort path does", needed, () =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(
        fc.array(fc.stringMatching(/^[ab.\-~é\uE000😀]{1,3}$/u).filter((text) => text !== "." && text !== ".."), {
          minLength: 1,
          maxLength: 3,
        }).map((parts) => parts.join("/")),
        { maxLength: 12 },
      ),
      (files) =>
        inWorkspace((root) => {
          planted(root, files, {}, undefined);
          const theirs = list(root, ["--no-ignore", "--sort=path"]);
          assert.deepEqual([...theirs].sort().sort(comparePaths), theirs);
        }),
    ),
    { numRuns: tries(15, 1000, 30) },
  ));

test("Glob never depends on the machine's own ignore rules", needed, () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": "", ".git/info/exclude": "a.txt\n" });
    const home = join(root, "..", "home");
    mkdirSync(join(home, "git"), { recursive: true });
    writeFileSync(join(home, "git", "ignore"), "a.txt\n");
    const { filenames } = await withEnv({ XDG_CONFIG_HOME: home }, () => globFiles({ pattern: "*" }, { cwd: root }));
    assert.deepEqual(filenames, ["a.txt"]);
  }));
