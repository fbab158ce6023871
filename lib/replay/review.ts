import { present } from "../core/json.ts";
import { getOrMake } from "../core/maps.ts";
import { isText, isToolResult, type Message, textOf } from "../core/messages.ts";
import { callIn, differs, firstDifference, keysOf, memoryIn } from "./drift/difference.ts";
import { FreeRun, type TakenCall } from "./free-run.ts";
import { type Fixture, inScratch, programFolder } from "./fixture.ts";
import { programOf } from "./match-call.ts";
import { type Normalise, withNormalisers } from "./normalise.ts";
import type { TapeOptions } from "./tape-options.ts";
import { TapeError } from "./read-tape.ts";
import { fileDrifts, maskFor, withPlaces } from "./run-fixture.ts";
import { type Replayable, runOnTape, type RunSoFar } from "./run-on-tape.ts";
import type { Call, Tape, TapeRequest } from "../log/tape.ts";
import { plainJson } from "../log/step.ts";
import { hashFiles } from "./scratch.ts";
import { writeTape } from "./write-tape.ts";
import type { Normaliser } from "../log/entry.ts";

/** One difference from what was recorded, however many calls show it. */
export interface Change {
  /** What the calls that show it are marked with: `system`, `tools`, `prompt` … */
  readonly label: string;
  /** What it is, for a person. */
  readonly title: string;
  /** Where its text stands in a request, for a rule that has it not count; absent if it is not a text. */
  readonly path?: string;
  readonly expected?: unknown;
  readonly actual?: unknown;
}

export interface Review {
  readonly fixture: Fixture;
  /** The changes, each with the calls that show it; files are shown by none. */
  readonly changes: readonly { readonly change: Change; readonly calls: readonly string[] }[];
  /** Why the recorded replies cannot be kept: it must be recorded again. */
  readonly refused?: string;
  /**
   * Writes the tape anew: the requests as they are now with the recorded replies. `rules` are differences that do not
   * count from now on; `stale` gives the labels of the others.
   *
   * @throws {TapeError} if the run does not replay on the new tape
   */
  accept(rules: readonly Normaliser[], stale: ReadonlySet<Change>): Promise<void>;
}

/** Why a run is another one than the recorded, so that its replies say nothing any more. */
export class Refused extends Error {}

/** What is reviewed: how it runs, how its requests differ, and how that is written. */
export interface Reviewable {
  /** Works in the directory it runs in, which goes with the work. */
  readonly within: <T>(work: (cwd: string) => Promise<T>) => Promise<T>;
  /** Runs it with the recorded replies, whatever it asks; gives how it ended. */
  readonly play: (cwd: string, run: FreeRun) => Promise<string>;
  /** The recorded calls that a model answered. */
  readonly calls: readonly Call[];
  /** @throws {Refused} if it is another run */
  readonly changes: (call: Call, asked: TakenCall) => Iterable<Change>;
  /** A call as it is asked now. */
  readonly renewed: (call: Call, asked: TakenCall) => Call;
  readonly replays: (tape: Tape) => Promise<boolean>;
}

/**
 * Runs a fixture with the recorded replies, whatever it asks, and gathers all differences of its requests. Only what it
 * reads may differ: a run that does something else needs other replies.
 */
