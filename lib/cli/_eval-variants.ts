import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { keptEvals, readPlan, roundOf, slotName, type Variant } from "../eval/plan.ts";
import { type EvalPlace, EvalRuns } from "../eval/runs.ts";
import { realOr } from "../hooks/file/places.ts";
import { ownArgv } from "../hooks/own-command.ts";
import { git } from "../process/git.ts";
import { runProcess } from "../process/process.ts";
import type { Fixture } from "../tape/fixture.ts";
import { BUILT_IN } from "../files/importing.ts";
import { fixtureScript } from "./_fixtures.ts";
import { type Io, UsageError } from "./_io.ts";
import { builtIn, loadAgent } from "./_script.ts";

/** Where the process of a run leaves what came of it, in the run's folder. */
const CAME = "came.json";

/** The agent as it is here. */
export function here(model: string | undefined, cwd: string): Variant {
  const commit = git(cwd, "rev-parse", "HEAD");
  return { name: "now", kind: "here", ...(commit && { commit }), ...(model !== undefined && { model }) };
}

/** What `--against` names. */
export function against(what: string, model: string | undefined, evals: string, { cwd }: Io): Variant {
  const refuse = (why: string) => new UsageError(`Cannot compare with '${what}' as ${why}`);
  if (what === ".") {
    if (model === undefined) {
      throw refuse("that is the agent itself: add --model, or name a git ref, a script or an eval");
    }
    return { name: ".", kind: "here" };
  }
  if (what === "now") throw refuse("the agent here has that name: give the commit");
  const using = model !== undefined && { model };
  const kept = what === "last" ? readPlan(evals, what).id : what;
  if (keptEvals(evals).includes(kept)) return { name: kept, kind: "kept" };
  if (/\.(ts|js|mjs)$/.test(what)) {
    if (existsSync(resolve(cwd, what))) return { name: what, kind: "script", ...using };
    throw refuse("there is no such script");
  }
  const commit = git(cwd, "rev-parse", "--verify", "--quiet", `${what}^{commit}`);
  if (commit) return { name: what, kind: "ref", commit, ...using };
  throw refuse("it is neither a git ref, nor a script, nor a kept eval");
}

/** Gives the agents of variants; a ref's are those of a worktree, which is removed in the end: `using agents = …`. */
export function variantAgents(
  folder: string,
  io: Pick<Io, "cwd" | "signal">,
): Disposable & Required<Pick<EvalPlace, "agentOf" | "elsewhere">> {
  const trees = new Set<string>();
  const tree = (commit: string) => join(folder, `tree-${commit.slice(0, 12)}`);
  const scriptFor = (fixture: Fixture, { kind, name, commit }: Variant): string => {
    if (kind === "script") return resolve(io.cwd, name);
    if (kind !== "ref") return fixtureScript(fixture);
    const root = git(io.cwd, "rev-parse", "--show-toplevel")!;
    return fixtureScript({ ...fixture, folder: join(tree(commit!), relative(root, realOr(fixture.folder))) });
  };
  return {
    agentOf: async (fixture, variant) => {
      const script = scriptFor(fixture, variant);
      if (script !== BUILT_IN) return { agent: await loadAgent(script, { signal: io.signal, seconds: 60 }), script };
      return { agent: await builtIn(), script: undefined };
    },
    elsewhere: async (slot) => {
      const run = slotName(slot);
      const came = join(folder, run, CAME);
      const [command, ...args] = ownArgv("cli/_eval-variants", folder, io.cwd, run);
      const path = tree(slot.variant.commit!);
      if (!trees.has(path)) checkOut(path, slot.variant.commit!, io.cwd);
      trees.add(path);
      const cwd = join(path, git(io.cwd, "rev-parse", "--show-prefix") ?? "");
      const { stderr } = await runProcess({ command, args, cwd, env: process.env, signal: io.signal });
      if (io.signal.aborted) return undefined;
      if (existsSync(came)) return JSON.parse(readFileSync(came, "utf8"));
      return { run, lost: stderr.trim().split("\n").at(-1) || "its process ended", calls: 0, tokens: 0, ms: 0 };
    },
    [Symbol.dispose]() {
      for (const path of trees) git(io.cwd, "worktree", "remove", "--force", path);
    },
  };
}

/** Checks a commit out, also if a command was killed while it did; what is installed here is used there too. */
export function checkOut(path: string, commit: string, cwd: string): void {
  git(cwd, "worktree", "prune");
  const isThere = existsSync(path) && git(path, "reset", "--hard", "--quiet", commit) !== undefined;
  if (!isThere && git(cwd, "worktree", "add", "--detach", "--force", path, commit) === undefined) {
    throw new Error(`Cannot check out ${commit} to ${path}: try 'git worktree add --detach ${path} ${commit}'`);
  }
  const inside = git(cwd, "rev-parse", "--show-prefix") ?? "";
  const [from, to] = [join(cwd, "node_modules"), join(path, inside, "node_modules")];
  if (existsSync(from) && !existsSync(to)) symlinkSync(from, to);
}

/** The process that makes one run of an eval where the agent's code is checked out: scripts read files from there. */
async function makeRun([folder = "", project = "", name = ""]: readonly string[]): Promise<void> {
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.exit(1), 200).unref(); // an eval that is killed leaves nothing
  const plan = readPlan(dirname(folder), basename(folder));
  const slot = roundOf(plan, Number(basename(name))).find((one) => slotName(one) === name)!;
  const { signal } = new AbortController();
  const { agentOf } = variantAgents(folder, { cwd: project, signal });
  const runs = new EvalRuns(plan, { project, folder, agentOf, atOnce: 1, signal });
  const line = await runs.attempt(slot);
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, CAME), JSON.stringify(line));
  process.exit(0); // whatever the script left running
}

if (import.meta.main) await makeRun(process.argv.slice(2));
