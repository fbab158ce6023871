import { existsSync, symlinkSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { directoryOf, keptEvals, readPlan, treeIn } from "./kept-evals.ts";
import { type Budget, mayFit, type PlannedFixture, type Slot, slotName, type Variant } from "./plan.ts";
import { type AgentOf, attempt, fixtureIn, rehearse, type RunLine } from "./attempt.ts";
import type { Graded } from "./grade.ts";
import { effectOf, type HookEffect, type HooksAsked } from "./hook-arms.ts";
import { type EvalPlace, whyNot } from "./runs.ts";
import type { Price } from "../../replay/drift/drift-report.ts";
import { thrownWords } from "../../core/shown.ts";
import { realOr } from "../../hooks/file/user-places.ts";
import { git } from "../../process/git.ts";
import type { Fixture } from "../../replay/fixture.ts";
import { doTask, FreshProcesses } from "../../replay/fresh.ts";
import { BUILT_IN } from "../../runtime/importing.ts";
import { fixtureScript } from "../../cli/kit/known-fixtures.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { builtIn, loadAgent } from "../../cli/kit/script.ts";

/** The agent as it is here. */
export function here(model: string | undefined, cwd: string): Variant {
  const commit = git(cwd, "rev-parse", "HEAD");
  return { name: "now", kind: "here", ...(commit && { commit }), ...(model !== undefined && { model }) };
}

/** What `--against` names. */
export function against(what: string, model: string | undefined, evals: string, { cwd }: Io): Variant {
  const refuse = (why: string) => new UsageError(`Cannot compare with '${what}' as ${why}`);
  if (what === ".") return { name: ".", kind: "here" };
  if (what === "now") throw refuse("the agent here has that name: give the commit");
  const using = model !== undefined && { model };
  const kept = what === "last" ? readPlan(evals, what).id : what;
  if (keptEvals(evals).includes(kept)) {
    const then = readPlan(evals, kept);
    return { name: kept, kind: "kept", ...(!then.fixtures.some((one) => mayFit(then, one)) && { claims: true }) };
  }
  if (/\.(ts|js|mjs)$/.test(what)) {
    if (existsSync(resolve(cwd, what))) return { name: what, kind: "script", ...using };
    throw refuse("there is no such script");
  }
  const commit = git(cwd, "rev-parse", "--verify", "--quiet", `${what}^{commit}`);
  if (commit) return { name: what, kind: "ref", commit, ...using };
  throw refuse("it is neither a git ref, nor a script, nor a kept eval");
}

/** Gives the agent of a fixture and variant; that of a ref is in its worktree. */
export function agentsIn(folder: string, { case: of }: PlannedFixture, io: Pick<Io, "cwd" | "signal">): AgentOf {
  const scriptFor = (fixture: Fixture, variant: Variant): string => {
    const { kind, name, commit } = variant;
    if (kind === "script") return resolve(io.cwd, name);
    if (of?.agent === BUILT_IN) return BUILT_IN;
    if (of) return resolve(directoryOf(variant, folder, io.cwd), of.agent);
    if (kind !== "ref") return fixtureScript(fixture);
    const root = git(io.cwd, "rev-parse", "--show-toplevel")!;
    return fixtureScript({ ...fixture, folder: join(treeIn(folder, commit!), relative(root, realOr(fixture.folder))) });
  };
  return async (fixture, variant) => {
    const script = scriptFor(fixture, variant);
    if (script !== BUILT_IN) return { agent: await loadAgent(script, { signal: io.signal, seconds: 60 }), script };
    return { agent: await builtIn(), script: undefined };
  };
}

/** Makes runs, each in a process of its own, where its agent's code is; the worktrees of refs go in the end: `using runs = …`. */
export function freshRuns(
  folder: string,
  io: Pick<Io, "cwd" | "signal" | "runsHere">,
): Disposable & Pick<EvalPlace, "fresh" | "rehearse"> & {
  /** What hooks do in the recorded run of a fixture. */
  readonly effect: (slot: Slot, hooks: HooksAsked) => Promise<HookEffect>;
} {
  const { cwd } = io;
  const trees = new Set<string>();
  const processes = new FreshProcesses("extensions/eval/variants", makeRun, io);
  const placeOf = (variant: Variant): string => {
    const path = variant.kind === "ref" && treeIn(folder, variant.commit!);
    if (path && !trees.has(path)) checkOut(path, variant.commit!, cwd);
    if (path) trees.add(path);
    return directoryOf(variant, folder, cwd);
  };
  const run = async <T>(slot: Slot, more: Omit<RunTask, "folder" | "project" | "slot"> = {}) =>
    await processes.run<T>({ folder, project: cwd, slot, ...more }, placeOf(slot.variant));
  return {
    fresh: (slot, rehearsal) =>
      run<RunLine>(slot, rehearsal && { rehearsal: "run", ...rehearsal }).catch((error) => (
        { run: slotName(slot), lost: thrownWords(error), calls: 0, tokens: 0, dollars: 0, ms: 0 }
      )),
    // An agent that does not even load says so in its first run.
    rehearse: async (slot, left) =>
      (await run<Graded | null>(slot, { rehearsal: "recorded", left }).catch(() => null)) ?? undefined,
    effect: async (slot, hooks) => {
      const found = await run<HookEffect>(slot, { hooks }).catch(thrownWords) ?? "interrupted";
      return typeof found === "string" ? { how: "left out", why: found } : found;
    },
    [Symbol.dispose]() {
      processes[Symbol.dispose]();
      for (const path of trees) git(cwd, "worktree", "remove", "--force", path);
    },
  };
}

/** Checks a commit out, also if a command was killed while it did; what is installed here is used there too. */
function checkOut(path: string, commit: string, cwd: string): void {
  git(cwd, "worktree", "prune");
  const isThere = existsSync(path) && git(path, "reset", "--hard", "--quiet", commit) !== undefined;
  if (!isThere && git(cwd, "worktree", "add", "--detach", "--force", path, commit) === undefined) {
    throw new Error(`Cannot check out ${commit} to ${path}: try 'git worktree add --detach ${path} ${commit}'`);
  }
  const inside = git(cwd, "rev-parse", "--show-prefix") ?? "";
  const [from, to] = [join(cwd, "node_modules"), join(path, inside, "node_modules")];
  if (existsSync(from) && !existsSync(to)) symlinkSync(from, to);
}

interface RunTask {
  /** Of the eval. */
  readonly folder: string;
  readonly project: string;
  readonly slot: Slot;
  /** What its graders are rehearsed on, if they are. */
  readonly rehearsal?: "recorded" | "run";
  /** What a rehearsal may cost. */
  readonly left?: Budget | undefined;
  /** Hooks of which it is to be found what they do, in place of a run. */
  readonly hooks?: HooksAsked;
}

/** What the process of a run does. */
async function makeRun(task: RunTask): Promise<RunLine | Graded | HookEffect | null> {
  const { folder, project, slot, rehearsal, left, hooks } = task;
  const { signal } = new AbortController();
  const place = { project, folder, signal };
  const agentOf = agentsIn(folder, slot.fixture, { cwd: project, signal });
  if (hooks) {
    const fixture = fixtureIn(slot.fixture, place);
    return await effectOf(fixture, (await agentOf(fixture, slot.variant)).agent, hooks, place);
  }
  const refuses = (about: Price) => whyNot(left, about);
  return await (rehearsal === "recorded"
    ? rehearse(slot, place, agentOf, refuses)
    : attempt(slot, place, agentOf, rehearsal && { rehearsal: true, refuses })) ?? null;
}

if (import.meta.main) await doTask(makeRun);
