import { readFileSync, statSync } from "node:fs";
import { basename, dirname, relative, resolve } from "node:path";
import type { Agent } from "../agent/options.ts";
import type { RunEvent } from "../core/run-events.ts";
import { discover } from "../hooks/discover.ts";
import { hooksAt, sharedFiles } from "../hooks/folder.ts";
import { realOr } from "../hooks/file/user-places.ts";
import { hooksSaid } from "../log/step.ts";
import { type Price, priceOf } from "../replay/drift/drift-report.ts";
import { type Fixture, programFolder } from "../replay/fixture.ts";
import { readTape } from "../replay/read-tape.ts";
import { type FixtureRun, runFixture } from "../replay/run-fixture.ts";
import type { Replayable, ReplayHooks } from "../replay/run-on-tape.ts";
import { type Call, hookLane, MAIN, type Tape } from "../replay/tape.ts";
import { sha256 } from "../runtime/sha256.ts";

/** Hooks of which an eval says what they change: those that `--with` names, or one that agents have. */
export interface HooksAsked {
  /** A hook file, or a folder of them, from the project; absent if agents have the hook themselves. */
  readonly path?: string;
  readonly names: readonly string[];
  /** Of the files; absent without a path. */
  readonly hash?: string;
}

/** Hooks that an agent is to have, or to be without. */
export interface Arm extends HooksAsked {
  readonly has: boolean;
}

/** Where the runs of a fixture leave the recorded one. */
export interface Fork {
  /** The first call that is made live; absent if all are served, as the hooks speak after the last one. */
  readonly from?: string;
  /** What the calls took that are served. */
  readonly served: Price;
}

/** What hooks do in a recorded run. */
export type HookEffect =
  | { readonly how: "forks"; readonly fork: Fork; readonly live: Price }
  | { readonly how: "never speaks" | "speaks, changes nothing" }
  | { readonly how: "does not have it"; readonly hooks: readonly string[] }
  | { readonly how: "left out"; readonly why: string };

/** The hooks of a file or folder. */
export function hooksNamed(path: string, project: string): { readonly asked: HooksAsked; readonly problem?: string } {
  const { folder, file } = placeOf(path, project);
  const { files, problems } = discover(folder, (name) => file !== undefined && name !== file);
  const hash = sha256().update(sharedFiles(folder).hash);
  for (const { name, path } of files) hash.update(`${name}\n`).update(readFileSync(path));
  const asked = { path, names: files.map(({ name }) => name), hash: hash.digest("hex").slice(0, 16) };
  return { asked, ...(problems.length > 0 && { problem: problems[0]!.message }) };
}

function placeOf(path: string, project: string): { readonly folder: string; readonly file?: string } {
  const whole = resolve(project, path);
  return statSync(whole).isDirectory() ? { folder: whole } : { folder: dirname(whole), file: basename(whole) };
}

/** An agent with the hooks in question or without them, whether it loads them by itself or not. */
export async function armed(
  agent: Agent,
  arm: Arm | undefined,
  project: string,
): Promise<{ readonly agent: Replayable; readonly hooks?: ReplayHooks }> {
  if (!arm) return { agent };
  const { path, names, has } = arm;
  const folder = path === undefined ? undefined : realOr(placeOf(path, project).folder);
  const isOwn = folder === undefined || (await agent.ownHooks()).folders.some((one) => realOr(one) === folder);
  if (has) return isOwn ? { agent } : { agent, hooks: hooksAt(resolve(project, path!)) as ReplayHooks };
  return isOwn ? { agent: without(agent, names) } : { agent };
}

function without(agent: Agent, names: readonly string[]): Replayable {
  return {
    name: agent.name,
    open: async (options) => {
      const session = await agent.open(options);
      for (const hook of await session.hooks()) if (names.includes(hook.name)) hook.enabled = false;
      return session;
    },
  };
}