export async function reviewFixture(fixture: Fixture, tape: Tape, reviewed: Reviewable): Promise<Review> {
  return await reviewed.within(async (cwd) => {
    const run = new FreeRun(tape);
    const end = await reviewed.play(cwd, run);
    const { on } = maskFor(tape, cwd);
    const asked = run.taken.map((one) => ({ ...one, request: on(plainJson(one.request)) as unknown as TapeRequest }));
    const files = tape.end?.files && fileDrifts(tape.end.files, cwd, tape);
    const left = tape.end?.files && on(hashFiles(cwd, { shown: on, before: fixture.files }));
    const found = new Map<string, { change: Change; calls: string[] }>();
    const note = (change: Change, calls: readonly string[]) => {
      const key = JSON.stringify([change.title, change.expected, change.actual]);
      getOrMake(found, key, () => ({ change, calls: [] })).calls.push(...calls);
    };
    let refused: string | undefined;
    try {
      expectSameCalls(reviewed.calls, asked);
      if (tape.end && tape.end.end !== end) throw new Refused(`it ends with '${end}', not with '${tape.end.end}'`);
      for (const one of asked) for (const change of reviewed.changes(one.call!, one)) note(change, [one.call!.id]);
      for (const { path, how } of files ?? []) note({ label: "files", title: `files: ${path}`, actual: how }, []);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refused = error.message;
    }
    const now = new Map(asked.map((one) => [one.call, one]));
    const accept: Review["accept"] = async (rules, stale) => {
      const calls = tape.calls.map((call): Call => {
        const labels = [...found.values()].filter(({ change, calls }) => stale.has(change) && calls.includes(call.id))
          .map(({ change }) => change.label);
        const marks = [...new Set([...call.stale ?? [], ...labels])];
        const asked = now.get(call);
        return { ...asked ? reviewed.renewed(call, asked) : call, ...(marks.length > 0 && { stale: marks }) };
      });
      const ended = tape.end && { ...tape.end, ...(left && { files: left }) };
      const renewed = withNormalisers({ ...tape, calls, ...(ended && { end: ended }) }, rules);
      if (!await reviewed.replays(renewed)) {
        const why = "it asks otherwise each time it runs: record it";
        throw new TapeError(`Cannot accept the changes of ${fixture.name} as ${why}`);
      }
      await writeTape(fixture.tape, renewed, { replace: true });
    };
    return { fixture, changes: [...found.values()], ...(refused !== undefined && { refused }), accept };
  });
}

/** An agent of ours, to be reviewed. */
export function agentReview(
  { files, folder }: Fixture,
  tape: Tape,
  agent: Replayable,
  signal: AbortSignal,
): Reviewable {
  const { normalise } = programOf(tape);
  const project = programFolder(folder, tape.header.project);
  return {
    within: (work) => inScratch(files, work, tape.files),
    play: async (cwd, faults) => (await played(agent, tape, cwd, signal, { project, faults })).results.at(-1)!.stop,
    calls: tape.calls,
    changes: (call, { request }) => changesIn(call, request, normalise),
    renewed: (call, { request }) => {
      const { wire } = call.request;
      return { ...call, request: { ...request, ...(wire && { wire }) } };
    },
    replays: async (renewed) => {
      let ok = false;
      const onReport = (report: { readonly ok: boolean }) => ok = report.ok;
      const once = (cwd: string) => played(agent, renewed, cwd, signal, { project, onReport });
      await inScratch(files, once, renewed.files);
      return ok;
    },
  };
}

/** Runs an agent on a tape in a folder; with `faults`, a `FreeRun`, whatever it asks is answered. */
export async function played(
  agent: Replayable,
  tape: Tape,
  cwd: string,
  signal: AbortSignal,
  how: Pick<TapeOptions, "project" | "faults" | "onReport">,
): Promise<RunSoFar> {
  const run: RunSoFar = { events: [], results: [] };
  const prompts = withPlaces(tape.prompts, cwd).map((text, i) => ({ text, model: tape.models?.[i] }));
  await runOnTape(agent, prompts, { cwd, signal, tape: { tape, mode: "replay", onReport: () => {}, ...how } }, run);
  if (signal.aborted) throw new TapeError("Cannot use the run as it was interrupted: run it again");
  return run;
}

/** @throws {Refused} if there are more calls, fewer, or others */
function expectSameCalls(calls: readonly Call[], asked: readonly TakenCall[]): void {
  for (const lane of new Set([...calls, ...asked].map((one) => one.lane))) {
    const [recorded, now] = [calls, asked].map((all) => all.filter((one) => one.lane === lane).length);
    if (recorded !== now) throw new Refused(`lane ${lane} makes ${now} calls, and ${recorded} were recorded`);
  }
  if (new Set(asked.map(({ call }) => call)).size < calls.length) throw new Refused("its calls are not the same");
}

