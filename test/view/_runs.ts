import { fileURLToPath } from "node:url";
import { findFixture } from "../../lib/replay/fixture.ts";
import { runFixture } from "../../lib/replay/run-fixture.ts";
import type { Rollout } from "../../lib/transcript/rollout.ts";
import { fixtureAgent } from "../../lib/cli/_fixtures.ts";
import type { WholeView } from "../../lib/view/shape.ts";
import { viewOf } from "../../lib/view/view-of-run.ts";

/** The events of a fixture's replay as a log, a millisecond apart. */
export async function logOfReplay(name: string): Promise<Rollout> {
  const fixture = findFixture(name, fileURLToPath(new URL("../..", import.meta.url)));
  const { events } = await runFixture(fixture, await fixtureAgent(fixture));
  const lines = events.map((event, i) => ({ at: new Date(1_800_000_000_000 + i).toISOString(), ...event }));
  return { id: name, lines: JSON.parse(JSON.stringify(lines)), notes: [] };
}

export async function replayed(name: string): Promise<WholeView> {
  return viewOf(await logOfReplay(name), `fixture ${name}`);
}

/** The log that a text of JSON lines is. */
export function logOf(text: string): Rollout {
  const lines = text.trim().split("\n").map((line) => JSON.parse(line));
  return { id: "log", lines: lines.filter(({ type }) => type !== "rollout"), notes: [] };
}
