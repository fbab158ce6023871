import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../agent.ts";
import { type Fixture, scriptFromTape } from "../tape/fixture.ts";
import { readHeader } from "../tape/read.ts";
import { BUILT_IN } from "../tape/tape.ts";
import { UsageError } from "./_io.ts";
import { builtIn, loadAgent } from "./_script.ts";

/** What a script may take to load where nobody need watch: as long as a hook may take. */
const MOST_SECONDS = 60;

/** The agent of a fixture: its own `agent.ts`, or the one its tape was recorded with. */
export async function fixtureAgent({ name, folder, tape }: Fixture, signal?: AbortSignal): Promise<Agent> {
  const patience = signal && { signal, seconds: MOST_SECONDS };
  const own = join(folder, "agent.ts");
  if (existsSync(own)) return await loadAgent(own, patience);
  const { agent } = readHeader(tape);
  if (agent === BUILT_IN) return await builtIn();
  if (agent === undefined) {
    throw new UsageError(`Cannot replay ${name} as it names no agent: put an agent.ts into ${folder}`);
  }
  const script = scriptFromTape(folder, agent);
  if (existsSync(script)) return await loadAgent(script, patience);
  throw new UsageError(
    `Cannot replay ${name} as its agent ${script} is not there any more: put it back, ` +
      `or let "agent" in the first line of ${tape} say where it is now, seen from there`,
  );
}