/** @throws {Refused} if it is another run */
export function* changesIn(call: Call, is: TapeRequest, normalise: Normalise | undefined): Generator<Change> {
  const was = call.request;
  if (!firstDifference(was, is, normalise)) return;
  if (was.sent) throw new Refused(`middleware changed ${call.id} on its way`);
  const head = (part: Partial<TapeRequest>) => firstDifference({ ...was, ...part }, was, normalise) !== undefined;
  if (head({ model: is.model })) yield { label: "model", title: "model", expected: was.model, actual: is.model };
  for (const name of keysOf(was.params, is.params)) {
    const [expected, actual] = [was.params[name], is.params[name]];
    if (differs(expected, actual, name)) {
      yield { label: name, title: `parameter: ${name}`, ...present({ expected, actual }) };
    }
  }
  if (head({ system: is.system })) {
    const [expected, actual] = [was.system, is.system].map((blocks) =>
      blocks.filter(isText).map(({ text }) => text).join("\n\n")
    );
    const title = `prompt: system${memoryIn({ path: "system", expected, actual }).replace(/,$/, "")}`;
    yield { label: "system", title, path: "system", expected, actual };
  }
  yield* toolChanges(was, is);
  yield* messageChanges(call, is, normalise);
}

function* toolChanges(was: TapeRequest, is: TapeRequest): Generator<Change> {
  const named = (tools: TapeRequest["tools"]) => new Map(tools.map((tool) => [String(tool.name), tool]));
  const [before, after] = [named(was.tools), named(is.tools)];
  let changed = false;
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [expected, actual] = [before.get(name), after.get(name)];
    if (!differs(expected, actual, name)) continue;
    changed = true;
    yield { label: "tools", title: `tool: ${name}`, ...present({ expected, actual }) };
  }
  if (!changed && differs([...before.keys()], [...after.keys()], "tools")) {
    yield { label: "tools", title: "order of tools", expected: [...before.keys()], actual: [...after.keys()] };
  }
}

function* messageChanges(call: Call, is: TapeRequest, normalise: Normalise | undefined): Generator<Change> {
  const { messages } = call.request;
  if (messages.length !== is.messages.length) {
    throw new Refused(`${call.id} has ${is.messages.length} messages, and ${messages.length} were recorded`);
  }
  for (const [i, was] of messages.entries()) {
    const before = messages.slice(0, i);
    const up = (last: Message): TapeRequest => ({ ...call.request, messages: [...before, last] });
    const now = is.messages[i]!;
    const found = firstDifference(up(was), up(now), normalise);
    if (!found) continue;
    if (found.cause === "echo" || was.role !== now.role) throw new Refused(`${call.id} sends back another reply`);
    yield* resultChanges(was, now, messages);
    const texts = (message: Message) =>
      message.content.filter((block) => !isToolResult(block)).map((block) =>
        textOf({ role: "user", content: [block] }) || JSON.stringify(block)
      ).join("\n");
    const [expected, actual] = [texts(was), texts(now)];
    if (expected === actual) continue;
    yield { label: "prompt", title: "prompt: message", path: "messages.**", expected, actual };
  }
}

/** @throws {Refused} if a call had another outcome: a failure and a denial look the same on a tape */
function* resultChanges(was: Message, now: Message, messages: readonly Message[]): Generator<Change> {
  const [before, after] = [was, now].map(({ content }) => content.filter(isToolResult)) as [any[], any[]];
  const ids = (results: any[]) => results.map(({ tool_use_id }) => tool_use_id).join();
  if (ids(before) !== ids(after)) throw new Refused("it has results of other calls");
  for (const [i, result] of before.entries()) {
    if (!differs(result, after[i], "")) continue;
    const tool = callIn(messages, result.tool_use_id)?.name ?? "a tool";
    if (result.is_error || after[i].is_error) throw new Refused(`a call of ${tool} came out otherwise`);
    const [expected, actual] = [result, after[i]].map(({ content }) =>
      typeof content === "string" ? content : JSON.stringify(content)
    );
    yield { label: "result", title: `result of ${tool}`, path: "messages.**", expected, actual };
  }
}
