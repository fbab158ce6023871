import type { Result } from "../../core/run-events.ts";
import { NO_USAGE } from "../../core/messages.ts";
import { type Price, priceOf } from "../../replay/drift/drift-report.ts";
import { type Fixture, inScratch } from "../../replay/fixture.ts";
import type { FixtureRun } from "../../replay/run-fixture.ts";
import { modelCalls } from "../../replay/requests/api.ts";
import { recordAgain } from "../tape/run-command.ts";
import { inWorkspace } from "../../replay/working-copy.ts";
import type { RunLine } from "./attempt.ts";
import type { Call, Tape } from "../../log/tape.ts";
import { readFiles } from "../../replay/scratch.ts";

/** A command that has not ended after half an hour hangs. */
const MOST_SECONDS = 1800;

/** A run that has just ended. */
export interface LiveRun extends Pick<FixtureRun, "events" | "results" | "files"> {
  readonly tape: Tape;
  readonly price: Price;
  /** A folder with the files it began with, if they are not those of its fixture. */
  readonly before?: string;
  /** What it has of the run that it continues. */
  readonly continued?: Pick<RunLine, "kept" | "anew" | "answered">;
  /** Why it says nothing about its agent. */
  readonly lost?: string;
}

/** Runs the command of a tape before the real API. The caller has seen to it that the fixture is trusted. */
export async function runCommandLive(
  fixture: Fixture,
  into: Fixture,
  recorded: Tape,
  { cwd, signal }: { readonly cwd: string; readonly signal: AbortSignal },
  left: (root: string, run: LiveRun) => Promise<void>,
): Promise<void> {
  const env = { ...process.env, ...recorded.header.env };
  const options = { cwd, env, signal, quiet: true, redact: true, timeout: MOST_SECONDS };
  const live = (before: string) =>
    inScratch(before, async (root) => {
      const { tape, end } = await recordAgain(root, fixture, recorded, into, options);
      const calls = modelCalls(tape);
      const lost = failureOf(calls.at(-1));
      // As graders see a run: its last words are what it printed.
      const result: Result = {
        id: into.name,
        text: end.stdout.trim(),
        stop: end.end as Result["stop"],
        messages: calls.at(-1)?.request.messages ?? [],
        turns: 1,
        iterations: calls.length,
        modelCalls: calls.length,
        usage: NO_USAGE,
        cost: undefined,
        denials: [],
      };
      const price = priceOf(calls);
      const came = { tape, before, results: [result], events: [], files: readFiles(root), price };
      await left(root, { ...came, ...(lost !== undefined && { lost }) });
    });
  await inWorkspace(fixture, recorded.header, { cwd }, live);
}

/** A program that gives up on the API says nothing about itself, unless the API refused what it sent. */
function failureOf(call: Call | undefined): string | undefined {
  const { status = 0, ended } = call?.attempts.at(-1) ?? {};
  const isOwn = status === 400 || status === 413 || status === 422;
  if (status >= 400 && !isOwn) return `the API answered with HTTP ${status}`;
  return ended !== undefined && ended !== "aborted" ? `the answer of the API was ${ended}` : undefined;
}
