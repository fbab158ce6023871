import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import type { Agent } from "../../agent/options.ts";
import { discover } from "../../hooks/discover.ts";
import { hooksAt, sharedFiles } from "../../hooks/folder.ts";
import { realOr } from "../../hooks/file/user-places.ts";
import { hooksSaid } from "../../log/step.ts";
import { hookLane } from "../../log/tape.ts";
import type { Fixture } from "../../replay/fixture.ts";
import { readTape } from "../../replay/read-tape.ts";
import { type FixtureRun, runFixture } from "../../replay/run-fixture.ts";
import type { Replayable, ReplayHooks } from "../../replay/run-on-tape.ts";
import { sha256 } from "../../runtime/sha256.ts";

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

/** What hooks do in a recorded run. */
export type HookEffect =
  | { readonly how: "changes" | "never speaks" | "speaks, changes nothing" }
  | { readonly how: "does not have it"; readonly hooks: readonly string[] }
  | { readonly how: "fails"; readonly hook: string; readonly why: string }
  | { readonly how: "left out"; readonly why: string };

/** The hooks of a file or folder; undefined if there is none. */
export function hooksNamed(path: string, project: string) {
  if (!existsSync(resolve(project, path))) return undefined;
  const { folder, file } = placeOf(path, project);
  const { files, problems } = discover(folder, (name) => file !== undefined && name !== file);
  const hash = sha256().update(sharedFiles(folder).hash);
  for (const { name, path } of files) hash.update(`${name}\n`).update(readFileSync(path));
  const asked = { path, names: files.map(({ name }) => name), hash: hash.digest("hex").slice(0, 16) };
  return { asked, problem: problems[0]?.message };
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

/** Replays a fixture as it was recorded and with the change, and says whether the two part; free. */
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
  const said = events.flatMap((event) => event.type === "fired" ? hooksSaid(event.folded) : [])
    .filter(({ hook }) => asked.names.includes(hook));
  // A hook whose model is asked what the tape does not have fails for the tape alone.
  const lacksReply = now.report.divergences.some(({ lane }) => lane.endsWith(hookLane("")));
  const [failed] = said.flatMap(({ hook, failure }) => typeof failure === "string" ? [{ hook, why: failure }] : []);
  if (failed && !lacksReply) return { how: "fails", ...failed };
  if (!now.report.ok) return { how: "changes" };
  return { how: said.length > 0 ? "speaks, changes nothing" : "never speaks" };
}
