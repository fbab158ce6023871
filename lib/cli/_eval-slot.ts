import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readPlan, roundOf, slotName } from "../eval/plan.ts";
import { EvalRuns } from "../eval/runs.ts";
import { CAME, variantAgents } from "./_eval-variants.ts";

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
