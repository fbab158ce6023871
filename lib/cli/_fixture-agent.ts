import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../agent/options.ts";
import type { Fixture } from "../tape/fixture.ts";
import { BUILT_IN } from "../tape/tape.ts";
import { tapeScript } from "./_fixture-trust.ts";
import { UsageError } from "./_io.ts";
import { builtIn, loadAgent } from "./_script.ts";

/** How long a script may take to load: as long as a hook may take. */
const MOST_SECONDS = 60;

/** The agent of a fixture: its own `agent.ts`, or the one its tape was recorded with. */
export async function fixtureAgent(fixture: Fixture, signal?: AbortSignal): Promise<Agent> {
  const { name, folder, tape } = fixture;
  const patience = signal && { signal, seconds: MOST_SECONDS };
  const own = join(folder, "agent.ts");
  if (existsSync(own)) return await loadAgent(own, patience);
  const script = tapeScript(fixture);
  if (script === BUILT_IN) return await builtIn();
  if (script === undefined) {
    throw new UsageError(`Cannot replay ${name} as it names no agent: put an agent.ts into ${folder}`);
  }
  if (existsSync(script)) return await loadAgent(script, patience);
  throw new UsageError(
    `Cannot replay ${name} as its agent ${script} is not there any more: put it back, ` +
      `or let "agent" in the first line of ${tape} say where it is now, seen from there`,
  );
}
