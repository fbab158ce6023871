import { dirname, join, relative } from "node:path";
import { neverReached } from "../tape/fault/judge.ts";
import { type Fixture, fixturesIn } from "../tape/fixture.ts";
import type { FixtureRun } from "../tape/run-fixture.ts";
import { isOfOthers } from "./_fixtures.ts";

/** What came of a fixture, as far as invariants that it shares with others are concerned. */
interface Shared extends Pick<FixtureRun, "shared"> {
  readonly name: string;
}

/** Failures of the invariants in `fixtures/invariants.ts` that no fixture put to the test; judged only if all were run. */
export function unreachedShared(
  fixtures: readonly Fixture[],
  outcomes: readonly Shared[],
  cwd: string,
): { readonly name: string; readonly error: string; readonly seconds: number }[] {
  const came = new Map(outcomes.map(({ name, shared }) => [name, shared]));
  const byFolder = new Map(fixtures.map(({ folder, name }) => [folder, came.get(name)]));
  return [...new Set(fixtures.map(({ folder }) => dirname(folder)))].flatMap((above) => {
    const all = fixturesIn(above).filter((fixture) => !isOfOthers(fixture)).map(({ folder }) => byFolder.get(folder));
    if (all.length === 0 || all.includes(undefined)) return [];
    const never = Object.keys(all[0]!).filter((name) => all.every((shared) => !shared![name]));
    if (never.length === 0) return [];
    const name = relative(cwd, join(above, "invariants.ts"));
    return [{ name, error: never.map(neverReached).join("; "), seconds: 0 }];
  });
}
