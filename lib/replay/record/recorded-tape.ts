import { crochetVersion, runtimeVersion } from "../../runtime/version.ts";
import { type EndFact, type Header, TAPE_VERSION, type ToolFact } from "../../log/entry.ts";
import { projectOnTape, tapeFile } from "../fixture.ts";
import { differs } from "../drift/difference.ts";
import { masked } from "../../log/promote.ts";
import { TapeError } from "../read-tape.ts";
import { resultsKept } from "../tape-options.ts";
import type { TapeSession } from "../tape-session.ts";
import { type Call, tapeOf } from "../tape.ts";
import { writeTape } from "../write-tape.ts";
import { finishedCalls } from "./record-tape.ts";
import { sourceOf } from "./seen-wire.ts";

/**
 * Why nothing is written, for a sentence that begins with "Cannot record as": the model was never called, the user ended
 * the run, or a failure would take the place of a run that went well.
 */
function refusal(
  { calls, isInterrupted, program }: TapeSession,
  stop: string | undefined,
  kept: readonly Call[],
): string | undefined {
  const was = program?.tape;
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
export function headerOf({ known, seen, seed, epoch, options }: TapeSession): Header {
  const { url, answer, sdk, api } = seen;
  const { path, agent, project, tools, normalise = [] } = options;
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
    ...(path !== undefined && project !== undefined && projectOnTape(path, project)),
    ...Object.fromEntries(Object.entries(known).filter(([, value]) => !Array.isArray(value) || value.length > 0)),
    ...resultsKept(tools),
    ...(normalise.length > 0 && { normalise }),
  };
}

/** The header of the tape that was; of one that is renewed whole, with what answered now. */
function nextHeader(session: TapeSession, kept: readonly Call[]): Header {
  const fresh = headerOf(session);
  const was = session.program?.tape.header;
  if (!was) return fresh;
  const { source, url, versions, hooks } = fresh;
  const { hooks: _, ...before } = was;
  const same = { ...before, ...(hooks && { hooks }) };
  if (kept.length > 0 || session.calls.length === 0) return same;
  const { url: __, ...rest } = same;
  return { ...rest, source, ...(url !== undefined && { url }), versions };
}

/**
 * Writes the tape of a session that has ended: what was kept of an old one, and what was recorded after it. One that is
 * still as it was is left alone.
 */
export async function writeRecorded(
  session: TapeSession,
  kept: readonly Call[],
  stop: string | undefined,
): Promise<void> {
  const { mode, name, options, mask, lines } = session;
  const filesNow = () => {
    const files = options.files?.((text) => mask.on(text));
    return files && mask.on(files);
  };
  if (mode === "update" && !isOther(session, kept, stop, filesNow)) return;
  const why = refusal(session, stop, kept);
  if (why !== undefined) throw new TapeError(`Cannot ${mode} ${name} as ${why}`);
  const made = masked(
    tapeOf(nextHeader(session, kept), finishedCalls(session.calls, kept), {
      ...lines,
      tool: ordered(lines.tool ?? []),
    }),
    mask,
  );
  const files = filesNow();
  const end = { end: stop!, ...(files && { files }) };
  options.workspace?.ready();
  await writeTape(tapeFile(options.path!), { ...made, calls: [...kept, ...made.calls], end }, {
    replace: mode === "update",
    redactor: options.redact ? session.ids : session.search,
  });
  options.workspace?.keep();
}

/** Whether a run asked for something else than was recorded, came to another end, or left other files. */
function isOther(
  { program, tape, calls }: TapeSession,
  kept: readonly Call[],
  stop: string | undefined,
  filesNow: () => EndFact["files"],
): boolean {
  const { calls: recorded, end } = program!.tape;
  const declares = program!.tape !== tape; // differences that the tape does not know of
  if (calls.length > 0 || kept.length < recorded.length || declares) return true;
  if (!end) return false;
  const files = filesNow();
  return end.end !== stop || (files && end.files && differs(end.files, files, "")) !== undefined;
}

/** Numbers the changes of files if several lanes made them: a tape goes lane by lane. */
function ordered(tools: readonly ToolFact[]): readonly ToolFact[] {
  const lanes = new Set(tools.filter(({ files }) => files).map(({ lane }) => lane));
  return tools.map(({ nth: _, ...fact }, i) => fact.files && lanes.size > 1 ? { ...fact, nth: i + 1 } : fact);
}
