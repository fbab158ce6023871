import type { Result } from "../core/run-events.ts";
import { NO_USAGE } from "../core/messages.ts";
import { type Price, priceOf } from "../tape/drift/drift.ts";
import { type Fixture, inScratch } from "../tape/fixture.ts";
import type { FixtureRun } from "../tape/run-fixture.ts";
import { asksModel } from "../tape/server/api.ts";
import { recordCommand, recordedCommand } from "../tape/server/run.ts";
import type { Call, Tape } from "../tape/tape.ts";
import { readFiles } from "../tape/workspace.ts";

/** A command that has not ended after half an hour hangs. */
const MOST_SECONDS = 1800;

/** A run that has just ended. */
export interface LiveRun extends Pick<FixtureRun, "events" | "results" | "files"> {
  readonly tape: Tape;
  readonly price: Price;
  /** Why it says nothing about its agent. */
  readonly lost?: string;
}

/**
 * Runs the command of a tape of `crochet tape record` before the real API, in a copy of the fixture's files, and keeps
 * what it asked. The caller has seen to it that the fixture is trusted.
 */
export async function runCommandLive(
  fixture: Fixture,
  into: Fixture,
  recorded: Tape,
  signal: AbortSignal,
  left: (root: string, run: LiveRun) => Promise<void>,
): Promise<void> {
  await inScratch(fixture.files, async (cwd) => {
    const command = recordedCommand(recorded, cwd);
    const env = { ...process.env, ...recorded.header.env };
    const options = { command, cwd, env, signal, quiet: true, redact: true, timeout: MOST_SECONDS };
    const { tape, end } = await recordCommand(into, options);
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
      usage: NO_USAGE,
      cost: undefined,
      denials: [],
    };
    const price = await priceOf(calls);
    const came = { tape, results: [result], events: [], files: readFiles(cwd), price };
    await left(cwd, { ...came, ...(lost !== undefined && { lost }) });
  });
}

/** The calls of a tape that a model answered. */
export function modelCalls({ calls }: Tape): Call[] {
  return calls.filter(({ sent }) => sent === undefined || asksModel(sent));
}

/** A program that gives up on the API says nothing about itself, unless the API refused what it sent. */
function failureOf(call: Call | undefined): string | undefined {
  const { status = 0, ended } = call?.attempts.at(-1) ?? {};
  const isOwn = status === 400 || status === 413 || status === 422;
  if (status >= 400 && !isOwn) return `the API answered with HTTP ${status}`;
  return ended !== undefined && ended !== "aborted" ? `the answer of the API was ${ended}` : undefined;
}
