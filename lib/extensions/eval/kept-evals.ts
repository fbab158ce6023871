import { basename, join } from "node:path";
import {
  linkState,
  namesIn,
  pathBelow,
  readStateFile,
  realState,
  removeState,
  writeStateFile,
  writtenAt,
} from "../../files/state.ts";
import { git } from "../../process/git.ts";
import type { EvalPlan, Variant } from "./plan.ts";

const PLAN = "eval.json";

/** Keeps a plan, and lets `last` name it. */
export function writePlan(evals: string, plan: EvalPlan): void {
  writeStateFile(join(pathBelow(evals, [plan.id]), PLAN), `${JSON.stringify(plan, null, 2)}\n`);
  linkState(evals, "last", plan.id);
}

/** The ids of the evals that are kept, the newest last. */
export function keptEvals(evals: string): string[] {
  return namesIn(evals).filter((name) => name !== "last" && writtenAt(join(evals, name, PLAN)) !== undefined).sort();
}

/** @throws {Error} if there is no such eval, or another release made it */
export function readPlan(evals: string, id: string): EvalPlan {
  // A link of ours: only the name that it leads to counts.
  const named = id === "last" ? basename(realState(join(evals, id)) ?? id) : id;
  const path = join(evals, named, PLAN);
  const text = named === "last" ? undefined : readStateFile(join(pathBelow(evals, [named]), PLAN));
  if (text === undefined) {
    const all = keptEvals(evals);
    const fix = all.length === 0 ? "'crochet eval' makes one" : `there are ${all.slice(-5).join(", ")}`;
    throw new Error(`Cannot find an eval '${id}': ${fix}`);
  }
  const plan = JSON.parse(text) as EvalPlan;
  if (plan.eval !== 1) throw new Error(`Cannot read ${path} as another release wrote it: start a new eval`);
  return plan;
}

/** The folder of a run in that of its eval. @throws {TypeError} if the way there is a link, or leads out of it */
export function runFolder(folder: string, run: string): string {
  return pathBelow(folder, run.split("/"));
}

/** The same, without what an ended attempt left. */
export function emptyRunFolder(folder: string, run: string): string {
  const path = runFolder(folder, run);
  removeState(path);
  return path;
}

/** Where the commit of a ref is checked out for an eval. */
export function treeIn(folder: string, commit: string): string {
  return join(folder, `tree-${commit.slice(0, 12)}`);
}

/** Where the code of a variant is: the project, or what that is at its commit. */
export function directoryOf({ kind, commit }: Variant, folder: string, project: string): string {
  return kind === "ref" ? join(treeIn(folder, commit!), git(project, "rev-parse", "--show-prefix") ?? "") : project;
}

/** An id that sorts by time. */
export function newId(now: Date): string {
  const time = now.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14);
  return `${time.slice(0, 8)}-${time.slice(8)}-${crypto.randomUUID().slice(0, 4)}`;
}
