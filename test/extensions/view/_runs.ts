import { fileURLToPath } from "node:url";
import { findFixture } from "../../../lib/replay/fixture.ts";
import { runFixture } from "../../../lib/replay/run-fixture.ts";
import type { LoggedRun } from "../../../lib/log/logged-run.ts";
import { fixtureAgent } from "../../../lib/cli/kit/known-fixtures.ts";
import type { WholeView } from "../../../lib/extensions/view/shape.ts";
import { viewOf } from "../../../lib/extensions/view/view-of-run.ts";

/** The events of a fixture's replay as a log, a millisecond apart. */
export async function logOfReplay(name: string): Promise<LoggedRun> {
  const fixture = findFixture(name, fileURLToPath(new URL("../../..", import.meta.url)));
  const { events } = await runFixture(fixture, await fixtureAgent(fixture));
  const timed = events.map((event, i) => ({ at: new Date(1_800_000_000_000 + i).toISOString(), ...event }));
  return { id: name, events: JSON.parse(JSON.stringify(timed)), notes: [] };
}

export async function replayed(name: string): Promise<WholeView> {
  return viewOf(await logOfReplay(name), `fixture ${name}`);
}

/** The run whose events the lines of a text are. */
export function logOf(text: string): LoggedRun {
  return { id: "log", events: text.trim().split("\n").map((line) => JSON.parse(line)), notes: [] };
}
