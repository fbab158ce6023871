import { join } from "node:path";
import type { EventName, Fired } from "../core/events.ts";
import type { Folded } from "../core/fold.ts";
import { hostEvent, type HostName } from "../hooks/hosts/index.ts";
import { expectedIn, FAULTS, judge, type LabRun } from "./lab-judge.ts";
import { holdSession, type LabSession } from "./room.ts";
import { callAt, scriptOf, unmade } from "./script.ts";
import { type Getting, hostProgram, type HostWish, NotInstalled, OtherVersion, versionsIn } from "./versions.ts";
import type { JsonObject } from "../core/json.ts";

/** A hook that was fired here, in the project in which hosts will fire it. */
export interface LabHook {
  readonly event: string;
  /** The project, and the folder beside which sessions are held. */
  readonly project: string;
  readonly room: string;
  readonly stdin: JsonObject;
  readonly fired: Fired<EventName>;
  readonly folded: Folded;
  /** Whether a person or an example chose the call. */
  readonly chosen: boolean;
  /** Writes it into a host's settings. */
  readonly install: (host: HostName, project: string, home: string) => Promise<void>;
  /** Whether that makes a mod, which calls no command of ours. */
  readonly isMod: boolean;
  readonly packages: string;
}

export type LabOptions = Getting & Pick<LabSession, "timeout" | "confined">;

/** What a hook did in versions of a host. */
export interface LabResult {
  readonly runs: readonly LabRun[];
  readonly differs: readonly Difference[];
}

interface Difference {
  readonly host: HostName;
  readonly from: string;
  readonly to: string;
  readonly field: "effect" | "words";
}

/** Fires a hook in hosts, one after the other. */
export async function tryIn(wishes: readonly HostWish[], hook: LabHook, options: LabOptions): Promise<LabResult[]> {
  const results: LabResult[] = [];
  for (const wish of wishes) {
    const runs = wish.to === undefined ? [await run(wish, hook, options)] : await runRange(wish, hook, options);
    results.push({ runs, differs: runs.slice(1).flatMap((to, i) => difference(runs[i]!, to)) });
  }
  return results;
}

const SEEN: readonly LabRun["state"][] = ["ok", "cannot", ...FAULTS];

function difference(from: LabRun, to: LabRun): Difference[] {
  // What was not seen is no difference.
  if ([from, to].some(({ state }) => !SEEN.includes(state))) return [];
  const isOther = from.state !== to.state || from.effect !== to.effect;
  if (!isOther && from.read === to.read) return [];
  return [{ host: from.host, from: from.version, to: to.version, field: isOther ? "effect" : "words" }];
}

/** The ends and the middle of a range. */
async function runRange(wish: HostWish, hook: LabHook, options: LabOptions): Promise<LabRun[]> {
  const versions = await versionsIn(wish, options).catch((error) => notInstalled(wish, options, error));
  if ("state" in versions) return [versions];
  const last = versions.length - 1;
  const runs: LabRun[] = [];
  for (const i of new Set([0, last >> 1, last])) {
    runs.push(await run({ host: wish.host, version: versions[i]! }, hook, options));
  }
  return runs;
}

/** What is printed of a host in which nothing was seen. */
function unseen({ host, version = "–" }: HostWish, confined: boolean, state: LabRun["state"], why: string): LabRun {
  const network = confined ? "none" as const : "by proxy" as const;
  const nothing = { fired: 0, said: "–", effect: "none", read: "–", left: [], requests: 0, exit: null, ms: 0 } as const;
  return { host, version, network, ...nothing, state, why };
}

function notInstalled(wish: HostWish, { confined }: LabOptions, error: unknown): LabRun {
  if (error instanceof OtherVersion) return unseen(wish, confined, "other version", error.message);
  if (error instanceof NotInstalled) return unseen(wish, confined, "not installed", error.message);
  throw error;
}

async function run(wish: HostWish, hook: LabHook, options: LabOptions): Promise<LabRun> {
  const { event, stdin, project, fired, folded, chosen } = hook;
  const { host } = wish;
  const { confined, signal, env, timeout } = options;
  const seen = (state: LabRun["state"], why: string) => unseen(wish, confined, state, why);
  if (hostEvent(host, event) === undefined) return seen("cannot", `${host} has no event like ${event}`);
  const expected = expectedIn(host, fired, folded);
  const call = callAt(event, stdin, chosen, host);
  const why = unmade(host, event, call?.tool ?? "");
  if (why !== undefined) return seen("not measured", `not measured: ${why}`);
  if (call && !confined) return seen("not measured", "not measured: needs bubblewrap");
  const program = await hostProgram(wish, options).catch((error) => notInstalled(wish, options, error));
  if ("state" in program) return program;
  options.say(`${host} ${program.version}`);
  const session = (name: string, more: Partial<LabSession>) =>
    holdSession({
      ...{ folder: join(hook.room, `${host}-${program.version}-${name}`), template: project, host: program, event },
      ...{ timeout, confined, env, signal, packages: hook.packages, ...more },
      script: scriptOf(host, event, stdin, call),
    });
  const [hooked, control] = await Promise.all([
    session("hooked", { install: (path, home) => hook.install(host, path, home) }),
    session("control", {}),
  ]);
  const seenBy = { host, version: program.version, network: confined ? "none" as const : "by proxy" as const };
  const pair = { ...seenBy, event, hooked, control, expected, call, template: project, isMod: hook.isMod };
  return { ...seenBy, ...judge(pair) };
}
