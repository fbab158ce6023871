import { agent } from "../../lib/agent/agent.ts";
import { runsIn } from "../../lib/cli/kit/known-fixtures.ts";
import { trustFixtures } from "../../lib/hooks/hook-trust.ts";
import type { ScriptedReply } from "../../lib/testing/index.ts";
import { Write } from "../../lib/tools/index.ts";
import { type Place, place } from "../_place.ts";
import { record } from "../_record.ts";
import { LIB } from "../_runtime.ts";

const options = {
  ...{ name: "writer", system: "You write.", tools: [Write], hooks: [] },
  permissions: { mode: "bypassPermissions" },
} as const;

/** The agent of all runs, as a script and made here. */
export const WRITER = `import { agent } from "${LIB}/agent/agent.ts";
import { Write } from "${LIB}/tools/index.ts";
export default agent({ name: "writer", system: "You write.", tools: [Write], permissions: { mode: "bypassPermissions" } });
`;
export const writer = agent(options);

/** What its model says to write a file. */
const WRITES: readonly ScriptedReply[] = [
  { tools: [{ name: "Write", input: { file_path: "a.txt", content: "hello, world\n" } }] },
  { text: "It is written." },
];

/** A project with recorded runs of the agent, by what its model said; all of them are trusted. */
export async function written(
  runs: { readonly [name: string]: readonly ScriptedReply[] } = { write: WRITES },
): Promise<Place> {
  const w = place({ README: "a\n" });
  for (const [fixture, replies] of Object.entries(runs)) {
    await record(w.cwd, { fixture, replies, with: options, agent: "agent.ts", prompts: ["Write it"] });
    w.put({ [`fixtures/${fixture}/agent.ts`]: WRITER });
  }
  await trustFixtures(w.cwd, w.env, runsIn(w.cwd));
  return w;
}
