import { existsSync, readFileSync } from "node:fs";
import { sha256 } from "../files/sha256.ts";
import { remote } from "../durable/remote.ts";
import { findFixture, type Fixture } from "../tape/fixture.ts";
import { eachOf } from "./_each-of.ts";
import { type Flags, refuseTogether } from "./_flags.ts";
import type { Io } from "./_io.ts";

/** How many fixtures are under way at once: workers take what they can. */
const AT_ONCE = 64;

/** A hash of a fixture's tape, to compare with a worker's; undefined if there is none. */
export function tapeSign(name: string, cwd: string): string | undefined {
  const { tape } = findFixture(name, cwd);
  return existsSync(tape) ? sha256().update(readFileSync(tape)).digest("hex") : undefined;
}

/** Has workers replay fixtures of their own checkouts; the outcomes, in the order of the fixtures. */
export async function replayOn<T>(fixtures: readonly Fixture[], flags: Flags["flags"], io: Io): Promise<T[]> {
  refuseTogether(flags, "on", ["update", "hooks", "shadow", "normalise"], "workers replay what they have");
  const args = ["wire", "verify"].filter((flag) => flags[flag]).map((flag) => `--${flag}`);
  const engine = remote(String(flags.on));
  return await eachOf(fixtures, { atOnce: AT_ONCE, signal: io.signal }, async ({ name }) => {
    return await engine.replay({ name, tape: tapeSign(name, io.cwd), args }) as T;
  });
}
