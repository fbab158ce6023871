import { existsSync } from "node:fs";
import { relative } from "node:path";
import { shown } from "../core/shown.ts";
import { findFixture, type Fixture } from "../replay/fixture.ts";
import { placesHere } from "../replay/redact/places.ts";
import { Replayer } from "../replay/server/answer-requests.ts";
import { recordedTape, startRecording } from "../replay/server/run-command.ts";
import { reportLines } from "../replay/drift/drift-report.ts";
import { judging } from "../runtime/judging.ts";
import { type Desk, openDesk, recordCommand, recordsHere, type Running } from "./desk.ts";
import { ReplayError } from "./replay-fixture.ts";

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
  const records = recordsHere(name);
  if (!existsSync(fixture.tape)) {
    if (records) return await onRecord(desk, running, fixture, body);
    throw new Error(`Cannot replay '${name}' as ${relative(cwd, fixture.tape)} is missing: ${recordCommand()}`);
  }
  const places = placesHere(cwd);
  const replayer = new Replayer(await recordedTape(fixture), { name, places, elsewhere: true, env: desk.env });
  running.answer = replayer.answer;
  const done = await settled(body);
  const report = await replayer.report(recordCommand());
  // A body that fails by itself has not come to ask the rest.
  const drifts = report.divergences.length > 0 || ("value" in done && running.wasAsked && !report.ok);
  if (drifts && records) return await onRecord(desk, running, fixture, body);
  if (drifts) {
    const words = `The run of '${name}' is not the recorded one:\n${reportLines(report).join("\n")}`;
    throw new ReplayError(words, report, recorded);
  }
  return asked(running, "replay", done);
}

async function onRecord<T>(desk: Desk, running: Running, fixture: Fixture, body: () => T | Promise<T>): Promise<T> {
  const { write } = await startRecording(desk.env, process.cwd(), false, (answer) => {
    running.answer = answer;
    return Promise.resolve({ url: desk.url, close: () => Promise.resolve() });
  });
  running.wasAsked = false;
  const value = asked(running, "record", await settled(body));
  await write(fixture, "closed", {}, { replace: true });
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
