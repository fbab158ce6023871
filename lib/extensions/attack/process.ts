import { type ProcessTask, PROGRESS } from "./attack.ts";
import type { SessionOptions } from "./adversary.ts";
import { attackHere } from "./attack-worker.ts";
import type { Agent } from "../../agent/options.ts";
import { doTask } from "../../replay/fresh.ts";
import type { Io } from "../../cli/kit/io.ts";
import { rulesHere } from "../../cli/kit/run-options.ts";
import { consoleAside, outliveStrays } from "../../cli/kit/runtime.ts";
import { builtIn, isHooks, loadAgent } from "../../cli/kit/script.ts";

/** The process of an attack, which runs wholly in the sandbox of its world. */
async function attacked({ script, project, env, attack }: ProcessTask): Promise<unknown> {
  process.chdir(project);
  const { signal } = new AbortController();
  // Where the user keeps what is trusted, not where the world keeps its state.
  const { CROCHET_HOME: _, ...others } = process.env;
  const io: Io = { out: () => {}, err: () => {}, tty: false, env: { ...others, ...env }, cwd: project, signal };
  const agent = script === undefined ? await builtIn() : await loadAgent(script);
  return await attackHere(agent, attack, {
    signal,
    session: script !== undefined && isHooks(script) ? {} : await foundHere(agent, script !== undefined, io),
    tried: progress(),
  });
}

/** What 'crochet run' would find, but for the model. */
async function foundHere(agent: Agent, script: boolean, io: Io): Promise<SessionOptions> {
  const { session: { permissions, hooks, mcp } } = await rulesHere({ flags: {}, io, script }, agent);
  // Its own code runs a script without rules too, and then no person is asked.
  const open = script && agent.permissions === undefined && { mode: "bypassPermissions" as const };
  return { permissions: { ...permissions, ...open }, hooks, ...(mcp && { mcp }) };
}

/** Reports now and then: a full pipe would hold up the search. */
function progress(): (tries: number, forms: number) => void {
  let last = 0;
  return (tries, forms) => {
    if (performance.now() - last < 200) return;
    last = performance.now();
    process.stdout.write(`${PROGRESS}${tries} ${forms}\n`);
  };
}

if (import.meta.main) {
  outliveStrays();
  consoleAside();
  await doTask(attacked);
}
