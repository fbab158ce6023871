import type { Slot } from "./plan.ts";
import { eventsOf } from "../../log/recorded-reply.ts";
import type { Call, Tape } from "../../log/tape.ts";
import type { DriftReport } from "../../replay/drift/drift-report.ts";
import { fixtureAt } from "../../replay/fixture.ts";
import { readTape } from "../../replay/read-tape.ts";

/** A reply that is older says little of what is answered today. */
const MOST_DAYS = 30;

/** The tape of the run that another continues, or why it continues none. */
export async function earlierRun(
  { continues, anew, moved = [] }: Slot,
): Promise<{ readonly tape?: Tape; readonly why?: string | undefined }> {
  if (continues === undefined) return { why: anew };
  const tape = await readTape(fixtureAt(continues).tape).catch(() => undefined);
  if (!tape) return { why: "its earlier run is gone" };
  if (Date.now() - Date.parse(tape.header.at) > MOST_DAYS * 86_400_000) {
    return { why: `its earlier run is older than ${MOST_DAYS} days` };
  }
  const model = moved.find((model) => tape.calls.some(({ request }) => request.model === model));
  return model === undefined ? { tape } : { why: `${model} answers under another name now` };
}

/** Which calls of a run were kept, and which a model was asked today, in the order they were made. */
export function keptAndLive({ calls }: Tape, { continued }: DriftReport): { kept: Call[]; live: Call[] } {
  const left = { ...continued?.kept };
  const isKept = ({ lane }: Call) => left[lane] !== undefined && left[lane]-- > 0;
  const { kept = [], live = [] } = Object.groupBy(calls, (call) => isKept(call) ? "kept" : "live");
  return { kept, live: live.sort((a, b) => a.at - b.at) };
}

/** How the API refused what was kept, as it no longer knows something in it; undefined if it did not. */
export function refusalOf({ kept, live: [first] }: ReturnType<typeof keptAndLive>): string | undefined {
  const { status } = first?.attempts.at(-1) ?? {};
  return kept.length > 0 && (status === 400 || status === 404) ? `the API refused it with HTTP ${status}` : undefined;
}

/** By the model that was asked: the name under which one answered. */
export interface Answerers {
  readonly [asked: string]: string;
}

export function answerersOf(calls: readonly Call[]): Answerers {
  return Object.fromEntries(calls.flatMap(({ request, attempts }): [string, string][] => {
    const last = attempts.at(-1);
    const start = last && eventsOf(last).events.find((event) => event.type === "message_start");
    const { model } = (start?.message ?? {}) as { model?: string };
    return model === undefined ? [] : [[request.model, model]];
  }));
}