/** Replays a fixture as it was recorded and with the change, and finds where the two part; free. */
export async function effectOf(
  fixture: Fixture,
  agent: Agent,
  asked: HooksAsked,
  { project, signal }: { readonly project: string; readonly signal: AbortSignal },
): Promise<HookEffect> {
  const tape = await readTape(fixture.tape);
  const replayed = async (has: boolean): Promise<FixtureRun> => {
    const { agent: one, hooks } = await armed(agent, { ...asked, has }, project);
    return await runFixture(fixture, one, { signal, ...(hooks && { hooks }) });
  };
  const had = asked.path === undefined;
  if (had) {
    const { inCode, folders } = await agent.ownHooks();
    const hooks = [...inCode, ...folders.flatMap((folder) => discover(folder).files)].map(({ name }) => name);
    if (!hooks.some((name) => asked.names.includes(name))) return { how: "does not have it", hooks };
  }
  if (!had && tape.header.hooks?.some((name) => asked.names.includes(name))) {
    return { how: "left out", why: "recorded with it: --without" };
  }
  // The recorded arm first: a hook that was switched off stays off in this process.
  const was = await replayed(had);
  if (!was.report.ok) return { how: "left out", why: "drifts already" };
  if (was.report.stale) return { how: "left out", why: "has stale replies" };
  const now = await replayed(!had);
  const events = had ? was.events : now.events;
  if (now.report.ok) {
    const speaks = events.some((event) => event.type === "fired" && hooksSaid(event.folded).some(isOf(asked)));
    return { how: speaks ? "speaks, changes nothing" : "never speaks" };
  }
  const from = forkedAt(tape, now.report, events, asked);
  const { calls } = cutTape(tape, from?.id);
  const live = tape.calls.filter((call) => !calls.includes(call));
  return {
    how: "forks",
    fork: { ...(from && { from: from.id }), served: priceOf(calls) },
    // A hook that speaks after the last call makes at least one more.
    live: priceOf(live.length > 0 ? live : tape.calls.slice(-1)),
  };
}

function isOf({ names }: HooksAsked): (said: { readonly hook: string }) => boolean {
  return ({ hook }) => names.includes(hook);
}

/** The first call that is not served; undefined if all are. */
function forkedAt(
  tape: Tape,
  { divergences, unused }: FixtureRun["report"],
  events: readonly RunEvent[],
  asked: HooksAsked,
): Call | undefined {
  const calls = unused.flatMap((id) => tape.calls.find((call) => call.id === id) ?? []);
  const asks = ({ lane }: { readonly lane: string }) => lane.endsWith(hookLane(""));
  // What a model says is random, so that its hook may make a difference wherever it is asked.
  if (divergences.some(asks) || calls.some(asks)) return firstAsked(tape, events, asked);
  const lanes = divergences.filter(({ cause }) => cause !== "hook");
  if (lanes.length === 0) return earliest(calls);
  return earliest(lanes.flatMap(({ lane, call: id }) => {
    const found = calls.find((call) => call.id === id);
    if (found) return [found];
    // It asks for more than was recorded: agents above it go on after that.
    const end = tape.calls.findLast((call) => call.lane === lane)?.at ?? 0;
    return tape.calls.filter((call) => lane.startsWith(`${call.lane}/`) && call.at >= end);
  }));
}

function earliest(calls: readonly Call[]): Call | undefined {
  return calls.toSorted((a, b) => a.at - b.at)[0];
}

/** The main agent's call that follows the first event of the hooks; the one before it if that is of an agent below. */
function firstAsked(tape: Tape, events: readonly RunEvent[], { names }: HooksAsked): Call | undefined {
  const main = events[0]?.agent_id;
  const first = events.findIndex((event) => event.type === "hook_start" && names.includes(event.hook));
  const made =
    events.slice(0, first).filter((event) =>
      event.type === "usage" && event.hook === undefined && event.agent_id === main
    ).length;
  const number = events[first]?.agent_id === main ? made + 1 : made;
  return tape.calls.find(({ id }) => id === `${MAIN}#${number}`);
}

/** A tape up to a call; all of it if none is named. It ends as if it had failed there, so that any end may follow. */
function cutTape(tape: Tape, from: string | undefined): Tape {
  const at = tape.calls.find(({ id }) => id === from);
  const lane = at && tape.calls.filter((call) => call.lane === at.lane);
  const isBefore = (call: Call): boolean => {
    if (!at) return true;
    if (call.lane === at.lane) return lane!.indexOf(call) < lane!.indexOf(at);
    return at.lane.startsWith(`${call.lane}/`) ? call.at < at.at : call.at <= at.at;
  };
  return { ...tape, calls: tape.calls.filter(isBefore), end: { end: "error" } };
}

/** The tape that a run of a fork begins with, as its folder has it. */
export function tapeIn(folder: string, fixture: Fixture, tape: Tape, from: string | undefined, agent: string): Tape {
  const cut = cutTape(tape, from);
  const { project: _, ...header } = tape.header;
  const project = programFolder(fixture.folder, tape.header.project);
  return { ...cut, header: { ...header, agent, ...(project !== undefined && { project: relative(folder, project) }) } };
}

/** What a run of a fork was not served, and whether it left its recording before. */
export function liveOf(made: Tape, cut: Tape): { readonly price: Price; readonly isEarly: boolean } {
  const known = new Map(cut.calls.map(({ id, at }) => [id, at]));
  const live = made.calls.filter(({ id, at }) => known.get(id) !== at);
  return { price: priceOf(live), isEarly: made.calls.length - live.length < cut.calls.length };
}
