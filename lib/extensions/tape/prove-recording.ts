import type { DriftReport } from "../../replay/drift/drift-report.ts";
import type { Fixture } from "../../replay/fixture.ts";
import { type Doings, doneOtherwise, steady } from "./doings.ts";
import { CUT, type RecordedCommand, replayCommand, type RunOptions } from "./run-command.ts";

/** As long as a replay may take. */
const MOST_MS = 120_000;

/** Why a recording cannot be proven; undefined if it can. */
export function unprovable({ end, wasTold }: RecordedCommand["end"]): string | undefined {
  if (CUT.test(end)) return "it was ended";
  return wasTold ? "it read the terminal" : undefined;
}

/**
 * Runs what was recorded once more on its tape, and keeps of what it did what the runs have in common. What it printed on a
 * terminal was not seen: then it runs twice.
 */
export async function proveRecording(
  fixture: Fixture,
  { tape, end, settle }: RecordedCommand,
  { cwd, env, signal }: Pick<RunOptions, "cwd" | "env"> & { readonly signal: AbortSignal },
): Promise<DriftReport> {
  let kept: Doings = {};
  try {
    const until = AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]);
    const again = () => replayCommand(fixture, { cwd, env, signal: until, quiet: true, asksOnly: true });
    const { report, did } = await again();
    if (!report.ok) return report;
    const other = end.wasShown ? await again() : undefined;
    if (other && !other.report.ok) return other.report;
    const { out = did.out, left } = tape.end!;
    const both = { ...out !== undefined && { out }, ...left && { left } };
    kept = [did, ...other ? [other.did] : []].reduce(steady, both);
    return { ...report, notes: [...report.notes, ...doneOtherwise(kept, did).notes] };
  } finally {
    await settle(kept);
  }
}
