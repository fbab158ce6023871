import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Fixture, isFinding } from "./fixture.ts";
import { headerOf } from "./read-tape.ts";

/** Who replays a fixture: a case for each kind. */
export type ReplayedBy =
  | { readonly by: "finding" }
  | { readonly by: "program"; readonly command: readonly string[] }
  /** `named` is the script on the tape; an `agent.ts` in the fixture's folder comes before it. */
  | { readonly by: "agent"; readonly named: string | undefined }
  | { readonly by: "test"; readonly command: readonly string[] }
  /** Served only: imported, or of a program that was running already. Nothing is known that asks what is on it. */
  | { readonly by: "none" };

/** Asks the first line of a fixture's tape who replays it: nothing else decides that. @throws {TapeError} if it cannot be read */
export function replayedBy(fixture: Fixture): ReplayedBy {
  if (isFinding(fixture)) return { by: "finding" };
  const { agent, command = [], tests } = headerOf(fixture);
  if (command.length > 0) return { by: "program", command };
  if (tests) return { by: "test", command: tests };
  if (agent !== undefined || existsSync(join(fixture.folder, "agent.ts"))) return { by: "agent", named: agent };
  return { by: "none" };
}
