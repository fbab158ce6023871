import { existsSync } from "node:fs";
import { relative } from "node:path";
import { shellWord, shown } from "../../core/shown.ts";
import { findFixture, type Fixture, fixtureProject } from "../../replay/fixture.ts";
import { placer, placesHere } from "../../log/redact/places.ts";
import { Replayer } from "./answer-requests.ts";
import { recordedTape, startRecording } from "./run-command.ts";
import { renewed, reportLines } from "../../replay/drift/drift-report.ts";
import type { OnDrift } from "../../replay/tape-options.ts";
import { writeTape } from "../../replay/write-tape.ts";
import { judging } from "../../runtime/judging.ts";
import { isReviewed, recordsHere, reportTo, testWords } from "../../testing/recording.ts";
import { type Desk, openDesk, type Running } from "./desk.ts";
import { ReplayError } from "../../testing/replay-fixture.ts";

/**
 * Runs what asks models by any SDK on the tape of a fixture: no key, no network. Fails if it asks something else than was
 * recorded, or less. With `CROCHET_RECORD=1` what is missing or drifts is recorded, for which `body` may run twice. SDKs
 * find it by `crochet/testing/preload`, which the runner loads first; without, only those made in `body` do.
 *
 * @example
 * ```ts
 * import { recorded, scriptedServer } from "crochet/testing";
 *
 * await using api = await scriptedServer([{ text: "hello" }]);
 * process.env.ANTHROPIC_BASE_URL = api.url; // else the real one
 * process.env.CROCHET_RECORD = "1";
 * const status = await recorded("greets", async () => {
 *   const response = await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, {
 *     method: "POST",
 *     headers: { "x-api-key": "none", "anthropic-version": "2023-06-01" },
 *     body: JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] }),
 *   });
 *   return response.status;
 * });
 * console.log(status); // 200
 * ```
 *
 * @throws {ReplayError} if it drifts
 */
export async function recorded<T>(name: string, body: () => T | Promise<T>): Promise<T> {
  if (typeof name !== "string" || name === "" || typeof body !== "function") {
    throw new TypeError(`Cannot run ${shown(name)}: recorded("<name of a fixture>", async () => { … })`);
  }
  const desk = await openDesk();
  if (desk.running) {
    const other = desk.running.name;
    throw new Error(
      `Cannot run '${name}' as '${other}' runs at the same time: let tests with recorded() run one by one`,
    );
  }
  const running: Running = { name, wasAsked: false };
  desk.running = running;
  try {
    return await judging(() => onTape(desk, running, findFixture(name, process.cwd()), body));
  } finally {
    desk.running = undefined;
  }
}

async function onTape<T>(desk: Desk, running: Running, fixture: Fixture, body: () => T | Promise<T>): Promise<T> {
  const { name } = running;
  const cwd = process.cwd();
  if (isReviewed(fixture.tape)) {
    await passOn(desk, running);
    return asked(running, "review", await settled(body));
  }
  const records = recordsHere(name);
  const tests = testWords(fixtureProject(fixture.folder));
  const renew = `CROCHET_RECORD=1 ${tests.map(shellWord).join(" ")}`;
  if (!existsSync(fixture.tape)) {
    if (records) return await onRecord(desk, running, fixture, tests, body);
    throw new Error(`Cannot replay '${name}' as ${relative(cwd, fixture.tape)} is missing: ${renew}`);
  }
  const places = placesHere(cwd);
  const tape = await recordedTape(fixture);
  const otherwise: Parameters<OnDrift>[] = [];
  const onDrift: OnDrift = (...drift) => void otherwise.push(drift);
  const replayer = new Replayer(tape, { name, places, elsewhere: true, env: desk.env, onDrift });
  running.answer = replayer.answer;
  const done = await settled(body);
  const report = await replayer.report(renew);
  // A body that fails by itself has not come to ask the rest.
  const drifts = report.divergences.length > 0 || ("value" in done && running.wasAsked && !report.ok);
  if (records && (drifts || report.stale !== undefined)) {
    const value = await onRecord(desk, running, fixture, tests, body);
    reportTo(fixture.tape, renewed(report, (await recordedTape(fixture)).calls.length));
    return value;
  }
  // One that was moved would not be found again.
  const file = (words: readonly string[] = []) => words.at(-1)?.replace(/^\.\//, "");
  if (records && file(tape.header.tests) !== file(tests)) {
    await writeTape(fixture.tape, { ...tape, header: { ...tape.header, tests: onItsTape(tests, cwd) } }, {
      replace: true,
    });
    await trustTests(fixture, desk);
  }
  reportTo(fixture.tape, report, otherwise);
  if (drifts) {
    const words = `The run of '${name}' is not the recorded one:\n${reportLines(report).join("\n")}`;
    throw new ReplayError(words, report, recorded);
  }
  return asked(running, "replay", done);
}

/** Has requests go where the environment points. */
async function passOn({ env, url }: Desk, running: Running): ReturnType<typeof startRecording> {
  running.wasAsked = false;
  return await startRecording(env, process.cwd(), false, (answer) => {
    running.answer = answer;
    return Promise.resolve({ url, close: () => Promise.resolve() });
  });
}

function onItsTape(words: readonly string[], cwd: string): string[] {
  const { place } = placer(placesHere(cwd));
  return words.map((word) => place(word));
}

/** A person who has a test record its fixture has run its command: `crochet replay` may do it too. */
async function trustTests({ folder }: Fixture, { env }: Desk): Promise<void> {
  const { trustRecorded } = await import("../../cli/kit/known-fixtures.ts");
  await trustRecorded(folder, { env }).catch(() => {}); // without a home that can be written it is asked for
}

async function onRecord<T>(
  desk: Desk,
  running: Running,
  fixture: Fixture,
  tests: readonly string[],
  body: () => T | Promise<T>,
): Promise<T> {
  const { write } = await passOn(desk, running);
  const value = asked(running, "record", await settled(body));
  await write(fixture, "closed", { tests }, { replace: true });
  await trustTests(fixture, desk);
  return value;
}

type Settled<T> = { readonly value: T } | { readonly error: unknown };

async function settled<T>(body: () => T | Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await body() };
  } catch (error) {
    return { error };
  }
}

/** What a body returned or threw; one that asks nothing was not tested. */
function asked<T>({ name, wasAsked }: Running, verb: string, done: Settled<T>): T {
  if ("error" in done) throw done.error;
  if (wasAsked) return done.value;
  throw new Error(`Cannot ${verb} '${name}' as no request came: preload crochet/testing/preload`);
}
