import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { realOr } from "../hooks/file/user-places.ts";
import { ownArgv } from "../hooks/own-command.ts";
import { git } from "../process/git.ts";
import { runProcess } from "../process/process.ts";
import type { Fixture } from "../replay/fixture.ts";
import { ProgressLine } from "./_each-of.ts";
import { checkOut } from "./_eval-variants.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";
import { several } from "./show/text.ts";

/** Whether a commit does as the tapes have it; `broken` if no one can say, as an agent does not even load. */
type Standing = "good" | "bad" | "broken";

/**
 * Finds the commit that moved fixtures: today's tapes against the code of each commit, in a worktree. Commits
 * that do not load are skipped.
 */
export async function bisectFixtures(fixtures: readonly Fixture[], good: string, io: Io): Promise<number> {
  const root = git(io.cwd, "rev-parse", "--show-toplevel");
  if (root === undefined) throw new UsageError("Cannot bisect as this is not a git repository");
  const first = git(io.cwd, "rev-parse", "--verify", "--quiet", `${good}^{commit}`);
  if (!first) throw new UsageError(`Cannot bisect from '${good}' as it is not a commit`);
  const commits = (git(io.cwd, "rev-list", "--reverse", "--first-parent", `${first}..HEAD`) ?? "").split("\n");
  if (commits[0] === "") throw new UsageError(`Cannot bisect from '${good}' as no commit follows it`);
  const folder = mkdtempSync(join(tmpdir(), "crochet-bisect-"));
  const tree = join(folder, "tree");
  const progress = new ProgressLine(io);
  const known = new Map<string, Standing>();
  const standing = async (commit: string): Promise<Standing> => {
    progress.show(`${known.size} of ${commits.length + 1} tried  ${nameOf(commit, io)}`);
    const found = known.get(commit) ?? await tried(commit, { fixtures, root, tree, io });
    known.set(commit, found);
    return found;
  };
  try {
    if (await standing(commits.at(-1)!) === "good") {
      io.out("HEAD does as the tapes have it: what differs is not committed, or nothing does\n");
      return EXIT.ok;
    }
    if (await standing(first) !== "good") {
      throw new UsageError(`Cannot bisect from '${good}' as the fixtures are not as recorded there: name an older one`);
    }
    const suspects = await narrowed(commits, standing, io.signal);
    progress.end();
    if (io.signal.aborted) return EXIT.interrupted;
    const [only, ...more] = suspects;
    if (more.length === 0) io.out(`${nameOf(only!, io)}\n  moved ${fixtures.map(({ name }) => name).join(", ")}\n`);
    else {
      io.out(`one of ${several(suspects.length, "commit")}, as the others do not load:\n`);
      for (const commit of suspects) io.out(`  ${nameOf(commit, io)}\n`);
    }
    return EXIT.failed;
  } finally {
    progress.end();
    git(io.cwd, "worktree", "remove", "--force", tree);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The first bad commit, after those before it that do not load. */
async function narrowed(
  commits: readonly string[],
  standing: (commit: string) => Promise<Standing>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  let [good, bad] = [-1, commits.length - 1];
  const broken = new Set<number>();
  while (!signal.aborted) {
    const open = Array.from({ length: bad - good - 1 }, (_, i) => good + 1 + i).filter((i) => !broken.has(i));
    const at = open[Math.floor(open.length / 2)];
    if (at === undefined) break;
    const found = await standing(commits[at]!);
    if (found === "broken") broken.add(at);
    else if (found === "good") good = at;
    else bad = at;
  }
  return commits.slice(good + 1, bad + 1);
}

function nameOf(commit: string, { cwd }: Io): string {
  return git(cwd, "log", "-1", "--format=%h %s", commit) ?? commit;
}

interface Bench {
  readonly fixtures: readonly Fixture[];
  readonly root: string;
  readonly tree: string;
  readonly io: Io;
}

async function tried(commit: string, { fixtures, root, tree, io }: Bench): Promise<Standing> {
  checkOut(tree, commit, io.cwd);
  const paths = fixtures.map(({ folder }) => relative(root, realOr(folder)));
  for (const [i, { folder }] of fixtures.entries()) {
    rmSync(join(tree, paths[i]!), { recursive: true, force: true });
    cpSync(folder, join(tree, paths[i]!), { recursive: true });
  }
  const [command, ...args] = ownArgv(
    "cli/main",
    "replay",
    ...paths.map((path) => join(tree, path)),
    "--json",
    "--trust",
  );
  const cwd = join(tree, git(io.cwd, "rev-parse", "--show-prefix") ?? "");
  const { stdout } = await runProcess({ command, args, cwd, env: io.env, signal: io.signal });
  git(tree, "clean", "--force", "-d", "--quiet");
  let items: readonly { readonly word: string; readonly report?: unknown }[];
  try {
    ({ items } = JSON.parse(stdout));
  } catch {
    return "broken";
  }
  if (items.every(({ word }) => word === "held")) return "good";
  return items.every(({ word, report }) => word === "held" || report !== undefined) ? "bad" : "broken";
}
