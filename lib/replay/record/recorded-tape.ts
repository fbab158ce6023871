import { relative } from "node:path";
import { crochetVersion, runtimeVersion } from "../../runtime/version.ts";
import { type EndFact, type Header, TAPE_VERSION, type ToolFact } from "../../log/entry.ts";
import { realOr } from "../../hooks/file/user-places.ts";
import { fixtureProject } from "../fixture.ts";
import { differs } from "../drift/difference.ts";
import type { Mask } from "../redact/mask.ts";
import { resultsKept, type TapeOptions } from "../tape-options.ts";
import type { Recording, SeenWire } from "./recording.ts";
import type { Call, Tape } from "../tape.ts";

/**
 * Why nothing is written, for a sentence that begins with "Cannot record as": the model was never called, the user ended
 * the run, or a failure would take the place of a run that went well.
 */
export function refusal(
  { calls, isInterrupted }: Recording,
  stop: string | undefined,
  was: Tape | undefined,
  kept: readonly Call[],
): string | undefined {
  const unsent = calls.find(({ attempts, error }) => attempts.length === 0 && error);
  if (stop === undefined) {
    return calls.length === 0 ? "nothing was asked" : "the run has not ended: wait for it, then close";
  }
  // A replay is not interrupted, so it would never reach the next prompt.
  if (isInterrupted) return "the run was interrupted: let it finish";
  if (unsent) return `the model could not be called: ${unsent.error!.message}`;
  if (stop === "error" && calls.length === 0 && was === undefined) return "the run failed before the model was called";
  if (was && was.calls.length > 0 && calls.length + kept.length === 0) {
    return `the run ended with '${stop}' before the model was called, and the tape was not changed ` +
      "(delete it to record such a run)";
  }
  if (stop !== "error" || was === undefined || was.end?.end === "error") return undefined;
  const { error } = calls.findLast((call) => call.error) ?? {};
  return `the run ended with an error, and the tape was not changed: ${error?.message ?? "try again"}`;
}

/** The header of a new tape. */
export function headerOf(
  { known }: Recording,
  { url, answer, sdk, api }: SeenWire,
  seed: string,
  epoch: number,
  { path, agent, project, tools, normalise = [] }: TapeOptions,
): Header {
  const isElsewhere = path !== undefined && project !== undefined && realOr(project) !== fixtureProject(path);
  return {
    tape: TAPE_VERSION,
    source: url === undefined ? "model" : sourceOf(url, answer?.requestId),
    ...(url !== undefined && { url }),
    at: new Date(epoch).toISOString(),
    seed,
    versions: {
      crochet: crochetVersion(),
      ...(sdk !== undefined && { sdk }),
      ...(api !== undefined && { api }),
      runtime: runtimeVersion(),
    },
    ...(agent !== undefined && { agent }),
    ...(isElsewhere && { project: relative(realOr(path), realOr(project)) }),
    ...Object.fromEntries(Object.entries(known).filter(([, value]) => !Array.isArray(value) || value.length > 0)),
    ...resultsKept(tools),
    ...(normalise.length > 0 && { normalise }),
  };
}

/** What replied, as far as the wire shows. */
export function sourceOf(url: string, requestId: string | null | undefined): string {
  if (requestId?.startsWith("req_scripted_")) return "scripted server";
  const { hostname } = new URL(url);
  return hostname === "api.anthropic.com" ? "live API" : `gateway ${hostname}`;
}

/** Numbers the changes of files if several lanes made them: a tape goes lane by lane. */
export function ordered(tools: readonly ToolFact[]): readonly ToolFact[] {
  const lanes = new Set(tools.filter(({ files }) => files).map(({ lane }) => lane));
  return tools.map(({ nth: _, ...fact }, i) => fact.files && lanes.size > 1 ? { ...fact, nth: i + 1 } : fact);
}

/** Whether a run that did all that was recorded came to another end, or left other files. */
export function endsOtherwise(was: EndFact | undefined, { stop, files }: RunEnd, mask: Mask): boolean {
  if (was === undefined) return false;
  const other = files !== undefined && was.files !== undefined && differs(was.files, mask.on(files), "") !== undefined;
  return was.end !== stop || other;
}

interface RunEnd {
  readonly stop: string | undefined;
  readonly files: { readonly [path: string]: string } | undefined;
}
