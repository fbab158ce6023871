import { fileURLToPath } from "node:url";
import { findFixture } from "../../lib/tape/fixture.ts";
import { runFixture } from "../../lib/tape/run-fixture.ts";
import { fixtureAgent } from "../../lib/cli/_fixture-agent.ts";
import { type Told, viewOf } from "../../lib/view/model.ts";
import type { WholeView } from "../../lib/view/shape.ts";

/** The events of a fixture's replay as a log, a millisecond apart. */
export async function toldByReplay(name: string): Promise<Told> {
  const fixture = findFixture(name, fileURLToPath(new URL("../..", import.meta.url)));
  const { events } = await runFixture(fixture, await fixtureAgent(fixture));
  const lines = events.map((event, i) => ({ at: new Date(1_800_000_000_000 + i).toISOString(), ...event }));
  return { id: name, lines: JSON.parse(JSON.stringify(lines)), notes: [] };
}

export async function replayed(name: string): Promise<WholeView> {
  return viewOf(await toldByReplay(name), `fixture ${name}`);
}

/** A log out of its text. */
export function told(text: string): Told {
  return { id: "told", lines: text.trim().split("\n").map((line) => JSON.parse(line)), notes: [] };
}
